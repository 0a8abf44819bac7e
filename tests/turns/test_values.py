"""Live equals replay: what a step returns, and what is recorded beside it (design 3, rule 4)."""

import asyncio
import dataclasses
import datetime
import enum
import functools
import math
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel, Field

from sayso import NotRecordable, StepFailed, Turn
from tests.contract.requirements import requirement
from tests.time_limits import TimeLimits
from tests.turns.driver import Conversation, World


class Order(BaseModel):
    number: int = Field(alias="orderNumber")
    at: datetime.datetime
    total: Decimal
    tags: set[str] = set()


@dataclasses.dataclass
class Point:
    x: int
    y: float


class Pair(NamedTuple):
    left: int
    right: str


class Colour(enum.Enum):
    RED = "r"


MOMENT = datetime.datetime(2030, 1, 2, 3, 4, 5, 678, tzinfo=datetime.UTC)
ORDER = Order(orderNumber=17, at=MOMENT, total=Decimal("1.10"), tags={"b", "a"})


def order() -> Order:
    return ORDER


def orders() -> dict[str, list[Order]]:
    return {"found": [ORDER]}


def point() -> Point:
    return Point(1, 2.5)


def pair() -> Pair:
    return Pair(1, "r")


def decimal() -> Decimal:
    return Decimal("0.1")


def moment() -> datetime.datetime:
    return MOMENT


def number() -> uuid.UUID:
    return uuid.UUID(int=5)


def colour() -> Colour:
    return Colour.RED


def text_or_none() -> str | None:
    return None


def nothing() -> None:
    return None


def words() -> frozenset[str]:
    return frozenset({"a", "b"})


def some_tuple() -> tuple[int, str]:
    return (1, "x")


def some_bytes() -> bytes:
    return b"text"


def whole() -> float:
    return 5


def plain() -> Any:
    return {
        "when": MOMENT,
        "set": {1},
        "tuple": (1, 2),
        "nan": math.nan,
        "bytes": b"x",
        "big": 2**53,
    }


def unannotated():  # type: ignore[no-untyped-def]
    return ORDER


class Service:
    """Called by its method, and itself callable without having a hash."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True

    def __call__(self) -> int:
        return 3

    async def method(self) -> Order:
        return ORDER


TYPED = {
    order: ORDER,
    orders: {"found": [ORDER]},
    point: Point(1, 2.5),
    pair: Pair(1, "r"),
    decimal: Decimal("0.1"),
    moment: MOMENT,
    number: uuid.UUID(int=5),
    colour: Colour.RED,
    text_or_none: None,
    nothing: None,
    words: frozenset({"a", "b"}),
    some_tuple: (1, "x"),
    some_bytes: b"text",
    whole: 5,
    Service().method: ORDER,
    functools.partial(max, 1, 2): 2,
}


async def replayed(kind: str, folder: Path, function: Any) -> list[Any]:
    """What a step gives live, and after a restart."""
    seen: list[Any] = []

    async def agent(turn: Turn, world: World) -> Any:
        try:
            seen.append(await turn.step.options(name="it")(function))
        except StepFailed as failed:
            seen.append((failed.error_type, failed.message))
        await turn.interrupt("confirmation", "Go on?")

    async with World.of(kind, folder, agent) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart()
        run = await talk.answer({"Go on?": {"approved": True}})
        assert run.outcome == "success"
    assert len(seen) == 2
    return seen


def named(function: Any) -> str:
    """Its name, or its type's; never its address, which differs between processes."""
    return getattr(function, "__name__", type(function).__name__)


@pytest.mark.parametrize(("function", "expected"), TYPED.items(), ids=map(named, TYPED))
async def test_a_typed_result_is_the_same_value_of_the_same_type(
    kind: str, tmp_path: Path, function: Any, expected: Any
) -> None:
    """Decoded by the return annotation, live as well."""
    live, again = await replayed(kind, tmp_path, function)
    assert live == expected
    assert again == live
    assert type(again) is type(live)


@pytest.mark.parametrize("function", [plain, unannotated, Service()], ids=named)
async def test_a_result_without_a_type_is_its_json_value_live_too(
    kind: str, tmp_path: Path, function: Any
) -> None:
    """Nobody gets an object the first time and a dict the second."""
    live, again = await replayed(kind, tmp_path, function)
    assert live == again
    assert not isinstance(live, BaseModel)
    if function is plain:
        assert live["set"] == [1]
        assert live["nan"] is None


