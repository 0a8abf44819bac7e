"""What a tool gets, what its rule sees, and what a reviewer may change (design 3; case J)."""

import datetime
import enum
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError

from sayso import NotRecordable, Sayso, ToolCall, Turn, approval
from tests.contract.requirements import requirement
from tests.turns.driver import Conversation, World
from tests.turns.endings import endings


class Size(enum.Enum):
    SMALL = "s"


class Address(BaseModel):
    street_name: str = Field(alias="streetName")


def raises(error: BaseException) -> Any:
    raise error


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
            await turn.call_all([ToolCall(t.free, {}), ToolCall(t.gated, {"n": "many"})])
        except ValidationError as error:
            await turn.say(f"{error.error_count()} mistake")
        return None

    async with World.of(kind, tmp_path, agent, endings) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert run.text == "1 mistake"
        assert "TOOL_CALL_START" not in run.types
        assert world.effects == []


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**30])
async def test_an_integer_that_a_reviewer_would_see_rounded_is_no_argument(
    kind: str, tmp_path: Path, number: int
) -> None:
    """J3: what is shown is what runs. JSON keeps 64 bits; beyond, it names what to do."""

    def declare(world: World, app: Sayso) -> Any:
        @app.tool(approval=approval.always)
        async def transfer(wei: int, notes: list[str]) -> str:
            world.effect((wei, notes))
            return str(wei)

        @app.tool()
        async def balance() -> int:
            world.effect("looked")
            return number

        return SimpleNamespace(transfer=transfer, balance=balance)

    async def agent(turn: Turn, world: World) -> Any:
        told = await turn.call(world.tools.balance)
        with pytest.raises(NotRecordable, match="declare it as str"):
            await turn.call(world.tools.transfer, wei=number, notes=[])
        most = 2**64 - 1 if number > 0 else -(2**63)
        done = await turn.call(world.tools.transfer, wei=most, notes=[str(number), "1\\" * 20])
        return [told.status, str(told), done.args["wei"], done.value == str(most)]

    async with World.of(kind, tmp_path, agent, declare) as world:
        talk = Conversation(world)
        (question,) = (await talk.say()).interrupts
        most = 2**64 - 1 if number > 0 else -(2**63)
        assert question["metadata"]["sayso"]["arguments"]["wei"] == most
        assert f"wei={most}" in question["message"]
        run = await talk.answer_all(lambda _: {"approved": True})
        status, said, wei, same = run.last["result"]
        assert (status, wei, same) == ("executed", most, True)
        assert "could not be recorded" in said
        assert "return it as text" in said
        assert world.effects == ["looked", (most, [str(number), "1\\" * 20])]
