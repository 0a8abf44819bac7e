"""Activities through a whole server: what clients show, in which order, and after what."""

import asyncio
from typing import Any

import pytest

from sayso import Activity, NestedCall, Turn
from tests.contract.requirements import requirement
from tests.contract.server import Client, Server, approve

Json = dict[str, Any]


def contents(client: Client) -> list[Json]:
    """What the agent's own activities show."""
    return [
        message["content"]
        for message in client.model.messages
        if message["role"] == "activity" and message["activityType"] != "sayso:settled"
    ]


@requirement("AC-01", "AC-02", "MS-03")
async def test_an_activity_changes_on_the_screen_and_stays_in_the_thread(server: Server) -> None:
    """AC-01: a snapshot, deltas, and after a pause a snapshot again before any delta."""

    async def agent(turn: Turn) -> None:
        await turn.say("Planning.")
        plan = await turn.activity("PLAN", {"steps": ["look"]})
        await plan.patch([{"op": "add", "path": "/steps/-", "value": "ask"}])
        await turn.interrupt("confirmation", "Go on?")
        await plan.patch([{"op": "add", "path": "/steps/-", "value": "do"}])
        await plan.patch([{"op": "remove", "path": "/steps/0"}])
        assert plan.content["steps"] == ("ask", "do")
        await plan.set({"done": True})
        await turn.say("Done.")

    client = server.client(agent)
    run = await client.say()
    shown = run.of("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")
    assert [event["type"] for event in shown] == ["ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"]
    assert [m["role"] for m in run.snapshot] == ["user", "assistant", "activity"]
    assert contents(client) == [{"steps": ["look", "ask"]}]
    resumed = await client.resume(approve())
    first, second, third = resumed.of("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")
    assert first["content"] == {"steps": ["look", "ask", "do"]}
    assert second["patch"] == [{"op": "remove", "path": "/steps/0"}]
    assert third["content"] == {"done": True}
    assert {e["messageId"] for e in (*shown, first, second, third)} == {shown[0]["messageId"]}
    assert contents(client) == [{"done": True}]
    fresh = client.again()
    await fresh.connect()
    assert fresh.model.messages == client.model.messages
    assert [m["role"] for m in fresh.model.messages] == [
        "user",
        "assistant",
        "activity",
        "activity",
        "assistant",
    ]


@requirement("MS-07", "MS-08")
async def test_a_next_turn_keeps_activities_on_screen_and_out_of_its_input(server: Server) -> None:
    """MS-07, MS-08: clients do not send them back, which hides none; agents do not get them."""
    seen: list[list[str]] = []

    async def agent(turn: Turn) -> None:
        seen.append([m["role"] for m in turn.input.messages])
        if len(seen) == 1:
            await turn.activity("PLAN", {"n": 1})
        await turn.say("Done.")

    client = server.client(agent)
    await client.say()
    again = await client.say("more")
    # Nobody can tell from a request whether its client holds them, so they are shown again.
    assert again.types[1] == "MESSAGES_SNAPSHOT"
    assert contents(client) == [{"n": 1}]
    assert seen == [["user"], ["user", "assistant", "user"]]
    fresh = client.again()
    await fresh.connect()
    assert contents(fresh) == [{"n": 1}]


@requirement("AC-01")
async def test_a_late_reader_is_shown_the_activity_as_it_is_and_follows_it(server: Server) -> None:
    """Design 5, Readers: its deltas apply to what it was shown; judged as any stream."""
    shown, go_on = asyncio.Event(), asyncio.Event()

    async def agent(turn: Turn) -> None:
        plan = await turn.activity("PLAN", {"n": 0})
        await plan.patch([{"op": "replace", "path": "/n", "value": 1}])
        shown.set()
        await go_on.wait()
        await plan.patch([{"op": "add", "path": "/m", "value": 2}])

    client = server.client(agent)
    client.user("go")
    first = client.open()
    await shown.wait()
    late = client.again()
    body = late.body(messages=[], state={})
    second = late.open(body, action="/connect")
    await second.until("ACTIVITY_SNAPSHOT")
    go_on.set()
    run = (await second.end()).judged(body["threadId"], body["runId"])
    assert [e["type"] for e in run.of("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")] == [
        "ACTIVITY_SNAPSHOT",
        "ACTIVITY_DELTA",
    ]
    late.model.take(run.events)
    assert contents(late) == [{"n": 1, "m": 2}]
    client.model.take((await first.end()).events)
    assert client.model.messages == late.model.messages


async def test_an_activity_may_change_while_a_message_is_written(server: Server) -> None:
    """It never pauses, so it cuts nothing."""

    async def agent(turn: Turn) -> None:
        async with turn.message() as message:
            await message.write("Work")
            bar = await turn.activity("PROGRESS", {"percent": 0})
            await bar.set({"percent": 100})
            await message.write("ing.")

    client = server.client(agent)
    assert (await client.say()).text == "Working."
    assert contents(client) == [{"percent": 100}]


@requirement("AC-01")
async def test_what_is_no_activity_is_refused_where_it_is_made(server: Server) -> None:
    """AC-01: the content stays an object; a wrong patch changes nothing."""
    refused: list[str] = []

    async def agent(turn: Turn) -> None:
        plan = await turn.activity("PLAN", {"n": 1})
        with pytest.raises(ValueError, match="operation 0"):
            await plan.patch([{"op": "remove", "path": "/m"}])
        with pytest.raises(TypeError, match="is an object"):
            await plan.patch([{"op": "replace", "path": "", "value": 5}])
        with pytest.raises(TypeError, match="is an object"):
            await turn.activity("PLAN", [1])  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="needs a type"):
            await turn.activity("", {})
        await turn.step(inside, plan_of(plan))
        refused.append("all")

    def plan_of(plan: Activity) -> str:
        held.append(plan)
        return "plan"

    async def inside(name: str) -> None:
        with pytest.raises(NestedCall, match="inside a recorded step"):
            await held[0].set({})

    held: list[Activity] = []
    client = server.client(agent)
    run = await client.say()
    assert (run.outcome, refused) == ("success", ["all"])
    assert contents(client) == [{"n": 1}]


async def test_an_activity_counts_as_what_it_is_now(server: Server) -> None:
    """Limits: a thread is not filled by what its activities were before."""

    async def agent(turn: Turn) -> None:
        bar = await turn.activity("LOG", {"text": ""})
        for _ in range(20):
            await bar.set({"text": "x" * 1_000_000})
        await turn.say("Still room.")

    client = server.client(agent)
    run = await client.say()
    assert run.outcome == "success", run.last
    assert [len(content["text"]) for content in contents(client)] == [1_000_000]