def wrong_type() -> int:
    return "text"  # type: ignore[return-value]


def client() -> Any:
    return open  # a function stands for clients, files and locks


def loop() -> Any:
    ring: list[Any] = []
    ring.append(ring)
    return ring


def no_text() -> Any:
    return b"\xff"


@pytest.mark.parametrize("function", [wrong_type, client, loop, no_text])
async def test_a_result_that_cannot_be_kept_fails_the_step_the_same_way_twice(
    kind: str, tmp_path: Path, function: Any
) -> None:
    """Not stored as something else; the message says what to do."""
    live, again = await replayed(kind, tmp_path, function)
    assert live == again
    assert live[0] == "NotRecordable"


async def test_arguments_that_cannot_be_recorded_fail_before_anything_is_stored(
    kind: str, tmp_path: Path
) -> None:
    """Rule 4: the effect does not run."""

    async def agent(turn: Turn, world: World) -> Any:
        try:
            await turn.step(world.effect, open)
        except NotRecordable as error:
            return str(error)

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert "an argument of step" in run.last["result"]
        assert world.effects == []


@requirement("SB-03")
async def test_recorded_values_are_the_same_on_replay(kind: str, tmp_path: Path) -> None:
    """Rule 8: the hour, ids and random numbers."""
    seen: list[Any] = []

    async def agent(turn: Turn, world: World) -> Any:
        values = [await turn.now(), await turn.uuid(), await turn.random(), turn.key]
        seen.append(values)
        await turn.interrupt("confirmation", "Go on?")
        return len({str(value) for value in [*values, await turn.uuid()]})

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        await world.clock.advance(5)
        await talk.restart()
        run = await talk.answer({"Go on?": {"approved": True}})
        assert seen[0] == seen[1]
        assert run.last["result"] == 5
        assert 0 <= seen[0][2] < 1


async def test_the_input_is_the_same_for_the_whole_turn(kind: str, tmp_path: Path) -> None:
    """Rule 8: what a resume brings is read at the answer, and not as the turn's input."""
    seen: list[Any] = []

    async def agent(turn: Turn, world: World) -> Any:
        given = turn.input
        seen.append([given.text, given.state, given.tools, given.context, given.forwarded_props])
        seen[-1].append([message["content"] for message in given.messages])
        answer = await turn.interrupt("confirmation", "Go on?")
        return [answer.request.text, answer.request.context, answer.by]

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        context = [{"description": "page", "value": "1"}]
        await talk.say("first", state={"n": 1}, context=context, forwardedProps={"a": 1})
        await talk.restart()
        other = [{"description": "page", "value": "2"}]
        run = await talk.answer({"Go on?": {"approved": True}}, context=other, state={"n": 2})
        assert seen[0] == seen[1] == ["first", {"n": 1}, (), tuple(context), {"a": 1}, ["first"]]
        assert run.last["result"][1:] == [other, "local"]


async def test_sets_in_arguments_match_whatever_order_they_iterate_in(
    kind: str, tmp_path: Path
) -> None:
    """Another process hashes text otherwise; a set that was built otherwise stands for that."""
    first = {8, 0}
    second = {0, 8}
    sets = [first, second]

    async def agent(turn: Turn, world: World) -> Any:
        tags = sets[0] if not world.effects else sets[1]
        await turn.step.options(name="count")(lambda s: world.effect(len(s)), tags)
        return (await turn.interrupt("confirmation", "Go on?")).value

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart()
        run = await talk.answer({"Go on?": {"approved": True}})
        assert run.last["result"] is True
        assert world.effects == [2]
        assert list(first) != list(second)


async def test_a_step_takes_lambdas_that_return_coroutines(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The awaitable runs in the loop, inside the step and its timeout."""
    limits = TimeLimits(monkeypatch)

    async def later(world: World) -> str:
        await asyncio.sleep(0)
        return str(world.effect("later"))

    async def slow() -> None:
        limits.run_out()
        await asyncio.Event().wait()

    async def agent(turn: Turn, world: World) -> Any:
        first = await turn.step.options(name="first")(lambda: later(world))
        try:
            await turn.step.options(name="slow", timeout=5)(lambda: slow())
        except StepFailed as failed:
            return [first, failed.error_type]

    async with World.of(kind, tmp_path, agent) as world:
        run = await Conversation(world).say()
        assert run.last["result"] == ["later", "TimeoutError"]
