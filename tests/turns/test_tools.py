"""Tools through the whole engine: one result per call in every ending (cases C, H, J, V)."""

import asyncio
import datetime
import enum
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError

from sayso import Sayso, ToolCall, Turn, approval
from tests.contract.requirements import requirement
from tests.turns.driver import Conversation, World, ticks


class Size(enum.Enum):
    SMALL = "s"


class Address(BaseModel):
    street_name: str = Field(alias="streetName")


def raises(error: BaseException) -> Any:
    raise error


def endings(world: World, app: Sayso) -> Any:
    """One tool for each way to end."""

    @app.tool()
    async def free(n: int = 0) -> str:
        return str(world.effect(f"free {n}"))

    @app.tool(approval=approval.always)
    async def gated(n: int) -> str:
        return str(world.effect(f"gated {n}"))

    @app.tool()
    def fails() -> str:
        world.effect("fails")
        raise ValueError("no luck")

    @app.tool()
    async def unfit() -> Any:
        world.effect("unfit")
        return object()

    @app.tool(timeout=0.01)
    async def slow() -> str:
        world.effect("slow")
        await asyncio.Event().wait()
        return "never"

    return SimpleNamespace(free=free, gated=gated, fails=fails, unfit=unfit, slow=slow)


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
        batch = [ToolCall(tool=tool, args={}) for tool in (t.free, t.fails, t.unfit, t.slow)]
        batch += [ToolCall(tool=t.gated, args={"n": n}) for n in (1, 2, 3)]
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
            *("executed", "failed", "failed", "failed", "executed", "denied", "cancelled")
        ]
        assert run.last["result"][5] == ["denied", "too dear"]
        assert sorted(world.effects) == ["fails", "free 0", "gated 1", "slow", "unfit"]
        texts = list(one_result_per_call((await talk.connect()).snapshot).values())
        assert "free 0" in texts
        assert "Failed: ValueError: no luck" in texts
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
    """Bad input of issue A1: the turn goes on, the server too, and replay says the same."""

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


def typed(world: World, app: Sayso) -> Any:
    """A tool whose arguments are anything but JSON."""

    @app.tool(approval=approval.always, editable=True)
    async def ship(
        address: Address,
        when: datetime.datetime,
        price: Decimal,
        tags: set[str],
        size: Size = Size.SMALL,
        json: bool = False,
        copy: int = 1,
    ) -> dict[str, Any]:
        world.effect((address, when, price, tags, size, json, copy))
        return {"to": address.street_name}

    return SimpleNamespace(ship=ship)


MOMENT = datetime.datetime(2030, 1, 2, 3, 4, tzinfo=datetime.UTC)


async def shipping(turn: Turn, world: World) -> Any:
    """Calls the typed tool with Python values."""
    call = await turn.call(
        world.tools.ship,
        address=Address(streetName="High St"),
        when=MOMENT,
        price=Decimal("12.50"),
        tags={"b", "a", "c"},
    )
    return [call.value, call.edited, call.args["tags"]]


async def test_a_tool_gets_typed_arguments_after_any_pause(kind: str, tmp_path: Path) -> None:
    """J3: what was validated, defaulted and approved is what runs; sets stay in one order."""
    async with World.of(kind, tmp_path, shipping, typed) as world:
        talk = Conversation(world)
        run = await talk.say()
        shown = run.interrupts[0]["metadata"]["sayso"]["arguments"]
        assert shown["address"] == {"streetName": "High St"}
        assert shown["tags"] == ["a", "b", "c"]
        assert shown["size"] == "s"
        await talk.restart()
        run = await talk.answer_all(lambda _: {"approved": True})
        assert run.last["result"] == [{"to": "High St"}, False, ["a", "b", "c"]]
        ((address, when, price, tags, size, json, copy),) = world.effects
        assert address == Address(streetName="High St")
        assert when == MOMENT
        assert price == Decimal("12.50")
        assert tags == {"a", "b", "c"}
        assert size is Size.SMALL
        assert (json, copy) == (False, 1)


@requirement("TB-05", "TB-15")
async def test_an_edit_is_typed_and_told_too(kind: str, tmp_path: Path) -> None:
    """J1, J5: the edited arguments run, are recorded, and are in the result's text."""
    async with World.of(kind, tmp_path, shipping, typed) as world:
        talk = Conversation(world)
        await talk.say()
        edited = {
            "address": {"streetName": "Low St"},
            "when": "2031-01-01T00:00:00Z",
            "price": "1",
            "tags": ["x"],
        }
        for wrong, pointer in [
            ({**edited, "when": "soon"}, "/editedArgs/when"),
            ({**edited, "address": {}}, "/editedArgs/address"),
            ({**edited, "size": "xl"}, "/editedArgs/size"),
        ]:
            run = await talk.answer_all(lambda _, w=wrong: {"approved": True, "editedArgs": w})  # type: ignore[misc]
            assert run.outcome == "invalid_payload"
            (named,) = run.details["interrupts"]
            assert all(p["pointer"].startswith(pointer) for p in named["problems"]), named
        await talk.restart()
        run = await talk.answer_all(lambda _: {"approved": True, "editedArgs": edited})
        assert run.last["result"] == [{"to": "Low St"}, True, ["x"]]
        (text,) = run.results.values()
        assert text.startswith("A reviewer changed the arguments; the call ran with {")
        assert world.effects[0][3] == {"x"}


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


@pytest.mark.parametrize("error", [ZeroDivisionError(), SystemExit(1), KeyboardInterrupt()])
async def test_a_rule_that_raises_asks(kind: str, tmp_path: Path, error: BaseException) -> None:
    """Design 3: when in doubt a person decides, and the server lives on."""

    def declare(world: World, app: Sayso) -> Any:
        @app.tool(approval=approval.when(lambda n: raises(error)))
        async def gated(n: int) -> str:
            return str(world.effect("ran"))

        return SimpleNamespace(gated=gated)

    async def agent(turn: Turn, world: World) -> Any:
        return (await turn.call(world.tools.gated, n=1)).status

    async with World.of(kind, tmp_path, agent, declare) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert run.outcome == "interrupt"
        assert world.effects == []


async def test_arguments_that_do_not_fit_raise_before_anything_is_sent(
    kind: str, tmp_path: Path
) -> None:
    """No call is streamed, and the author can go on."""

    async def agent(turn: Turn, world: World) -> Any:
        t = world.tools
        try:
            await turn.call_all(
                [ToolCall(tool=t.free, args={}), ToolCall(tool=t.gated, args={"n": "many"})]
            )
        except ValidationError as error:
            await turn.say(f"{error.error_count()} mistake")
        return None

    async with World.of(kind, tmp_path, agent, endings) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert run.text == "1 mistake"
        assert "TOOL_CALL_START" not in run.types
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
            await turn.call(world.effect, name="x")  # type: ignore[arg-type]
        except TypeError as error:
            return str(error)

    async with World.of(kind, tmp_path, agent, endings) as world:
        run = await Conversation(world).say()
        assert "is no tool: decorate it with @app.tool()" in run.last["result"]
        assert world.effects == []


async def test_a_batch_half_done_goes_on_where_it_was(kind: str, tmp_path: Path) -> None:
    """C8: a free call that was slow when another asked keeps its result over a restart."""

    async def agent(turn: Turn, world: World) -> Any:
        t = world.tools
        done = await turn.call_all(
            [ToolCall(tool=t.gated, args={"n": 1}), ToolCall(tool=t.free, args={"n": 2})]
        )
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
