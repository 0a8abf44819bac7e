"""Tools that say something else than they give back: `Told(value, text)`."""

from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from sayso import Breakpoints, Happened, Sayso, Told, Tool, ToolCall, Turn, approval, parts
from tests.turns.driver import Conversation, World


class Receipt(BaseModel):
    """What an agent goes on with."""

    number: int
    kind: Literal["receipt"] = "receipt"


PARTS = [parts.text("Here it is."), parts.image(url="https://shop.example/a.png")]


def tools(world: World, app: Sayso) -> Any:
    @app.tool(approval=approval.when(lambda amount: amount > 100), editable=True)
    async def pay(amount: int) -> Told[Receipt]:
        world.effect("paid")
        return Told(Receipt(number=amount), f"Paid {amount}.")

    @app.tool()
    def picture(kind: str) -> Told[int] | int:
        words: dict[str, Any] = {"parts": PARTS, "empty": "", "none": []}
        result: Told[int] | int = Told(1, words[kind]) if kind in words else 2
        return result

    @app.tool()
    async def booked(turn: Turn, town: str) -> Told[str]:
        answer = await turn.interrupt("confirmation", f"Book {town}?")
        return Told(f"secret {answer.value}", f"Booked {town}.")

    @app.tool()
    async def odd(text: Any) -> Told[int]:
        world.effect("odd")
        words: dict[str, Any] = {"number": 3, "mixed": [parts.text("a"), "b"], "half": "\ud83d"}
        return Told(1, words[text])

    @app.tool()
    async def misfit() -> Told[int]:
        return Told("one", "One.")  # type: ignore[arg-type]  # what an author got wrong


async def results(world: World, talk: Conversation) -> list[Any]:
    """The results as they are stored, and shown to a page that loads the thread."""
    run = await talk.connect()
    stored = [message["content"] for message in run.snapshot if message["role"] == "tool"]
    assert stored == [m["content"] for m in talk.history if m["role"] == "tool"]
    return stored


async def test_the_value_goes_back_and_the_text_goes_out(kind: str, tmp_path: Path) -> None:
    """Live, after an edit, after a restart and on replay; both are in the record."""

    async def agent(turn: Turn, world: World) -> Any:
        small = await turn.call("pay", {"amount": 5})
        large = await turn.call("pay", {"amount": 240})
        await turn.interrupt("confirmation", "Enough?")
        return [small.value, small.text, large.value, str(large)]

    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert list(run.results.values()) == ["Paid 5."]
        await talk.restart()
        run = await talk.answer_all_with({"approved": True, "editedArgs": {"amount": 120}})
        edited = 'A reviewer changed the arguments; the call ran with {"amount":120}. Result: '
        assert list(run.results.values()) == [f"{edited}Paid 120."]
        calls = [e for e in await world.journal(talk.thread) if e.kind == "call"]
        assert all(b'"words":"Paid ' in e.data and b'"kind":"receipt"' in e.data for e in calls)
        await talk.restart()
        run = await talk.answer_all_with({"approved": True})
        assert run.last["result"] == [
            *({"number": 5, "kind": "receipt"}, "Paid 5."),
            *({"number": 120, "kind": "receipt"}, f"{edited}Paid 120."),
        ]
        assert await results(world, talk) == ["Paid 5.", f"{edited}Paid 120."]
        assert world.effects == ["paid", "paid"]


async def test_an_agent_gets_the_type_that_is_told_of(kind: str, tmp_path: Path) -> None:
    """A model comes back as itself, on replay too."""
    seen: list[Any] = []

    async def agent(turn: Turn, world: World) -> Any:
        done = await turn.call("pay", {"amount": 5})
        seen.append(done.value)
        await turn.interrupt("confirmation", "Enough?")

    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.answer_all_with({"approved": True})
        assert seen == [Receipt(number=5)] * 2


