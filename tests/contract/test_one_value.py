"""What is proposed, shown, sent back, decided, kept and run is one value.

Whatever JSON it is (integers of 64 bits, decimals, any character), whichever way the answer comes,
and on every store.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, field_serializer

from sayso import CopilotKit, NotRecordable, Turn, approval
from sayso.base.digits import exact_integers
from sayso.base.jsonvalue import canonical, equal
from sayso.client import Client as PythonClient
from tests.contract.legacy import asked_of
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest, call, get, inbox, post
from tests.contract.runtime import Page
from tests.contract.server import Client, Server, approve, served
from tests.contract.sessions import Session
from tests.rounding import doubled

Json = dict[str, Any]

EVERYTHING: Json = {
    "integers": [0, -1, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 2**64 - 1],
    "in a row": [2**60 + 1, 2**60 + 2, 2**60 + 3],
    "decimals": [
        0.1,
        -0.0,
        1.0,
        1e16,
        1e20,
        1e22,
        1.7976931348623157e308,
        5e-324,
        0.30000000000004,
        4.815227000447419e16,
    ],
    "a/b~c": {"": {"deep": [[{"id": 9007199254740993}]]}},
    "texts": [
        "",
        "é",
        "汉字",
        "👩‍👩‍👧",
        "\u2028\u2029\u0085",
        "\r\n\t",
        '"\\',
        "9007199254740993",
        "\u202e",
    ],
    "nothing": [None, True, False, {}, []],
}

ANY = st.characters(codec="utf-8", exclude_characters="\0")
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.sampled_from((2**53, 2**53 + 1, 2**53 + 2, 2**60 + 1, 1e16))
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(ANY, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(ANY, max_size=3),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


class Acting:
    """An agent that proposes a value twice, side by side, and notes what was run."""

    def __init__(self, server: Server, name: str, value: Any) -> None:
        self.server = server
        self.value = value
        self.ran: list[Any] = []

        async def act(value: Any) -> Any:
            self.ran.append(value)
            return value

        tool = server.app.tool(name=f"act-{name}", approval=approval.always, editable=True)(act)

        async def agent(turn: Turn) -> None:
            await turn.set("/value", value)
            self.done = await turn.call(tool, value=value)

        self.name = name
        server.app.agent(name)(agent)

    def client(self) -> Client:
        return Client(self.server.app, self.name)


def rounding(asked: Json) -> Json:
    """An answer as a browser sends it that knows how to spell digits: untouched arguments."""
    arguments = asked["metadata"]["sayso"]["arguments"]
    payload = {"approved": True, "editedArgs": arguments}
    return {
        "status": "resolved",
        "payload": doubled(payload),
        "metadata": {"sayso": {"exact": exact_integers(payload)}},
    }


def plain(asked: Json) -> Json:
    """An answer of a client that keeps all digits and knows nothing more."""
    return approve(editedArgs=asked["metadata"]["sayso"]["arguments"])


async def run_rounding(client: Client, asked: Json) -> None:
    await client.run(resume=client.entries(rounding(asked)), state=doubled(client.model.state))


async def run_plain(client: Client, asked: Json) -> None:
    await client.resume(plain(asked))


async def run_unedited(client: Client, asked: Json) -> None:
    await client.run(resume=client.entries(approve()), state=doubled(client.model.state))


async def inbox_single(client: Client, asked: Json) -> None:
    path = f"/interrupts/{asked['id']}/answer"
    run = await call(client.app, "POST", path, rounding(asked))
    assert run.status == 200, run.body


async def inbox_bulk(client: Client, asked: Json) -> None:
    entry = {"interruptId": asked["id"], **rounding(asked)}
    run = await call(client.app, "POST", "/interrupts/answers", {"answers": [entry]})
    assert run.status == 200, run.body


async def session(client: Client, asked: Json) -> None:
    guest = Session(client.app, session_id=client.thread, agent=client.agent)
    shown = (await guest.show())[-1]
    assert shown["interrupt_id"] == asked["id"]
    assert (await guest.answer(plain(asked)["payload"]))[-1]["type"] == "done"


async def legacy_object(client: Client, asked: Json) -> None:
    hook = asked_of(client)
    await hook.connect()
    await hook.reply(plain(asked)["payload"])


async def legacy_text(client: Client, asked: Json) -> None:
    hook = asked_of(client)
    await hook.connect()
    await hook.reply(json.dumps(plain(asked)["payload"]))


async def copilotkit(client: Client, asked: Json) -> None:
    page = Page(client.app, client.agent, transport="rest", thread=client.thread)
    await page.connect()
    await page.resume(approve(), state=doubled(page.model.state))


async def copilotkit_edited(client: Client, asked: Json) -> None:
    page = Page(client.app, client.agent, transport="single", thread=client.thread)
    await page.connect()
    await page.resume(rounding(asked), state=doubled(page.model.state))


async def python_client(client: Client, asked: Json) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=client.app)) as http:
        url = f"http://localhost/agents/{client.agent}"
        python = PythonClient(url, thread_id=client.thread, http=http)
        async for _ in python.connect():
            pass
        (shown,) = python.pending
        async for _ in python.resume({shown["id"]: plain(shown)["payload"]}):
            pass


WAYS: tuple[Callable[[Client, Json], Awaitable[None]], ...] = (
    run_rounding,
    run_plain,
    run_unedited,
    inbox_single,
    inbox_bulk,
    session,
    legacy_object,
    legacy_text,
    copilotkit,
    copilotkit_edited,
    python_client,
)


async def holds(server: Server, name: str, value: Any, way: Any) -> None:
    """Propose a value, have it shown, answered and run, and look at it everywhere."""
    acting = Acting(server, name, value)
    client = acting.client()
    await client.say()
    (asked,) = client.model.pending
    assert equal(asked["metadata"]["sayso"]["arguments"], {"value": value})
    assert asked["metadata"]["sayso"].get("exact", {}) == exact_integers(
        {"sayso": {"arguments": {"value": value}}}, ("metadata",)
    )
    assert equal(client.model.state, {"value": value})
    (listed,) = [item for item in await inbox(server, "?limit=1000") if item["id"] == asked["id"]]
    for name in ("arguments", "exact"):
        assert listed["metadata"]["sayso"].get(name) == asked["metadata"]["sayso"].get(name)
    await way(client, asked)
    await at_rest(server, client)
    assert len(acting.ran) == 1, way
    assert equal(acting.ran[0], value)
    assert equal(acting.done.value, value)
    assert not acting.done.edited, "nobody changed anything"
    decided = await get(server, f"/interrupts/{asked['id']}")
    payload = decided["answer"]["payload"]
    assert equal(payload.get("editedArgs", {"value": value}), {"value": value})
    thread = f"/threads/{client.thread}"
    standing = await get(server, f"{thread}/state")
    assert equal(standing["values"], {"value": value})
    rows = (await get(server, f"/audit?thread={client.thread}"))["items"]
    (told,) = [row["content"] for row in rows if row["kind"] == "asked"]
    assert equal(told["metadata"]["sayso"]["arguments"], {"value": value})
    history = await get(server, f"{thread}/history")
    results = [message for message in history["messages"] if message["role"] == "tool"]
    if not isinstance(value, str):
        assert equal(json.loads(results[0]["content"]), value)


@requirement("EN-08", "ID-05")
@pytest.mark.every_store
async def test_one_value_is_proposed_shown_decided_and_run(server: Server) -> None:
    server.app.mount(CopilotKit())
    for way in WAYS:
        await holds(server, way.__name__, EVERYTHING, way)


@pytest.mark.every_store
async def test_an_answer_that_is_held_keeps_its_digits(server: Server) -> None:
    """The first of two waits on its question for the second, and is settled with it."""
    ran: list[Any] = []

    @server.app.tool(approval=approval.always, editable=True)
    async def act(value: Any) -> None:
        ran.append(value)

    async def agent(turn: Turn) -> None:
        await turn.gather(turn.call(act, value=EVERYTHING), turn.call(act, value=[EVERYTHING]))

    client = server.client(agent)
    await client.say()
    first, second = client.model.pending
    held = await post(server, f"/interrupts/{first['id']}/answer", rounding(first))
    assert held.status == 202
    kept = (await get(server, f"/interrupts/{first['id']}"))["answer"]
    assert kept["held"]
    assert equal(kept["payload"]["editedArgs"], {"value": EVERYTHING})
    settled = await post(server, f"/interrupts/{second['id']}/answer", rounding(second))
    assert settled.status == 200
    await at_rest(server, client)
    assert sorted(map(canonical, ran)) == sorted(map(canonical, (EVERYTHING, [EVERYTHING])))


async def test_integers_beyond_64_bits_are_kept_or_refused_and_never_rounded(
    server: Server,
) -> None:
    """A step's result stays in Python and has all digits; what readers of JSON get is refused."""
    wei = 10**21 + 1
    found: list[Any] = []

    async def balance():  # type: ignore[no-untyped-def] # no annotation
        return {"wei": wei}

    async def agent(turn: Turn) -> Any:
        found.append(await turn.step(balance))
        for write in (
            lambda: turn.set("/wei", wei),
            lambda: turn.custom("shop:balance", wei),
            lambda: turn.activity("BALANCE", {"wei": wei}),
            lambda: turn.say("?", metadata={"wei": wei}),
            lambda: turn.interrupt("confirmation", "?", metadata={"wei": wei}),
        ):
            with pytest.raises(NotRecordable, match="beyond 64 bits"):
                await write()
        await turn.interrupt("confirmation", "Go on?")
        return wei

    client = server.client(agent)
    await client.say()
    run = await client.resume(approve())
    assert run.outcome == "agent_result_invalid"
    assert found == [{"wei": wei}] * 2
    assert client.model.state == {}


