"""The frames of an event stream, from bytes as they come (EN-04 to EN-09, EN-19). Pure."""

import codecs
import re
from typing import Any, Final

from sayso.base import jsonvalue
from sayso.client.errors import ProtocolViolation

MAX_FRAME_BYTES: Final = 10 * 1024 * 1024
"""Characters that one frame may have (EN-09)."""
_PER_LINE: Final = 32
"""Characters that a line counts for besides its own: each takes memory, also an empty one."""
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
        frames = []
        *lines, rest = _END.split(text)
        for line in lines:
            whole = "".join([*self._line, line])
            self._line.clear()
            if whole:
                self._field(whole)
                continue
            if self._data:
                frames.append(_json("\n".join(self._data)))
                self._data.clear()
            self._size = 0
        if rest:
            self._line.append(rest)
            self._grow(len(rest))
        return frames

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        if name == "data":
            self._data.append(value.removeprefix(" "))
            self._grow(len(value) + _PER_LINE)

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > 2 * MAX_FRAME_BYTES:
            raise ProtocolViolation(f"a frame has more than {MAX_FRAME_BYTES} characters")


def _json(data: str) -> Any:
    if len(data) > MAX_FRAME_BYTES:
        raise ProtocolViolation(f"a frame has more than {MAX_FRAME_BYTES} characters")
    try:
        return jsonvalue.decode(data.encode())
    except ValueError as error:
        raise ProtocolViolation(f"a frame is not JSON: {error}") from None
