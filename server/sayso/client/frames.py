"""The frames of an event stream, from bytes as they come (EN-04 to EN-09, EN-19). Pure."""

import codecs
import re
from typing import Any, Final

from sayso import jsonvalue
from sayso.client.errors import ProtocolViolation

__all__ = ["Frames"]

LARGEST: Final = 10 * 1024 * 1024
"""Characters that one frame may have (EN-09)."""
_END = re.compile(r"\r\n|\n|\r")


class Frames:
    """Cuts a body into JSON values; what is no `data:` field is left out."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("strict")
        self._line: list[str] = []
        self._data: list[str] = []
        self._size = 0
        self._after_return = False

    def take(self, chunk: bytes) -> list[Any]:
        """The values that are complete now; a half frame waits for its rest."""
        try:
            text = self._decoder.decode(chunk)
        except UnicodeDecodeError as error:
            raise ProtocolViolation(f"the stream is not UTF-8: {error.reason}") from None
        if self._after_return and text:
            text, self._after_return = text.removeprefix("\n"), False
        self._after_return |= text.endswith("\r")
        found = []
        *lines, rest = _END.split(text)
        for line in lines:
            whole = "".join([*self._line, line])
            self._line.clear()
            if whole:
                self._field(whole)
                continue
            if self._data:
                found.append(_json("\n".join(self._data)))
                self._data.clear()
            self._size = 0
        if rest:
            self._line.append(rest)
            self._grow(len(rest))
        return found

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        if name == "data":
            self._data.append(value.removeprefix(" "))
            self._grow(len(value))

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > 2 * LARGEST:
            raise ProtocolViolation(f"a frame has more than {LARGEST} characters")


def _json(data: str) -> Any:
    if len(data) > LARGEST:
        raise ProtocolViolation(f"a frame has more than {LARGEST} characters")
    try:
        return jsonvalue.decode(data.encode())
    except ValueError as error:
        raise ProtocolViolation(f"a frame is not JSON: {error}") from None
