"""The state that a client sends: held against what the agent declares, unchanged by rounding."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from sayso import CopilotKit, Turn
from sayso.base.digits import unrounded
from sayso.base.jsonvalue import equal
from tests.contract.legacy import asked_of
from tests.contract.requirements import requirement
from tests.contract.rest import call, get, post
from tests.contract.runtime import Page
from tests.contract.server import Client, Server, approve
from tests.contract.sessions import Session
from tests.rounding import doubled
from tests.share import share

BIG = 2**53 + 1


class Trip(BaseModel):
    """A state with a bound."""

    nights: int = Field(1, ge=1)
    id: int = BIG


async def planning(turn: Turn) -> Any:
    """Sets a state, asks, and ends with the state that it went on with."""
    if not turn.state:
        await turn.set("", {"nights": 1, "id": BIG})
    await turn.interrupt("confirmation", "Book it?")
    return dict(turn.state)


async def planned(server: Server, agent: Any = planning, *, version: str = "1") -> Client:
    """A client whose agent declares `Trip`, and waits."""
    server.app.agent("trip", state_schema=Trip, version=version)(agent)
    client = Client(server.app, "trip")
    await client.say()
    return client


@requirement("SE-03", "SS-08")
async def test_a_state_that_the_agent_does_not_take_answers_nothing(server: Server) -> None:
    """Judged with the rest of the request, at every door; the question stays open."""
    client = await planned(server)
    wrong = {"nights": -5, "id": BIG}
    run = await client.resume(approve(), state=wrong)
    assert run.last["code"] == "invalid_payload"
    errors = run.last["metadata"]["sayso"]["errors"]
    assert [one["pointer"] for one in errors] == ["/state/nights"]
    legacy = asked_of(client)
    await legacy.connect()
    refused = await legacy.reply({"approved": True}, state=wrong)
    assert refused.last["code"] == "invalid_payload"
    server.app.mount(CopilotKit())
    page = Page(server.app, "trip", transport="single", thread=client.thread)
    await page.connect()
    shown = await page.resume(approve(), state=wrong)
    assert shown.last["outcome"]["type"] == "interrupt"
    assert "/state/nights" in json.dumps(shown.events)
    assert (await get(server, f"/threads/{client.thread}/state"))["values"]["nights"] == 1
    await client.connect()
    resumed = await client.resume(approve(), state={"nights": 2, "id": BIG})
    assert resumed.last["result"] == {"nights": 2, "id": BIG}


async def test_a_first_state_that_the_agent_does_not_take_begins_nothing(server: Server) -> None:
    server.app.agent("trip", state_schema=Trip)(planning)
    for state in ({"nights": "x"}, [1], "text", 7):
        client = Client(server.app, "trip")
        run = await client.say(state=state)
        assert run.last["code"] == "invalid_payload"
        assert run.last["metadata"]["sayso"]["errors"][0]["pointer"].startswith("/state")
        assert (await call(server.app, "GET", f"/threads/{client.thread}")).status == 404


@pytest.mark.parametrize("nothing", [{}, None])
async def test_an_empty_state_is_none_and_fits_every_agent(server: Server, nothing: Any) -> None:
    """A page that was just loaded knows nothing; that says nothing about the state."""

    class Strict(BaseModel):
        city: str

    async def agent(turn: Turn) -> Any:
        await turn.interrupt("confirmation", "ok?")
        return "done"

    server.app.agent("strict", state_schema=Strict)(agent)
    client = Client(server.app, "strict")
    await client.say(state=nothing)
    assert (await client.resume(approve(), state=nothing)).last["result"] == "done"


async def test_what_the_agent_left_itself_is_never_refused(server: Server) -> None:
    """The last snapshot comes back with every request, fit or not, also after an edit."""

    async def careless(turn: Turn) -> Any:
        await turn.set("", {"nights": -1, "id": BIG})
        await turn.interrupt("confirmation", "One?")
        await turn.interrupt("confirmation", "Two?")
        return turn.state["nights"]

    client = await planned(server, careless)
    await client.resume(approve())
    stale = client.model.state
    path = f"/threads/{client.thread}/state"
    assert (await call(server.app, "PATCH", path, {"values": {"nights": 4}})).status == 200
    run = await client.resume(approve(), state=stale)
    assert run.last["result"] == 4
    assert (await client.say()).outcome == "interrupt"


async def test_a_state_that_is_no_object_is_refused_where_nothing_is_declared(
    server: Server,
) -> None:
    """It failed the turn at its first write, with the answer spent."""
    client = server.client(planning)
    for state in ([1], "text"):
        assert (await client.say(state=state)).last["code"] == "invalid_payload"
    assert (await client.say()).outcome == "interrupt"


async def test_a_client_that_holds_null_is_given_the_state_before_its_first_change(
    server: Server,
) -> None:
    """A delta cannot be applied to null; where the state was left out it is the empty object."""

    async def agent(turn: Turn) -> None:
        await turn.set("/n", 1)

    older = server.client(agent, version=None)
    run = await older.say(state=None)
    assert run.types.index("STATE_SNAPSHOT") < run.types.index("STATE_DELTA")
    assert run.of("STATE_SNAPSHOT")[0]["snapshot"] == {}
    body = server.client(agent).body(messages=[{"id": "u", "role": "user", "content": "go"}])
    del body["state"]
    run = await server.client(agent).run(body)
    assert "STATE_SNAPSHOT" not in run.types[: run.types.index("STATE_DELTA")]


async def test_newer_code_is_not_begun_with_a_state_that_it_does_not_take(server: Server) -> None:
    """A restart takes the newest version; refused, it cancels nothing."""
    client = Client(server.app, "trip")
    server.app.agent("trip", version="1")(planning)
    await client.say(state={"nights": "many"})
    server.app.agent("trip", state_schema=Trip, version="2")(planning)
    refused = await post(server, f"/threads/{client.thread}/restart")
    assert (refused.status, refused.problem["code"]) == (422, "invalid_payload")
    assert refused.problem["errors"][0]["pointer"] == "/state/nights"
    assert (await client.resume(approve())).last["result"]["nights"] == "many"


@requirement("EN-08")
async def test_a_client_that_rounds_leaves_the_state_as_it_is(server: Server) -> None:
    """In a run, in a resume, where it changes something else, and where it puts an id elsewhere."""
    client = server.client(planning)
    await client.say()
    run = await client.resume(approve(), state=doubled(client.model.state))
    assert run.last["result"] == {"nights": 1, "id": BIG}
    await client.say(state=doubled({**client.model.state, "nights": 2, "chosen": [BIG]}))
    assert client.model.state == {"nights": 2, "id": BIG, "chosen": [BIG]}
    run = await client.resume(approve(), state=doubled({"id": BIG, "nights": 2.0}))
    assert run.last["result"] == {"id": BIG, "nights": 2}


async def test_a_patch_of_the_state_is_taken_at_its_word(server: Server) -> None:
    """It is for whoever means a change that small; REST keeps all digits."""
    client = server.client(planning)
    await client.say()
    path = f"/threads/{client.thread}/state"
    run = await call(server.app, "PATCH", path, {"values": {"id": BIG - 1}})
    assert run.json["values"]["id"] == BIG - 1
    assert str(BIG - 1).encode() in run.body


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=share(300, of=3), suppress_health_check=[HealthCheck.too_slow])
@given(JSON)
def test_any_state_is_unchanged_by_a_client_that_rounds(state: Any) -> None:
    assert equal(unrounded(doubled(state), state), state)
    assert equal(unrounded(state, state), state)


async def test_a_session_is_not_asked_for_a_state(server: Server) -> None:
    """The session dialect sends none, so an agent that declares one serves it all the same."""
    server.app.agent("trip", state_schema=Trip)(planning)
    session = Session(server.app, agent="trip")
    await session.say()
    assert (await session.answer("yes"))[-1]["type"] == "done"
