"""One response body in the making: what a run has for it, handed over whenever it asks.

Reader and run are two halves of one mechanism, and know each other's inside.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol, Self

from sayso.base import jsonvalue
from sayso.base.codes import Code
from sayso.protocol import frames
from sayso.protocol.client_profile import ClientProfile
from sayso.protocol.compat import bodies_for
from sayso.streams.textstream import TextBuffer

DETACH_TIMEOUT_S: Final = 5.0
"""Seconds that one reader may hold its run up, in all; then it is served or cut as it comes."""


class RunSource(Protocol):
    """The run that a reader reads, as the reader knows it."""

    congested: bool
    buffer: TextBuffer
    _tail: list[bytes]
    _tail_size: int
    _readers: "list[Reader]"
    _sleepers: list[asyncio.Future[None]]

    def _put_into_words(self) -> None: ...

    def _seal(self) -> None: ...

    def _taken(self) -> None: ...

    def _forget(self, reader: "Reader") -> None: ...


class Reader:
    """One response body in the making, for one caller of `next_chunk`.

    `ended`: nothing will follow what is ready. `complete`: the last frame is the run's own ending,
    and not that the reader was cut or that the run continues elsewhere. `delivered`: set by the
    edge when a whole body went out.
    """

    __slots__ = (
        "_began",
        "_cut_at",
        "_due",
        "_idle",
        "_last",
        "_loop",
        "_patience",
        "_pause",
        "_pending",
        "_said",
        "_size",
        "_stream",
        "_waiter",
        "complete",
        "delivered",
        "ended",
        "on_detach",
        "peer",
        "run_id",
        "run_key",
    )

    def __init__(
        self,
        run_key: str | None,
        run_id: str,
        peer: ClientProfile,
        *,
        unread: int,
        said: Sequence[bytes] = (),
    ) -> None:
        """`unread`: bytes after which it is cut; `said`: messages that it alone is shown."""
        self._said = tuple(said)
        self.run_key: str | None = run_key
        self.run_id: str = run_id
        self.peer: ClientProfile = peer
        self.delivered: bool = False
        self.complete: bool = False
        self._stream: RunSource | None = None
        self._pending: list[bytes] = []
        self._size = 0
        self._cut_at = unread
        self._patience = DETACH_TIMEOUT_S
        self._idle = True
        self._began: float | None = None
        self._last = b""
        self._pause = 0.0
        self._due: asyncio.TimerHandle | None = None
        self.ended: bool = False
        self.on_detach: Callable[[], None] | None = None  # told once
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiter: asyncio.Future[None] | None = None

    @classmethod
    def from_frames(
        cls,
        ready: Iterable[bytes],
        run_key: str | None = None,
        *,
        last: bytes = b"",
        pause: float = 0.0,
    ) -> Self:
        """A reader of frames that exist already: a replay or a refusal. Its end is their end.

        `last` leaves `pause` seconds after those before it.
        """
        reader = cls(run_key, "", ClientProfile(), unread=0)
        reader._pending.extend(ready)
        reader._end(last, whole=True, pause=pause)
        return reader

    async def next_chunk(self) -> bytes | None:
        """All frames that are ready, as one chunk; waits for the first; None after the end.

        Empty bytes when a `wake` ended the waiting.
        """
        chunk = self.drain()
        if not chunk and not self.ended:
            await self.readable()
            chunk = self.drain()
        return None if self.ended and not chunk else chunk

    def drain(self) -> bytes:
        """All frames that are ready now, as one chunk; empty if there are none."""
        stream = self._stream
        pending = self._pending
        if stream is not None and (stream._tail or stream.buffer.of):
            if len(stream._readers) == 1:
                if stream.buffer.of is not None:
                    stream._put_into_words()
                pending += stream._tail
                stream._tail.clear()
                stream._tail_size = 0
            else:
                # Who is taking right now is not too slow, however much was said in one go.
                self._idle = True
                stream._seal()
        self._idle = False
        if not pending:
            return b""
        chunk = pending[0] if len(pending) == 1 else b"".join(pending)
        pending.clear()
        self._size = 0
        if self._began is None:
            self._began = time.monotonic()
            if self._last:
                self._hold_back(self._began)
        if stream is not None and stream.congested:
            stream._taken()
        return chunk

    def drain_events(self) -> list[dict[str, Any]]:
        """As `drain`, for a dialect that has its own words for events."""
        return frames.events_in(self.drain())

    def readable(self) -> asyncio.Future[None]:
        """Done when there is something to drain, at the end, and by a `wake`.

        A future and not a coroutine: an event of a slow run costs one of these and nothing else.
        """
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
        self._waiter = waiter = loop.create_future()
        stream = self._stream
        if self._pending or self.ended:
            waiter.set_result(None)
        elif stream is not None:
            if stream._tail or stream.buffer.of:
                waiter.set_result(None)
            else:
                self._idle = True
                stream._sleepers.append(waiter)
        return waiter

    def wake(self) -> None:
        """End the waiting, if somebody waits, although nothing is ready; for keep-alive."""
        stream = self._stream
        if stream is not None and self._waiter in stream._sleepers:
            stream._sleepers.remove(self._waiter)
        self._wake_waiters()

    @property
    def variant(self) -> tuple[bool, bool, tuple[bytes, ...]]:
        """Readers with the same one are shown the same."""
        return self.peer.speaks_v1, self.peer.speaks_v1_1, self._said

    def shown(self, bodies: Sequence[bytes]) -> Sequence[bytes]:
        """The messages of a snapshot as this reader takes them: what was said to it stays, last."""
        if self._said:
            ids_known = {jsonvalue.decode(body)["id"] for body in bodies}
            own = [body for body in self._said if jsonvalue.decode(body)["id"] not in ids_known]
            bodies = [*bodies, *own]
        return bodies_for(bodies, self.peer)

    def detach(self) -> None:
        """The body is over for this reader, whatever the run does; idempotent."""
        if self._stream is not None:
            self._stream._forget(self)
            self._stream = None
        if self.on_detach is not None:
            self.on_detach()
            self.on_detach = None
        if self._due is not None:
            self._due.cancel()
        self._pending.clear()
        self._size = 0
        self.ended = True
        self._wake_waiters()

    def _wake_waiters(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _add(self, chunk: bytes) -> bool:
        """Keep a chunk for later; False when too much is unread by a reader that had its chance."""
        if self._size > self._cut_at and not self._idle:
            return False
        if not chunk:
            return True
        self._pending.append(chunk)
        self._size += len(chunk)
        return True

    def _end(self, last: bytes, *, whole: bool, pause: float = 0.0) -> None:
        """Nothing follows `last`, which leaves no sooner than `pause` seconds after the first."""
        self.complete = whole
        self._stream = None
        self._last, self._pause = last, pause
        if pause == 0.0:
            self._let_out()
        elif self._began is not None:
            self._hold_back(self._began)

    def _hold_back(self, began: float) -> None:
        left = began + self._pause - time.monotonic()
        if left > 0:
            self._due = asyncio.get_running_loop().call_later(left, self._let_out)
        else:
            self._let_out()

    def _let_out(self) -> None:
        self._pending.append(self._last)
        self._last = b""
        self.ended = True
        self._wake_waiters()

    def _cut(self) -> None:
        self._pending.clear()
        self._size = 0
        self._end(
            frames.run_error(
                Code.READER_TOO_SLOW.value,
                "This response was read too slowly and was cut. The run goes on: connect again "
                "to see it.",
            ),
            whole=False,
        )
