"""From Python types to JSON Schemas and back: one declaration publishes and decodes (design 3).

A pydantic model, a dataclass, any annotation that pydantic knows, or a JSON Schema object.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import SchemaError

from sayso.base import jsonvalue
from sayso.base.errors import DeclarationError
from sayso.schemas.errors import SchemaViolation
from sayso.schemas.schema import compile_schema
from sayso.schemas.secret import holds_secrets
from sayso.schemas.subschemas import children, subschemas
from sayso.schemas.times import Published


@dataclass(frozen=True, slots=True)
class Conversion:
    """Between a Python value and its JSON value.

    `encode` raises ValueError for a value that the type does not have. `decode` raises ValueError
    naming the first member that the type refuses, without its value; `errors` lists them all.
    """

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]
    errors: Callable[[Any], tuple[SchemaViolation, ...]]
    keeps_secrets: bool = False
    """True if the type has a `Secret` anywhere."""


def schema_of(kind: Any) -> tuple[dict[str, Any], Conversion]:
    """The JSON Schema of a type, checked as the author's own, and its conversion.

    A JSON Schema object stands for itself; its values stay JSON values.

    Raises:
        DeclarationError: The type has no JSON Schema, or the schema cannot be used.
    """
    if isinstance(kind, dict):
        compile_schema(kind)
        return kind, Conversion(lambda value: value, lambda value: value, lambda value: ())
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(kind)
        schema = adapter.json_schema(schema_generator=Published)
    except (PydanticUserError, SchemaError, TypeError, NameError) as error:
        reason = str(error).partition("\n")[0]
        raise DeclarationError(
            f"{kind!r} has no JSON Schema ({reason}); use a pydantic model, a Python type such as "
            "str or list[int], or a JSON Schema object"
        ) from None
    compile_schema(schema)
    return schema, _conversion(adapter)


def _conversion(adapter: TypeAdapter[Any]) -> Conversion:
    def encode(value: Any) -> Any:
        return adapter.dump_python(value, mode="json", by_alias=True, warnings="error")

    def read(value: Any) -> Any:
        # As JSON text, so that strict types take what JSON can say: a date is a string there.
        return adapter.validate_json(jsonvalue.encode(value))

    def decode(value: Any) -> Any:
        try:
            return read(value)
        except ValidationError as error:
            first = errors_of(error, value)[0]
            raise ValueError(f"{first.pointer or 'the value'}: {first.message}") from None

    def problems(value: Any) -> tuple[SchemaViolation, ...]:
        try:
            read(value)
        except ValidationError as error:
            return errors_of(error, value)
        return ()

    return Conversion(encode, decode, problems, holds_secrets(adapter.core_schema))


def errors_of(error: ValidationError, value: Any) -> tuple[SchemaViolation, ...]:
    """Pydantic's complaints about a JSON value, each at a member that the value has or lacks."""
    members = {
        SchemaViolation(
            jsonvalue.pointer(_path(item["loc"], value, item["type"])),
            _said(item["type"], item["msg"]),
        ): None
        for item in error.errors(include_url=False, include_input=False, include_context=False)
    }
    return tuple(members)


def _said(kind: str, message: str) -> str:
    """The message of an error; that of the author's own code without pydantic's prefix."""
    if kind in ("value_error", "assertion_error"):
        return message.partition(", ")[2] or message
    return message


def _path(location: Iterable[str | int], value: Any, kind: str) -> list[str | int]:
    """A location without pydantic's names for branches and validators, which are no members."""
    path: list[str | int] = []
    last: str | int | None = None
    for last in location:
        inside = isinstance(value, dict) and last in value
        if isinstance(value, list) and isinstance(last, int):
            inside = last < len(value)
        if inside:
            path.append(last)
            value = value[last]
    if kind == "missing" and last is not None:
        path.append(last)
    return path


def hoist_definitions(schema: dict[str, Any], name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Prepare a schema to be part of another; returns it and the `$defs` that the other needs.

    Definitions are renamed to `name.…`, so that several parts can share one document; a schema
    that refers to itself becomes a definition called `name`.
    """
    schemas = subschemas(schema)
    whole = any(
        target.split("/")[1:2] not in (["$defs"], ["definitions"])
        for target in schemas.targets.values()
    )

    def moved(target: str) -> str:
        head, _, rest = target.removeprefix("/").partition("/")
        if head in ("$defs", "definitions"):
            return f"#/$defs/{name}.{rest}"
        return f"#/$defs/{name}{target}"

    def copy(pointer: str) -> Any:
        node = schemas.nodes[pointer]
        if not isinstance(node, dict):
            return node
        dropped = ("$id", "$schema", "$anchor", "$defs", "definitions")
        result = {key: item for key, item in node.items() if key not in dropped}
        if pointer in schemas.targets:
            result["$ref"] = moved(schemas.targets[pointer])
        for path, _ in children(node):
            key = path[0]
            if key in dropped:
                continue
            part = copy(pointer + jsonvalue.pointer(path))
            if len(path) == 1:
                result[key] = part
            elif isinstance(node[key], list):
                result[key] = [*result[key]]
                result[key][path[1]] = part
            else:
                result[key] = {**result[key], path[1]: part}
        return result

    defs = {
        f"{name}.{key}": copy(f"/{group}" + jsonvalue.pointer([key]))
        for group in ("definitions", "$defs")
        for key in schema.get(group, ())
    }
    if not whole:
        return copy(""), defs
    return {"$ref": f"#/$defs/{name}"}, {name: copy(""), **defs}
