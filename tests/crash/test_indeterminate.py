"""Effects of which nobody knows whether they happened (design 3, rule 5; case B2)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sayso import (
    DidNotHappen,
    Happened,
    OutcomeUnknown,
    Principal,
    Sayso,
    StepFailed,
    Turn,
    approval,
    current_call,
)
from sayso.base.clock import format_time
from sayso.turns.calls import indeterminate
from tests.contract.requirements import requirement
from tests.contract.wire import Run
from tests.patience import PATIENCE
from tests.time_limits import TimeLimits
from tests.turns.driver import LEASE, Conversation, World, until


async def killed_in_effect(world: World, talk: Conversation, *answers: Any) -> Run:
    """Let the process die after the first effect and before its record; load the thread anew."""
    window = world.process.window
    window.fail("commit", match=records_an_end, hook=window.disconnect)
    run = await talk.say()
    for payload in answers:
        run = await talk.answer_all(lambda _, payload=payload: payload)  # type: ignore[misc]
    assert run.outcome == "store_unavailable", run.last
    return await talk.recover()


def records_an_end(commit: Any) -> bool:
    return any(e.status == "done" and e.kind in ("step", "call") for e in commit.entries)


async def charging(turn: Turn, world: World) -> Any:
    """A step that may be cut off."""
    return await turn.step.options(name="charge")(world.effect, "charged", "receipt")


async def calling(turn: Turn, world: World) -> Any:
    """A gated tool that may be cut off."""
    call = await turn.call(world.tools.pay, amount=5)
    return [call.status, call.value, str(call)]


def tools(world: World, app: Sayso) -> Any:
    @app.tool(approval=approval.always)
    async def pay(amount: int) -> str:
        world.effect("charged")
        return f"paid {amount}"

    return SimpleNamespace(pay=pay)


@requirement("ID-04")
async def test_a_person_is_asked_and_nothing_runs_meanwhile(kind: str, tmp_path: Path) -> None:
    """B2: count stays 1; the question names the effect, its key, and the three ways on."""
    async with World.of(kind, tmp_path, calling, tools) as world:
        talk = Conversation(world)
        run = await killed_in_effect(world, talk, {"approved": True})
        (item,) = run.interrupts
        assert item["reason"] == "sayso:indeterminate"
        assert item["message"].startswith("pay(amount=5) was running when the server stopped")
        shown = item["metadata"]["sayso"]
        assert shown["name"] == "pay"
        assert shown["arguments"] == {"amount": 5}
        assert shown["key"].startswith("key_")
        actions = [one["const"] for one in item["responseSchema"]["properties"]["action"]["oneOf"]]
        assert actions == ["run_again", "skip", "stop"]
        assert world.effects == ["charged"]


@pytest.mark.parametrize("agent", [charging, calling], ids=["step", "tool"])
async def test_run_again_runs_it_again(kind: str, tmp_path: Path, agent: Any) -> None:
    """The person takes the second run upon them, once."""
    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        approvals = [{"approved": True}] if agent is calling else []
        await killed_in_effect(world, talk, *approvals)
        run = await talk.answer_all(lambda _: {"action": "run_again"})
        assert run.outcome == "success"
        value = ["executed", "paid 5", "paid 5"] if agent is calling else "receipt"
        assert run.last["result"] == value
        assert world.effects == ["charged", "charged"]


@pytest.mark.parametrize("agent", [charging, calling], ids=["step", "tool"])
async def test_skip_goes_on_with_the_result_that_was_given(
    kind: str, tmp_path: Path, agent: Any
) -> None:
    """It did happen; the result is the person's word, and a tool has exactly one result."""
    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        approvals = [{"approved": True}] if agent is calling else []
        await killed_in_effect(world, talk, *approvals)
        run = await talk.answer_all(lambda _: {"action": "skip", "result": "seen"})
        assert run.last["result"] == (["executed", "seen", "seen"] if agent is calling else "seen")
        assert world.effects == ["charged"]
        results = [m for m in talk.history if m["role"] == "tool"]
        assert len(results) == (1 if agent is calling else 0)


async def test_skip_needs_a_result_of_the_effect_s_own_type(kind: str, tmp_path: Path) -> None:
    """A tool that returns text cannot be skipped without any, nor with a number."""
    async with World.of(kind, tmp_path, calling, tools) as world:
        talk = Conversation(world)
        await killed_in_effect(world, talk, {"approved": True})
        for payload in ({"action": "skip"}, {"action": "skip", "result": 3}, {"action": "else"}):
            run = await talk.answer_all(lambda _, payload=payload: payload)  # type: ignore[misc]
            assert run.outcome == "invalid_payload"
        run = await talk.answer_all(lambda _: {"action": "skip", "result": "ok"})
        assert run.outcome == "success"


