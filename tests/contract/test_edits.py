"""The state of a waiting turn, edited by hand (design 3 rule 8, design 5; case P3)."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel, Field, model_validator

from sayso import Breakpoints, Turn
from sayso.agents import registry
from tests.contract.optional import client_of
from tests.contract.replicas import replica
from tests.contract.rest import call, get, post, stop
from tests.contract.server import Client, Server, answer, approve
from tests.contract.tools import Kit


class Plan(BaseModel):
    """A state with a bound, and a rule that no JSON Schema says."""

    city: str
    nights: int = Field(ge=1)
    budget: int = 0

    @model_validator(mode="after")
    def _can_pay(self) -> "Plan":
        if self.budget < self.nights * 50:
            raise ValueError("the budget does not pay for the nights")
        return self


async def edit(server: Server, client: Client, values: Any, app: Any = None) -> Any:
    path = f"/threads/{client.thread}/state"
    return await call(app or server.app, "PATCH", path, {"values": values})


async def planning(turn: Turn) -> Any:
    """Sets a plan, asks, and ends with what the plan then says."""
    await turn.set("", {"city": "Rome", "nights": 3, "budget": 400})
    await turn.interrupt("confirmation", "Book it?")
    await turn.set("/booked", True)
    return [turn.state["city"], turn.state["nights"]]


@pytest.mark.every_store
async def test_an_edit_is_what_the_turn_goes_on_with(server: Server) -> None:
    """Design 3: merged, journalled at the open interrupt, and shown."""
    client = server.client(planning)
    await client.say()
    run = await edit(server, client, {"city": "Oslo", "budget": None, "pets": {"dogs": 1}})
    assert run.status == 200
    assert run.json["values"] == {"city": "Oslo", "nights": 3, "pets": {"dogs": 1}}
    assert run.json == await get(server, f"/threads/{client.thread}/state")
    assert run.json["journal"][-1] == {
        "place": "pause:0/edit:0",
        "kind": "edit",
        "name": "",
        "status": "done",
        "data": {
            "by": "local",
            "at": "2023-11-14T22:13:20.000Z",
            "channel": "edit",
            "values": {"city": "Oslo", "budget": None, "pets": {"dogs": 1}},
        },
    }
    again = await edit(server, client, {"pets": {"dogs": None, "cats": 2}})
    assert [entry["place"] for entry in again.json["journal"]][-1] == "pause:0/edit:1"
    await client.connect()
    resumed = await client.resume(approve())
    expected = {"city": "Oslo", "nights": 3, "pets": {"cats": 2}, "booked": True}
    assert resumed.last["result"] == ["Oslo", 3]
    assert client.model.state == expected


@pytest.mark.every_store
async def test_an_edit_at_a_breakpoint_reaches_what_waits_there(server: Server) -> None:
    """Design 3 rule 8: what was evaluated before the pause is evaluated anew, and the effect is."""

    async def agent(turn: Turn) -> None:
        await turn.set("/draft", "ORIGINAL")
        await turn.step.options(name="publish")(server.effects.append, turn.state["draft"])

    client = client_of(server, agent, breakpoints=Breakpoints(before=["publish"]))
    await client.say()
    assert (await edit(server, client, {"draft": "EDITED"})).status == 200
    (item,) = client.model.pending
    path = f"/interrupts/{item['id']}/answer"
    assert (await post(server, path, answer({"action": "continue"}))).status == 200
    await client.connect()
    assert (server.effects, client.model.state) == (["EDITED"], {"draft": "EDITED"})


async def test_an_edit_wins_over_the_state_of_the_client_that_resumes(server: Server) -> None:
    """Design 3 rule 8: a page that was open meanwhile sends what it saw before the edit."""
    client = server.client(planning)
    await client.say()
    assert (await edit(server, client, {"city": "Oslo"})).status == 200
    stale = {"city": "Bern", "nights": 9, "budget": 1}
    resumed = await client.resume(approve(), state=stale)
    assert resumed.last["result"] == ["Oslo", 3]
    assert client.model.state["nights"] == 3


async def test_without_an_edit_the_client_s_state_counts(server: Server) -> None:
    """Design 3 rule 8: an edit in one pause says nothing about the next."""

    async def agent(turn: Turn) -> Any:
        await turn.set("/n", 0)
        await turn.interrupt("confirmation", "One?")
        seen = [turn.state["n"]]
        await turn.interrupt("confirmation", "Two?")
        return [*seen, turn.state["n"]]

    client = server.client(agent)
    await client.say()
    await edit(server, client, {"n": 1})
    await client.resume(approve(), state={"n": 7})
    run = await client.resume(approve(), state={"n": 8})
    assert run.last["result"] == [1, 8]


@pytest.mark.every_store
async def test_writes_beside_a_waiting_turn_do_not_break_its_resume(server: Server) -> None:
    """L3: before it, and at the same moment by another process; the store takes no stale write."""
    client = server.client(planning)
    await client.say()
    (item,) = client.model.pending
    path = f"/interrupts/{item['id']}"
    async with replica(server, (client.agent, planning)) as other:
        for app in (server.app, other):
            await edit(server, client, {"nights": 4}, app)
            await post(server, f"{path}/extend", {"seconds": 60}, app=app)
            await post(server, f"{path}/assign", {"to": "kim"}, app=app)
        run, *_ = await asyncio.gather(
            client.resume(approve()),
            edit(server, client, {"city": "Oslo"}, other),
            post(server, f"{path}/extend", {"seconds": 90}, app=other),
            post(server, f"{path}/assign", {"to": "ann"}, app=other),
        )
    assert run.outcome == "success"
    city, nights = run.last["result"]
    assert (city in ("Rome", "Oslo"), nights) == (True, 4)


@pytest.mark.every_store
async def test_an_edit_outlives_the_process_that_took_it(server: Server) -> None:
    """L1: another process resumes with it, from the inbox and with no client at all."""
    client = server.client(planning)
    await client.say()
    await edit(server, client, {"nights": 5})
    (item,) = client.model.pending
    async with replica(server, (client.agent, planning)) as other:
        run = await post(server, f"/interrupts/{item['id']}/answer", approve(), app=other)
        assert run.status == 200
        seen = await client.again(app=other).connect()
    assert seen.last["type"] == "RUN_FINISHED"
    assert (await get(server, f"/threads/{client.thread}/state"))["values"]["nights"] == 5


async def test_a_state_has_the_shape_that_its_agent_declares(server: Server) -> None:
    """Design 3: refused as a whole, with pointers into the request, and nothing is changed."""
    server.app.agent("planner", state_schema=Plan)(planning)
    client = server.client("planner")
    await client.say()
    stored = server.dump()
    wrong = await edit(server, client, {"nights": 0, "city": None})
    assert (wrong.status, wrong.problem["code"]) == (422, "invalid_payload")
    assert {error["pointer"] for error in wrong.problem["errors"]} == {
        "/values/nights",
        "/values/city",
    }
    poor = await edit(server, client, {"nights": 9})
    words = "the value: the budget does not pay for the nights"  # no word of the library
    assert poor.problem["errors"] == [{"pointer": "/values", "message": words}]
    assert server.dump() == stored
    assert (await edit(server, client, {"nights": 8})).status == 200
    described = await get(server, "/agents/planner")
    assert described["stateSchema"]["properties"]["nights"]["minimum"] == 1


@pytest.mark.parametrize(
    ("body", "pointer"),
    [({}, "/values"), ({"values": [1]}, "/values"), ({"values": "x"}, "/values"), ([], "")],
)
async def test_a_malformed_edit_is_refused(server: Server, body: Any, pointer: str) -> None:
    """ER-01: said where; nothing is changed."""
    client = server.client(planning)
    await client.say()
    stored = server.dump()
    run = await call(server.app, "PATCH", f"/threads/{client.thread}/state", body)
    assert (run.status, run.problem["code"]) == (422, "invalid_input")
    assert run.problem["errors"][0]["pointer"] == pointer
    assert server.dump() == stored


@pytest.mark.every_store
async def test_edits_do_not_add_up_to_a_state_that_no_client_takes(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EN-09: each is small enough for a body; the state has to fit into one frame."""
    monkeypatch.setattr(registry, "MAX_STATE_BYTES", 2_000)
    client = server.client(planning)
    await client.say()
    assert (await edit(server, client, {"a": "x" * 1_000})).status == 200
    run = await edit(server, client, {"b": "x" * 1_000})
    assert (run.status, run.problem["code"]) == (422, "invalid_payload")
    assert (await edit(server, client, {"a": None, "b": "x" * 1_000})).status == 200


