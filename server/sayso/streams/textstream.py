"""A message of text, said or thought, while it is written: where every microsecond counts.

Pure. A piece costs a look at the flag that the message is open, and no event object, no model: it
is handed on as text, and what is ready together becomes frames in one go.
"""

from collections.abc import Callable
from typing import Any, Final

from sayso.protocol import frames
from sayso.protocol.guard import Item, StreamOrderError

__all__ = ["TextStream"]

_PIECE: Final = 1_000_000
"""Characters of one delta; longer ones are sent as several (EN-09)."""


class TextStream:
    """A message that is being written; made by `RunStream.text`.

    `kind` is what its events begin with.
    """

    __slots__ = ("_emit", "_item", "_kind", "_parts", "_prefix", "_say", "_text", "message_id")

    def __init__(
        self,
        message_id: str,
        item: Item,
        say: Callable[[bytes, str], None],
        emit: Callable[[dict[str, Any]], None],
        kind: str = "TEXT_MESSAGE",
    ) -> None:
        self.message_id = message_id
        self._say = say
        self._emit = emit
        self._item = item
        self._parts = item.parts
        self._kind = kind
        self._prefix = frames.text_prefix(message_id, f"{kind}_CONTENT")
        self._text: str | None = None

    def write(self, delta: str) -> None:
        """Send one piece of the text; an empty piece sends nothing (TR-36).

        Raises StreamOrderError after the end, TypeError for what is no text.
        """
        if not (self._item.open and delta.__class__ is str and len(delta) <= _PIECE):
            self._write_slowly(delta)
        elif delta:
            if not delta.isascii():
                _check(delta)
            self._parts.append(delta)
            self._say(self._prefix, delta)

    def _write_slowly(self, delta: str) -> None:
        if not self._item.open:
            raise StreamOrderError(
                f"text message {self.message_id!r} is closed: begin a new message"
            )
        if not isinstance(delta, str):
            raise TypeError(f"a piece of text must be a str, not {type(delta).__name__}")
        for at in range(0, len(delta), _PIECE):
            self.write(str(delta[at : at + _PIECE]))

    def end(self) -> str:
        """Close the message and return its whole text; idempotent, also after the boundary."""
        if self._text is None:
            self._text = "".join(self._parts)
            if self._item.open:
                self._emit({"type": f"{self._kind}_END", "messageId": self.message_id})
        return self._text


def _check(delta: str) -> None:
    try:
        delta.encode()
    except UnicodeEncodeError as error:
        raise TypeError(f"a piece of text is no valid Unicode: {error}") from None
