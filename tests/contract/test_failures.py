"""Agents and stores that break: the stream ends in order and the thread can go on (section 14)."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from sayso import ToolCall, Turn
from tests.contract.requirements import requirement
from tests.contract.server import Server, answer, approve, deny, taken_over
from tests.contract.tools import Kit


class Rude(BaseException):
    """Neither an Exception nor of asyncio."""


async def _chunks() -> AsyncIterator[str]:
    yield "half"
    raise RuntimeError("the model hung up")


def _step() -> None:
    raise RuntimeError("step")


async def _raise(turn: Turn) -> None:
    raise RuntimeError("at once")


async def _in_message(turn: Turn) -> None:
    async with turn.message() as message:
        await message.write("half")
        raise RuntimeError("inside")


async def _in_phase(turn: Turn) -> None:
    async with turn.phase("work"):
        raise RuntimeError("inside")


async def _in_stream(turn: Turn) -> None:
    await turn.stream(_chunks())


async def _in_step(turn: Turn) -> None:
    await turn.step(_step)


async def _in_gather(turn: Turn) -> None:
    await turn.gather(turn.say("a"), turn.step(_step), turn.say("b"))


async def _leaving(turn: Turn) -> None:
    raise SystemExit(3)


async def _interrupted(turn: Turn) -> None:
    raise KeyboardInterrupt


async def _rude(turn: Turn) -> None:
    raise Rude


async def _cancelled(turn: Turn) -> None:
    raise asyncio.CancelledError


async def _group(turn: Turn) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(turn.say("a"))
        group.create_task(_raise(turn))


async def _rubbish(turn: Turn) -> Any:
    return object()


async def _not_text(turn: Turn) -> None:
    await turn.say(5)  # type: ignore[arg-type]


async def _bad_state(turn: Turn) -> None:
    await turn.set("/a", object())


async def _bad_pointer(turn: Turn) -> None:
    await turn.set("a", 1)


async def _within(turn: Turn) -> None:
    async with turn.message():
        await turn.step(_step)


async def _nested(turn: Turn) -> None:
    async def inner() -> None:
        await turn.interrupt("confirmation", "?")

    await turn.step(inner)


AGENTS: tuple[Callable[[Turn], Awaitable[Any]], ...] = (
    _raise,
    _in_message,
    _in_phase,
    _in_stream,
    _in_step,
    _in_gather,
    _leaving,
    _interrupted,
    _rude,
    _cancelled,
    _group,
    _rubbish,
    _not_text,
    _bad_state,
    _bad_pointer,
    _within,
    _nested,
)


@requirement("LC-02", "ER-02", "ER-05", "ER-14", "ER-12", "ER-11")
@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.__name__)
async def test_an_agent_that_breaks_ends_its_run_in_order(
    server: Server, agent: Callable[[Turn], Awaitable[Any]]
) -> None:
    """ER-02, H6: one RUN_ERROR at the end, no inside shown, and the thread takes a message."""
    calls = []

    async def first_time(turn: Turn) -> Any:
        calls.append(turn)
        return await agent(turn) if len(calls) == 1 else await turn.say("Better.")

    client = server.client(first_time)
    run = await client.say()
    assert run.last["type"] == "RUN_ERROR"
    assert run.outcome in ("agent_error", "agent_result_invalid")
    assert b"Traceback" not in run.body
    assert (await client.say()).text == "Better."
    assert (await client.again().connect()).outcome == "success"


@requirement("TC-09", "TC-16", "ER-14")
async def test_a_tool_that_fails_has_a_result_and_the_agent_goes_on(server: Server) -> None:
    """G5, H1: the failure is the result, once; the other calls keep theirs."""

    @server.app.tool()
    async def broken() -> str:
        raise LookupError("no such order")

    @server.app.tool()
    def fine() -> dict[str, list[int]]:
        return {"rows": [1]}

    async def agent(turn: Turn) -> None:
        calls = [ToolCall(tool, {}) for tool in (broken, fine)]
        await turn.say(", ".join(c.status for c in await turn.call_all(calls)))

    run = await server.client(agent).say()
    assert run.text == "failed, executed"
    failed, rows = sorted(run.results.values())
    assert re.fullmatch(r"Failed: LookupError \(error e_\w{8}\)", failed)
    assert rows == '{"rows":[1]}'


@requirement("TC-16")
async def test_a_turn_that_fails_with_a_call_open_answers_it(server: Server, tools: Kit) -> None:
    """TC-16: one of two questions is answered, then the agent breaks: no call dangles."""

    async def agent(turn: Turn) -> None:
        async def refund() -> None:
            await turn.call(tools.refund, order_id="A-17", amount=240.0)

        async def breaks() -> None:
            await turn.interrupt("confirmation", "?")
            raise RuntimeError

        await asyncio.gather(refund(), breaks())

    client = server.client(agent)
    asked = await client.say()
    by_reason = {i["reason"]: i for i in asked.interrupts}
    entries = [
        {"interruptId": by_reason["tool_call"]["id"], **deny()},
        {"interruptId": by_reason["confirmation"]["id"], **answer({"approved": True})},
    ]
    run = await client.run(resume=entries)
    assert run.outcome == "agent_error"
    calls = [c["id"] for m in client.model.messages for c in m.get("toolCalls", ())]
    told = [m["toolCallId"] for m in client.model.messages if m["role"] == "tool"]
    assert calls == told
    assert server.effects == []


async def test_an_agent_that_swallows_the_pause_is_suspended_all_the_same(
    server: Server, tools: Kit
) -> None:
    """K7: one launch and one interrupt through retries and a bare except."""
    entered = []

    async def agent(turn: Turn) -> None:
        entered.append(1)
        for _ in range(4):
            try:
                await turn.call(tools.refund, order_id="A-17", amount=240.0)
            except BaseException:  # noqa: S112 - the worst an author can write
                continue
        await turn.say("never")

    client = server.client(agent)
    run = await client.say()
    assert len(run.interrupts) == 1
    assert "never" not in run.text
    done = await client.resume(approve())
    assert len(done.interrupts) == 1
    assert server.effects == [("refund", "A-17", 240.0)]


@requirement("ER-02", "TR-14")
@pytest.mark.parametrize("point", ["load", "claim"])
async def test_a_store_that_is_away_at_the_start_is_a_problem(
    server: Server, tools: Kit, point: Any
) -> None:
    """ER-01: 503 and no stream; later the same request works."""
    client = server.client(tools.greeting)
    client.user("ann")
    body = client.body()
    server.store.fail(point)
    run = await client.run(body)
    assert (run.status, run.problem["code"]) == (503, "store_unavailable")
    assert server.effects == []
    assert (await client.run(body)).text == "Hello, ann."


@requirement("ER-02", "ID-04", "LC-02")
async def test_a_store_that_fails_at_any_commit_announces_nothing_it_has_not_kept(
    server: Server, tools: Kit
) -> None:
    """ER-02, A5: RUN_ERROR, no interrupt and no result without its commit; the turn goes on."""
    for failing in range(1, 6):
        server.effects.clear()
        client = server.client(tools.mailing)
        server.store.fail("commit", n=failing)
        run = await client.say()
        server.store.restore()
        if run.outcome != "interrupt":
            assert run.outcome == "store_unavailable"

        await taken_over(server, client)
        shown = await client.again().connect()
        stored = {m["toolCallId"] for m in shown.snapshot if m["role"] == "tool"}
        assert set(run.results) <= stored
        assert server.effects.count(("lookup", "A-17")) == 1


@requirement("SE-05")
async def test_what_failed_is_logged_with_its_cause(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """SE-05: the wire says that the log says where; it does."""
    client = server.client(_raise)
    await client.say()
    assert any(record.exc_info and "failed in turn" in record.message for record in caplog.records)
