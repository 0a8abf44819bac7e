"""The reference backend: one process, nothing on disk.

Records are frozen and hold only immutable values, so handing them out is as good as copying them.
"""

import asyncio
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace

from sayso.clock import Clock, SystemClock
from sayso.errors import Conflict, LeaseLost, StoreUnavailable
from sayso.records import (
    Claim,
    Commit,
    Due,
    Entry,
    Interrupt,
    Lease,
    Message,
    Run,
    Thread,
    ThreadView,
    Turn,
    Visibility,
)
from sayso.stores.base import Store

__all__ = ["MemoryStore"]


@dataclass(slots=True)
class _Held:
    """All of one thread. Every dict is in the order of first writing."""

    thread: Thread
    turns: dict[str, Turn] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    messages: dict[str, Message] = field(default_factory=dict)
    interrupts: dict[str, Interrupt] = field(default_factory=dict)
    journals: dict[str, dict[str, Entry]] = field(default_factory=dict)

    @property
    def turn(self) -> Turn | None:
        return next(reversed(self.turns.values()), None)

    def write_turn(self, turn: Turn) -> None:
        if turn.key not in self.turns:
            self.journals.clear()
        self.turns[turn.key] = turn

    def write_entries(self, turn_key: str, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self.journals.setdefault(turn_key, {})[entry.place] = entry

    def write_interrupts(self, interrupts: Iterable[Interrupt]) -> None:
        self.interrupts.update((interrupt.id, interrupt) for interrupt in interrupts)

    def in_order(self) -> Iterator[Message]:
        """History first, what waits for the end of the turn last."""
        yield from (m for m in self.messages.values() if m.visibility != "waiting")
        yield from (m for m in self.messages.values() if m.visibility == "waiting")


class MemoryStore(Store):
    """Threads in dictionaries. What it holds lives as long as the object, closed or not."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        """`clock` decides when leases run out; the machine's own by default."""
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()  # `renew` comes from another thread
        self._threads: dict[tuple[str, str], _Held] = {}
        self._by_turn: dict[tuple[str, str], _Held] = {}
        self._by_run: dict[tuple[str, str], _Held] = {}
        self._open = False

    async def open(self) -> None:
        """Accept calls from now on."""
        self._open = True

    async def close(self) -> None:
        """Refuse calls from now on."""
        self._open = False

    async def load(
        self,
        scope: str,
        thread_id: str,
        *,
        run_id: str | None = None,
        interrupt_ids: Sequence[str] = (),
    ) -> ThreadView | None:
        """Read a thread at one instant; see `Store.load`."""
        with self._accepted():
            held = self._threads.get((scope, thread_id))
            view = None if held is None else _view(held, run_id, interrupt_ids)
        await asyncio.sleep(0)
        return view

    async def journal(self, scope: str, turn_key: str) -> tuple[Entry, ...]:
        """The entries of a turn; see `Store.journal`."""
        with self._accepted():
            held = self._by_turn.get((scope, turn_key))
            entries = () if held is None else tuple(held.journals.get(turn_key, {}).values())
        await asyncio.sleep(0)
        return entries

    async def claim(self, claim: Claim) -> Lease:
        """Take a thread and write; see `Store.claim`."""
        _check_text(claim)
        with self._accepted():
            lease = self._claim(claim)
        await asyncio.sleep(0)
        return lease

    async def commit(self, lease: Lease, commit: Commit) -> None:
        """Write one step under a lease; see `Store.commit`."""
        _check_text(commit)
        with self._accepted():
            self._commit(lease, commit)
        await asyncio.sleep(0)

    async def settle(
        self, scope: str, thread_id: str, revision: int, interrupts: Sequence[Interrupt], now: int
    ) -> None:
        """Replace interrupts of an idle thread; see `Store.settle`."""
        _check_text(tuple(interrupts))
        with self._accepted():
            held = self._threads.get((scope, thread_id))
            if held is None or held.thread.revision != revision or held.thread.holder is not None:
                raise Conflict(_changed(thread_id))
            held.write_interrupts(interrupts)
            held.thread = replace(held.thread, revision=revision + 1, updated_at=now)
        await asyncio.sleep(0)

    async def delivered(self, scope: str, run_key: str) -> None:
        """Note a run's delivery; see `Store.delivered`."""
        with self._accepted():
            held = self._by_run.get((scope, run_key))
            if held is not None:
                held.runs[run_key] = replace(held.runs[run_key], delivered=True)
        await asyncio.sleep(0)

    async def due(self, now: int, limit: int) -> tuple[Due, ...]:
        """Threads that need the server; see `Store.due`."""
        with self._accepted():
            store_now = self._clock.now()
            found = [
                (since, place, due)
                for place, held in enumerate(self._threads.values())
                for since, due in _due(held, now, store_now)
            ]
        await asyncio.sleep(0)
        return tuple(due for _, _, due in sorted(found, key=lambda f: f[:2])[:limit])

    def renew(self, leases: Sequence[Lease], lease_ms: int) -> tuple[Lease, ...]:
        """Prolong leases; see `Store.renew`."""
        with self._accepted():
            until = self._clock.now() + lease_ms
            lost = []
            for lease in leases:
                held = self._threads.get((lease.scope, lease.thread_id))
                if held is None or not _holds(held.thread, lease):
                    lost.append(lease)
                else:
                    held.thread = replace(held.thread, lease_until=until)
        return tuple(lost)

    def _accepted(self) -> threading.Lock:
        if not self._open:
            raise StoreUnavailable("the store is not open; await its open() first")
        return self._lock

    def _claim(self, claim: Claim) -> Lease:
        key = (claim.scope, claim.thread_id)
        now = self._clock.now()
        held = self._threads.get(key)
        if not _free(held, claim.revision, now):
            raise Conflict(_changed(claim.thread_id))
        if held is None:
            held = self._threads[key] = _Held(
                Thread(
                    scope=claim.scope,
                    id=claim.thread_id,
                    owner=claim.owner,
                    agent=claim.agent,
                    revision=0,
                    fence=0,
                    created_at=claim.now,
                    updated_at=claim.now,
                )
            )
        held.thread = replace(
            held.thread,
            agent=claim.agent,
            revision=held.thread.revision + 1,
            fence=held.thread.fence + 1,
            holder=claim.holder,
            lease_until=now + claim.lease_ms,
            updated_at=claim.now,
            state=held.thread.state if claim.state is None else claim.state,
        )
        self._write_turn(held, claim.turn)
        self._write_run(held, claim.run)
        _claim_messages(held, claim)
        held.write_interrupts(claim.interrupts)
        held.write_entries(claim.turn.key, claim.entries)
        return Lease(
            scope=claim.scope,
            thread_id=claim.thread_id,
            holder=claim.holder,
            fence=held.thread.fence,
        )

    def _commit(self, lease: Lease, commit: Commit) -> None:
        held = self._threads.get((lease.scope, lease.thread_id))
        if held is None or not _holds(held.thread, lease):
            raise LeaseLost(f"thread {lease.thread_id!r} has another holder by now, or none")
        if commit.turn is not None:
            self._write_turn(held, commit.turn)
        turn = commit.turn or held.turn
        if turn is not None:
            held.write_entries(turn.key, commit.entries)
        held.messages.update((message.id, message) for message in commit.messages)
        if commit.dequeue:
            _dequeue(held)
        held.write_interrupts(commit.interrupts)
        if commit.next_turn is not None:
            self._write_turn(held, commit.next_turn)
        if commit.run is not None:
            self._write_run(held, commit.run)
        if commit.forget is not None:
            held.journals.pop(commit.forget, None)
        thread = held.thread
        held.thread = replace(
            thread,
            revision=thread.revision + 1,
            updated_at=commit.now,
            state=thread.state if commit.state is None else commit.state,
            holder=None if commit.release else thread.holder,
            lease_until=None if commit.release else thread.lease_until,
        )

    def _write_turn(self, held: _Held, turn: Turn) -> None:
        held.write_turn(turn)
        self._by_turn[held.thread.scope, turn.key] = held

    def _write_run(self, held: _Held, run: Run) -> None:
        held.runs[run.key] = run
        self._by_run[held.thread.scope, run.key] = held


def _changed(thread_id: str) -> str:
    return f"thread {thread_id!r} is not what was read; load it again and decide anew"


def _free(held: _Held | None, revision: int, now: int) -> bool:
    """Whether a claim on that revision may have the thread at that store time."""
    if held is None:
        return revision == 0
    until = held.thread.lease_until
    return held.thread.revision == revision and (until is None or until <= now)


def _holds(thread: Thread, lease: Lease) -> bool:
    return thread.fence == lease.fence and thread.holder == lease.holder


def _claim_messages(held: _Held, claim: Claim) -> None:
    for message_id in claim.hide:
        _show(held, message_id, "visible", "hidden")
    for message in claim.messages:
        if message.id in held.messages:
            _show(held, message.id, "hidden", "visible")
        else:
            held.messages[message.id] = message


def _show(held: _Held, message_id: str, old: Visibility, new: Visibility) -> None:
    message = held.messages.get(message_id)
    if message is not None and message.visibility == old:
        held.messages[message_id] = replace(message, visibility=new)


def _dequeue(held: _Held) -> None:
    for message in [m for m in held.messages.values() if m.visibility == "waiting"]:
        del held.messages[message.id]
        held.messages[message.id] = replace(message, visibility="visible")


def _view(held: _Held, run_id: str | None, interrupt_ids: Sequence[str]) -> ThreadView:
    turn = held.turn
    newest = [i for i in held.interrupts.values() if turn and i.turn_key == turn.key]
    asked = set(interrupt_ids)
    earlier = [
        i
        for i in held.interrupts.values()
        if i.id in asked and (not turn or i.turn_key != turn.key)
    ]
    named = (run for run in reversed(held.runs.values()) if run.run_id == run_id)
    return ThreadView(
        thread=held.thread,
        turn=turn,
        run=next(reversed(held.runs.values()), None),
        named_run=next(named, None),
        interrupts=(*newest, *earlier),
        messages=tuple(held.in_order()),
    )


def _due(held: _Held, now: int, store_now: int) -> Iterator[tuple[int, Due]]:
    """Why the thread needs the server, if it does, and since when."""
    thread, turn = held.thread, held.turn
    if thread.lease_until is not None:
        if thread.lease_until <= store_now:
            yield thread.lease_until, Due(scope=thread.scope, thread_id=thread.id, why="abandoned")
        return
    if turn is None or turn.status != "suspended":
        return
    open_now = [
        i for i in held.interrupts.values() if i.turn_key == turn.key and i.status == "open"
    ]
    expiries = [i.expires_at for i in open_now if i.expires_at is not None]
    if not open_now:
        yield thread.updated_at, Due(scope=thread.scope, thread_id=thread.id, why="ready")
    elif expiries and min(expiries) <= now:
        yield min(expiries), Due(scope=thread.scope, thread_id=thread.id, why="expired")


def _check_text(value: object) -> None:
    """Refuse text that no durable backend could keep, before anything is written."""
    if isinstance(value, str):
        value.encode()  # UnicodeEncodeError is a ValueError that shows the place
    elif isinstance(value, tuple):
        for item in value:
            _check_text(item)
    elif is_dataclass(value):
        for member in fields(value):
            _check_text(getattr(value, member.name))
