"""Notes of a turn: what code keeps for its own next execution (design 3)."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from sayso import Turn
from sayso.base.errors import NestedCall, NotRecordable
from sayso.turns.journal.journal import Journal
from sayso.turns.journal.notes import MAX_NOTE_BYTES, Notes
from tests.contract.rest import call
from tests.turns.driver import Conversation, World


class Closing(BaseModel):
    """An answer whose type says more than its schema."""

    count: int

    @field_validator("count")
    @classmethod
    def check(cls, count: int) -> int:
        """One that is odd."""
        if count % 2 == 0:
            raise ValueError("is even")
        return count


async def noting(turn: Turn, world: World) -> Any:
    """Code that reads what it noted before, and notes what it does now."""
    read = list(turn.notes("log"))
    await turn.note("log", {"entered": len(read)})
    await turn.note("other", None)
    answer = await turn.interrupt("input_required", "Sure?", schema=bool)
    await turn.note("log", {"sure": answer.value})
    return [read, list(turn.notes("log")), len(turn.notes("other")), turn.notes("nothing")]


async def test_notes_are_read_at_once_by_the_next_execution(kind: str, tmp_path: Path) -> None:
    """Whatever the code comes to, and after a restart."""
    async with World.of(kind, tmp_path, noting) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart()
        run = await talk.answer({"Sure?": True})
        first = {"entered": 0}
        again = [first, {"entered": 1}, {"sure": True}]
        assert run.last["result"] == [[first], again, 2, []]


async def test_a_note_is_stored_with_the_next_commit_and_a_durable_one_now(
    kind: str, tmp_path: Path
) -> None:
    """Design 3, rule 10: in the order of the calls, with what else is recorded."""
    stored: list[list[tuple[str, str]]] = []

    async def agent(turn: Turn, world: World) -> Any:
        async def look() -> None:
            journal = await world.journal(turn.input.thread_id)
            stored.append([(entry.kind, entry.name) for entry in journal])

        await turn.note("a", 1)
        await look()
        await turn.note("b", 2, durable=True)
        await look()
        await turn.note("c", 3)
        await turn.step.options(name="s")(look)

    async with World.of(kind, tmp_path, agent) as world:
        await Conversation(world).say()
        notes = [("note", "a"), ("note", "b")]
        assert stored == [[], notes, [*notes, ("note", "c"), ("step", "s")]]


async def test_the_journal_that_people_read_names_notes_and_not_what_is_in_them(
    kind: str, tmp_path: Path
) -> None:
    async with World.of(kind, tmp_path, noting) as world:
        talk = Conversation(world)
        await talk.say()
        state = await call(world.app, "GET", f"/threads/{talk.thread}/state")
        notes = [entry for entry in state.json["journal"] if entry["kind"] == "note"]
        assert notes == [
            {"place": "note:0", "kind": "note", "name": "log", "status": "done"},
            {"place": "note:1", "kind": "note", "name": "other", "status": "done"},
        ]


async def test_a_copy_has_the_notes_up_to_its_pause(kind: str, tmp_path: Path) -> None:
    """Design 3: what came later is left out, also where the turn has gone on or ended since."""

    async def agent(turn: Turn, world: World) -> Any:
        await turn.note("entered", len(turn.notes("entered")))
        for number in range(3):
            await turn.interrupt("input_required", f"Question {number}?", schema=bool)
            await turn.note(f"answered {number}", turn.notes("entered")[-1])
        return [turn.notes("entered"), *(turn.notes(f"answered {n}") for n in range(3))]

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.answer({"Question 0?": True})
        (second,) = talk.client.model.pending
        await talk.answer({"Question 1?": True})
        run = await talk.answer({"Question 2?": True})
        entered = [[0, 1, 2, 3], [1, 2, 3], [2, 3], [3]]
        assert run.last["result"] == entered
        body = {"interruptId": second["id"]}
        made = await call(world.app, "POST", f"/threads/{talk.thread}/fork", body)
        copy = Conversation(world, thread=made.json["threadId"])
        await copy.connect()
        assert copy.asked == ["Question 1?"]
        await copy.answer({"Question 1?": True})
        run = await copy.answer({"Question 2?": True})
        assert run.last["result"] == entered


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (object(), "an object without a JSON form"),
        (2**70, "beyond 64 bits"),
        ("x" * MAX_NOTE_BYTES, "may have 1048576"),
    ],
)
def test_a_note_that_cannot_be_kept_is_refused(value: Any, problem: str) -> None:
    """Nothing of it is kept, and the next one is."""
    notes = Notes(Journal(), 10 * MAX_NOTE_BYTES)
    with pytest.raises(NotRecordable, match=problem if "JSON form" not in problem else "note 'a'"):
        notes.add("a", value)
    notes.add("a", 1)
    assert notes.named("a") == (1,)


def test_all_notes_together_have_a_limit_that_holds_over_executions() -> None:
    """As many bytes as a history may have."""
    journal = Journal()
    notes = Notes(journal, 10)
    notes.add("a", "1234")
    again = Notes(Journal(journal.entries()), 10)
    again.add("b", 12)
    for name in ("a", "b", "c"):
        with pytest.raises(NotRecordable, match="more than 10 bytes"):
            again.add(name, 123)
    again.add("b", 34)
    assert (again.named("a"), again.named("b")) == (("1234",), (12, 34))


@pytest.mark.parametrize("name", ["", None, 5])
def test_a_note_has_a_name(name: Any) -> None:
    with pytest.raises(TypeError, match="a note has a name"):
        Notes(Journal(), 10).add(name, 1)


def test_who_reads_a_note_cannot_change_it() -> None:
    """Each reader has values of its own."""
    notes = Notes(Journal(), 100)
    notes.add("a", {"list": [1]})
    notes.named("a")[0]["list"].append(2)
    assert notes.named("a") == ({"list": [1]},)


async def test_a_step_notes_nothing(kind: str, tmp_path: Path) -> None:
    """It does not run on replay, and its own record would not know of it."""

    async def agent(turn: Turn, world: World) -> Any:
        async def step() -> None:
            with pytest.raises(NestedCall, match="note 'a' inside a recorded step"):
                await turn.note("a", 1)

        await turn.step(step)
        return len(turn.notes("a"))

    async with World.of(kind, tmp_path, agent) as world:
        run = await Conversation(world).say()
        assert run.last["result"] == 0


async def test_what_waits_notes_nothing_more(kind: str, tmp_path: Path) -> None:
    """Design 3, rule 1: the branch that asks is refused, in its `finally` as well."""

    async def agent(turn: Turn, world: World) -> Any:
        try:
            await turn.interrupt("input_required", "Sure?", schema=bool)
        finally:
            await turn.note("over", True)
        return turn.notes("over")

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        run = await talk.answer({"Sure?": True})
        assert run.last["result"] == [True]


async def test_a_note_in_a_task_of_its_own_names_no_branch(kind: str, tmp_path: Path) -> None:
    """Design 3, rule 3: the task is found by its first recorded call, noted before it or not."""

    async def agent(turn: Turn, world: World) -> Any:
        async def task(name: str) -> Any:
            if not turn.notes(name):
                await turn.note(name, 1)
            done = await turn.step(world.effect, name)
            return done, (await turn.interrupt("input_required", f"{name}?", schema=bool)).value

        return await turn.gather(task("a"), task("b"))

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        assert talk.asked == ["a?", "b?"]
        await talk.restart()
        run = await talk.answer({"a?": True, "b?": False})
        assert run.last["result"] == [["a", True], ["b", False]]
        assert world.effects == ["a", "b"]


async def test_a_look_notes_nothing(kind: str, tmp_path: Path) -> None:
    """A process that did not put a question enters the code to read its answer by its type."""

    async def agent(turn: Turn, world: World) -> Any:
        await turn.note("entered", len(turn.notes("entered")))
        world.effects.append("on")
        answer = await turn.interrupt("input_required", "How many?", schema=Closing)
        assert answer.value is not None
        return [answer.value.count, turn.notes("entered")]

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart()
        run = await talk.answer({"How many?": {"count": 3}})
        assert run.last["result"] == [3, [0, 1]]
        assert world.effects == ["on", "on"]
