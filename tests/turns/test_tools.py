"""Tools through the whole engine: one result per call in every ending (cases C, H, J, V)."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sayso import Sayso, ToolCall, Turn
from tests.contract.requirements import requirement
from tests.turns.driver import Conversation, World, ticks
from tests.turns.endings import endings


def one_result_per_call(history: list[dict[str, Any]]) -> dict[str, str]:
    """Results by call id, each right behind its call's message; AssertionError otherwise."""
    results: dict[str, str] = {}
    open_calls: list[str] = []
    for message in history:
        if message["role"] == "tool":
            assert message["toolCallId"] in open_calls, f"out of place: {history}"
            assert message["toolCallId"] not in results
            results[message["toolCallId"]] = message["content"]
        elif message.get("toolCalls"):
            open_calls = [call["id"] for call in message["toolCalls"]]
        else:
            open_calls = []
    calls = [c["id"] for m in history for c in m.get("toolCalls", ())]
    assert sorted(calls) == sorted(results)
    return results


@requirement("TC-16", "TB-09")
async def test_every_ending_leaves_one_result_that_says_which(kind: str, tmp_path: Path) -> None:
    """H1, C8: done, failed, no JSON, out of time, approved, denied, cancelled; over a restart."""

    async def agent(turn: Turn, world: World) -> Any:
        t = world.tools
        batch = [ToolCall(tool, {}) for tool in (t.free, t.fails, t.unfit, t.slow)]
        batch += [ToolCall(t.gated, {"n": n}) for n in (1, 2, 3)]
        done = await turn.call_all(batch)
        return [[call.status, call.reason] for call in done]

    async with World.of(kind, tmp_path, agent, endings) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert len(run.results) == 4, "free calls run before the pause"
        assert len(run.interrupts) == 3
        await talk.restart()
        first, second, third = [item["id"] for item in talk.client.model.pending]
        run = await talk.send(
            [
                {"interruptId": third, "status": "cancelled"},
                talk.entry(second, {"approved": False, "reason": "too dear"}),
                talk.entry(first, {"approved": True}),
            ]
        )
        assert [status for status, _ in run.last["result"]] == [
            *("executed", "failed", "executed", "failed", "executed", "denied", "cancelled")
        ]
        assert run.last["result"][5] == ["denied", "too dear"]
        assert sorted(world.effects) == ["fails", "free 0", "gated 1", "slow", "unfit"]
        texts = list(one_result_per_call((await talk.connect()).snapshot).values())
        assert "free 0" in texts
        assert any(text.startswith("Failed: ValueError (error e_") for text in texts)
        assert any("cannot be recorded as JSON" in text for text in texts)
        assert "Failed: TimeoutError: ran out of time after 0.01 s" in texts
        assert "Not executed: a reviewer denied this call. Reason: too dear" in texts
        assert any(text.startswith("Not executed: the request for approval was") for text in texts)


async def test_calls_of_two_branches_keep_their_results_behind_them(
    kind: str, tmp_path: Path
) -> None:
    """H1: providers refuse a history in which anything stands between a call and its result."""

    async def agent(turn: Turn, world: World) -> Any:
        if turn.input.text == "again":
            return [message["role"] for message in turn.input.messages]

        async def talk() -> None:
            await turn.say("Meanwhile.")

        tool = world.tools.free
        await turn.gather(turn.call(tool, n=1), turn.call(tool, n=2), talk())
        await turn.say("Done.")
        return None

    async with World.of(kind, tmp_path, agent, endings) as world:
        talk = Conversation(world)
        await talk.say()
        one_result_per_call((await talk.connect()).snapshot)
        run = await talk.say("again")
        roles = run.last["result"]
        for place, role in enumerate(roles):
            assert role != "tool" or roles[place - 1] == "assistant"
        assert roles.count("tool") == 2


async def test_a_tool_that_speaks_does_not_part_its_call_from_its_result(
    kind: str, tmp_path: Path
) -> None:
    """H1: what a tool says while it runs follows its result in the history."""

    async def agent(turn: Turn, world: World) -> Any:
        world.effects.append(turn)
        return str(await turn.call(world.tools.speaks))

    def declare(world: World, app: Sayso) -> Any:
        @app.tool()
        async def speaks() -> str:
            await world.effects[-1].say("I am on it.")
            return "done"

        return SimpleNamespace(speaks=speaks)

    async with World.of(kind, tmp_path, agent, declare) as world:
        talk = Conversation(world)
        await talk.say()
        history = (await talk.connect()).snapshot
        one_result_per_call(history)
        assert history[-1]["content"] == "I am on it."


