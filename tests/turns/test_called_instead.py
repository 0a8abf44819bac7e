"""Calls whose function is given for one run, and that a model knows under ids of its own."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sayso import Sayso, ToolCall, Turn, approval
from sayso.turns.replay.execution import Place
from tests.turns.driver import Conversation, World


def tools(world: World, app: Sayso) -> Any:
    @app.tool(approval=approval.always, editable=True)
    async def pay(amount: int) -> str:
        raise AssertionError("another function runs instead")

    @app.tool()
    def count(of: str) -> int:
        return len(of)

    @app.tool()
    async def tail(lines: int) -> AsyncIterator[str]:
        for number in range(lines):
            yield f"own {number}"

    @app.tool()
    async def book(turn: Turn, town: str) -> str:
        return f"own {town}"

    return SimpleNamespace(pay=pay, count=count, tail=tail, book=book)


def outcomes(done: list[Any]) -> list[Any]:
    return [[call.status, call.value, call.told_as] for call in done]


async def test_a_function_of_this_run_runs_what_was_approved(kind: str, tmp_path: Path) -> None:
    """After a restart it is the one of the new process, with the arguments that were edited."""

    async def agent(turn: Turn, world: World) -> Any:
        session = f"session {len(world.processes)}"

        async def pay(amount: int) -> str:
            world.effect(f"{session} pays {amount}")
            return session

        done = await turn.call(
            ToolCall(world.tools.pay, {"amount": 5}, call=pay, told_as="call_model_1")
        )
        return [done.status, done.value, done.id, done.told_as, done.args]

    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        run = await talk.say()
        (item,) = run.interrupts
        await talk.restart()
        run = await talk.answer_all_with({"approved": True, "editedArgs": {"amount": 3}})
        assert run.last["result"] == [
            *("executed", "session 2", item["toolCallId"], "call_model_1"),
            {"amount": 3},
        ]
        assert world.effects == ["session 2 pays 3"]
        (entry,) = [e for e in await world.journal(talk.thread) if e.kind == "call"]
        assert b'"told":"call_model_1"' in entry.data
        run = await talk.connect()
        assert run.outcome == "success"


async def test_a_policy_for_one_call_counts_besides_the_tool_s_own(
    kind: str, tmp_path: Path
) -> None:
    """Also for the answer: another process holds edits against both policies."""

    def limited(world: World, app: Sayso) -> Any:
        @app.tool(approval=approval.deny(lambda amount: amount > 100, name="limit"))
        async def pay(amount: int) -> str:
            world.effect(f"pays {amount}")
            return "paid"

        return SimpleNamespace(pay=pay)

    async def agent(turn: Turn, world: World) -> Any:
        pay = world.tools.pay
        asks = approval.always(name="review")
        done = await turn.call_all(
            [
                ToolCall(pay, {"amount": 1}),
                ToolCall(pay, {"amount": 2}, approval=asks, editable=True),
                ToolCall(pay, {"amount": 3}, approval=asks, editable=False),
                ToolCall(pay, {"amount": 101}, approval=asks),
            ]
        )
        return [call.status for call in done]

    async with World.of(kind, tmp_path, agent, limited) as world:
        talk = Conversation(world)
        first, second = (await talk.say()).interrupts
        assert world.effects == ["pays 1"]
        edited = "editedArgs" in first["responseSchema"]["properties"]
        assert (edited, "editedArgs" in second["responseSchema"]["properties"]) == (True, False)
        await talk.restart()
        yes: Any = {"approved": True}
        for amount in ("much", 101):
            tried = {first["id"]: {**yes, "editedArgs": {"amount": amount}}, second["id"]: yes}
            assert (await talk.answer(tried)).outcome == "invalid_payload"
        edit = {**yes, "editedArgs": {"amount": 20}}
        run = await talk.answer({first["id"]: edit, second["id"]: {"approved": False}})
        assert run.last["result"] == ["executed", "executed", "denied", "denied"]
        assert world.effects == ["pays 1", "pays 20"]


async def test_every_kind_of_tool_may_be_called_instead(kind: str, tmp_path: Path) -> None:
    """One that streams, one in a thread, and a part of the turn."""

    async def agent(turn: Turn, world: World) -> Any:
        t = world.tools

        def count(of: str) -> int:
            return 100 + len(of)

        async def tail(lines: int) -> AsyncIterator[str]:
            for number in range(lines):
                yield f"given {number};"

        async def book(turn: Turn, town: str) -> str:
            await turn.say(f"Booking {town}.")
            return f"given {town}"

        return outcomes(
            await turn.call_all(
                [
                    ToolCall(t.count, {"of": "abc"}, call=count),
                    ToolCall("tail", {"lines": 2}, call=tail),
                    ToolCall(t.book, {"town": "Bern"}, call=book),
                    ToolCall(t.count, {"of": "abc"}),
                ]
            )
        )

    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert [value for _, value, _ in run.last["result"]] == [
            *(103, "given 0;given 1;", "given Bern", 3)
        ]
        assert talk.texts[-1] == "Booking Bern."


async def test_a_function_that_fails_is_a_failed_call(kind: str, tmp_path: Path) -> None:
    """As the tool's own function would be, and others of its batch go on."""

    async def agent(turn: Turn, world: World) -> Any:
        async def fails(**arguments: Any) -> Any:
            raise ValueError("gone")

        calls = [
            ToolCall("count", {"of": of}, call=call) for of, call in (("a", fails), ("b", None))
        ]
        done = await turn.call_all(calls)
        return [[call.status, call.value] for call in done]

    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert run.last["result"] == [["failed", None], ["executed", 1]]
        assert "ValueError" in next(iter(run.results.values()))


