"""Python values to JSON and back, by annotation: a live run gives what a replay would give.

Pure: no I/O. A value goes through its JSON form once, live as well, so that the caller sees on the
first run exactly what it will see after a restart (design 3, rule 4). So a type whose JSON is
another value would run another call than the one that was made, shown and approved.
"""

import functools
import inspect
import logging
import re
import typing
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import is_dataclass
from typing import Any, Final

import orjson
import pydantic_core
from pydantic import (
    BaseModel,
    PydanticUserError,
    SecretBytes,
    SecretStr,
    TypeAdapter,
    ValidationError,
)

from sayso.base import jsonvalue
from sayso.base.errors import DeclarationError, NotRecordable
from sayso.base.redaction import Path, replaced
from sayso.base.texts import to_utf8_safe_deep
from sayso.schemas.secret import Secret, is_secret
from sayso.schemas.times import Published

_log = logging.getLogger("sayso.agents.codec")

_STRICT: Final = (
    orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_ANY: TypeAdapter[Any] = TypeAdapter(Any)
_RAISED: Final = re.compile(r"(Error calling function `[^`]*`: \w+): .*", re.DOTALL)
"""Pydantic's message about a serializer that raised: its name, the type of the error, its text."""
_SECRETS: Final = (SecretBytes, SecretStr)
_HIDING: Final = (Secret, *_SECRETS)
_PLAIN: Final = frozenset((str, int, float, bool))
_LEFT_OUT: Final = ("serialization_exclude", "serialization_exclude_if")
_HALVES: Final = "surrogates not allowed"
"""Part of an error about a text that has to be made fit for UTF-8 first (`texts`)."""


class Codec:
    """Encodes and decodes values of one annotation; without one, plain JSON values."""

    def __init__(self, annotation: Any = Any) -> None:
        self.annotation = annotation
        plain = annotation in (Any, object, inspect.Parameter.empty)
        self._adapter: TypeAdapter[Any] | None = None if plain else TypeAdapter(annotation)
        self._told = False

    def encode(self, value: Any, what: str) -> bytes:
        """Encode a value as JSON.

        Raises:
            NotRecordable: it does not fit its annotation; the message names `what` and the reason.
        """
        if self._adapter is None:
            return recorded(value, what)
        try:
            # By its core: the adapter's own methods cost as much again as what they call.
            return self._adapter.serializer.to_json(value, warnings="error", by_alias=True)
        except (pydantic_core.PydanticSerializationError, TypeError, ValueError) as error:
            reason = str(error)
        if _HALVES in reason:
            try:
                return jsonvalue.encode(
                    self._adapter.dump_python(
                        to_utf8_safe_deep(value), mode="json", warnings="error", by_alias=True
                    )
                )
            except (pydantic_core.PydanticSerializationError, TypeError, ValueError) as error:
                reason = str(error)
        raise NotRecordable(
            f"{what} does not fit its annotation {self.annotation!r}: {_readable(reason, what)}"
        )

    def tell_change(self, value: Any, read: Any, what: str) -> None:
        """Log, once, that a serializer changes a result.

        It is too late to refuse it: the function has run. `read` is stored, shown and given to the
        agent, live and on replay.
        """
        if self._told or self._adapter is None or is_same(value, read):
            return
        self._told = True
        _log.warning(
            "%s is another value in its JSON form, and everybody gets that one, also the agent: "
            "give %r a serializer that keeps it, or a return annotation that can be read back",
            what,
            self.annotation,
        )

    def core(self) -> Any:
        """The annotation as pydantic's core knows it; None without one."""
        return None if self._adapter is None else self._adapter.core_schema

    @functools.cached_property
    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema of the annotation, if it has one; not to be changed."""
        if self._adapter is None:
            return None
        try:
            return self._adapter.json_schema(schema_generator=Published)
        except PydanticUserError:
            return None

    def only_null(self) -> bool:
        """True if null is the one value of the annotation."""
        return self.schema == {"type": "null"}

    def refusal(self, data: bytes) -> ValidationError | None:
        """The annotation's error for a JSON value; None if it accepts the value."""
        try:
            if self._adapter is not None:
                self._adapter.validator.validate_json(data)
        except ValidationError as error:
            return error
        return None

    def decode(self, data: bytes, what: str) -> Any:
        """Decode JSON bytes.

        Raises:
            NotRecordable: the annotation refuses the value.
        """
        if self._adapter is None:
            return (
                pydantic_core.from_json(data)
                if jsonvalue.loses_digits(data)
                else jsonvalue.decode(data)
            )
        try:
            return self._adapter.validator.validate_json(data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise NotRecordable(
                f"{what} does not come back as {self.annotation!r} from its JSON form: "
                f"{first['msg']}; give the function a return annotation that JSON can carry"
            ) from None


def _readable(reason: str, what: str) -> str:
    """The reason why a value has no JSON form, with only the type of an author's exception.

    Models and clients read the reason, and the text of an exception may hold a secret.
    """
    readable = _RAISED.sub(r"\1", reason)
    if readable != reason:
        _log.warning("%s has no JSON form: %s", what, reason)
    return readable


def to_json(value: Any, what: str) -> bytes:
    """Encode a value so that readers of JSON get it unchanged.

    Raises:
        NotRecordable: it has no JSON form (`recorded`), or holds an integer that readers round.
    """
    data = recorded(value, what)
    if jsonvalue.loses_digits(data):
        raise NotRecordable(
            f"{what} holds an integer beyond 64 bits, which readers of JSON round: give it as text"
        )
    return data


def recorded(value: Any, what: str) -> bytes:
    """Encode any value that has an obvious JSON form (models, dataclasses, dates, sets).

    Its integers keep all digits.

    Raises:
        NotRecordable: it has none: functions, clients, open files, bytes that are not text.
    """
    try:
        return pydantic_core.to_json(value, inf_nan_mode="null", by_alias=True)
    except (pydantic_core.PydanticSerializationError, ValueError, RecursionError) as error:
        reason = str(error)
    if _HALVES in reason:
        try:
            plain = pydantic_core.to_jsonable_python(to_utf8_safe_deep(value), by_alias=True)
            return jsonvalue.encode(plain)
        except (pydantic_core.PydanticSerializationError, ValueError, RecursionError) as error:
            reason = str(error)
    raise NotRecordable(
        f"{what} cannot be recorded as JSON ({_readable(reason, what)}); pass plain data, a "
        "pydantic model or a dataclass, and create clients inside the function"
    )


def in_stable_order(value: Any, written: bytes) -> bytes:
    """The JSON of a value, with sets in an order that is the same in every process.

    Sets iterate by a hash that differs between processes; the arguments of a call must not.
    """
    if _is_plain(value, written):
        return written
    plain = jsonvalue.decode(written)
    ordered = _ordered(_ANY.dump_python(value, by_alias=True), plain)
    return written if ordered == plain else jsonvalue.encode(ordered)


def _is_plain(value: Any, written: bytes) -> bool:
    """True if it consists of JSON values, and so holds no set; quick, and may miss some."""
    members = value.__dict__ if isinstance(value, BaseModel) else value
    try:
        return orjson.dumps(members, option=_STRICT) == written
    except orjson.JSONEncodeError:
        return False


def _ordered(value: Any, json: Any) -> Any:
    if isinstance(value, _HIDING):
        return _ordered(_ANY.dump_python(value.get_secret_value(), by_alias=True), json)
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


def _as_it_is(annotation: Any) -> Any:
    return annotation


def return_codec(fn: Callable[..., Any], of: Callable[[Any], Any] = _as_it_is) -> Codec:
    """The codec of a function's return annotation; plain JSON if none can be found.

    `of` gives the part of the annotation that is meant.

    It is kept for the next call. The function is not, nor the object of a method: a step is often
    one that a turn has made for itself, which holds the turn and all that belongs to it.
    """
    speaker = annotated(fn)
    if inspect.ismethod(speaker):
        speaker = speaker.__func__
    try:
        return _return_codec(weakref.ref(speaker), of)
    except TypeError:  # no hash, or a type written in C that has no weak references
        return _codec_returned_by(speaker, of)


@functools.lru_cache(maxsize=1024)
def _return_codec(kept: weakref.ref[Callable[..., Any]], of: Callable[[Any], Any]) -> Codec:
    fn = kept()
    assert fn is not None  # noqa: S101 - the caller holds it
    return _codec_returned_by(fn, of)


def _codec_returned_by(fn: Callable[..., Any], of: Callable[[Any], Any]) -> Codec:
    try:
        hints = typing.get_type_hints(fn, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return Codec()
    try:
        codec = Codec(of(hints.get("return", Any)))
    except (PydanticUserError, pydantic_core.SchemaError):
        return Codec()
    if (lost := left_out(codec.core())) is not None:
        raise DeclarationError(
            f"{getattr(fn, '__qualname__', fn)!r} returns {lost}: what is recorded and given back "
            "is JSON, so nobody would ever get it. Leave it out of what the function returns"
        )
    return codec


def codec_of(annotation: Any, where: str) -> Codec:
    """The codec of a type that an author names for results of what `where` says.

    Raises:
        DeclarationError: a type that JSON cannot carry.
    """
    try:
        codec = Codec(annotation)
    except (PydanticUserError, pydantic_core.SchemaError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise DeclarationError(f"{where}: {annotation!r} is no type ({reason})") from None
    if (lost := left_out(codec.core())) is not None:
        raise DeclarationError(
            f"{where}: its results hold {lost}: what is recorded and given back is JSON, so "
            "nobody would ever get it"
        )
    return codec


def left_out(schema: Any) -> str | None:
    """Name a part of a pydantic core schema that JSON lacks, and where; None if there is none."""
    hidden = secret_in(schema)
    return excluded(schema) if hidden is None else f"{hidden}, of which JSON has the stars alone"


def excluded(schema: Any) -> str | None:
    """Name a field of a core schema that JSON leaves out, and where; None if there is none."""
    return next((text for is_hidden, text in _left_out_at(schema, ()) if not is_hidden), None)


def secret_in(schema: Any) -> str | None:
    """Name a part of a core schema of which JSON has stars alone, and where; None without one."""
    return next((text for is_hidden, text in _left_out_at(schema, ()) if is_hidden), None)


def with_secrets_in_clear(value: Any, written: bytes, schema: Mapping[str, Any]) -> bytes:
    """The JSON of a value with what is in its secrets where `written` has stars for them.

    Raises:
        NotRecordable: what a secret holds has no JSON form, or its schema does not mark it as one.
    """
    paths: list[Path] = []
    plain = _in_clear(_ANY.dump_python(value, by_alias=True), jsonvalue.decode(written), (), paths)
    marked: set[Path] = set()
    replaced(plain, schema, lambda part, path: marked.add(path))
    for path in paths:
        if not any(path[:length] in marked for length in range(len(path) + 1)):
            raise NotRecordable(
                f"the schema of the secret at {jsonvalue.pointer(path)!r} does not mark it as one, "
                "so it would be seen: have it say writeOnly"
            )
    return jsonvalue.encode(plain)


def _in_clear(value: Any, json: Any, path: Path, paths: list[Path]) -> Any:
    if isinstance(value, _HIDING):
        paths.append(path)
        return jsonvalue.decode(recorded(value.get_secret_value(), "a secret"))
    if isinstance(json, dict) and isinstance(value, dict) and len(json) == len(value):
        pairs = zip(json.items(), value.values(), strict=True)
        return {key: _in_clear(item, part, (*path, key), paths) for (key, part), item in pairs}
    if isinstance(json, list) and isinstance(value, Collection) and len(json) == len(value):
        items = enumerate(zip(value, json, strict=True))
        return [_in_clear(item, part, (*path, n), paths) for n, (item, part) in items]
    return json


def _secret_type(node: dict[str, Any]) -> str | None:
    """The name of a type that no JSON shows; None for any other."""
    if is_secret(node):
        return Secret.__name__
    kind = node.get("cls")
    return kind.__name__ if isinstance(kind, type) and issubclass(kind, _SECRETS) else None


def _left_out_at(node: Any, path: tuple[str, ...]) -> Iterator[tuple[bool, str]]:
    """List what JSON does not show: whether it is a secret, and its name."""
    if isinstance(node, list | tuple):
        for item in node:
            yield from _left_out_at(item, path)
    if not isinstance(node, dict):
        return
    where = f" at {jsonvalue.pointer(path)!r}" if path else ""
    if any(node.get(name) for name in _LEFT_OUT):
        yield False, f"a field{where} that is left out of JSON (`exclude`)"
    if (secret := _secret_type(node)) is not None:
        yield True, f"a {secret}{where}"
        return
    for name, part in node.items():
        if name == "fields" and isinstance(part, dict):
            for field, inner in part.items():
                yield from _left_out_at(inner, (*path, str(field)))
        elif name == "fields" and isinstance(part, list):
            for inner in part:
                named = inner.get("name") if isinstance(inner, dict) else None
                yield from _left_out_at(inner, path if named is None else (*path, str(named)))
        elif name not in ("metadata", "ref", "default"):
            yield from _left_out_at(part, path)


def is_same(sent: Any, read: Any) -> bool:
    """True if a validated value and the one read from its JSON are the same to a function.

    Models and dataclasses are compared by their fields, also without an `__eq__` of their own. A
    tuple and a list are the same where the annotation does not say which it is.
    """
    if sent is read:
        return True
    if type(sent) in _PLAIN and type(sent) is type(read):
        return bool(sent == read)
    if isinstance(sent, list | tuple) and isinstance(read, list | tuple):
        return len(sent) == len(read) and all(map(is_same, sent, read))
    if isinstance(sent, BaseModel) and type(sent) is type(read):
        more = is_same(sent.__pydantic_extra__ or {}, read.__pydantic_extra__ or {})
        return more and is_same(sent.__dict__, read.__dict__)
    if isinstance(sent, Mapping) and isinstance(read, Mapping):
        return sent.keys() == read.keys() and all(is_same(sent[key], read[key]) for key in sent)
    if type(sent) is type(read) and _has_plain_fields(sent):
        return is_same(vars(sent), vars(read))
    return isinstance(sent, bool) == isinstance(read, bool) and bool(sent == read)


def _has_plain_fields(value: Any) -> bool:
    compares = any("__eq__" in vars(kind) for kind in type(value).__mro__[:-1])
    return hasattr(value, "__dict__") and (is_dataclass(value) or not compares)
