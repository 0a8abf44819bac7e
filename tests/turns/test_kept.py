"""Private values of a thread, which its agents keep from turn to turn (design 3)."""

from pathlib import Path
from typing import Any

import pytest

from sayso import Turn
from sayso.base.errors import NestedCall, NotRecordable
from sayso.turns.journal.kept import MAX_KEPT_BYTES, Kept
from tests.contract.rest import call
from tests.turns.driver import Conversation, World


def read(turn: Turn) -> dict[str, str]:
    return {name: value.decode() for name, value in turn.kept.items()}


async def keeping(turn: Turn, world: World) -> Any:
    """Code that reads what there was, and keeps before and behind a question."""
    before = read(turn)
    turn.keep("turns", turn.kept.get("turns", b"") + b"x")
    turn.keep("gone", None if "gone" in turn.kept else b"not yet")
    if turn.input.text == "fail":
        raise RuntimeError("fails")
    if turn.input.text != "go on":
        await turn.interrupt("input_required", "Sure?", schema=bool)
        if turn.input.text == "fail later":
            raise RuntimeError("fails")
        turn.keep("answered", b"yes")
    return [before, read(turn)]


async def test_a_turn_reads_what_the_turns_before_have_kept(kind: str, tmp_path: Path) -> None:
    """The same in each execution, after a restart too."""
    async with World.of(kind, tmp_path, keeping) as world:
        talk = Conversation(world)
        run = await talk.say("go on")
        first = {"turns": "x", "gone": "not yet"}
        assert run.last["result"] == [{}, first]
        await talk.say("ask")
        await talk.restart()
        run = await talk.answer({"Sure?": True})
        assert run.last["result"] == [first, {"turns": "xx", "answered": "yes"}]
        await talk.restart()
        run = await talk.say("go on")
        kept = {"turns": "xxx", "answered": "yes", "gone": "not yet"}
        assert run.last["result"] == [{"turns": "xx", "answered": "yes"}, kept]


@pytest.mark.parametrize("text", ["fail", "fail later"])
async def test_a_turn_that_fails_keeps_nothing(kind: str, tmp_path: Path, text: str) -> None:
    """Not what it had kept when it began to wait either."""
    async with World.of(kind, tmp_path, keeping) as world:
        talk = Conversation(world)
        await talk.say("go on")
        run = await talk.say(text)
        if text == "fail later":
            await talk.restart()
            run = await talk.answer({"Sure?": True})
        assert run.outcome == "agent_error"
        run = await talk.say("go on")
        assert run.last["result"][0] == {"turns": "x", "gone": "not yet"}


async def test_a_turn_that_is_stopped_has_kept_what_it_had_when_it_began_to_wait(
    kind: str, tmp_path: Path
) -> None:
    async with World.of(kind, tmp_path, keeping) as world:
        talk = Conversation(world)
        await talk.say("ask")
        await call(world.app, "POST", f"/threads/{talk.thread}/stop")
        await talk.connect()
        run = await talk.say("go on")
        assert run.last["result"][0] == {"turns": "x", "gone": "not yet"}


async def test_a_restart_begins_with_what_there_was_before(kind: str, tmp_path: Path) -> None:
    """It repeats the turn, and must not read what that had kept."""
    async with World.of(kind, tmp_path, keeping) as world:
        talk = Conversation(world)
        await talk.say("go on")
        await talk.say("ask")
        await call(world.app, "POST", f"/threads/{talk.thread}/restart", {})
        await world.at_rest(talk.thread)
        await talk.connect()
        run = await talk.answer({"Sure?": True})
        assert run.last["result"][0] == {"turns": "x", "gone": "not yet"}
        run = await talk.say("go on")
        assert run.last["result"][0] == {"turns": "xx", "answered": "yes"}


@pytest.mark.parametrize("after", ["waiting", "ended"])
async def test_a_copy_has_what_its_turn_had(kind: str, tmp_path: Path, after: str) -> None:
    """Also where the turn has ended since: its code reads what it read when it began."""
    async with World.of(kind, tmp_path, keeping) as world:
        talk = Conversation(world)
        await talk.say("go on")
        await talk.say("ask")
        (item,) = talk.client.model.pending
        if after == "ended":
            await talk.answer({"Sure?": True})
        body = {"interruptId": item["id"]}
        made = await call(world.app, "POST", f"/threads/{talk.thread}/fork", body)
        copy = Conversation(world, thread=made.json["threadId"])
        await copy.connect()
        run = await copy.answer({"Sure?": True})
        first = {"turns": "x", "gone": "not yet"}
        assert run.last["result"] == [first, {"turns": "xx", "answered": "yes"}]
        run = await copy.say("go on")
        assert run.last["result"][0] == {"turns": "xx", "answered": "yes"}


async def test_what_is_kept_is_shown_to_nobody_and_gone_with_the_thread(
    kind: str, tmp_path: Path
) -> None:
    async def agent(turn: Turn, world: World) -> Any:
        turn.keep("token", b"kept-secret")
        await turn.interrupt("input_required", "Sure?", schema=bool)
        return len(turn.kept)

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        run = await talk.say()
        secret = ("kept-secret", "a2VwdC1zZWNyZXQ")
        shown = [str(run.events)]
        for path in ("state", "history", ""):
            answer = await call(world.app, "GET", f"/threads/{talk.thread}/{path}".rstrip("/"))
            shown.append(answer.body.decode())
        assert not any(text in one for text in secret for one in shown)
        assert (await world.view(talk.thread)).thread.kept is not None
        run = await talk.answer({"Sure?": True})
        assert run.last["result"] == 1
        await call(world.app, "DELETE", f"/threads/{talk.thread}")
        talk.client.model.messages.clear()
        again = Conversation(world, thread=talk.thread)
        await again.say()
        run = await again.answer({"Sure?": True})
        assert run.last["result"] == 1


async def test_a_step_keeps_nothing(kind: str, tmp_path: Path) -> None:
    """It does not run on replay."""

    async def agent(turn: Turn, world: World) -> Any:
        async def step() -> None:
            with pytest.raises(NestedCall, match="kept inside a recorded step"):
                turn.keep("a", b"1")

        await turn.step(step)
        return len(turn.kept)

    async with World.of(kind, tmp_path, agent) as world:
        run = await Conversation(world).say()
        assert run.last["result"] == 0


def test_what_cannot_be_kept_is_refused() -> None:
    """Names and values together have a limit; nothing of what is refused is kept."""
    kept = Kept(None, "turn_1")
    for name in ("", None, 5):
        with pytest.raises(TypeError, match="has a name"):
            kept.keep(name, b"")
    with pytest.raises(TypeError, match="keeps bytes, not str, under 'a'"):
        kept.keep("a", "text")
    kept.keep("é", b"x" * (MAX_KEPT_BYTES - 2))
    with pytest.raises(NotRecordable, match="may keep 8388608"):
        kept.keep("b", b"")
    kept.keep("é", None)
    kept.keep("b", b"\x00\xff")
    assert dict(kept.values) == {"b": b"\x00\xff"}
    with pytest.raises(TypeError):
        kept.values["c"] = b""  # type: ignore[index]  # that is the point


def test_a_turn_that_keeps_nothing_writes_nothing() -> None:
    """And the next one reads what there was."""
    first = Kept(None, "turn_1")
    assert first.to_store() is None
    first.keep("a", b"1")
    stored = first.to_store()
    second = Kept(stored, "turn_2")
    assert second.to_store() is None
    assert second.to_store(failed=True) is None
    assert dict(Kept(stored, "turn_3").values) == {"a": b"1"}
    assert dict(Kept(stored, "turn_1").values) == {}
