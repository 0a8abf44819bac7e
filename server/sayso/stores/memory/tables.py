"""Everything that the memory store holds, and what its calls do to it; one caller at a time."""

import heapq
import itertools
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from sayso.audit import Event, of_entries, of_interrupt
from sayso.errors import Conflict, LeaseLost
from sayso.making import changed
from sayso.records import (
    Change,
    Claim,
    Commit,
    Due,
    Entry,
    Interrupt,
    Lease,
    Renewed,
    Run,
    Thread,
    Turn,
)
from sayso.stores.base import KEPT_CHANGES
from sayso.stores.changes import Note, facts, kind_of
from sayso.stores.memory.approvals import Approvals
from sayso.stores.memory.audit import Trail
from sayso.stores.memory.lists import Key, Ordered
from sayso.stores.memory.thread import Arm, Asked, Held

__all__ = ["Scope", "Tables"]

_NEVER = 2**62
Noted = tuple[Note, str, str, int]
"""A note with thread id, owner and time; its mark is its place. Plain: there are many of them."""


@dataclass(slots=True)
class Scope:
    """What belongs to one scope besides its threads."""

    active: Ordered[Held] = field(default_factory=Ordered)
    interrupts: Ordered[Asked] = field(default_factory=Ordered)
    open: Ordered[Asked] = field(default_factory=Ordered)
    named: dict[str, list[Asked]] = field(default_factory=dict)
    """Interrupts by id, the first written first."""
    changes: deque[Noted] = field(default_factory=lambda: deque(maxlen=KEPT_CHANGES))
    mark: int = 0
    floor: tuple[int, int] = (0, 0)
    """Revision and fence above which a new thread begins."""

    def noted(self, since: int, most: int) -> tuple[Change, ...]:
        """What happened after a mark that is still known."""
        begin = since - (self.mark - len(self.changes))
        return tuple(
            Change(
                mark=mark,
                kind=kind,
                thread_id=thread_id,
                owner=owner,
                at=at,
                interrupt_id=interrupt_id,
                run_key=run_key,
            )
            for mark, ((kind, interrupt_id, run_key), thread_id, owner, at) in enumerate(
                islice(self.changes, begin, begin + most), since + 1
            )
        )


