"""An app that asks for values of every kind, and how each is filled in."""

import json
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Network
from pathlib import PurePosixPath
from re import Pattern
from typing import Annotated, Any, Literal, NamedTuple, NotRequired
from uuid import UUID

from pydantic import (
    AnyUrl,
    AwareDatetime,
    Base64Bytes,
    BaseModel,
    ConfigDict,
    Field,
    Json,
    NaiveDatetime,
    PositiveInt,
    RootModel,
    SecretStr,
    TypeAdapter,
)
from typing_extensions import TypedDict

from sayso import Question, Sayso, Turn

app = Sayso(store="sqlite:///kinds.db")

BIG = 9007199254740993
ADD = "+"
"""Instead of the text of a field: press the last *Add an entry*."""
WITHIN = "++"
"""Likewise the first, which is that of an entry."""


class Colour(Enum):
    """A colour of the shop."""

    RED = "red"
    BLUE = "blue"


class Size(Enum):
    """A size of the shop."""

    SMALL = 1
    LARGE = 2


class Address(BaseModel):
    """Where it goes."""

    street: str
    zip: Annotated[str, Field(pattern=r"^\d{5}$")]


class Parcel(BaseModel):
    """What goes there."""

    to: Address
    back: Address | None = None
    grams: int = 100


class Cash(BaseModel):
    """Paid in cash."""

    kind: Literal["cash"] = "cash"
    given: int


class Card(BaseModel):
    """Paid by card."""

    kind: Literal["card"] = "card"
    number: str


class Tree(BaseModel):
    """Something with branches."""

    name: str
    children: list["Tree"] = []


@dataclass
class Point:
    """A place on a map."""

    x: int
    y: float = 0.5


class Pair(NamedTuple):
    """One and the other."""

    one: int
    other: str


class Person(TypedDict):
    """Who it is."""

    name: str
    age: NotRequired[int]


class Named(BaseModel):
    """Something whose members have other names outside, and may be more."""

    model_config = ConfigDict(extra="allow")

    given: str = Field(alias="givenName")
    at: time


class Marks(RootModel[list[int]]):
    """A list with a name."""


@dataclass(frozen=True)
class Kind:
    """What is asked for, the texts of its fields from the first to the last, what is sent for them.

    None leaves a field as it is. `button` sends it.
    """

    asked: Any
    typed: list[str | None]
    sent: Any
    button: str = "Answer"


def _member(schema: dict[str, Any], *typed: str | None, sent: Any) -> Kind:
    whole = {"type": "object", "properties": {"it": schema}, "required": ["it"]}
    return Kind(whole, list(typed), {"it": sent})


