"""Results of tools that are more than text: images, sounds, films and documents (TC-06).

A tool returns `list[Part]` (or one `Part`), made by the functions of this module; a peer that
declared protocol 1.0 gets the parts, an older one their text. Pure.
"""

import base64
from typing import Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)


class _Shape(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True
    )

    @model_serializer(mode="wrap")
    def _without_nulls(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Absent means absent (LC-22)."""
        return {name: value for name, value in handler(self).items() if value is not None}


class MediaSource(_Shape):
    """The bytes of a part: inline as base64, behind a URL, or in a provider's file."""

    type: Literal["data", "url", "file"]
    value: str
    mime_type: str | None = Field(None, alias="mimeType")
    provider: str | None = None


class Part(_Shape):
    """One part of a tool's result; make it with `text`, `image`, `audio`, `video`, `document`."""

    type: Literal["text", "image", "audio", "video", "document"]
    text: str | None = None
    source: MediaSource | None = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> "Part":
        """Words have a text, everything else a source."""
        words = self.type == "text"
        if words is (self.text is None) or words is not (self.source is None):
            raise ValueError("a part of type 'text' has a text, any other a source")
        return self


def text(words: str) -> Part:
    """A text."""
    return Part(type="text", text=words)


def image(
    *, url: str | None = None, data: bytes | None = None, mime_type: str | None = None
) -> Part:
    """A picture, by its URL or by its bytes; bytes need their `mime_type`."""
    return Part(type="image", source=_source(url, data, mime_type))


def audio(
    *, url: str | None = None, data: bytes | None = None, mime_type: str | None = None
) -> Part:
    """A sound, by its URL or by its bytes; bytes need their `mime_type`."""
    return Part(type="audio", source=_source(url, data, mime_type))


def video(
    *, url: str | None = None, data: bytes | None = None, mime_type: str | None = None
) -> Part:
    """A film, by its URL or by its bytes; bytes need their `mime_type`."""
    return Part(type="video", source=_source(url, data, mime_type))


def document(
    *, url: str | None = None, data: bytes | None = None, mime_type: str | None = None
) -> Part:
    """A document, by its URL or by its bytes; bytes need their `mime_type`."""
    return Part(type="document", source=_source(url, data, mime_type))


def _source(url: str | None, data: bytes | None, mime_type: str | None) -> MediaSource:
    if (url is None) == (data is None):
        raise ValueError("a part needs either url= or data=")
    if data is None:
        return MediaSource(type="url", value=url or "", mimeType=mime_type)
    if mime_type is None:
        raise ValueError("bytes need their mime_type=, such as 'image/png'")
    return MediaSource(type="data", value=base64.b64encode(data).decode(), mimeType=mime_type)


def are_parts(value: Any) -> bool:
    """True if a tool's result consists of content parts."""
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(item, Part) for item in value)
    return isinstance(value, Part)
