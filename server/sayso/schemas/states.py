"""The shape that an agent declares for its state: published, and held against edits. Pure."""

from dataclasses import dataclass
from typing import Any

from sayso.errors import DeclarationError
from sayso.schemas.forms import ResponseType, response_type
from sayso.schemas.schema import Schema, compile_schema

__all__ = ["StateType", "state_type"]


@dataclass(frozen=True, slots=True)
class StateType:
    """What a state has to look like."""

    schema: dict[str, Any]
    _compiled: Schema
    _type: ResponseType

    def problems(self, value: Any) -> list[tuple[str, str]]:
        """What is wrong with a JSON value, as JSON Pointers and sentences; nothing if it fits."""
        found = [(fault.pointer, fault.message) for fault in self._compiled.problems(value)]
        if not found:
            try:
                self._type.decode(value)
            except ValueError as error:
                found = [("", str(error))]
        return found


def state_type(declared: Any) -> StateType:
    """What `state=` means: a pydantic model, a Python type, or a JSON Schema object.

    Raises `DeclarationError` for a type without a JSON Schema, or a schema that cannot be used.
    """
    described = response_type(declared)
    if described.schema is None:
        raise DeclarationError("state= takes a type or a JSON Schema object, not None")
    return StateType(described.schema, compile_schema(described.schema), described)
