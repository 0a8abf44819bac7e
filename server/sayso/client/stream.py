"""A body, event by event: read, spelled out, held to its order, applied. Pure."""

from collections.abc import Iterator
from typing import Any, Final

from sayso.client.chunks import Chunks
from sayso.client.events import Notes, read_event
from sayso.client.frames import Frames
from sayso.client.order import BodyOrder
from sayso.client.thread import ThreadState

PROTOCOL: Final = "1.0"


class Stream:
    """One body of a thread. `notes` fills with what was dropped or could not be applied."""

    def __init__(self, thread: ThreadState) -> None:
        self.notes: Notes = []
        self._thread = thread
        self._frames = Frames()
        self._chunks = Chunks()
        self._order = BodyOrder()

    @property
    def ended(self) -> bool:
        """True if a body that ends here is whole (LC-16)."""
        return self._order.ended

    def take(self, chunk: bytes) -> Iterator[dict[str, Any]]:
        """The events that these bytes complete; `ProtocolViolation` ends the stream."""
        for value in self._frames.take(chunk):
            event = read_event(value, self.notes)
            if event is None:
                continue
            for plain in self._chunks.expanded(event):
                self._order.take(plain)
                self._declared(plain)
                self._thread.apply(plain, self.notes)
                yield plain

    def _declared(self, event: dict[str, Any]) -> None:
        """A newer producer is followed all the same, and told of (VN-03, VN-08)."""
        version = event.get("protocolVersion")
        if event["type"] != "RUN_STARTED" or version is None:
            return
        major, _, minor = version.partition(".")
        digits = all(part.isascii() and part.isdigit() for part in (major, minor))
        if not digits or (int(major), int(minor)) > (1, 0):
            self.notes.append(f"the agent speaks protocol {version!r}, this client {PROTOCOL}")