@requirement("TC-16")
@pytest.mark.parametrize("agent", [charging, calling], ids=["step", "tool"])
@pytest.mark.parametrize("how", ["stop", "cancel"])
async def test_stop_ends_the_turn_and_the_thread_goes_on(
    kind: str, tmp_path: Path, agent: Any, how: str
) -> None:
    """Cancelled, nothing runs again, the call's result says that nobody knows."""
    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        approvals = [{"approved": True}] if agent is calling else []
        await killed_in_effect(world, talk, *approvals)
        if how == "stop":
            run = await talk.answer_all(lambda _: {"action": "stop"})
        else:
            run = await talk.cancel(*talk.pending)
        assert run.outcome == "cancelled"
        assert world.effects == ["charged"]
        if agent is calling:
            (text,) = run.results.values()
            assert text.startswith("Unknown: the call was started")
        run = await talk.say("again")
        assert run.outcome in ("success", "interrupt")


async def test_a_second_death_asks_a_second_time(kind: str, tmp_path: Path) -> None:
    """Run again, die again: another question, under another id."""
    async with World.of(kind, tmp_path, charging) as world:
        talk = Conversation(world)
        first = (await killed_in_effect(world, talk)).interrupts[0]
        window = world.process.window
        window.fail("commit", match=records_an_end, hook=window.disconnect)
        run = await talk.answer_all(lambda _: {"action": "run_again"})
        assert run.outcome == "store_unavailable"
        second = (await talk.recover()).interrupts[0]
        assert second["id"] != first["id"]
        run = await talk.answer_all(lambda _: {"action": "skip", "result": "both"})
        assert run.last["result"] == "both"
        assert world.effects == ["charged", "charged"]


async def happened(key: str) -> Any:
    return Happened("found")


async def did_not_happen(key: str) -> Any:
    return DidNotHappen()


async def fails(key: str) -> Any:
    raise OSError("the bank is closed")


async def exits(key: str) -> Any:
    raise SystemExit(1)


async def rubbish(key: str) -> Any:
    return True


async def misfit(key: str) -> Any:
    return Happened(object())


@pytest.mark.parametrize(
    ("verify", "result", "count"),
    [
        (happened, "found", 1),
        (did_not_happen, "receipt", 2),
        (fails, None, 1),
        (exits, None, 1),
        (rubbish, None, 1),
        (misfit, None, 1),
    ],
)
async def test_a_verify_hook_is_asked_before_a_person(
    kind: str, tmp_path: Path, verify: Any, result: Any, count: int
) -> None:
    """Design 3, rule 5; a hook that cannot say leaves it to a person."""
    keys = []

    async def asked(key: str) -> Any:
        keys.append(key)
        return await verify(key)

    def effect(world: World) -> str:
        keys.append(current_call().key)
        world.effect("charged")
        return "receipt"

    async def agent(turn: Turn, world: World) -> Any:
        return await turn.step.options(name="charge", verify=asked)(lambda: effect(world))

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        run = await killed_in_effect(world, talk)
        if result is None:
            assert run.interrupts[0]["reason"] == "sayso:indeterminate"
        else:
            assert run.outcome == "success"
        assert world.effects == ["charged"] * count
        assert len(set(keys)) == 1, "the key is the same in every attempt"


@pytest.mark.parametrize("verify", [happened, did_not_happen, fails])
async def test_a_tool_s_verify_hook_is_asked_before_a_person(
    kind: str, tmp_path: Path, verify: Any
) -> None:
    """The same for tools; the result is told once."""

    def declare(world: World, app: Sayso) -> Any:
        @app.tool(verify=verify)
        async def pay(amount: int) -> str:
            world.effect("charged")
            return f"paid {amount}"

        return SimpleNamespace(pay=pay)

    async with World.of(kind, tmp_path, calling, declare) as world:
        talk = Conversation(world)
        run = await killed_in_effect(world, talk)
        results = [m["content"] for m in talk.history if m["role"] == "tool"]
        if verify is fails:
            assert run.interrupts[0]["reason"] == "sayso:indeterminate"
            assert results == []
        else:
            assert results == ["found" if verify is happened else "paid 5"]
        assert len(world.effects) == (2 if verify is did_not_happen else 1)


