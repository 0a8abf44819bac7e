"""Agents that do what they should not: the stream ends well and the thread can go on."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sayso import Limits, StepFailed, Turn
from tests.contract.requirements import requirement
from tests.stream_checker import check
from tests.turns.driver import Conversation, World, ticks

EXITS = [SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError("mine"), GeneratorExit()]


@requirement("LC-02", "LC-07")
@pytest.mark.parametrize("error", [ValueError("v"), StopIteration(), *EXITS], ids=repr)
@pytest.mark.parametrize("where", ["plain", "gather", "open message", "phase"])
async def test_an_agent_that_raises_fails_its_turn_alone(
    kind: str, tmp_path: Path, error: BaseException, where: str
) -> None:
    """RUN_ERROR without the error's text, then another message works (ER-05)."""

    async def bad(turn: Turn) -> None:
        if where == "open message":
            async with turn.message() as message:
                await message.write("I am ")
                raise error
        elif where == "phase":
            async with turn.phase("failing"):
                raise error
        raise error

    async def agent(turn: Turn, world: World) -> Any:
        if turn.input.text == "again":
            return "fine"
        await turn.step(world.effect, "one")
        return await (turn.gather(bad(turn), turn.say("x")) if where == "gather" else bad(turn))

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert run.outcome == "agent_error"
        assert "secret" not in run.last["message"]
        run = await talk.say("again")
        assert run.last["result"] == "fine"
        assert world.effects == ["one"]
        if where == "open message":
            assert "I am " in talk.texts


async def _work() -> None: ...


async def _calls_its_step(turn: Turn) -> None:
    await turn.step(_work())  # type: ignore[call-overload]  # that is the mistake


async def _writes_into_a_view(turn: Turn) -> None:
    turn.state["a"] = 1


async def _deletes_from_a_view(turn: Turn) -> None:
    del turn.state["a"]


@pytest.mark.parametrize(
    ("mistaken", "said"),
    [
        (_calls_its_step, "write turn.step(_work, …)"),
        (_writes_into_a_view, "await turn.set('/…/a', value)"),
        (_deletes_from_a_view, "await turn.patch(…)"),
    ],
)
async def test_the_log_says_what_to_write_instead(
    kind: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    mistaken: Callable[[Turn], Awaitable[None]],
    said: str,
) -> None:
    """And nothing is recorded: the mended code goes on in the same thread."""

    async def agent(turn: Turn, world: World) -> Any:
        return await mistaken(turn)

    async with World.of(kind, tmp_path, agent) as world:
        assert (await Conversation(world).say()).outcome == "agent_error"
    assert said in caplog.text


@pytest.mark.parametrize("way", ["say", "write", "stream"])
async def test_more_text_than_a_thread_holds_ends_the_turn_and_leaves_no_error_behind(
    kind: str, tmp_path: Path, way: str
) -> None:
    """`thread_too_large`, for endless text too, and the loop hears of no lost error (design 4).

    Text for which there is no room is taken back from who has seen it, before the error.
    """

    async def endless() -> AsyncIterator[str]:
        while True:
            yield "x" * 100
            await ticks()

    async def agent(turn: Turn, world: World) -> Any:
        if way == "say":
            await turn.say("x" * 3_000)
        elif way == "stream":
            await turn.stream(endless())
        else:
            async with turn.message() as message:
                async for piece in endless():
                    await message.write(piece)

    async with World.of(kind, tmp_path, agent, limits=Limits(history=2_000)) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert run.outcome == "thread_too_large"
        seen = list(talk.history)
        assert seen == (await talk.connect()).snapshot
        assert [m["role"] for m in seen] == ["user"]


@pytest.mark.parametrize("error", [ValueError("v"), StopIteration("s"), *EXITS], ids=repr)
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
async def test_a_step_that_raises_is_a_failed_step_live_and_on_replay(
    kind: str, tmp_path: Path, error: BaseException, sync: bool
) -> None:
    """Design 3, rule 4: StepFailed with the type's name and message, both times."""
    seen = []

    def raises() -> None:
        raise error

    async def raises_later() -> None:
        raise error

    async def agent(turn: Turn, world: World) -> Any:
        try:
            await turn.step.options(name="bad")(raises if sync else raises_later)
        except StepFailed as failed:
            seen.append((failed.step, failed.error_type, failed.message))
        return (await turn.interrupt("confirmation", "Go on?")).value

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart()
        run = await talk.answer({"Go on?": {"approved": True}})
        assert run.last["result"] is True
        assert len(seen) == 2
        assert len(set(seen)) == 1
        expected = "RuntimeError" if isinstance(error, StopIteration) else type(error).__name__
        assert seen[0][:2] == ("bad", expected)


