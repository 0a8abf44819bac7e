"""Python values to JSON and back, by annotation: what replay would give is what live gives.

Pure: no I/O. A value goes through its JSON form once, live as well, so that the caller sees on the
first run exactly what it will see after a restart (design 3, rule 4).
"""

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any, Final

import orjson
import pydantic_core
from pydantic import BaseModel, PydanticUserError, TypeAdapter, ValidationError

from sayso import jsonvalue
from sayso.errors import NotRecordable

__all__ = ["Codec", "annotated", "return_codec", "stable", "to_json"]

_STRICT: Final = (
    orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_ANY: TypeAdapter[Any] = TypeAdapter(Any)


class Codec:
    """Encodes and decodes values of one annotation; without one, plain JSON values."""

    def __init__(self, annotation: Any = Any) -> None:
        self.annotation = annotation
        plain = annotation in (Any, object, inspect.Parameter.empty)
        self._adapter: TypeAdapter[Any] | None = None if plain else TypeAdapter(annotation)

    def encode(self, value: Any, what: str) -> bytes:
        """JSON bytes of a value; `NotRecordable` names `what` and the reason."""
        if self._adapter is None:
            return to_json(value, what)
        try:
            # By its core: the adapter's own methods cost as much again as what they call.
            return self._adapter.serializer.to_json(value, warnings="error", by_alias=True)
        except (pydantic_core.PydanticSerializationError, TypeError, ValueError) as error:
            raise NotRecordable(
                f"{what} does not fit its annotation {self.annotation!r}: {error}"
            ) from None

    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema of the annotation, if it has one."""
        if self._adapter is None:
            return None
        try:
            return self._adapter.json_schema()
        except PydanticUserError:
            return None

    def takes_null(self) -> bool:
        """Whether null is a value of the annotation."""
        try:
            self.decode(b"null", "null")
        except NotRecordable:
            return False
        return True

    def decode(self, data: bytes, what: str) -> Any:
        """The value of JSON bytes; `NotRecordable` if the annotation refuses it."""
        if self._adapter is None:
            return jsonvalue.decode(data)
        try:
            return self._adapter.validator.validate_json(data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise NotRecordable(
                f"{what} does not come back as {self.annotation!r} from its JSON form: "
                f"{first['msg']}; give the function a return annotation that JSON can carry"
            ) from None


def to_json(value: Any, what: str) -> bytes:
    """JSON bytes of any value that has an obvious JSON form (models, dataclasses, dates, sets).

    `NotRecordable` names `what` when there is none: functions, clients, open files, bytes that are
    no text.
    """
    try:
        return pydantic_core.to_json(value, inf_nan_mode="null", by_alias=True)
    except (pydantic_core.PydanticSerializationError, ValueError, RecursionError) as error:
        raise NotRecordable(
            f"{what} cannot be recorded as JSON ({error}); pass plain data, a pydantic model or a "
            "dataclass, and create clients inside the function"
        ) from None


def stable(value: Any, written: bytes) -> bytes:
    """The JSON that was written of a value, with sets in an order that the next process has too.

    Sets iterate by a hash that differs between processes; what a call asks for must not.
    """
    if _is_plain(value, written):
        return written
    plain = jsonvalue.decode(written)
    ordered = _ordered(_ANY.dump_python(value, by_alias=True), plain)
    return written if ordered == plain else jsonvalue.encode(ordered)


def _is_plain(value: Any, written: bytes) -> bool:
    """Whether it is made of JSON values alone, and so holds no set; quick, and may miss some."""
    members = value.__dict__ if isinstance(value, BaseModel) else value
    try:
        return orjson.dumps(members, option=_STRICT) == written
    except orjson.JSONEncodeError:
        return False


def _ordered(value: Any, json: Any) -> Any:
    if isinstance(json, dict) and isinstance(value, dict) and len(json) == len(value):
        return {
            key: _ordered(item, part)
            for (key, part), item in zip(json.items(), value.values(), strict=True)
        }
    if isinstance(json, list) and len(json) == len(value):
        items = [_ordered(item, part) for item, part in zip(value, json, strict=True)]
        unordered = isinstance(value, set | frozenset)
        return sorted(items, key=jsonvalue.canonical) if unordered else items
    return json


def annotated(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function whose annotations speak for a callable: inside partials, wrappers, objects."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    fn = inspect.unwrap(fn)
    if inspect.isroutine(fn) or inspect.isclass(fn):
        return fn
    return type(fn).__call__


def return_codec(fn: Callable[..., Any]) -> Codec:
    """The codec of a function's return annotation; plain JSON where there is none to be found."""
    try:
        return _return_codec(fn)
    except TypeError:  # a callable that has no hash
        return _return_codec.__wrapped__(fn)


@functools.lru_cache(maxsize=1024)
def _return_codec(fn: Callable[..., Any]) -> Codec:
    try:
        hints = typing.get_type_hints(annotated(fn), include_extras=True)
    except (NameError, TypeError, AttributeError):
        return Codec()
    try:
        return Codec(hints.get("return", Any))
    except (PydanticUserError, pydantic_core.SchemaError):
        return Codec()
