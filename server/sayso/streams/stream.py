"""One run as its readers see it: guarded, encoded once, handed over in one piece per wake-up.

Engine layer. The producer appends frames to a tail that all readers share; whoever reads first
turns the tail into one chunk for everybody. So an event costs one append however many read, frames
that are ready together leave together, and a lone one leaves in the next turn of the loop.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

from sayso.protocol import frames
from sayso.protocol.client_profile import ClientProfile
from sayso.protocol.compat import downgrade, downgrade_typed, is_for_all, needs_v1, needs_v1_1
from sayso.protocol.guard import StreamGuard, StreamOrderError
from sayso.streams.ending import Ending, is_lifecycle, opening_frames, subagent_end
from sayso.streams.reader import DETACH_TIMEOUT_S, Reader
from sayso.streams.textstream import BUFFER_BYTES, TextBuffer, TextStream

_SEAL_BYTES: Final = BUFFER_BYTES
"""Bytes of the shared tail that become a chunk although nobody asked for them."""
_BUFFER_BYTES: Final = 64 * 1024
"""Bytes that may wait for a reader before its producer lets the loop turn."""


_TURNS: Final = 4
"""Turns of the loop in which a reader that keeps up takes what is ready."""


class RunStream:
    """The events of one run, for any number of readers that come and go."""

    __slots__ = (
        "_ending",
        "_guard",
        "_patience",
        "_readers",
        "_sleepers",
        "_tail",
        "_tail_size",
        "_taking",
        "_unread",
        "buffer",
        "congested",
        "on_readers",
        "run_key",
        "thread_id",
    )

    def __init__(
        self, thread_id: str, run_key: str, *, unread: int, patience: float = DETACH_TIMEOUT_S
    ) -> None:
        self.thread_id: str = thread_id
        self.run_key: str = run_key
        self._unread = unread
        self._patience = patience
        self._guard = StreamGuard()
        self._readers: list[Reader] = []
        self._sleepers: list[asyncio.Future[None]] = []
        self.buffer: TextBuffer = TextBuffer()
        """The last pieces of text, which become frames behind the tail, all at once."""
        self._tail: list[bytes] = []
        self._tail_size = 0
        self._ending: Ending | None = None
        self.congested: bool = (
            False  # so much is unread that a producer should `await backpressure()` first
        )
        self._taking: asyncio.Future[None] | None = None
        self.on_readers: Callable[[], None] = lambda: None  # told when readers come and go

    @property
    def ended(self) -> bool:
        """True once the run has had its terminal event."""
        return self._ending is not None

    @property
    def readers(self) -> list[str]:
        """The readers, by the run id that each of them knows this run by."""
        return [reader.run_id for reader in self._readers]

    def attach(
        self,
        run_id: str,
        peer: ClientProfile,
        *,
        messages: Iterable[bytes] | None,
        state: bytes | None,
        said: Sequence[bytes] = (),
    ) -> Reader:
        """A new reader: its own RUN_STARTED, the snapshots given, what is open, then live events.

        The thread goes first and shows no open message: those are restated as a start with the
        text so far. After the end it gets the ending at once. One that `releases_first` does
        so before its RUN_STARTED (`opening_frames`). `said` are messages that this reader
        alone is shown, behind those of every snapshot. ValueError for too large a snapshot.
        """
        freed = replace(peer, finishes_before_error=False) if peer.releases_first else peer
        reader = Reader(self.run_key, run_id, freed, unread=self._unread, said=said)
        shown = None if messages is None else reader.shown(list(messages))
        reader._patience = self._patience
        self._seal()
        restated = self._guard.replay_open()
        reader._pending.append(
            opening_frames(self.thread_id, run_id, peer, shown, state, restated),
        )
        if (ending := self._ending) is not None:
            self._end(reader, ending)
            return reader
        reader._stream = self
        self._readers.append(reader)
        self.on_readers()
        return reader

    def emit(self, event: dict[str, Any]) -> None:
        """Send one event to all readers; or nothing is sent, and nothing counts as sent.

        Raises StreamOrderError when order or balance forbid it, TypeError when it has no JSON
        form, ValueError when it is too large.
        """
        self._refuse_after_end()
        data = frames.frame(event)
        # The guard's books are of what was sent, in order.
        if self.buffer.of is not None:
            self._put_into_words()
        if self._guard.check(event):
            self._send(event, data)

    def _send(self, event: dict[str, Any], data: bytes) -> None:
        if is_for_all(event):
            self._append(data)
            return
        if is_lifecycle(event):
            self._tell(lambda reader: data if reader.peer.subagents else b"")
            return
        if needs_v1_1(event) and not all(reader.peer.speaks_v1_1 for reader in self._readers):
            plain = frames.frame(downgrade_typed(event))
            self._tell(lambda reader: data if reader.peer.speaks_v1_1 else plain)
            return
        if not needs_v1(event) or not self._older():
            self._append(data)
            return
        flat = frames.frame(downgrade(event))
        self._tell(lambda reader: data if reader.peer.speaks_v1 else flat)

    def text(self, message_id: str, role: str = "assistant", **members: Any) -> TextStream:
        """Open a message of text; `members` are further ones of its start.

        The role `reasoning` opens a reasoning message; its span is the caller's (RS-01).
        """
        kind = "REASONING_MESSAGE" if role == "reasoning" else "TEXT_MESSAGE"
        self.emit({"type": f"{kind}_START", "messageId": message_id, "role": role} | members)
        return TextStream(message_id, self._guard.item(message_id), self, kind)

    def close_open(self, ending: Ending | None = None) -> None:
        """Close everything that is open, in boundary order (LC-06); a no-op after the end.

        `ending` is the run's: inner agents wait, or end, as it does.
        """
        if self._ending is None:
            for event in self._guard.close_all(partial(subagent_end, ending=ending)):
                self._send(event, frames.frame(event))

    def close_owned(self, owner: str) -> None:
        """Close what an inner agent has open."""
        for event in self._guard.close_owned(owner):
            self._send(event, frames.frame(event))

    def snapshot(
        self, *, messages: Iterable[bytes], state: bytes | None, again: bool = False
    ) -> None:
        """Send STATE_SNAPSHOT, if a state is given, and MESSAGES_SNAPSHOT to all readers.

        `again`: they have seen all messages, and those that do not want them once more get none.
        Raises StreamOrderError while text, a tool call or reasoning is open (MS-06), ValueError
        when one is too large to send.
        """
        self._refuse_after_end()
        self._guard.check_settled()
        bodies = list(messages)
        head = frames.state_snapshot(state) if state is not None else b""
        whole = head + frames.messages_snapshot(bodies)
        frames_by_way: dict[tuple[Any, ...], bytes] = {}
        for reader in self._readers:
            if reader.variant not in frames_by_way and (shown := reader.shown(bodies)) != bodies:
                # What it alone is shown may not fit behind the rest: then it goes without.
                with suppress(ValueError):
                    frames_by_way[reader.variant] = head + frames.messages_snapshot(shown)
        self._tell(
            lambda reader: (
                head
                if again and not reader.peer.restates
                else frames_by_way.get(reader.variant, whole)
            )
        )

    def finish(self, ending: Ending) -> None:
        """End the run: close what is open, then give each reader its own terminal event.

        Only the first call counts: a run has exactly one terminal event (LC-02).
        """
        if self._ending is not None:
            return
        self.close_open(ending)
        self._seal()
        self._ending = ending
        readers, self._readers = self._readers, []
        for each in readers:
            self._end(each, ending)
        self._sleepers.clear()
        self._taken()

    def _end(self, reader: Reader, ending: Ending) -> None:
        last = ending.last_frames(self.thread_id, reader.run_id, reader.peer)
        asks = ending.type == "interrupt"
        reader._end(
            last, whole=not ending.continues_elsewhere, pause=reader.peer.pause if asks else 0.0
        )

    async def backpressure(self) -> None:
        """Wait until readers have room; for producers, after each thing that they send.

        Costs nothing while little is unread. Otherwise lets the loop turn a few times, so that
        readers who keep up can take, and waits for those who do not: `patience` seconds in all per
        reader, after which it is served, or cut, as it comes.
        """
        for _ in range(_TURNS):
            if not self.congested:
                return
            await asyncio.sleep(0)
        while crowded := self._crowded():
            if self._taking is not None:
                # Not cancelled with this producer: others wait for the same.
                await asyncio.wait((self._taking,))
            else:
                await self._hold_up(crowded)

    def _crowded(self) -> list[Reader]:
        return [r for r in self._readers if r._size > _BUFFER_BYTES and r._patience > 0]

    async def _hold_up(self, crowded: list[Reader]) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        taking = self._taking = loop.create_future()
        try:
            await asyncio.wait((taking,), timeout=min(r._patience for r in crowded))
        finally:
            spent = loop.time() - began
            for reader in crowded:
                reader._patience -= spent
            self._taken()

    def _taken(self) -> None:
        self.congested = bool(self._crowded())
        if self._taking is not None:
            if not self._taking.done():
                self._taking.set_result(None)
            self._taking = None

    def _say(self, text: TextStream, piece: str) -> None:
        """Send one piece of a message that is open."""
        draft = self.buffer
        if draft.of is not text:
            if draft.of is not None:
                self._put_into_words()
            draft.of = text
            draft.room = BUFFER_BYTES
        draft.pieces.append(piece)
        draft.room -= text.around + len(piece)
        if self._sleepers:
            self._rouse()
        elif draft.room <= 0:
            self._seal()

    def _put_into_words(self) -> None:
        data = self.buffer.words()
        if self._readers:
            self._tail.append(data)
            self._tail_size += len(data)

    def _append(self, data: bytes) -> None:
        if self.buffer.of is not None:
            self._put_into_words()
        if not self._readers:
            return
        self._tail.append(data)
        self._tail_size += len(data)
        if self._sleepers:
            self._rouse()
        elif self._tail_size > _SEAL_BYTES:
            self._seal()

    def _rouse(self) -> None:
        for waiter in self._sleepers:
            if not waiter.done():
                waiter.set_result(None)
        self._sleepers.clear()

    def _tell(self, words: Callable[[Reader], bytes]) -> None:
        """Append what readers are told in different words, or not at all."""
        self._seal()
        self._hand_out(words)
        for reader in self._readers:
            reader._wake_waiters()
        self._sleepers.clear()

    def _seal(self) -> None:
        """Turn the tail into one chunk for every reader, and cut those who left too much."""
        if self.buffer.of is not None:
            self._put_into_words()
        if not self._tail:
            return
        chunk = b"".join(self._tail)
        self._tail.clear()
        self._tail_size = 0
        self._hand_out(lambda _: chunk)

    def _hand_out(self, words: Callable[[Reader], bytes]) -> None:
        slow = [reader for reader in self._readers if not reader._add(words(reader))]
        for reader in slow:
            self._forget(reader)
            reader._cut()
        self.congested = bool(self._crowded())

    def _older(self) -> bool:
        return not all(reader.peer.speaks_v1 for reader in self._readers)

    def _forget(self, reader: Reader) -> None:
        if reader in self._readers:
            self._readers.remove(reader)
            self.on_readers()
        if not self._readers:
            self._tail.clear()
            self._tail_size = 0
        self._taken()

    def _refuse_after_end(self) -> None:
        if self._ending is not None:
            raise StreamOrderError("the run has ended: nothing can be sent after its last event")
