"""A tool as a description: parameters, effective arguments, what is wrong with others (case J)."""

import datetime
import enum
import functools
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from sayso import DeclarationError, Sayso, ServerOptions, Tool, approval


class Kind(enum.Enum):
    SMALL = "s"


class Address(BaseModel):
    street: str = Field(alias="streetName", min_length=1)


async def ship(
    to: Address,
    amount: Annotated[int, Field(ge=1)],
    price: Decimal = Decimal("1.5"),
    when: datetime.date | None = None,
    kind: Kind = Kind.SMALL,
    speed: Literal["fast", "slow"] = "slow",
    tags: frozenset[str] = frozenset(),
) -> str:
    """Send a parcel."""
    return "sent"


SHIP = Tool(ship)
TO = {"streetName": "High St"}


def test_a_tool_describes_itself() -> None:
    """Name, text and parameters for models and people."""
    assert SHIP.name == "ship"
    assert SHIP.description == "Send a parcel."
    assert SHIP.parameters["required"] == ["to", "amount"]
    assert SHIP.parameters["additionalProperties"] is False
    assert SHIP.parameters["properties"]["amount"]["minimum"] == 1
    named = Tool(ship, name="parcel", description="Other.")
    assert (named.name, named.description) == ("parcel", "Other.")


def test_arguments_are_coerced_and_defaulted_once() -> None:
    """J3, J4: what the rule sees, the reviewer is shown and the function gets."""
    arguments = SHIP.arguments({"to": TO, "amount": "3", "tags": ["b", "a"]})
    assert arguments == (
        b'{"to":{"streetName":"High St"},"amount":3,"price":"1.5","when":null,"kind":"s",'
        b'"speed":"slow","tags":["a","b"]}'
    )
    values = SHIP.decode_arguments(arguments)
    assert values["to"] == Address(streetName="High St")
    assert values["price"] == Decimal("1.5")
    assert values["kind"] is Kind.SMALL
    assert values["tags"] == frozenset({"a", "b"})
    assert SHIP.arguments(values) == arguments


@pytest.mark.parametrize(
    ("given", "pointers"),
    [
        ({}, {"/to", "/amount"}),
        ({"to": {}, "amount": 1}, {"/to/streetName"}),
        ({"to": {"streetName": ""}, "amount": 0}, {"/to/streetName", "/amount"}),
        ({"to": TO, "amount": 1, "extra": 1}, {"/extra"}),
        ({"to": TO, "amount": 1, "speed": "warp"}, {"/speed"}),
        ({"to": TO, "amount": None}, {"/amount"}),
        ([], {""}),
        ("text", {""}),
    ],
)
def test_what_is_wrong_is_named_at_its_member(given: Any, pointers: set[str]) -> None:
    """J5: JSON Pointers; the same arguments raise when they are passed."""
    assert {fault.pointer for fault in SHIP.argument_errors(given)} == pointers
    with pytest.raises(ValidationError):
        SHIP.arguments(given)


def test_arguments_that_fit_have_no_problems() -> None:
    """As JSON says them: a date is a string."""
    assert SHIP.argument_errors({"to": TO, "amount": 1, "when": "2030-01-02"}) == ()


def test_a_partial_function_is_a_tool_too() -> None:
    """What is bound already is a default like any other."""
    tool = Tool(functools.partial(ship, amount=3), name="ship_three")
    assert tool.decode_arguments(tool.arguments({"to": TO}))["amount"] == 3
    assert tool.name == "ship_three"


def test_a_default_of_none_makes_the_argument_optional() -> None:
    """`path: str = None` is how people write it."""

    def listing(path: str = None) -> None:  # type: ignore[assignment]  # noqa: RUF013
        """List files."""

    tool = Tool(listing)
    assert tool.decode_arguments(tool.arguments({})) == {"path": None}
    assert tool.argument_errors({"path": None}) == ()
    assert tool.decode_arguments(tool.arguments({"path": "x"})) == {"path": "x"}


def test_a_default_that_does_not_fit_fails_when_it_is_declared() -> None:
    """And not at the first call."""

    def wrong(n: int = "many") -> None:  # type: ignore[assignment]
        """Count."""

    with pytest.raises(DeclarationError, match="default of parameter 'n' does not fit"):
        Tool(wrong)


def test_what_a_parameter_is_stands_in_its_annotation() -> None:
    """A default made by pydantic's Field is told where it belongs."""

    async def ship(to: str = Field(default="me", max_length=9)) -> None: ...

    with pytest.raises(DeclarationError, match=r"to: Annotated\[…, Field\(…\)\]"):
        Tool(ship)


def test_parameters_may_have_any_name() -> None:
    """Names of pydantic's own methods included."""

    def odd(json: int, copy: str, schema: bool, model_fields: int = 1, self: int = 2) -> None:
        """Odd."""

    tool = Tool(odd)
    given = {"json": 1, "copy": "c", "schema": True, "model_fields": 3, "self": 4}
    assert tool.decode_arguments(tool.arguments(given)) == given


def test_a_tool_called_directly_says_how_to_call_it() -> None:
    """A direct call would bypass approval; `.fn` is the plain function."""
    with pytest.raises(TypeError, match=r"turn\.call\(ship, \.\.\.\).*ship\.fn"):
        SHIP(to=TO, amount=1)
    assert SHIP.fn is ship


def by_position(amount: int, /) -> None:
    """Positional."""


def by_args(*amounts: int) -> None:
    """Variadic."""


def by_keywords(**amounts: int) -> None:
    """Open."""


def unresolved(amount: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821
    """Unresolved."""


def unknown(amount: type(by_args)) -> None:  # type: ignore[valid-type]
    """No schema."""


def private(_amount: int) -> None:
    """Underscore."""


def reserved(model_config: int) -> None:
    """Pydantic's own."""


@pytest.mark.parametrize(
    "fn", [by_position, by_args, by_keywords, unresolved, unknown, private, reserved]
)
def test_what_cannot_be_called_by_name_fails_when_it_is_declared(fn: Any) -> None:
    """With the tool's name in the message."""
    with pytest.raises(DeclarationError, match=fn.__name__):
        Tool(fn)


@pytest.mark.parametrize(
    "options",
    [
        {"approval": "always"},
        {"approval": lambda: True},
        *({"timeout": wrong} for wrong in (0, -1.0, float("nan"))),
    ],
)
def test_options_that_cannot_work_fail_when_they_are_declared(options: Any) -> None:
    """The message says which values there are."""
    with pytest.raises(DeclarationError, match="ship"):
        Tool(ship, **options)


def test_a_rule_about_arguments_that_are_not_there_fails_when_it_is_declared() -> None:
    """Rather than asking for every call."""
    with pytest.raises(DeclarationError, match="names colour"):
        Tool(ship, approval=approval.when(lambda colour: True))


def test_two_tools_of_one_name_are_refused() -> None:
    """Approvals are bound to names."""
    app = Sayso(store="memory:", server=ServerOptions(console=False))
    app.tool()(ship)
    with pytest.raises(DeclarationError, match="declared twice"):
        app.tool()(ship)
