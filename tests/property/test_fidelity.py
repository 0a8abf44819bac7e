"""A tool gets what it was called with, or nothing runs (V5): over pydantic's types, nested."""

import dataclasses
import datetime
import enum
import ipaddress
from decimal import Decimal
from types import GenericAlias
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PrivateAttr,
    Secret,
    SecretBytes,
    SecretStr,
    ValidationError,
    WithJsonSchema,
    create_model,
    field_serializer,
)

import sayso
from sayso import DeclarationError, NotRecordable, Tool
from sayso.agents.parameters import parameters_of
from tests.share import share


class Colour(enum.Enum):
    RED = "r"
    BLUE = 2


class Renamed(BaseModel):
    amount: int = Field(alias="theAmount")


class OneWay(BaseModel):
    amount: int = Field(default=0, serialization_alias="theAmount")


class Rounded(BaseModel):
    amount: float

    @field_serializer("amount")
    def _rounded(self, amount: float) -> float:
        return round(amount)


class Encoded(BaseModel):
    model_config = ConfigDict(ser_json_bytes="base64")
    data: bytes


class Kept(BaseModel):
    data: int
    _private: object = PrivateAttr(default_factory=object)


@dataclasses.dataclass
class Point:
    x: int
    rest: tuple[int, str]


class Pair(NamedTuple):
    one: int
    other: str


Upper = Annotated[str, PlainSerializer(str.upper)]
Grows = Annotated[int, AfterValidator(lambda n: n + 1)]
integers, texts = st.integers(-(2**53) + 1, 2**53 - 1), st.text(max_size=5)
LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (int, integers),
    (float, st.floats()),
    (str, texts),
    (bool, st.booleans()),
    (bytes, st.binary(max_size=3)),
    (Decimal, st.decimals(allow_nan=False)),
    (datetime.datetime, st.datetimes()),
    (datetime.date, st.dates()),
    (datetime.timedelta, st.timedeltas()),
    (UUID, st.uuids()),
    (ipaddress.IPv4Address, st.ip_addresses(v=4)),
    (Colour, st.sampled_from(Colour)),
    (Literal["a", 1], st.sampled_from(["a", 1])),
    (bytes | str, st.binary(max_size=3) | texts),
    (int | str, integers | texts),
    (Any, texts | st.dates() | st.sets(integers) | st.dictionaries(integers, texts)),
    (Renamed, st.builds(lambda n: Renamed(theAmount=n), integers)),
    (OneWay, st.builds(OneWay, amount=integers)),
    (Rounded, st.builds(Rounded, amount=st.floats(0, 9))),
    (Encoded, st.builds(Encoded, data=st.binary(max_size=3))),
    (Kept, st.builds(Kept, data=integers)),
    (Point, st.builds(Point, integers, st.tuples(integers, texts))),
    (Pair, st.builds(Pair, integers, texts)),
    (Upper, texts),
    (Grows, integers),
    (SecretStr, st.builds(SecretStr, texts)),
    (SecretBytes, st.builds(lambda text: SecretBytes(text.encode()), texts)),
    (sayso.Secret[int], st.builds(sayso.Secret[int], integers)),
    (sayso.Secret[set[int]], st.builds(sayso.Secret[set[int]], st.sets(integers))),
]
HIDING: list[Any] = [
    SecretStr,
    SecretBytes | None,
    list[SecretStr],
    dict[str, tuple[SecretStr, int]],
    Annotated[int, Field(exclude=True)],
]


@st.composite
def calls(draw: Any) -> tuple[Any, Any]:
    """An annotation and a value of it."""
    annotation, values = draw(st.sampled_from(LEAVES))
    for _ in range(draw(st.integers(0, 2))):
        match draw(st.integers(0, 3)):
            case 0:
                annotation = GenericAlias(list, (annotation,))
                values = st.lists(values, max_size=2)
            case 1:
                annotation, values = annotation | None, values | st.none()
            case 2:
                annotation = GenericAlias(dict, (str, annotation))
                values = st.dictionaries(texts, values, max_size=2)
            case 3:
                annotation = GenericAlias(tuple, (annotation, int))
                values = st.tuples(values, integers)
    return annotation, draw(values)


def taking(annotation: Any) -> Tool[..., Any]:
    async def pay(given: Any) -> None:
        """Nothing is run here."""

    pay.__annotations__ = {"given": annotation}
    return Tool(pay)


@settings(max_examples=share(300, of=3))
@given(calls())
def test_a_tool_gets_an_equal_value_or_nothing_runs(call: tuple[Any, Any]) -> None:
    """Proposed, shown and approved is JSON; what is read of it is what was given."""
    annotation, value = call
    tool = taking(annotation)
    try:
        arguments = tool.arguments({"given": value})
    except (NotRecordable, ValidationError) as error:
        assert "given" in str(error) or "JSON" in str(error)
        return
    parameters = parameters_of(tool.fn, tool.name)
    wanted = parameters.model.model_validate({"given": value}).__dict__["given"]
    found = tool.decode_arguments(arguments)["given"]
    if isinstance(wanted, Kept):
        assert found.data == wanted.data
    elif "Kept" not in repr(annotation):
        assert found == wanted


@pytest.mark.parametrize("annotation", HIDING, ids=str)
def test_what_json_hides_is_no_result(annotation: Any) -> None:
    """A key that stars stand for, a field that is left out: told where, when it is declared."""
    key = create_model("Key", token=(annotation, ...))
    if annotation is HIDING[-1]:
        with pytest.raises(DeclarationError, match=r"tool 'pay' takes .*'/given/token"):
            taking(key)

    async def make() -> Any:
        """Nothing is run here."""

    make.__annotations__ = {"return": key}
    with pytest.raises(DeclarationError, match=r"make' returns .*/token"):
        Tool(make)


def test_a_secret_whose_schema_does_not_say_so_is_no_argument() -> None:
    """What nothing marks would be taken apart from nothing, and be seen."""
    bare = Annotated[SecretStr, WithJsonSchema({"type": "string"})]
    with pytest.raises(NotRecordable, match="'/given/0' does not mark it") as refused:
        taking(GenericAlias(list, (bare,))).arguments({"given": ["hush"]})
    assert "hush" not in str(refused.value)


def test_an_argument_that_changes_is_named() -> None:
    """`NotRecordable` says which, for a call and for an edit."""
    for annotation, value in ((Rounded, {"amount": 1.4}), (Grows, 1), (Secret[str], "hush")):
        with pytest.raises(NotRecordable, match="argument 'given'") as refused:
            taking(annotation).arguments({"given": value})
        assert "hush" not in str(refused.value)
    (fault,) = taking(Rounded).argument_errors({"given": {"amount": 1.4}})
    assert fault.pointer == "/given"
    assert taking(Rounded).argument_errors({"given": {"amount": 2.0}}) == ()