@pytest.mark.parametrize(
    "error",
    [
        ValueError("v"),
        StopIteration("s"),
        SystemExit(3),
        KeyboardInterrupt(),
        asyncio.CancelledError("c"),
        GeneratorExit(),
        BaseExceptionGroup("g", [KeyboardInterrupt()]),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
async def test_whatever_a_tool_raises_is_a_failed_call(
    kind: str, tmp_path: Path, error: BaseException, sync: bool
) -> None:
    """Bad input: the turn goes on, the server too, and replay says the same."""

    def declare(world: World, app: Sayso) -> Any:
        def synchronous() -> str:
            world.effect("ran")
            raise error

        async def asynchronous() -> str:
            return synchronous()

        return SimpleNamespace(bad=app.tool(name="bad")(synchronous if sync else asynchronous))

    async def agent(turn: Turn, world: World) -> Any:
        call = await turn.call(world.tools.bad)
        await turn.interrupt("confirmation", "Go on?")
        return [call.status, call.reason]

    async with World.of(kind, tmp_path, agent, declare) as world:
        talk = Conversation(world)
        run = await talk.say()
        (text,) = run.results.values()
        await talk.restart()
        run = await talk.answer({"Go on?": {"approved": True}})
        status, reason = run.last["result"]
        assert status == "failed"
        assert text == f"Failed: {reason}"
        assert world.effects == ["ran"]


@requirement("TB-06")
async def test_an_edit_where_none_was_offered_is_refused(kind: str, tmp_path: Path) -> None:
    """J2: the question stays open and nothing runs."""

    async def agent(turn: Turn, world: World) -> Any:
        return (await turn.call(world.tools.gated, n=1)).status

    async with World.of(kind, tmp_path, agent, endings) as world:
        talk = Conversation(world)
        await talk.say()
        run = await talk.answer_all(lambda _: {"approved": True, "editedArgs": {"n": 2}})
        assert run.outcome == "invalid_payload"
        assert world.effects == []
        run = await talk.answer_all(lambda _: {"approved": True})
        assert run.last["result"] == "executed"


@requirement("TB-08")
@pytest.mark.parametrize("payload", ["yes", "true", 1, {}, None, {"approved": 1}, [True], True])
async def test_only_true_approves(kind: str, tmp_path: Path, payload: Any) -> None:
    """Anything but an object with boolean true or false is refused, and nothing runs."""

    async def agent(turn: Turn, world: World) -> Any:
        return (await turn.call(world.tools.gated, n=1)).status

    async with World.of(kind, tmp_path, agent, endings) as world:
        talk = Conversation(world)
        await talk.say()
        run = await talk.answer_all(lambda _: payload)
        assert run.outcome == "invalid_payload"
        assert world.effects == []


async def test_an_empty_batch_is_nothing(kind: str, tmp_path: Path) -> None:
    """No message without calls."""

    async def agent(turn: Turn, world: World) -> Any:
        return await turn.call_all([])

    async with World.of(kind, tmp_path, agent, endings) as world:
        run = await Conversation(world).say()
        assert run.last["result"] == []
        assert "TOOL_CALL_START" not in run.types


async def test_what_is_no_tool_cannot_be_called(kind: str, tmp_path: Path) -> None:
    """A plain function bypasses no policy by accident."""

    async def agent(turn: Turn, world: World) -> Any:
        try:
            await turn.call(world.effect, {"name": "x"})  # type: ignore[call-overload]
        except TypeError as error:
            return str(error)

    async with World.of(kind, tmp_path, agent, endings) as world:
        run = await Conversation(world).say()
        assert "is no tool: decorate it with @app.tool()" in run.last["result"]
        assert world.effects == []


async def test_a_tool_is_called_by_its_name(kind: str, tmp_path: Path) -> None:
    """As a model names it: gated like any other; a name that nobody declared sends nothing."""

    async def agent(turn: Turn, world: World) -> Any:
        try:
            await turn.call_all([ToolCall(n, {"n": 1}) for n in ("free", "drop_all")])
        except LookupError as error:
            unknown = str(error)
        done = await turn.call("gated", {"n": 7})
        return [unknown, done.status]

    async with World.of(kind, tmp_path, agent, endings) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert talk.asked == ["Approve gated(n=7)?"]
        assert run.types.count("TOOL_CALL_START") == 1
        await talk.restart()
        run = await talk.answer_all(lambda _: {"approved": True})
        unknown, status = run.last["result"]
        assert status == "executed"
        assert unknown.startswith("there is no tool 'drop_all' on this app; declared: ")
        assert "'gated'" in unknown
        assert world.effects == ["gated 7"]


async def test_a_batch_half_done_goes_on_where_it_was(kind: str, tmp_path: Path) -> None:
    """C8: a free call that was slow when another asked keeps its result over a restart."""

    async def agent(turn: Turn, world: World) -> Any:
        t = world.tools
        done = await turn.call_all([ToolCall(t.gated, {"n": 1}), ToolCall(t.free, {"n": 2})])
        await ticks(2)
        second = await turn.call(t.gated, n=3)
        return [call.value for call in (*done, second)]

    async with World.of(kind, tmp_path, agent, endings) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart()
        await talk.answer_all(lambda _: {"approved": True})
        await talk.restart()
        run = await talk.answer_all(lambda _: {"approved": True})
        assert run.last["result"] == ["gated 1", "free 2", "gated 3"]
        assert world.effects == ["free 2", "gated 1", "gated 3"]
