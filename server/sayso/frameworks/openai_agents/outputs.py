"""Results of function tools as they are recorded: as models read them. Pure."""

import base64
import binascii
from typing import Any, TypeAlias

from agents import ToolOutputFileContent, ToolOutputImage, ToolOutputText
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from sayso import Told, parts

_Structured: TypeAlias = ToolOutputText | ToolOutputImage | ToolOutputFileContent
_STRUCTURED: TypeAdapter[_Structured] = TypeAdapter(_Structured)


def returned(value: Any, *, typed: bool) -> Told[Any]:
    """The record of what a tool returned: a text, or the SDK's content parts.

    `typed`: its tool declares what it returns, so it is kept as JSON.
    """
    structured = None if typed else _structured(value)
    if structured is not None:
        record = [to_jsonable_python(item, exclude_none=True) for item in structured]
        return Told(record, [_part(item) for item in structured])
    if typed and not isinstance(value, str):
        value = to_jsonable_python(value)
        return Told(value, str(value))
    text = value if isinstance(value, str) else str(value)
    return Told(text, text)


def from_person(value: Any) -> Told[Any]:
    """The record of a result that a person gives in place of the tool's own."""
    return returned(value, typed=False)


def _structured(value: Any) -> list[_Structured] | None:
    """The content parts that a value is; None for any other value."""
    items = list(value) if isinstance(value, list | tuple) else [value]
    if not items or not all(isinstance(item, dict | _Structured) for item in items):
        return None
    if any(isinstance(item, dict) and "type" not in item for item in items):
        return None
    try:
        return [_STRUCTURED.validate_python(item) for item in items]
    except ValidationError:
        return None


def _part(item: _Structured) -> parts.Part:
    if isinstance(item, ToolOutputText):
        return parts.text(item.text)
    if isinstance(item, ToolOutputImage):
        return _media(parts.image, item.image_url, item.file_id)
    return _media(parts.document, item.file_url or item.file_data, item.filename or item.file_id)


def _media(make: Any, location: str | None, name: str | None) -> parts.Part:
    """A picture or a file by its URL, or by the data that stands in it."""
    if location is None:
        return parts.text(f"[{name}]")
    head, comma, data = location.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        made: parts.Part = make(url=location)
        return made
    try:
        made = make(
            data=base64.b64decode(data, validate=True),
            mime_type=head.removeprefix("data:").removesuffix(";base64"),
        )
    except binascii.Error:
        return parts.text(f"[{name or 'a file'}]")
    return made