async def test_only_a_thread_that_waits_is_edited(server: Server, tools: Kit) -> None:
    """Design 5: not a finished one, a stopped one, one that runs, or none."""
    done = server.client(tools.greeting)
    await done.say()
    stopped = server.client(planning)
    await stopped.say()
    await stop(server, stopped)
    for client in (done, stopped):
        run = await edit(server, client, {"a": 1})
        assert (run.status, run.problem["code"]) == (409, "not_waiting")
    begun, wakes = asyncio.Event(), asyncio.Event()

    async def busy(turn: Turn) -> None:
        begun.set()
        await wakes.wait()

    client = server.client(busy)
    client.user("go")
    exchange = client.open()
    await begun.wait()
    run = await edit(server, client, {"a": 1})
    assert (run.status, run.problem["code"]) == (409, "thread_busy")
    wakes.set()
    await exchange.end()
    client.thread = "nobody"
    assert (await edit(server, client, {"a": 1})).problem["code"] == "unknown_thread"


@pytest.mark.every_store
async def test_an_edit_that_fails_changes_nothing(server: Server) -> None:
    """A store that breaks before the write: 503, and the turn goes on with its own state."""
    client = server.client(planning)
    await client.say()
    server.store.fail("update_idle")
    run = await edit(server, client, {"city": "Oslo"})
    assert (run.status, run.problem["code"]) == (503, "store_unavailable")
    assert (await client.resume(approve())).last["result"] == ["Rome", 3]


@pytest.mark.every_store
async def test_an_edit_waits_for_no_held_answer(server: Server) -> None:
    """A set that is answered one by one can be edited in between, and keeps what it holds."""

    async def agent(turn: Turn) -> Any:
        await turn.set("/n", 0)
        both = await turn.gather(
            turn.interrupt("confirmation", "A?"), turn.interrupt("confirmation", "B?")
        )
        return [turn.state["n"], *(one.value for one in both)]

    client = server.client(agent)
    await client.say()
    first, second = (item["id"] for item in client.model.pending)
    held = await post(server, f"/interrupts/{first}/answer", approve())
    assert held.json == {"remaining": 1}
    assert (await edit(server, client, {"n": 4})).status == 200
    await post(server, f"/interrupts/{second}/answer", answer({"approved": False}))
    await client.connect()
    assert client.model.state == {"n": 4}
