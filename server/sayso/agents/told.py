"""Results of tools that say something else than they give back. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from types import UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin

from sayso.agents.parts import Part
from sayso.base import jsonvalue
from sayso.base.texts import to_utf8_safe

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Told(Generic[R]):
    """A tool's result in two forms: `value` goes back to the agent, `text` to clients and models.

    `text` is a text, or content parts (`sayso.parts`). A tool that returns it is annotated with
    `-> Told[Receipt]`; the agent gets a `Call[Receipt]`.
    """

    value: R
    text: str | Sequence[Part]


def value_of(returned: Any) -> Any:
    """The value that goes back to the agent."""
    return returned.value if isinstance(returned, Told) else returned


def words_of(result: Told[Any]) -> str | list[Any]:
    """The text or the parts as they are recorded.

    Raises:
        TypeError: neither of the two.
    """
    text: object = result.text
    if isinstance(text, str):
        return to_utf8_safe(text)
    if isinstance(text, list | tuple) and all(isinstance(part, Part) for part in text):
        return [jsonvalue.decode(part.model_dump_json(by_alias=True).encode()) for part in text]
    raise TypeError(f"text of Told is a text or a list of parts, not {type(text).__name__}")


def value_type(annotation: Any) -> Any:
    """The type of the value, by a return annotation: of `Told[int]`, or of `int | Told[int]`."""
    if annotation is Told:
        return Any
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Told:
        return arguments[0]
    if origin in (Union, UnionType) and any(value_type(kind) is not kind for kind in arguments):
        return reduce(or_, map(value_type, arguments))
    return annotation