class Tables:
    """Threads of all scopes with the lists that they stand in."""

    def __init__(self) -> None:
        self.scopes: defaultdict[str, Scope] = defaultdict(Scope)
        self.threads: dict[tuple[str, str], Held] = {}
        self.by_turn: dict[tuple[str, str], Held] = {}
        self.by_run: dict[tuple[str, str], Held] = {}
        self.by_number: dict[int, Held] = {}
        self.asked: dict[int, Asked] = {}
        self._due: dict[Arm, Ordered[Held]] = {
            arm: Ordered() for arm in ("abandoned", "waking", "ready")
        }
        self.approvals = Approvals()
        self.trail = Trail()
        self._numbers = itertools.count(1)

    def claim(self, claim: Claim, now: int) -> Lease:
        """Take a thread and write; see `Store.claim`."""
        held = self.threads.get((claim.scope, claim.thread_id))
        if held is None:
            if claim.revision != 0:
                raise _changed(claim.thread_id)
            held = self._create(claim)
        elif not held.is_at(claim.revision, now):
            raise _changed(claim.thread_id)
        held.thread = changed(
            held.thread,
            agent=claim.agent,
            revision=held.thread.revision + 1,
            fence=held.thread.fence + 1,
            holder=claim.holder,
            lease_until=now + claim.lease_ms,
            stopping=False,
            stop_by=None,
            stop_channel=None,
            updated_at=claim.now,
            state=held.thread.state if claim.state is None else claim.state,
        )
        self._write_turn(held, claim.turn)
        self._write_run(held, claim.run)
        held.write_messages(claim)
        notes, events = self._write_interrupts(held, claim.interrupts)
        held.write_entries(claim.turn.key, claim.entries)
        self._seal(held, claim.now, [*of_entries(claim.entries), *events])
        self._note(held, claim.now, notes, claim.run)
        self._activate(held, claim.now)
        self._mark_due(held)
        return Lease(
            scope=claim.scope,
            thread_id=claim.thread_id,
            holder=claim.holder,
            fence=held.thread.fence,
        )

    def commit(self, lease: Lease, commit: Commit) -> bool:
        """Write one step under a lease; see `Store.commit`."""
        held = self.threads.get((lease.scope, lease.thread_id))
        if held is None or not held.has(lease):
            raise LeaseLost(f"thread {lease.thread_id!r} has another holder by now, or none")
        stopping = held.thread.stopping
        if commit.turn is not None:
            self._write_turn(held, commit.turn)
        turn = commit.turn or held.turn
        if turn is not None:
            held.write_entries(turn.key, commit.entries)
        held.messages.update((message.id, message) for message in commit.messages)
        if commit.dequeue:
            held.dequeue()
        notes, events = self._write_interrupts(held, commit.interrupts)
        self._seal(held, commit.now, [*of_entries(commit.entries), *events])
        if commit.next_turn is not None:
            self._write_turn(held, commit.next_turn)
        if commit.run is not None:
            self._write_run(held, commit.run)
        if commit.forget is not None:
            held.journals.pop(commit.forget, None)
        self.approvals.write(lease.scope, commit.approvals, commit.uses)
        thread = held.thread
        held.thread = changed(
            thread,
            revision=thread.revision + 1,
            updated_at=commit.now,
            state=thread.state if commit.state is None else commit.state,
            holder=None if commit.release else thread.holder,
            lease_until=None if commit.release else thread.lease_until,
            stopping=stopping and not commit.release,
        )
        self._note(held, commit.now, notes, commit.run)
        if commit.release:
            self._activate(held, commit.now)
            self._mark_due(held)
        return stopping

    def settle(
        self,
        scope: str,
        thread_id: str,
        revision: int,
        interrupts: Sequence[Interrupt],
        now: int,
        *,
        state: bytes | None,
        entries: Sequence[Entry],
        by: str | None,
    ) -> None:
        """Change an idle thread; see `Store.settle`."""
        held = self.threads.get((scope, thread_id))
        if held is None or held.thread.revision != revision or held.thread.holder is not None:
            raise _changed(thread_id)
        notes, events = self._write_interrupts(held, interrupts, by)
        self._seal(held, now, [*of_entries(entries), *events])
        if held.turn is not None:
            held.write_entries(held.turn.key, entries)
        held.thread = changed(
            held.thread,
            revision=revision + 1,
            updated_at=now,
            state=held.thread.state if state is None else state,
        )
        self._note(held, now, notes)
        self._activate(held, now)
        self._mark_due(held)

    def delete(self, scope: str, thread_id: str, revision: int, now: int, store_now: int) -> None:
        """Remove a thread with everything; see `Store.delete`."""
        held = self.threads.get((scope, thread_id))
        if held is None or not held.is_at(revision, store_now):
            raise _changed(thread_id)
        self._note(held, now, [("deleted", None, None)])
        mine = self.scopes[scope]
        mine.floor = (max(mine.floor[0], revision), max(mine.floor[1], held.thread.fence))
        self._activate(held, None)
        for asked in held.asked.values():
            mine.interrupts.move(asked.key, None, asked)
            if asked.interrupt.status == "open":
                mine.open.move(asked.key, None, asked)
            mine.named[asked.id].remove(asked)
            if not mine.named[asked.id]:
                del mine.named[asked.id]
            del self.asked[asked.number]
        for arm, since in held.due.items():
            self._due[arm].move((since, held.number), None, held)
        for index, keys in ((self.by_turn, held.turns), (self.by_run, held.runs)):
            for key in keys:
                if index.get((scope, key)) is held:
                    del index[scope, key]
        self.approvals.forget(scope, thread_id)
        self.trail.forget(scope, thread_id)
        del self.by_number[held.number]
        del self.threads[scope, thread_id]

    def request_stop(
        self, scope: str, thread_id: str, fence: int, *, by: str | None, channel: str | None
    ) -> None:
        """Ask a holder to stop; see `Store.request_stop`."""
        held = self.threads.get((scope, thread_id))
        if held is None or held.thread.fence != fence or held.thread.holder is None:
            raise _changed(thread_id)
        if not held.thread.stopping:
            held.thread = changed(held.thread, stopping=True, stop_by=by, stop_channel=channel)

    def renew(self, leases: Sequence[Lease], until: int) -> Renewed:
        """Prolong leases; see `Store.renew`."""
        lost, stopping = [], []
        for lease in leases:
            held = self.threads.get((lease.scope, lease.thread_id))
            if held is None or not held.has(lease):
                lost.append(lease)
                continue
            held.thread = changed(held.thread, lease_until=until)
            self._mark_due(held)
            if held.thread.stopping:
                stopping.append(lease)
        return Renewed(lost=tuple(lost), stopping=tuple(stopping))

    def due(self, now: int, store_now: int, after: Key | None) -> Iterator[tuple[Key, Due]]:
        """Who needs the server, oldest first; see `Store.due`."""
        until: dict[Arm, int] = {"abandoned": store_now, "waking": now, "ready": _NEVER}
        arms = (_until(moment, arm, self._due[arm].upwards(after)) for arm, moment in until.items())
        for key, held, arm in heapq.merge(*arms, key=lambda item: item[0]):
            why = arm if arm != "waking" else "expired" if held.is_expired(now) else "remind"
            yield key, Due(scope=held.thread.scope, thread_id=held.thread.id, why=why)

    def _create(self, claim: Claim) -> Held:
        revision, fence = self.scopes[claim.scope].floor
        thread = Thread(
            scope=claim.scope,
            id=claim.thread_id,
            owner=claim.owner,
            agent=claim.agent,
            revision=revision,
            fence=fence,
            created_at=claim.now,
            updated_at=claim.now,
        )
        held = Held(thread, next(self._numbers))
        self.threads[claim.scope, claim.thread_id] = self.by_number[held.number] = held
        return held

    def _write_turn(self, held: Held, turn: Turn) -> None:
        held.write_turn(turn)
        self.by_turn[held.thread.scope, turn.key] = held

    def _write_run(self, held: Held, run: Run) -> None:
        if run.key not in held.runs:
            held.run_numbers[run.key] = next(self._numbers)
        held.runs[run.key] = run
        self.by_run[held.thread.scope, run.key] = held

    def _seal(self, held: Held, at: int, events: list[Event]) -> None:
        thread = held.thread
        self.trail.append(thread.scope, thread.id, thread.owner, at, events)

    def _write_interrupts(
        self, held: Held, interrupts: Iterable[Interrupt], by: str | None = None
    ) -> tuple[list[Note], list[Event]]:
        notes: list[Note] = []
        events: list[Event] = []
        for interrupt in interrupts:
            old = held.interrupts.get(interrupt.id)
            kind = kind_of(None if old is None else facts(old), facts(interrupt))
            if kind is not None:
                notes.append((kind, interrupt.id, None))
                events.append(of_interrupt(kind, interrupt, by))
            self._write_interrupt(held, interrupt, old)
        return notes, events

    def _write_interrupt(self, held: Held, interrupt: Interrupt, old: Interrupt | None) -> None:
        mine = self.scopes[held.thread.scope]
        asked = held.asked.get(interrupt.id)
        if asked is None:
            asked = Asked(held, interrupt.id, next(self._numbers), held.thread.agent)
            held.asked[interrupt.id] = self.asked[asked.number] = asked
            mine.named.setdefault(interrupt.id, []).append(asked)
        held.interrupts[interrupt.id] = interrupt
        before = None if old is None else (old.created_at, asked.number)
        now = interrupt.created_at, asked.number
        mine.interrupts.move(before, now, asked)
        was_open = old is not None and old.status == "open"
        mine.open.move(
            before if was_open else None, now if interrupt.status == "open" else None, asked
        )

    def _activate(self, held: Held, now: int | None) -> None:
        """List a thread as active at that time; None takes it from the list."""
        old, held.active_at = held.active_at, now
        self.scopes[held.thread.scope].active.move(_key(old, held), _key(now, held), held)

    def _mark_due(self, held: Held) -> None:
        due = held.due_now()
        for arm in held.due.keys() | due.keys():
            self._due[arm].move(_key(held.due.get(arm), held), _key(due.get(arm), held), held)
        held.due = due

    def _note(self, held: Held, at: int, notes: list[Note], run: Run | None = None) -> None:
        thread, mine = held.thread, self.scopes[held.thread.scope]
        if run is not None and run.ended_at is not None:
            notes = [*notes, ("run_ended", None, run.key)]
        for one in notes:
            mine.changes.append((one, thread.id, thread.owner, at))
        mine.mark += len(notes)


def _key(moment: int | None, held: Held) -> Key | None:
    return None if moment is None else (moment, held.number)


def _until(
    moment: int, arm: Arm, items: Iterator[tuple[Key, Held]]
) -> Iterator[tuple[Key, Held, Arm]]:
    for key, held in items:
        if key[0] > moment:
            return
        yield key, held, arm


def _changed(thread_id: str) -> Conflict:
    return Conflict(f"thread {thread_id!r} is not what was read; load it again and decide anew")
