"""Results of tools as they are recorded: what the framework gets back, and what clients read.

A tool may return a value or a `ToolReturn`, or raise what the framework takes for an ending:
`ModelRetry`, its own `ToolFailed`, a misfit. Each is a JSON object with its `kind`.
"""

from typing import Any

from pydantic import ValidationError
from pydantic_ai.durable_exec import JSON_CODEC
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    DocumentUrl,
    ImageUrl,
    ToolReturn,
    ToolReturnContent,
    ToolReturnPart,
    VideoUrl,
)

from sayso import Told, parts

_MAKE = {
    "image": parts.image,
    "audio": parts.audio,
    "video": parts.video,
    "document": parts.document,
}
_URLS = {ImageUrl: "image", AudioUrl: "audio", VideoUrl: "video", DocumentUrl: "document"}


def returned(name: str, value: Any) -> Told[Any]:
    """The record of what a tool returned."""
    if isinstance(value, ToolReturn):
        record = {"kind": "tool-return", "value": JSON_CODEC.dump(ToolReturn[Any], value)}
        value = value.return_value
    else:
        record = {"kind": "return", "value": JSON_CODEC.dump(ToolReturnContent, value)}
    return Told(record, told(name, value))


def ended(error: ModelRetry | ToolFailed | ValidationError) -> Told[Any]:
    """The record of an ending that the framework knows, instead of a result."""
    if isinstance(error, ModelRetry):
        return Told({"kind": "retry", "message": error.message}, error.message)
    if isinstance(error, ToolFailed):
        return Told({"kind": "failed", "message": error.message}, f"Failed: {error.message}")
    message = error.json(include_url=False, include_context=False)
    return Told({"kind": "retry", "message": message}, message)


def from_person(value: Any) -> Told[Any]:
    """The record of a result that a person gives in place of the tool's own."""
    return returned("", value)


def restored(record: Any) -> Any:
    """Give the framework a recorded result or ending.

    Raises:
        ModelRetry: the tool wants the model to call it in another way.
        ToolFailed: the tool says that it failed.
    """
    kind = record["kind"]
    if kind == "retry":
        raise ModelRetry(record["message"])
    if kind == "failed":
        raise ToolFailed(record["message"])
    if kind == "tool-return":
        return JSON_CODEC.load(ToolReturn[Any], record["value"])
    return JSON_CODEC.load(ToolReturnContent, record["value"])


def told(name: str, value: Any) -> Any:
    """A result as clients and later turns read it: text, or content parts if it has media."""
    items = value if isinstance(value, list | tuple) else [value]
    if not any(_is_media(item) for item in items):
        return _text(name, value)
    return [_part(item) if _is_media(item) else parts.text(_text(name, item)) for item in items]


def _text(name: str, value: Any) -> str:
    part = ToolReturnPart(tool_name=name, content=value, tool_call_id="")
    return str(part.model_response_str())


def _is_media(value: Any) -> bool:
    return isinstance(value, BinaryContent | ImageUrl | AudioUrl | VideoUrl | DocumentUrl)


def _part(item: Any) -> parts.Part:
    if isinstance(item, BinaryContent):
        kind = item.media_type.partition("/")[0]
        make = _MAKE.get(kind, parts.document)
        return make(data=item.data, mime_type=item.media_type)
    return _MAKE[_URLS[type(item)]](url=item.url, mime_type=item.media_type)