@pytest.mark.parametrize("rubbish", [object(), {1: object()}, lambda: None, b"\xff\xfe", print])
async def test_a_result_that_is_no_json_is_an_error_of_its_own(
    kind: str, tmp_path: Path, rubbish: Any
) -> None:
    """`agent_result_invalid`; what the agent did before stands."""

    async def agent(turn: Turn, world: World) -> Any:
        await turn.say("Done.")
        return rubbish

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert run.outcome == "agent_result_invalid"
        assert talk.texts == ["Done."]
        assert (await talk.say("again")).outcome == "agent_result_invalid"


async def test_a_message_left_open_is_closed_and_kept(kind: str, tmp_path: Path) -> None:
    """LC-06: the client read it, so the history has it."""

    async def agent(turn: Turn, world: World) -> Any:
        message = turn.message()
        await message.__aenter__()
        await message.write("And then")
        return "end"

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert run.outcome == "success"
        assert (await talk.connect()).snapshot[-1]["content"] == "And then"


@pytest.mark.parametrize(
    "options",
    [
        *({"timeout": wrong} for wrong in (0, -1.0, float("nan"), "5")),
        {"name": 5},
        {"verify": "look"},
    ],
    ids=str,
)
async def test_a_step_whose_options_make_no_sense_does_not_begin(
    kind: str, tmp_path: Path, options: dict[str, Any]
) -> None:
    """With no time at all it would begin, and a person be asked what came of it."""

    async def agent(turn: Turn, world: World) -> str:
        try:
            await turn.step.options(**options)(world.effect, "one")
        except (TypeError, ValueError) as error:
            return str(error)
        return "it ran"

    async with World.of(kind, tmp_path, agent) as world:
        run = await Conversation(world).say()
        assert run.last["result"].startswith(f"{next(iter(options))}= of a step is ")
        assert world.effects == []


@pytest.mark.parametrize("what", ["step", "question", "say", "call of another message"])
async def test_a_recorded_call_while_a_message_is_open_is_an_error(
    kind: str, tmp_path: Path, what: str
) -> None:
    """Design 3, rule 6: it says so, and nothing ran."""

    async def agent(turn: Turn, world: World) -> Any:
        async with turn.message() as message:
            await message.write("Half")
            if what == "step":
                await turn.step(world.effect, "ran")
            elif what == "question":
                await turn.interrupt("confirmation", "Sure?")
            else:
                await turn.say("another")

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert run.outcome == "agent_error"
        assert world.effects == []
        assert "Half" in talk.texts


@pytest.mark.parametrize("what", ["step", "question", "state", "value", "phase"])
async def test_a_recorded_call_inside_a_step_is_an_error(
    kind: str, tmp_path: Path, what: str
) -> None:
    """Design 3, rule 6: replay would not find it; the step fails and says why."""

    async def nests(turn: Turn, world: World) -> None:
        if what == "step":
            await turn.step(world.effect, "ran")
        elif what == "question":
            await turn.interrupt("confirmation", "Sure?")
        elif what == "state":
            await turn.set("/x", 1)
        elif what == "value":
            await turn.uuid()
        else:
            async with turn.phase("inner"):
                pass

    async def agent(turn: Turn, world: World) -> Any:
        try:
            await turn.step.options(name="outer")(lambda: nests(turn, world))
        except StepFailed as failed:
            return failed.error_type

    async with World.of(kind, tmp_path, agent) as world:
        run = await Conversation(world).say()
        assert run.last["result"] == "NestedCall"
        assert world.effects == []


async def test_a_recorded_call_inside_a_stream_is_an_error(kind: str, tmp_path: Path) -> None:
    """A stream that is replayed is not consumed, so nothing in it would be found again."""

    async def words(turn: Turn, world: World) -> AsyncIterator[str]:
        yield "a"
        await turn.step(world.effect, "ran")
        yield "b"

    async def agent(turn: Turn, world: World) -> Any:
        try:
            await turn.stream(words(turn, world))
        except StepFailed as failed:
            return failed.error_type

    async with World.of(kind, tmp_path, agent) as world:
        run = await Conversation(world).say()
        assert run.last["result"] == "NestedCall"
        assert world.effects == []


