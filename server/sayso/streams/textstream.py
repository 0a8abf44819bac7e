"""A message of text, said or thought, while it is written: where every microsecond counts.

A piece costs a look at the run's `TextBuffer`, and no event object, no model, no bytes: it is kept
as text, and what is ready together becomes frames in one go.
"""

from collections.abc import AsyncIterable, Sequence
from typing import Any, Final, Protocol

from sayso.base.texts import split_surrogate, to_utf8_safe
from sayso.protocol import frames
from sayso.protocol.guard import StreamOrderError
from sayso.protocol.order import Item

_PIECE: Final = 1_000_000
"""Characters of one delta; longer ones are sent as several (EN-09)."""
BUFFER_BYTES: Final = 32 * 1024
"""Bytes of frames that a draft makes at most, and one piece more."""


class TextBuffer:
    """Pieces of text that are no frames yet, all of one message that is open.

    `of` says of which; None while there are no pieces. So whoever finds its own message there knows
    that nothing else was said since its last piece, that no reader sleeps, and that a further one
    may simply be added. `room` is how many bytes of frames may be added before it is handed out.
    """

    __slots__ = ("of", "pieces", "room")

    def __init__(self) -> None:
        self.of: TextStream | None = None
        self.pieces: list[str] = []
        self.room: int = 0

    def words(self) -> bytes:
        """The frames of all pieces, which are their message's from now on; then it is empty."""
        text, pieces = self.of, self.pieces
        assert text is not None  # noqa: S101 - whoever asks has looked
        data = frames.text(text.prefix, pieces)
        text.keep(pieces, BUFFER_BYTES - self.room - text.around * len(pieces))
        self.of = None
        pieces.clear()
        return data


class TextSink(Protocol):
    """The run that a message is a part of, as the message knows it."""

    congested: bool
    buffer: TextBuffer

    def emit(self, event: dict[str, Any]) -> None:
        """Send one event to all readers."""

    async def backpressure(self) -> None:
        """Wait until readers have room."""

    def _say(self, text: "TextStream", piece: str) -> None: ...


class TextStream:
    """A message that is being written; made by `RunStream.text`.

    `size` is how many characters it has but for those in the run's draft, `around` how many bytes
    of a frame are not its piece; `kind` is what its events begin with. Half a character waits for
    the piece that completes it.
    """

    __slots__ = (
        "_half",
        "_item",
        "_kind",
        "_parts",
        "_run",
        "_text",
        "around",
        "message_id",
        "prefix",
        "size",
    )

    def __init__(
        self, message_id: str, item: Item, run: TextSink, kind: str = "TEXT_MESSAGE"
    ) -> None:
        self.message_id: str = message_id
        self._parts = item.parts
        self.size: int = 0
        self.prefix: bytes = frames.text_prefix(message_id, f"{kind}_CONTENT")
        self.around: int = len(self.prefix) + len(frames.TEXT_TAIL) + 2
        self._run = run
        self._item = item
        self._kind = kind
        self._text: str | None = None
        self._half = ""

    def write(self, delta: str) -> None:
        """Send one piece of the text; an empty piece sends nothing (TR-36).

        Raises StreamOrderError after the end, TypeError for anything but text.
        """
        if not (self._item.open and delta.__class__ is str and len(delta) <= _PIECE):
            self._write_slowly(delta)
        elif delta:
            if self._half or not delta.isascii():
                delta, self._half = split_surrogate(self._half + delta)
                if not delta:
                    return
            self._run._say(self, delta)

    async def pour(self, deltas: AsyncIterable[str], most: int) -> None:
        """Write all that an iterable gives, as fast as readers take it.

        Ends early soon after that was over `most` characters. Raises what `write` and the iterable
        do.
        """
        run, draft, around = self._run, self._run.buffer, self.around
        add = draft.pieces.append
        async for delta in deltas:
            if (
                draft.of is self
                and delta.__class__ is str
                and delta.isascii()
                and (room := draft.room - len(delta)) > 0
                and delta
                and not self._half
            ):
                add(delta)
                draft.room = room - around
            else:
                self.write(delta)
                if self.size > most:
                    return
                if run.congested:
                    await run.backpressure()

    def keep(self, pieces: Sequence[str], size: int) -> None:
        """Note pieces that were sent, of so many characters."""
        self._parts += pieces
        self.size += size

    def _write_slowly(self, delta: str) -> None:
        if not self._item.open:
            raise StreamOrderError(
                f"text message {self.message_id!r} is closed: begin a new message"
            )
        if not isinstance(delta, str):
            raise TypeError(f"a piece of text must be a str, not {type(delta).__name__}")
        for index in range(0, len(delta), _PIECE):
            self.write(str(delta[index : index + _PIECE]))

    def end(self) -> str:
        """Close the message and return its whole text; idempotent, also after the boundary."""
        if self._text is None:
            if self._item.open:
                if self._half:
                    self._run._say(self, to_utf8_safe(self._half))
                self._run.emit({"type": f"{self._kind}_END", "messageId": self.message_id})
            self._text = "".join(self._parts)
        return self._text
