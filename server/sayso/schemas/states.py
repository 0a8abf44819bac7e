"""The shape that an agent declares for its state: published, and held against edits. Pure."""

from dataclasses import dataclass
from typing import Any

from sayso.base.errors import DeclarationError
from sayso.schemas.responses import ResponseType, response_type
from sayso.schemas.schema import Schema, compile_schema


@dataclass(frozen=True, slots=True)
class StateType:
    """The type of a state."""

    schema: dict[str, Any]
    _compiled: Schema
    _type: ResponseType

    def errors(self, value: Any) -> list[tuple[str, str]]:
        """List the errors of a JSON value, as JSON Pointers and sentences."""
        errors = [(fault.pointer, fault.message) for fault in self._compiled.errors(value)]
        if not errors:
            try:
                self._type.decode(value)
            except ValueError as error:
                errors = [("", str(error))]
        return errors


def state_type(declared: Any) -> StateType:
    """Read `state_schema=`: a pydantic model, a Python type, or a JSON Schema object.

    Raises:
        DeclarationError: a type without a JSON Schema, or a schema that cannot be used.
    """
    described = response_type(declared)
    if described.schema is None:
        raise DeclarationError("state_schema= takes a type or a JSON Schema object, not None")
    return StateType(described.schema, compile_schema(described.schema), described)
