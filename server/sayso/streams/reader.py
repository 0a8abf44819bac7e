"""One response body in the making: what a run has for it, handed over whenever it asks.

Reader and run are two halves of one mechanism, and know each other's inside.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final, Protocol, Self

from sayso import jsonvalue
from sayso.errors import Code
from sayso.protocol import frames
from sayso.protocol.generations import shown_to
from sayso.protocol.peers import Peer
from sayso.streams.textstream import Draft

__all__ = ["PATIENCE", "Reader"]

PATIENCE: Final = 5.0
"""Seconds that one reader may hold its run up, in all; then it is served or cut as it comes."""


class Source(Protocol):
    """What a reader knows of the run that it reads."""

    full: bool
    draft: Draft
    _tail: list[bytes]
    _tail_size: int
    _readers: "list[Reader]"
    _sleepers: list[asyncio.Future[None]]

    def _put_into_words(self) -> None: ...

    def _seal(self) -> None: ...

    def _taken(self) -> None: ...

    def _forget(self, reader: "Reader") -> None: ...


class Reader:
    """One response body in the making, for one caller of `take`.

    `ended`: nothing will follow what is ready. `whole`: the last frame is the run's own ending,
    and not that the reader was cut or that the run goes on elsewhere. `delivered`: set by the edge
    when a whole body went out.
    """

    __slots__ = (
        "_cut_at",
        "_idle",
        "_loop",
        "_patience",
        "_pending",
        "_said",
        "_size",
        "_stream",
        "_waiter",
        "delivered",
        "ended",
        "peer",
        "run_id",
        "run_key",
        "whole",
    )

    def __init__(
        self,
        run_key: str | None,
        run_id: str,
        peer: Peer,
        *,
        unread: int,
        said: Sequence[bytes] = (),
    ) -> None:
        """`unread`: bytes after which it is cut; `said`: messages that it alone is shown."""
        self._said = tuple(said)
        self.run_key = run_key
        self.run_id = run_id
        self.peer = peer
        self.delivered = False
        self.whole = False
        self._stream: Source | None = None
        self._pending: list[bytes] = []
        self._size = 0
        self._cut_at = unread
        self._patience = PATIENCE
        self._idle = True
        self.ended = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiter: asyncio.Future[None] | None = None

    @classmethod
    def canned(cls, ready: Iterable[bytes], run_key: str | None = None) -> Self:
        """A reader of frames that exist already: a replay or a refusal. Its end is their end."""
        reader = cls(run_key, "", Peer(), unread=0)
        reader._pending.extend(ready)
        reader.ended = reader.whole = True
        return reader

    async def take(self) -> bytes | None:
        """All frames that are ready, as one chunk; waits for the first; None after the end.

        Empty bytes when a `poke` ended the waiting.
        """
        chunk = self.grab()
        if not chunk and not self.ended:
            await self.more()
            chunk = self.grab()
        return None if self.ended and not chunk else chunk

    def grab(self) -> bytes:
        """All frames that are ready now, as one chunk; empty if there are none."""
        stream = self._stream
        pending = self._pending
        if stream is not None and (stream._tail or stream.draft.of):
            if len(stream._readers) == 1:
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
        if stream is not None and stream.full:
            stream._taken()
        return chunk

    def more(self) -> asyncio.Future[None]:
        """Done when there is something to grab, at the end, and by a `poke`.

        A future and not a coroutine: an event of a slow run costs one of these and nothing else.
        """
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
        self._waiter = waiter = loop.create_future()
        stream = self._stream
        if stream is None or stream._tail or stream.draft.of or self._pending:
            waiter.set_result(None)
        else:
            self._idle = True
            stream._sleepers.append(waiter)
        return waiter

    def poke(self) -> None:
        """End the waiting, if somebody waits, although nothing is ready; for keep-alive."""
        stream = self._stream
        if stream is not None and self._waiter in stream._sleepers:
            stream._sleepers.remove(self._waiter)
        self._wake()

    @property
    def way(self) -> tuple[bool, tuple[bytes, ...]]:
        """Readers with the same one are shown the same."""
        return self.peer.versioned, self._said

    def shown(self, bodies: Sequence[bytes]) -> Sequence[bytes]:
        """The messages of a snapshot as this reader takes them: what was said to it stays, last."""
        if self._said:
            known = {jsonvalue.decode(body)["id"] for body in bodies}
            own = [body for body in self._said if jsonvalue.decode(body)["id"] not in known]
            bodies = [*bodies, *own]
        return shown_to(self.peer.versioned, bodies)

    def detach(self) -> None:
        """The body is over for this reader, whatever the run does; idempotent."""
        if self._stream is not None:
            self._stream._forget(self)
            self._stream = None
        self._pending.clear()
        self._size = 0
        self.ended = True
        self._wake()

    def _wake(self) -> None:
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

    def _end(self, last: bytes, *, whole: bool) -> None:
        self._pending.append(last)
        self.ended = True
        self.whole = whole
        self._stream = None
        self._wake()

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