@requirement("EN-08")
async def test_any_value_is_one_value_whichever_way_it_goes(tmp_path: Any) -> None:
    """Any JSON, in memory: what a store makes of it is tried above."""
    async with served("memory", tmp_path) as server:
        cases: list[tuple[Any, Any]] = []

        @settings(max_examples=40, derandomize=True)
        @given(VALUES, st.sampled_from(WAYS))
        def collect(value: Any, way: Any) -> None:
            cases.append((value, way))

        collect()
        server.app.mount(CopilotKit())
        for number, (value, way) in enumerate(cases):
            await holds(server, f"acting-{number}", value, way)


class Rounded(BaseModel):
    """A result whose JSON is another value."""

    amount: float

    @field_serializer("amount")
    def _rounded(self, amount: float) -> float:
        return round(amount)


async def test_a_result_that_a_serializer_changes_is_one_value_for_all_and_told(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """Recorded, shown, and given to the agent, live and after a restart; the log says so once."""
    seen: list[float] = []

    @server.app.tool()
    async def weigh() -> Rounded:
        return Rounded(amount=1.4)

    async def measure() -> Rounded:
        return Rounded(amount=2.6)

    async def agent(turn: Turn) -> None:
        for _ in range(2):
            seen.append((await turn.step(measure)).amount)
            call = await turn.call(weigh)
            assert call.value is not None
            seen.append(call.value.amount)
        await turn.interrupt("confirmation", "Go on?", schema=bool)

    client = server.client(agent)
    run = await client.say()
    assert list(run.results.values()) == ['{"amount":1.0}'] * 2
    run = await client.resume({"status": "resolved", "payload": True})
    assert run.outcome == "success"
    assert seen == [3.0, 1.0] * 4
    told = [record.getMessage() for record in caplog.records if record.name == "sayso.agents.codec"]
    step, tool = (one.split(" is another value")[0] for one in told)
    assert step.endswith("measure'")
    assert tool == "the result of tool 'weigh'"