@pytest.mark.parametrize("told", ["same", "", "\ud83d", None])
async def test_ids_of_a_model_may_repeat_be_empty_or_missing(
    kind: str, tmp_path: Path, told: str | None
) -> None:
    """What clients know is Sayso's own id, which is another one for each call."""

    async def agent(turn: Turn, world: World) -> Any:
        calls = [ToolCall("count", {"of": of}, told_as=told) for of in ("a", "bc")]
        done = await turn.call_all(calls)
        ids = {call.id for call in done}
        assert len(ids) == 2
        assert all(call.id.startswith("call_") for call in done)
        await turn.interrupt("confirmation", "Sure?")
        return [call.told_as for call in done]

    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart()
        run = await talk.answer_all_with({"approved": True})
        expected = "�" if told == "\ud83d" else told
        assert run.last["result"] == [expected, expected]


async def test_a_call_that_was_recorded_without_the_model_s_id_is_told_the_one_of_now(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn that an earlier server began goes on."""
    record = Place.record

    def as_before(place: Place, status: Any, data: bytes = b"{}") -> Any:
        return record(place, status, data.replace(b',"told":"m1"', b""))

    async def agent(turn: Turn, world: World) -> Any:
        done = await turn.call(ToolCall("count", {"of": "a"}, told_as="m1"))
        await turn.interrupt("confirmation", "Sure?")
        return [done.value, done.told_as]

    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        with monkeypatch.context() as earlier:
            earlier.setattr(Place, "record", as_before)
            await talk.say()
        (entry,) = [e for e in await world.journal(talk.thread) if e.kind == "call"]
        assert b"told" not in entry.data
        await talk.restart()
        run = await talk.answer_all_with({"approved": True})
        assert run.last["result"] == [1, "m1"]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"call": "pay"}, "call= of a call of tool 'count' is a function, not 'pay'"),
        ({"approval": "always"}, "approval= of a call of tool 'count' is a policy"),
        ({"told_as": 3}, "told_as= of a call of tool 'count' is a text, not 3"),
    ],
)
async def test_what_is_no_function_and_no_text_is_refused(
    kind: str, tmp_path: Path, members: dict[str, Any], message: str
) -> None:
    """Before anything is sent."""

    async def agent(turn: Turn, world: World) -> Any:
        with pytest.raises(TypeError, match=message):
            await turn.call(ToolCall("count", {"of": "a"}, **members))
        with pytest.raises(TypeError, match="takes no arguments beside"):
            await turn.call(ToolCall("count", {"of": "a"}), of="b")  # type: ignore[call-overload]
        return "refused"

    async with World.of(kind, tmp_path, agent, tools) as world:
        run = await Conversation(world).say()
        assert run.last["result"] == "refused"
        assert not run.of("TOOL_CALL_START")


async def test_a_call_that_lacks_arguments_still_has_the_model_s_id(
    kind: str, tmp_path: Path
) -> None:
    """Nobody was told of it, so it has no id of ours."""

    def declare(world: World, app: Sayso) -> Any:
        @app.tool(complete=True)
        def lookup(order: str) -> str:
            return order

        return lookup

    async def agent(turn: Turn, world: World) -> Any:
        done = await turn.call(ToolCall(world.tools, {}, told_as="m1"))
        return [done.status, done.id, done.told_as]

    async with World.of(kind, tmp_path, agent, declare) as world:
        talk = Conversation(world)
        await talk.say()
        run = await talk.cancel(*talk.pending)
        assert run.last["result"] == ["cancelled", "", "m1"]


async def test_a_cancelled_sibling_leaves_the_given_function_to_its_end(
    kind: str, tmp_path: Path
) -> None:
    """It is an effect like the tool's own: nobody cuts it."""
    going = asyncio.Event()

    async def agent(turn: Turn, world: World) -> Any:
        async def count(of: str) -> int:
            going.set()
            await world.slowly("counted")
            return 7

        calling = asyncio.create_task(turn.call(ToolCall("count", {"of": "a"}, call=count)))
        await going.wait()
        calling.cancel()
        await asyncio.wait([calling])

    async with World.of(kind, tmp_path, agent, tools) as world:
        run = await Conversation(world).say()
        assert (run.outcome, world.effects) == ("cancelled_call", ["counted"])