UUID_TEXT = "12345678-1234-5678-1234-567812345678"
PAGES: dict[str, dict[str, Kind]] = {
    "texts": {
        "str": Kind(str, ["a word"], "a word"),
        "bytes": Kind(bytes, ["abc"], "abc"),
        "base64": Kind(Base64Bytes, ["YWJj"], "YWJj"),
        "secret": Kind(SecretStr, ["hush"], "hush"),
        "email": Kind(
            Annotated[str, Field(json_schema_extra={"format": "email"})],
            ["ada@shop.example"],
            "ada@shop.example",
        ),
        "pattern": Kind(Annotated[str, Field(pattern=r"^\d{5}$")], ["12345"], "12345"),
        "expression": Kind(Pattern[str], ["^a+$"], "^a+$"),
        "date": Kind(date, ["2026-05-01"], "2026-05-01"),
        "time": Kind(time, ["09:30"], "09:30:00"),
        "datetime": Kind(datetime, ["2026-05-01T09:30"], "2026-05-01T09:30:00.000Z"),
        "aware": Kind(AwareDatetime, ["2026-05-01T09:30"], "2026-05-01T09:30:00.000Z"),
        "naive": Kind(NaiveDatetime, ["2026-05-01T09:30"], "2026-05-01T09:30:00"),
        "timedelta": Kind(timedelta, ["PT90S"], "PT90S"),
        "uuid": Kind(UUID, [UUID_TEXT], UUID_TEXT),
        "ip": Kind(IPv4Address, ["10.0.0.1"], "10.0.0.1"),
        "network": Kind(IPv6Network, ["2001:db8::/32"], "2001:db8::/32"),
        "path": Kind(PurePosixPath, ["/usr/share"], "/usr/share"),
        "url": Kind(AnyUrl, ["https://shop.example/a"], "https://shop.example/a"),
        "json": Kind(Json[list[int]], ["[1, 2]"], "[1, 2]"),
        "or none": Kind(str | None, [""], None),
    },
    "numbers and choices": {
        "int": Kind(int, [str(BIG)], BIG),
        "positive": Kind(PositiveInt, ["1"], 1),
        "float": Kind(float, ["1.50"], 1.5),
        "decimal": Kind(Decimal, [None, "12.50"], 12.5),
        "bool": Kind(bool, [], False, button="No"),
        "bool or none": Kind(bool | None, ["Yes"], True),
        "int or none": Kind(int | None, ["5"], 5),
        "literal": Kind(Literal["a", "b"], ["b"], "b"),
        "one literal": Kind(Literal["only"], [], "only"),
        "mixed literal": Kind(Literal["a", 1], ["1"], 1),
        "colour": Kind(Colour, ["blue"], "blue"),
        "size": Kind(Size, ["2"], 2),
        "size or none": Kind(Size | None, ["2"], 2),
        "either": Kind(int | date, ["Date", "2026-05-01"], "2026-05-01"),
        "either or none": Kind(int | date | None, ["None"], None),
        "any": Kind(Any, ['{"a": [1]}'], {"a": [1]}),
    },
    "lists and objects": {
        "list": Kind(list[int], [ADD, "1", ADD, "2"], [1, 2]),
        "dates": Kind(list[date], [ADD, "2026-05-01"], ["2026-05-01"]),
        "lists": Kind(list[list[int]], [ADD, WITHIN, "5"], [[5]]),
        "set": Kind(set[str], [ADD, "a"], ["a"]),
        "colours": Kind(set[Colour], [None, "on"], ["blue"]),
        "tuple": Kind(tuple[int, str], ["5", "five"], [5, "five"]),
        "tuple of any": Kind(tuple[int, Any], ["5", "five"], [5, "five"]),
        "any tuple": Kind(tuple[int, ...], [ADD, "5"], [5]),
        "marks": Kind(Marks, [ADD, "5"], [5]),
        "dict": Kind(dict[str, int], [ADD, "a", "5"], {"a": 5}),
        "dict of lists": Kind(dict[str, list[int]], [ADD, "a", WITHIN, "5"], {"a": [5]}),
        "object": Kind(dict[str, Any], ['{"a": [1]}'], {"a": [1]}),
        "model": Kind(
            Parcel,
            ["Main St", "12345", None, None, "7"],
            {"to": {"street": "Main St", "zip": "12345"}, "grams": 7},
        ),
        "named": Kind(
            Named,
            ["Ada", "09:30", ADD, "more", "x"],
            {"givenName": "Ada", "at": "09:30:00", "more": "x"},
        ),
        "union": Kind(
            Annotated[Cash | Card, Field(discriminator="kind")],
            ["Card", None, "4711"],
            {"kind": "card", "number": "4711"},
        ),
        "tree": Kind(
            Tree,
            ["root", ADD, "leaf"],
            {"name": "root", "children": [{"name": "leaf", "children": []}]},
        ),
        "dataclass": Kind(Point, ["5"], {"x": 5, "y": 0.5}),
        "namedtuple": Kind(Pair, ["5", "five"], [5, "five"]),
        "typed dict": Kind(Person, ["Ada"], {"name": "Ada"}),
    },
    "schemas of a member": {
        "no type": _member({}, "plain", sent="plain"),
        "true": _member(True, "12", sent=12),  # type: ignore[arg-type] # JSON Schema has booleans
        "any entries": _member({"type": "array"}, ADD, "x", sent=["x"]),
        "true entries": _member({"type": "array", "items": True}, ADD, "x", sent=["x"]),
        "null": _member({"type": "null"}, sent=None),
        "or null": _member({"type": ["string", "null"]}, sent=None),
        "two types": _member({"type": ["integer", "string"]}, "Text", "5", sent="5"),
        "enum": _member({"enum": ["a", 1, None]}, "1", sent=1),
        "const": _member({"const": {"a": 1}}, sent={"a": 1}),
        "constants": _member({"enum": [{"a": 1}, {"a": 2}]}, '{"a":2}', sent={"a": 2}),
        "titles": _member(
            {"oneOf": [{"const": 1, "title": "One"}, {"const": 2, "title": "Two"}]}, "Two", sent=2
        ),
        "time with offset": _member(
            {"type": "string", "format": "time"}, "09:30", sent="09:30:00+00:00"
        ),
        "unknown format": _member({"type": "string", "format": "color"}, "red", sent="red"),
        "multiple": _member({"type": "number", "multipleOf": 0.1}, "0.3", sent=0.3),
        "bounds": _member({"type": "integer", "exclusiveMinimum": 4}, "5", sent=5),
        "contains": _member({"type": "array", "contains": {"const": 5}}, ADD, "5", sent=[5]),
        "places and more": _member(
            {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}},
            "5",
            ADD,
            "x",
            sent=[5, "x"],
        ),
        "not": _member({"type": "string", "not": {"const": "no"}}, "yes", sent="yes"),
    },
    "schemas of objects": {
        "all of": _member(
            {
                "allOf": [
                    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                    {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
                ]
            },
            "x",
            "5",
            sent={"a": "x", "b": 5},
        ),
        "if": Kind(
            {
                "type": "object",
                "properties": {"how": {"enum": ["post", "mail"]}},
                "required": ["how"],
                "if": {"properties": {"how": {"const": "post"}}, "required": ["how"]},
                "then": {"properties": {"street": {"type": "string"}}, "required": ["street"]},
            },
            ["post", "Main St"],
            {"how": "post", "street": "Main St"},
        ),
        "dependent": Kind(
            {
                "type": "object",
                "properties": {"card": {"type": "string"}, "code": {"type": "string"}},
                "dependentRequired": {"card": ["code"]},
            },
            ["4711", "123"],
            {"card": "4711", "code": "123"},
        ),
        "patterns": Kind(
            {"type": "object", "patternProperties": {"^x-": {"type": "integer"}}},
            [ADD, "x-a", "5"],
            {"x-a": 5},
        ),
        "refs": Kind(
            {"$defs": {"n": {"type": "integer"}}, "type": "array", "items": {"$ref": "#/$defs/n"}},
            [ADD, "5"],
            [5],
        ),
        "empty name": Kind(
            {"type": "object", "properties": {"": {"type": "string"}}}, ['{"": "x"}'], {"": "x"}
        ),
        "the prototype's name": Kind(
            {"type": "object", "properties": {"__proto__": {"type": "string"}}},
            ['{"__proto__": "x"}'],
            {"__proto__": "x"},
        ),
    },
}


def as_json(kind: Kind, value: Any) -> Any:
    """What the code got for it, as JSON."""
    asked = Any if isinstance(kind.asked, dict) else kind.asked
    return TypeAdapter(asked).dump_python(value, mode="json", by_alias=True)


@app.agent("kinds")
async def kinds(turn: Turn) -> None:
    """Asks for every kind of the page that it is told; says what it got, as JSON."""
    page = PAGES[turn.input.text]
    asked = [
        Question(reason="input_required", message=name, schema=kind.asked)
        for name, kind in page.items()
    ]
    answers = await turn.interrupt_all(asked)
    got = [as_json(kind, one.value) for kind, one in zip(page.values(), answers, strict=True)]
    await turn.say(f"got {json.dumps(got)}")