async def test_parts_and_plain_results_and_no_words_at_all(kind: str, tmp_path: Path) -> None:
    """A result is never without text; older clients get the text of parts."""

    async def agent(turn: Turn, world: World) -> Any:
        kinds = ("parts", "plain", "empty", "none")
        done = await turn.call_all([ToolCall("picture", {"kind": kind}) for kind in kinds])
        return [call.value for call in done]

    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert run.last["result"] == [1, 2, 1, 1]
        shown = [part.model_dump(by_alias=True) for part in PARTS]
        assert list(run.results.values()) == [shown, "2", '""', '""']
        assert await results(world, talk) == [shown, "2", '""', '""']
        older = Conversation(world, version=None)
        run = await older.say()
        assert next(iter(run.results.values())).startswith("Here it is.")


async def test_a_part_of_the_turn_tells_as_well(kind: str, tmp_path: Path) -> None:
    """After the answer to what it asked."""

    async def agent(turn: Turn, world: World) -> Any:
        return (await turn.call("booked", {"town": "Bern"})).value

    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart()
        run = await talk.answer_all_with({"approved": True})
        assert run.last["result"] == "secret True"
        assert await results(world, talk) == ["Booked Bern."]


@pytest.mark.parametrize("text", ["number", "mixed"])
async def test_words_that_are_none_leave_a_call_that_ran(
    kind: str, tmp_path: Path, text: str
) -> None:
    """It is not made again: the effect took place, whatever was to be said of it."""

    async def agent(turn: Turn, world: World) -> Any:
        done = await turn.call("odd", {"text": text})
        return [done.status, done.value]

    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert run.last["result"] == ["executed", None]
        (said,) = run.results.values()
        assert "text of Told is a text or a list of parts" in said
        assert "Do not call it again" in said


async def test_half_a_character_in_the_words_is_mended(kind: str, tmp_path: Path) -> None:
    """As in any text."""

    async def agent(turn: Turn, world: World) -> Any:
        return str(await turn.call("odd", {"text": "half"}))

    async with World.of(kind, tmp_path, agent, tools) as world:
        assert (await Conversation(world).say()).last["result"] == "�"


async def test_a_value_of_another_type_is_no_result(kind: str, tmp_path: Path) -> None:
    """The annotation speaks of the value."""

    async def agent(turn: Turn, world: World) -> Any:
        return str(await turn.call("misfit", {}))

    async with World.of(kind, tmp_path, agent, tools) as world:
        run = await Conversation(world).say()
        assert run.last["result"].startswith("Executed; its result could not be recorded")


async def test_the_word_of_a_verify_hook_and_of_a_person_may_tell(
    kind: str, tmp_path: Path
) -> None:
    """What was found out after a crash is told like what the tool returned."""

    def declare(world: World, app: Sayso) -> None:
        async def verify(key: str) -> Happened:
            return Happened(Told(7, "It was paid."))

        def from_person(text: str) -> Told[int]:
            return Told(8, f"Ann says: {text}.")

        async def pay(arguments: dict[str, Any]) -> int:
            return 1

        for name, more in (("found", {"verify": verify}), ("asked", {"from_person": from_person})):
            app.add_tools(Tool.of(name, parameters={}, call=pay, result=int, **more))

    async def agent(turn: Turn, world: World) -> Any:
        calls = [ToolCall("found", {}), ToolCall("asked", {})]
        done = await turn.call_all(calls)
        await turn.say(str([call.value for call in done]))

    async with World.of(kind, tmp_path, agent, declare) as world:
        talk = Conversation(world)
        window = world.process.window
        window.fail(
            "commit",
            match=lambda commit: any(entry.status == "done" for entry in commit.entries),
            hook=window.disconnect,
        )
        await talk.say()
        await talk.recover()
        await talk.answer_all_with({"action": "skip", "result": "it is"})
        assert talk.texts == ["[7, 8]"]
        assert sorted(await results(world, talk)) == ["Ann says: it is.", "It was paid."]


async def test_a_breakpoint_behind_it_shows_what_is_told(kind: str, tmp_path: Path) -> None:
    """People read what clients and models do."""

    async def agent(turn: Turn, world: World) -> Any:
        return (await turn.call("pay", {"amount": 5})).value

    points = Breakpoints(after=["pay"])
    async with World.of(kind, tmp_path, agent, tools, breakpoints=points) as world:
        talk = Conversation(world)
        run = await talk.say()
        (item,) = run.interrupts
        assert item["metadata"]["sayso"]["result"] == "Paid 5."