@pytest.mark.parametrize("form", ["step", "tool"])
async def test_a_verify_hook_that_hangs_holds_neither_a_stop_nor_the_turn(
    kind: str, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I6: it only looks, so a stop cuts it off; and a person is asked once its time is up."""
    looking = asyncio.Event()

    async def hangs(key: str) -> Any:
        looking.set()
        await asyncio.Event().wait()

    def declare(world: World, app: Sayso) -> Any:
        @app.tool(verify=hangs)
        async def pay(amount: int) -> str:
            world.effect("charged")
            return f"paid {amount}"

        return SimpleNamespace(pay=pay)

    async def stepping(turn: Turn, world: World) -> Any:
        return await turn.step.options(name="charge", verify=hangs)(world.effect, "charged")

    agent = calling if form == "tool" else stepping
    async with World.of(kind, tmp_path, agent, declare) as world:
        talk = Conversation(world)
        window = world.process.window
        window.fail("commit", match=records_an_end, hook=window.disconnect)
        await talk.say()
        await world.crash()
        await world.elapse(int(2 * LEASE))
        async with asyncio.timeout(PATIENCE):
            await looking.wait()
        assert await world.app._engine.stop_thread(Principal(), talk.thread)
        assert (await talk.connect()).outcome == "success"
        stood = await world.view(talk.thread)
        assert (stood.thread.holder, stood.turn and stood.turn.status) == (None, "cancelled")

        monkeypatch.setattr(indeterminate, "VERIFY_TIMEOUT_S", 0.01)
        other = Conversation(world)
        run = await killed_in_effect(world, other)
        assert run.interrupts[0]["reason"] == "sayso:indeterminate"
        assert world.effects == ["charged", "charged"]


async def test_steps_of_one_name_are_told_apart_by_what_their_author_shows(
    kind: str, tmp_path: Path
) -> None:
    """B2: in the message and the metadata, with when each began and the key that it has outside."""

    def charging(turn: Turn, world: World, order: str) -> Any:
        async def charge(order: str) -> Any:  # in no thread, whose turn may come too late
            return world.effect(order)

        return turn.step.options(
            name="charge",
            shown="The charge for order A-3" if order == "A-3" else None,
            arguments={"order": order},
            look=f"Look for {order} at the bank.",
        )(charge, order)

    async def agent(turn: Turn, world: World) -> Any:
        return await turn.gather(*(charging(turn, world, f"A-{n}") for n in (1, 2, 3)))

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        began = format_time(world.clock.now())
        run = await killed_in_effect(world, talk)
        asked = sorted(run.interrupts, key=lambda item: str(item["metadata"]["sayso"]["look"]))
        happened = "was running when the server stopped. It may or may not have happened."
        assert [item["message"] for item in asked] == [
            f'Step charge(order="A-1") {happened} Look for A-1 at the bank.',
            f'Step charge(order="A-2") {happened} Look for A-2 at the bank.',
            f"The charge for order A-3 {happened} Look for A-3 at the bank.",
        ]
        told = [item["metadata"]["sayso"] for item in asked]
        assert [one["arguments"]["order"] for one in told] == ["A-1", "A-2", "A-3"]
        assert {one["startedAt"] for one in told} == {began}
        assert len({one["key"] for one in told}) == 3
        refused = await talk.answer_all(lambda _: {"action": "skip"})
        assert refused.outcome == "invalid_payload"
        run = await talk.answer_all(lambda _: {"action": "skip", "result": None})
        assert run.last["result"] == [None, None, None]
        assert sorted(world.effects) == ["A-1", "A-2", "A-3"]


async def test_an_idempotent_step_runs_again_without_a_question(kind: str, tmp_path: Path) -> None:
    """Design 3, rule 5: one write, and the same arguments both times."""

    async def agent(turn: Turn, world: World) -> Any:
        number = str(await turn.uuid())
        return (
            await turn.step.options(name="charge", idempotent=True)(world.effect, number) == number
        )

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        run = await killed_in_effect(world, talk)
        assert run.outcome == "success"
        assert len(world.effects) == 2
        assert len(set(world.effects)) == 1, "an idempotency key must survive the crash"


async def test_an_idempotent_tool_runs_again_without_a_question(kind: str, tmp_path: Path) -> None:
    """The same for tools."""

    def declare(world: World, app: Sayso) -> Any:
        @app.tool(idempotent=True)
        async def pay(amount: int) -> str:
            return str(world.effect(current_call().key))

        return SimpleNamespace(pay=pay)

    async with World.of(kind, tmp_path, calling, declare) as world:
        talk = Conversation(world)
        run = await killed_in_effect(world, talk)
        assert run.outcome == "success"
        assert len(world.effects) == 2
        assert len(set(world.effects)) == 1


@requirement("LC-12", "LC-20")
async def test_a_stream_that_was_cut_is_sent_again_under_its_id(kind: str, tmp_path: Path) -> None:
    """Design 3, rule 6: consumed again; the history has it once."""
    stop = asyncio.Event()

    async def words(world: World) -> AsyncIterator[str]:
        world.effect("consumed")
        yield "One, "
        if len(world.effects) == 1:
            await stop.wait()
        yield "two."

    async def agent(turn: Turn, world: World) -> Any:
        return await turn.stream(words(world))

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        talk.client.user("go")
        first = talk.client.open()
        started = await first.until("TEXT_MESSAGE_CONTENT")
        (opened,) = [e for e in started if e["type"] == "TEXT_MESSAGE_START"]
        await talk.recover()
        await first.end()
        assert talk.texts == ["One, two."]
        assert talk.history[-1]["id"] == opened["messageId"]
        assert world.effects == ["consumed", "consumed"]
        stop.set()


async def test_a_thread_past_its_time_is_unsure_at_once(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Design 3, rule 2: a synchronous tool cannot be stopped, so nobody knows; no crash needed."""
    limits = TimeLimits(monkeypatch)
    import threading  # noqa: PLC0415 - for this test alone

    go_on = threading.Event()

    def declare(world: World, app: Sayso) -> Any:
        @app.tool(timeout=5)
        def pay(amount: int) -> str:
            limits.run_out()
            go_on.wait(PATIENCE)
            world.effect("charged")
            return f"paid {amount}"

        return SimpleNamespace(pay=pay)

    async with World.of(kind, tmp_path, calling, declare) as world:
        talk = Conversation(world)
        run = await talk.say()
        go_on.set()
        (item,) = run.interrupts
        assert item["reason"] == "sayso:indeterminate"
        assert "ran over its time limit and could not be stopped" in item["message"]
        run = await talk.answer_all(lambda _: {"action": "skip", "result": "paid"})
        assert run.last["result"] == ["executed", "paid", "paid"]
        await until(lambda: world.effects == ["charged"])


@pytest.mark.parametrize("as_step", [True, False])
async def test_code_that_says_that_nobody_knows_is_believed(
    kind: str, as_step: bool, tmp_path: Path
) -> None:
    """A person is asked, with the words of the code; run again, it runs once more."""

    async def agent(turn: Turn, world: World) -> Any:
        if as_step:
            return await turn.step(world.tools.send)
        return (await turn.call(world.tools.pay, amount=5)).value

    def declare(world: World, app: Sayso) -> Any:
        async def send() -> str:
            world.effect("charged")
            if world.effects == ["charged"]:
                raise OutcomeUnknown("the line broke")
            return "paid"

        @app.tool
        async def pay(amount: int) -> str:
            return await send()

        return SimpleNamespace(pay=pay, send=send)

    async with World.of(kind, tmp_path, agent, declare) as world:
        talk = Conversation(world)
        run = await talk.say()
        (item,) = run.interrupts
        assert item["reason"] == "sayso:indeterminate"
        assert "ended without an outcome: the line broke. It may or may not" in item["message"]
        assert world.effects == ["charged"]
        run = await talk.answer_all(lambda _: {"action": "run_again"})
        assert run.last["result"] == "paid"
        assert world.effects == ["charged", "charged"]


async def test_what_may_run_again_by_itself_fails_where_nobody_knows(tmp_path: Path) -> None:
    """Nobody is asked: whoever made the call may make it again."""

    async def agent(turn: Turn, world: World) -> Any:
        with pytest.raises(StepFailed, match="the line broke"):
            await turn.step.options(idempotent=True)(world.tools.send)
        return str(await turn.call(world.tools.look))

    def declare(world: World, app: Sayso) -> Any:
        async def send() -> str:
            raise OutcomeUnknown("the line broke")

        @app.tool(idempotent=True)
        async def look() -> str:
            return await send()

        return SimpleNamespace(look=look, send=send)

    async with World.of("memory", tmp_path, agent, declare) as world:
        run = await Conversation(world).say()
        assert "Failed" in run.last["result"]
        assert "the line broke" in run.last["result"]
