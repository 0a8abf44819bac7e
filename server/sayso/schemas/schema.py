"""JSON Schemas for answers: compiled once, strict where the author is, total where a stranger is.

Draft 2020-12 with formats asserted, patterns in linear time, nothing fetched (design 7). A schema
that cannot do its work fails when the author declares it; a value never makes one raise.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from jsonschema_rs import (
    Draft202012Validator,
    RegexOptions,
    ValidationError,
    ValidatorMap,
    validator_map_for,
)

from sayso.base import jsonvalue
from sayso.base.errors import DeclarationError
from sayso.schemas.errors import LEAVES, ErrorFinder, SchemaViolation
from sayso.schemas.subschemas import Subschemas, accepts_string, subschemas
from sayso.schemas.times import LOCAL

MAX_SCHEMA_DEPTH: Final = 64
MAX_VALUE_DEPTH: Final = 128
MAX_CACHED: Final = 512
MAX_REASON_CHARS: Final = 2000
_MASK: Final = "the value"


def _refuse_fetch(uri: str) -> Any:
    raise ValueError(f"{uri!r} is not fetched")


_OPTIONS: Final[Any] = {
    "validate_formats": True,
    "formats": LOCAL,
    "retriever": _refuse_fetch,
    "pattern_options": RegexOptions(),
    "mask": _MASK,
}
_UNFIT: Final = (ValueError, TypeError, OverflowError, RecursionError)
"""The validator's errors for values that are not JSON."""


class Schema:
    """A compiled schema. `source` is its JSON object, `data` the same as bytes."""

    def __init__(self, source: dict[str, Any], data: bytes) -> None:
        if jsonvalue.exceeds_depth(source, MAX_SCHEMA_DEPTH):
            raise DeclarationError(
                f"the schema nests more than {MAX_SCHEMA_DEPTH} levels: use $defs and $ref"
            )
        self.source = source
        self.data = data
        self._schemas: Subschemas = subschemas(source)
        self._validator = _checked(source)
        self._parts: ValidatorMap | None = None
        self._leaves: dict[str, Draft202012Validator] = {}

    @property
    def accepts_string(self) -> bool:
        """True if some string may fit."""
        return accepts_string(self._schemas)

    def is_valid(self, value: Any) -> bool:
        """True if a JSON value fits; False for anything that is not a JSON value."""
        try:
            return not jsonvalue.exceeds_depth(value, MAX_VALUE_DEPTH) and self._validator.is_valid(
                value
            )
        except _UNFIT:
            return False

    def errors(self, value: Any) -> tuple[SchemaViolation, ...]:
        """List the errors of a value, at most 20; empty if it fits. Never raises."""
        try:
            if jsonvalue.exceeds_depth(value, MAX_VALUE_DEPTH):
                return (SchemaViolation("", f"nests more than {MAX_VALUE_DEPTH} levels"),)
            if self._validator.is_valid(value):
                return ()
            return ErrorFinder(self._schemas, self._part_fits, self._leaf_errors, _matches).search(
                value
            )
        except _UNFIT:
            return (SchemaViolation("", "is not a JSON value"),)

    def _part_fits(self, pointer: str, value: Any) -> bool:
        if self._parts is None:
            self._parts = validator_map_for(self.source, **_OPTIONS)
        return self._parts["#" + pointer].is_valid(value)

    def _leaf_errors(self, pointer: str, value: Any) -> Iterable[ValidationError]:
        leaf = self._leaves.get(pointer)
        if leaf is None:
            schema = self._schemas.nodes[pointer]
            rules = {key: rule for key, rule in schema.items() if key in LEAVES}
            leaf = self._leaves[pointer] = Draft202012Validator(rules, **_OPTIONS)
        return leaf.iter_errors(value)


def compile_schema(schema: Any) -> Schema:
    """Compile a JSON Schema object.

    Raises:
        DeclarationError: it is not a JSON object (a boolean is not, IN-08), breaks the meta-schema,
            or cannot be checked safely; the message says where and what.
    """
    if not isinstance(schema, dict):
        raise DeclarationError("a schema must be a JSON object: write {} for anything")
    try:
        data = jsonvalue.encode(schema)
    except (TypeError, ValueError, RecursionError) as error:
        raise DeclarationError(f"the schema is not JSON: {error}") from None
    return compile_bytes(data)


@lru_cache(maxsize=MAX_CACHED)
def compile_bytes(data: bytes) -> Schema:
    """Compile the bytes of a JSON Schema object; see `compile_schema`. Compiled ones are kept."""
    try:
        source = jsonvalue.decode(data)
    except ValueError as error:
        raise DeclarationError(f"the schema is not JSON: {error}") from None
    if not isinstance(source, dict):
        raise DeclarationError("a schema must be a JSON object: write {} for anything")
    return Schema(source, data)


@lru_cache(maxsize=MAX_CACHED)
def compile_approval(data: bytes) -> Schema:
    """Compile the schema that checks the payload of a gated call: what was asked, nothing more.

    `data` is the schema as it was published, without `additionalProperties` and `maxLength`: some
    clients show their own buttons for plain keywords only.
    """
    source = jsonvalue.decode(data)
    properties: dict[str, Any] = source["properties"]
    reason = {**properties["reason"], "maxLength": MAX_REASON_CHARS}
    closed = {**source, "properties": properties | {"reason": reason}}
    return compile_schema({**closed, "additionalProperties": False})


def _checked(schema: dict[str, Any]) -> Draft202012Validator:
    try:
        return Draft202012Validator(schema, **_OPTIONS)
    except ValidationError as error:
        where = jsonvalue.pointer(error.instance_path)
        if error.kind.name == "format":
            what = "is not a regular expression without look-around and back-references"
        else:
            what = f"breaks the rules of JSON Schema ({error.kind.name})"
        raise DeclarationError(f"the schema's member at {where!r} {what}") from None
    except _UNFIT as error:
        raise DeclarationError(f"the schema cannot be compiled: {error}") from None


@lru_cache(maxsize=MAX_CACHED)
def _pattern(pattern: str) -> Draft202012Validator:
    return Draft202012Validator({"pattern": pattern}, **_OPTIONS)


def _matches(pattern: str, name: str) -> bool:
    return _pattern(pattern).is_valid(name)
