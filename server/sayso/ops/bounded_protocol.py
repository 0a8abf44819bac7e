"""The HTTP protocol with bounds: on heads, on connections, and on how long a stranger holds one.

uvicorn reads heads of any length by `httptools`, each piece copied behind all before it, and waits
without end for the rest of a request and for a client to take its answer. All of that comes before
anybody is authenticated, so it has to be bounded here.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_PIECE: Final = 16 * 1024
"""Bytes that are parsed at a time, so that a bound is noticed in time."""
_LINGERS: Final = 1.0
"""Seconds in which a client can hear why it is cut off."""


_REASONS: Final = {
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable\r\nretry-after: 1",
}
_TURNED_AWAY: Final = 100
"""Connections over the bound that are told so at the same time; others are closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds of the connections of a server: bytes, counts, seconds."""

    connections: int = 1_000
    """Connections at the same time."""
    per_address: int | None = 64
    """Those of them that one address may have; None behind a proxy, which has all of them."""

    head: int = 32 * 1024
    """Bytes of a request without its body: line and fields, or what frames a body."""
    fields: int = 100
    """Header fields of a request."""
    head_within: float = 10.0
    """Seconds for a head, from the connection or from its first byte."""
    body_within: float = 30.0
    """Seconds for a body, unless it continues at `body_rate`."""
    body_rate: float = 1_000.0
    """Bytes a second, on average, of a body that takes longer."""
    taken_within: float = 60.0
    """Seconds in which a client takes something of an answer that waits for it."""


class _Refused(Exception):
    """A head goes over its bounds; raised through the parser."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection. Who goes over a bound is told (431, 408, 503) where that can be, and cut off.

    The methods are those of `asyncio.Protocol`, and what the parser calls.
    """

    bounds: ClassVar[Bounds] = Bounds()
    addresses: ClassVar[Counter[str]] = Counter()
    """The connections of each address."""

    @classmethod
    def bounded(cls, bounds: Bounds) -> type["BoundedProtocol"]:
        """The protocol of one server, with bounds and a count of its own."""
        return type("Bounded", (cls,), {"bounds": bounds, "addresses": Counter()})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._heading = True
        """True if the next bytes are of a head, not of a body."""
        self._unsaid = 0
        """Bytes since the last message or piece of a body ended."""
        self._refused = False
        """True while what comes is thrown away, until the client has heard of it."""
        self._fields = 0
        self._body = 0
        self._begun = 0.0
        self._waiting: asyncio.TimerHandle | None = None
        """For the rest of a request."""
        self._stalled: asyncio.TimerHandle | None = None
        """For the client to take something."""
        self._unsent = 0
        self._address = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        self.addresses[self._address] += 1
        over = len(self.connections) - self.bounds.connections
        most = self.bounds.per_address
        crowded = bool(self._address) and most is not None and self.addresses[self._address] > most
        if over > _TURNED_AWAY or (crowded and self.addresses[self._address] > 2 * (most or 0)):
            transport.abort()
        elif over > 0 or crowded:
            self._refuse(503, "There are too many connections: try again in a moment.")
        else:
            self._wait(self.bounds.head_within, self._late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._wait_no_more()
        self._resume()
        self.addresses[self._address] -= 1
        if not self.addresses[self._address]:
            del self.addresses[self._address]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, as far as it stays within bounds."""
        offset = 0
        while offset < len(data) and not (self._refused or self.transport.is_closing()):
            room = min(_PIECE, self.bounds.head - self._unsaid)
            if room <= 0:
                self._refuse(431, f"The head of a request may have {self.bounds.head} bytes.")
                return
            piece = data[offset : offset + room]
            offset += len(piece)
            self._unsaid += len(piece)
            super().data_received(piece)
        if self._refused or self.transport.is_closing():
            return
        if self._waiting is not None:
            return
        if not self._heading:
            self._begun = self.loop.time()
            self._wait(self.bounds.body_within, self._look_at_body)
        elif self._unsaid:
            self._wait(self.bounds.head_within, self._late)

    def on_message_begin(self) -> None:
        """A head begins."""
        self._fields = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A field of a head, or behind a body."""
        self._fields += 1
        if self._fields > self.bounds.fields:
            raise _Refused
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """A body begins, which may be empty."""
        self._wait_no_more()
        self._heading, self._unsaid, self._body = False, 0, 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._unsaid = 0
        self._body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is whole."""
        self._wait_no_more()
        self._heading, self._unsaid = True, 0
        super().on_message_complete()
        if self.cycle.response_complete:
            # It was answered before it was whole: nobody else waits for what comes next.
            self._wait(self.bounds.head_within, self._late)

    def send_400_response(self, msg: str) -> None:
        """Answer what the parser could not read."""
        if self._fields > self.bounds.fields:
            self._refuse(431, f"A request may have {self.bounds.fields} header fields.")
        elif self._answering():
            self.transport.abort()
        else:
            super().send_400_response(msg)

    def pause_writing(self) -> None:
        """The client takes less than it is sent."""
        super().pause_writing()
        self._watch_taking()

    def resume_writing(self) -> None:
        """The client has taken most of it."""
        self._resume()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Nothing came behind an answer."""
        # A close waits for what was not taken yet, however long that is.
        super().timeout_keep_alive_handler()
        if self.transport.get_write_buffer_size():
            self._watch_taking()

    def _look_at_body(self) -> None:
        """Cut off a body that is long on its way, unless it continues and somebody waits for it."""
        self._waiting = None
        lasted = self.loop.time() - self._begun
        held_up = self.flow.read_paused  # by us, who have not looked at what came
        if not held_up and (
            self.cycle.response_complete or self._body < lasted * self.bounds.body_rate
        ):
            self._late()
        else:
            self._wait(self.bounds.body_within, self._look_at_body)

    def _late(self) -> None:
        self._waiting = None
        if self.flow.read_paused:
            self._wait(self.bounds.head_within, self._late)  # by us, with what came in hand
        elif not (self._unsaid if self._heading else self._answering()):
            self.transport.abort()  # there is nothing that an answer would be to
        else:
            self._refuse(408, "The rest of the request did not come in time.")

    def _refuse(self, status: int, message: str) -> None:
        self._wait_no_more()
        self._refused = True
        if self._answering() and self._heading:
            # The one before is answered to its end, and nothing behind it.
            self.flow.pause_reading()
            self.cycle.keep_alive = False
            return
        if self._answering() and self.cycle.response_started:
            self.transport.abort()
            return
        self.transport.write(
            f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: text/plain; charset=utf-8\r\n"
            f"content-length: {len(message)}\r\nconnection: close\r\n\r\n{message}".encode()
        )
        if self._answering():
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        # A connection that is closed over what was not read is reset, and nobody is told why.
        self._wait(_LINGERS, self._end)

    def _end(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def _answering(self) -> bool:
        cycle: Any = self.cycle  # None before the first request, whatever its type says
        return cycle is not None and not cycle.response_complete

    def _wait(self, seconds: float, late: Any) -> None:
        self._wait_no_more()
        self._waiting = self.loop.call_later(seconds, late)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _watch_taking(self) -> None:
        """Cut off a client that takes nothing of what waits for it."""
        self._unsent = self.transport.get_write_buffer_size()
        self._resume()
        self._stalled = self.loop.call_later(self.bounds.taken_within, self._look_at_taking)

    def _look_at_taking(self) -> None:
        self._stalled = None
        if self.transport.get_write_buffer_size() >= self._unsent:
            self.transport.abort()
        else:
            self._watch_taking()

    def _resume(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