async def test_what_outlives_the_turn_sends_nothing(kind: str, tmp_path: Path) -> None:
    """LC-04: a task that goes on after the end is refused whatever it tries."""
    tried: list[str] = []
    go_on = asyncio.Event()

    async def zombie(turn: Turn, world: World) -> None:
        while not go_on.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await go_on.wait()
        attempts: list[tuple[str, Callable[[], Awaitable[Any]]]] = [
            ("say", lambda: turn.say("late")),
            ("step", lambda: turn.step(world.effect, "late")),
            ("set", lambda: turn.set("/late", True)),
            ("ask", lambda: turn.interrupt("confirmation", "Late?")),
            ("uuid", turn.uuid),
        ]
        for name, attempt in attempts:
            try:
                await attempt()
            except asyncio.CancelledError:
                tried.append(name)

    async def agent(turn: Turn, world: World) -> Any:
        world.effects.append(asyncio.create_task(zombie(turn, world)))
        await ticks(2)
        return "end"

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert run.last["result"] == "end"
        go_on.set()
        (task,) = world.effects
        await task
        assert tried == ["say", "step", "set", "ask", "uuid"]
        view = await world.view(talk.thread)
        assert view.thread.state == b"{}"
        assert len(view.messages) == 1


async def test_a_message_that_is_open_when_the_turn_pauses_is_sent_again(
    kind: str, tmp_path: Path
) -> None:
    """LC-06, LC-12: closed at the boundary, not in its snapshot, sent whole by the resumed run."""

    async def talks(turn: Turn, world: World) -> None:
        async with turn.message() as message:
            await message.write("Half ")
            if len(world.effects) < 1:
                world.effects.append("cut")
                await asyncio.Event().wait()
            await message.write("whole.")

    async def agent(turn: Turn, world: World) -> Any:
        await turn.gather(talks(turn, world), turn.interrupt("confirmation", "Sure?"))

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        talk.client.user("go")
        run = await talk.client.open().end()
        assert check(run.events) == []
        talk.client.model.take(run.events)
        assert talk.texts == []
        await talk.restart()
        run = await talk.answer({"Sure?": {"approved": True}})
        assert run.outcome == "success"
        assert talk.texts == ["Half whole."]


async def test_an_agent_that_blocks_the_loop_ends_all_the_same(kind: str, tmp_path: Path) -> None:
    """Leases are renewed from a thread; nothing is lost but time."""

    async def agent(turn: Turn, world: World) -> Any:
        await turn.step(world.effect, "one")
        time.sleep(0.05)  # noqa: ASYNC251 - the misuse under test
        return await turn.step(world.effect, "two")

    async with World.of(kind, tmp_path, agent) as world:
        run = await Conversation(world).say()
        assert run.outcome == "success"
        assert world.effects == ["one", "two"]


async def test_a_reader_does_not_wait_for_code_that_will_not_unwind(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Design 3, rule 1: abandoned and logged; the question is there at once."""
    monkeypatch.setattr("sayso.engine.runner.UNWIND_TIMEOUT_S", 30.0)
    let_go = asyncio.Event()

    async def agent(turn: Turn, world: World) -> Any:
        if not world.effects:
            world.effects.append("entered")
            with contextlib.suppress(BaseException):
                await turn.interrupt("confirmation", "Sure?")
            while not let_go.is_set():
                with contextlib.suppress(BaseException):
                    await let_go.wait()
            return "too late"
        return (await turn.interrupt("confirmation", "Sure?")).value

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert run.outcome == "interrupt"
        run = await talk.answer({"Sure?": {"approved": True}})
        assert run.last["result"] is True
        let_go.set()


@pytest.mark.parametrize("bad", ["tool_call", "", "core:x"])
async def test_a_reason_that_clients_could_not_read_is_an_author_s_error(
    kind: str, tmp_path: Path, bad: Any
) -> None:
    """IN-04, IN-05: said where it is asked; no question is left behind."""

    async def agent(turn: Turn, world: World) -> Any:
        try:
            await turn.interrupt(bad, "?", schema=str)
        except (ValueError, TypeError) as error:
            return str(error)

    async with World.of(kind, tmp_path, agent) as world:
        run = await Conversation(world).say()
        assert run.outcome == "success"
        assert "reason" in run.last["result"]


async def test_one_wrong_question_of_a_set_asks_none(kind: str, tmp_path: Path) -> None:
    """All are checked before the first is put."""
    from sayso import Question  # noqa: PLC0415 - beside its one use

    async def agent(turn: Turn, world: World) -> Any:
        try:
            await turn.interrupt_all(
                [
                    Question(reason="confirmation", message="One?"),
                    Question(reason="confirmation", message="Two?", expires_in=-1),
                ]
            )
        except ValueError:
            return "refused"

    async with World.of(kind, tmp_path, agent) as world:
        run = await Conversation(world).say()
        assert run.last.get("result") == "refused"
