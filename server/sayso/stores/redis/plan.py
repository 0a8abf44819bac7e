"""A step on Redis, planned: what has to be true, and the operations that then happen at once.

The operations are those of `apply.lua`; whatever has a number in the whole scope gets it there.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sayso.base.audit import Event, chained, rows_of_interrupt
from sayso.base.records import Interrupt, Run, TurnRecord, outcome_type
from sayso.stores.base import KEPT_CHANGES
from sayso.stores.changes import Note, change_kind, facts
from sayso.stores.redis.facts import QuestionFacts, ThreadFacts
from sayso.stores.redis.keys import ThreadKeys
from sayso.stores.redis.rows import RUNS, TURNS, joined, moment, place, prefixed

Argument = str | bytes | int

_FIXED = ("abandoned", "waking", "ready")


class Plan:
    """Operations on one thread, in their order: it is `before`, then it is `known`."""

    def __init__(
        self, keys: ThreadKeys, known: ThreadFacts, mode: str, *, lease_ms: int | None = None
    ):
        """`mode` names what has to be true, as `apply.lua` spells it."""
        self.keys = keys
        self.known: ThreadFacts = known.copy()
        self.stopping = False
        """Whether the holder was asked to stop; known once it was done."""
        self.said: str | None = None
        """What is logged once it was done."""
        self.notable: bool = False
        """Whether others wait for this: something is noted, or the thread is let go."""
        self._mode = mode
        self._lease_ms = lease_ms
        self.before = known
        self._places: dict[str, int] = {}
        self._operations: list[Argument] = []
        self._fresh: dict[str, int] = {}
        self._unseen: list[str] = []
        scope = keys.scope
        fixed = [keys.of("thread"), scope.of("counters"), scope.of("floor")]
        fixed += [scope.of(arm) for arm in _FIXED]
        for key in (*fixed, keys.of("audit"), keys.of("interrupts")):
            self.key(key)

    def key(self, name: str) -> int:
        """Where a key stands among those of the script; the first is the step's own."""
        return self._places.setdefault(name, len(self._places) + 2)

    def do(self, name: str, key: str, *arguments: Argument) -> None:
        """Add an operation."""
        self._operations += (name, self.key(key), len(arguments), *arguments)

    def call(
        self, token: str, now: int | None, holder: str = ""
    ) -> tuple[list[str], list[Argument]]:
        """Keys and arguments of `apply.lua`."""
        before = self.before
        arguments: list[Argument] = [
            "" if now is None else now,
            self._mode,
            before.revision,
            before.fence,
            holder,
            "" if self._lease_ms is None else self._lease_ms,
            self.keys.id,
            place(self.known.number),
            before.audited,
            len(self._fresh),
            len(self._unseen),
            *self._unseen,
        ]
        return [token, *self._places], arguments + self._operations

    def done(self, revision: int, fence: int, base: int) -> ThreadFacts:
        """The thread as it stands now that this happened."""
        known = self.known
        known.exists, known.revision, known.fence = True, revision, fence
        for interrupt_id, offset in self._fresh.items():
            question = known.asked[interrupt_id]
            known.asked[interrupt_id] = QuestionFacts(
                base + offset, question.agent, question.interrupt
            )
        return known

    def turn(self, turn: TurnRecord) -> None:
        """Write a turn; a new one is the newest, and ends the journals of the others."""
        known = self.known
        self.do("HSET", self.keys.of("turns"), turn.key, TURNS.pack(turn))
        if turn.key not in known.turns:
            known.turns.add(turn.key)
            known.turn = turn.key
            self.do("DEL", self.keys.of("journal"))
            self.do("HSET", self.keys.scope.of("by_turn"), turn.key, self.keys.id)
            self.do("HSET", self.keys.of("thread"), "turn", turn.key)
        if turn.key == known.turn:
            known.status = turn.status

    def run(self, run: Run) -> None:
        """Write a run; a new one is the newest."""
        keys = self.keys
        self.do("HSET", keys.scope.of("by_run"), run.key, keys.id)
        self.do(
            "run",
            keys.of("runs"),
            self.key(keys.of("order")),
            self.key(keys.of("names")),
            run.key,
            prefixed(run.run_id),
            "1" if run.delivered else "0",
            outcome_type(run.outcome) or "",
            RUNS.pack(run),
        )

    def interrupts(
        self, interrupts: Iterable[Interrupt], by: str | None = None
    ) -> tuple[list[Note], list[Event]]:
        """Write interrupts; what is noted of it, and what the audit trail says."""
        known = self.known
        notes: list[Note] = []
        events: list[Event] = []
        latest: dict[str, Interrupt] = {}
        for interrupt in interrupts:
            old = latest.get(interrupt.id)
            if old is None and interrupt.id in known.asked:
                old = known.asked[interrupt.id].interrupt
            kind = change_kind(None if old is None else facts(old), facts(interrupt))
            if kind is not None:
                notes.append((kind, interrupt.id, None))
                events.append(rows_of_interrupt(kind, interrupt, by))
            latest[interrupt.id] = interrupt
        for interrupt in latest.values():
            self._interrupt(interrupt)
        return notes, events

    def _interrupt(self, interrupt: Interrupt) -> None:
        keys, known = self.keys, self.known
        old = known.asked.get(interrupt.id)
        if old is None:
            offset = len(self._fresh) + 1
            self._fresh[interrupt.id] = offset
            self._unseen.append(interrupt.id)
            question = known.asked[interrupt.id] = QuestionFacts(0, known.agent, interrupt)
            self.do("hset+", keys.of("interrupts"), interrupt.id, offset, question.packed())
            for key, (head, tail) in self._rows(question).items():
                self.do("zadd+", key, head, offset, tail)
            named = (keys.scope.of("named"), f"{prefixed(interrupt.id)}|", f"|{keys.id}")
            self.do("zadd+", named[0], named[1], offset, named[2])
            return
        question = known.asked[interrupt.id] = QuestionFacts(old.number, old.agent, interrupt)
        number = place(old.number)
        self.do("HSET", keys.of("interrupts"), interrupt.id, number.encode() + question.packed())
        before, after = self._rows(old), self._rows(question)
        for key, (head, tail) in before.items():
            if after.get(key) != (head, tail):
                self.do("ZREM", key, head.encode() + number.encode() + tail)
        for key, (head, tail) in after.items():
            if before.get(key) != (head, tail):
                self.do("ZADD", key, 0, head.encode() + number.encode() + tail)

    def unlist(self, one: QuestionFacts) -> None:
        """Take an interrupt out of all lists."""
        number = place(one.number).encode()
        for key, (head, tail) in self._rows(one).items():
            self.do("ZREM", key, head.encode() + number + tail)
        name = f"{prefixed(one.interrupt.id)}|".encode() + number + f"|{self.keys.id}".encode()
        self.do("ZREM", self.keys.scope.of("named"), name)

    def _rows(self, one: QuestionFacts) -> dict[str, tuple[str, bytes]]:
        """The lists that an interrupt stands in: what is before its number there, and behind."""
        i, keys, owner = one.interrupt, self.keys, self.known.owner
        row = (
            f"{moment(i.created_at)}.",
            b"|" + joined(keys.id, i.id, owner, i.status, one.agent, i.reason, i.assigned_to),
        )
        of = "open" if i.status == "open" else "settled"
        names = [keys.scope.of(of), keys.scope.one(of, owner)]
        if i.status == "open" and i.assigned_to is not None:
            names.append(keys.scope.one("assigned", i.assigned_to))
        rows = dict.fromkeys(names, row)
        rows[keys.of("asked")] = (f"{prefixed(i.turn_key)}|", f"|{i.id}".encode())
        return rows

    def seal(self, at: int, events: Sequence[Event]) -> None:
        """Add what happened to the audit trail."""
        keys, known = self.keys, self.known
        whose = (keys.scope.scope, keys.id, known.owner)
        for event in events:
            known.audited += 1
            inner, known.digest = chained(whose, known.digest, known.audited, at, event)
            kind, content = event
            row = joined(known.owner, at, kind, inner, known.digest)
            self.do("XADD", keys.of("audit"), f"{known.audited}-0", "r", row)
            self.do("HSET", keys.of("said"), known.audited, content)
            self.do("ledger", keys.scope.of("ledger"), joined(keys.id, known.audited, known.owner))

    def note(self, at: int, notes: Sequence[Note], run: Run | None = None) -> None:
        """Add what others watch for."""
        keys, owner = self.keys, self.known.owner
        if run is not None and run.ended_at is not None:
            notes = [*notes, ("run_ended", None, run.key)]
        self.notable = self.notable or bool(notes)
        for kind, interrupt_id, run_key in notes:
            row = joined(kind, keys.id, owner, at, interrupt_id, run_key)
            self.do("note", keys.scope.of("changes"), KEPT_CHANGES, row)

    def show(self, at: int | None = None) -> None:
        """Bring the thread's row in lists up to date, active at that time if it is given."""
        keys, known = self.keys, self.known
        known.active = known.active if at is None else at
        listed = (
            f"{moment(known.active)}.{place(known.number)}|"
            + joined(keys.id, known.owner, known.agent, known.status).decode()
        )
        if listed == known.listed:
            return
        self.hide()
        known.listed = listed
        self.do("HSET", keys.of("thread"), "listed", listed, "active", known.active)
        for key in self._lists():
            self.do("ZADD", key, 0, listed)

    def hide(self) -> None:
        """Take the thread out of all lists."""
        if self.known.listed is not None:
            for key in self._lists():
                self.do("ZREM", key, self.known.listed)

    def _lists(self) -> tuple[str, str]:
        scope = self.keys.scope
        return scope.of("active"), scope.one("active", self.known.owner)

    def due(self, arm: str, since: int | None = None, expiry: int | None = None) -> None:
        """Put the thread among those that need the server; `since` None is the lease's end."""
        rest = "" if expiry is None else expiry
        self.do("due", self.keys.of("thread"), arm, "" if since is None else since, rest)

    def idle(self) -> None:
        """Put a thread that nobody holds where it belongs."""
        self.notable = True
        known = self.known
        if known.status != "suspended":
            self.due("")
            return
        waits = known.waits()
        if not waits:
            self.due("ready", known.updated)
            return
        expiries = [i.expires_at for i in waits if i.expires_at is not None and i.lapsed_at is None]
        moments = expiries + [
            i.remind_at for i in waits if i.remind_at is not None and i.reminded_at is None
        ]
        if moments:
            self.due("waking", min(moments), min(expiries, default=None))
        else:
            self.due("")

    def members(self, **values: Any) -> None:
        """Set members of the thread."""
        flat = [part for name, value in values.items() for part in (name, value)]
        self.do("HSET", self.keys.of("thread"), *flat)
