"""The operations of a step on Redis, which all happen at once.

They are those of `apply.lua`; whatever has a number in the whole scope gets it there.
"""

from collections.abc import Mapping, Sequence

from sayso.base.records import Interrupt, Run
from sayso.base.runoutcome import outcome_type
from sayso.stores.base import KEPT_CHANGES
from sayso.stores.changes import Note
from sayso.stores.redis.facts import QuestionFacts, ThreadFacts
from sayso.stores.redis.keys import ThreadKeys
from sayso.stores.redis.rows import RUNS, audit_operations, joined, moment, place, prefixed
from sayso.stores.sealing import Passage, Seals
from sayso.stores.step import AuditLine, Mode, Need

Argument = str | bytes | int

_FIXED = ("abandoned", "waking", "ready")


class ScriptBatch:
    """Operations on one thread, in their order: it is `before`, then it is `known`."""

    def __init__(
        self,
        keys: ThreadKeys,
        known: ThreadFacts,
        mode: Mode,
        seals: Seals,
        *,
        lease_ms: int | None = None,
    ):
        """`mode` names what has to be true, which `apply.lua` looks at once more.

        `seals` is how texts are kept, and `way` that of those of this thread.
        """
        self.keys = keys
        self.seals = seals
        self.way: Passage = seals.into(keys.scope.scope, keys.id)
        self.known: ThreadFacts = known.copy()
        self.stop_requested = False
        """True if the holder was asked to stop; known once it was done."""
        self.said: str | None = None
        """A line for the log once it was done."""
        self.is_told: bool = False
        """True if others wait for this."""
        self._mode: Mode = mode
        self._lease_ms = lease_ms
        self.before = known
        self._places: dict[str, int] = {}
        self._operations: list[Argument] = []
        self._fresh: dict[str, int] = {}
        scope = keys.scope
        fixed = [keys.of("thread"), scope.of("counters"), scope.of("floor")]
        fixed += [scope.of(arm) for arm in _FIXED]
        own = (keys.trail("audit"), keys.of("interrupts"), scope.of("usage"))
        for key in (*fixed, *own):
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
            *self._fresh,
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

    def run(self, run: Run) -> None:
        """Write a run; one that is not stored is the newest."""
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
            RUNS.pack(self.way.run(run)),
        )

    def question(self, interrupt: Interrupt) -> None:
        """Write an interrupt, and where it is listed."""
        keys, known = self.keys, self.known
        old = known.asked.get(interrupt.id)
        if old is None:
            offset = len(self._fresh) + 1
            self._fresh[interrupt.id] = offset
            question = known.asked[interrupt.id] = QuestionFacts(0, known.agent, interrupt)
            self.do("hset+", keys.of("interrupts"), interrupt.id, offset, question.packed(self.way))
            for key, (head, tail) in self._rows(question).items():
                self.do("zadd+", key, head, offset, tail)
            named = (keys.scope.of("named"), f"{prefixed(interrupt.id)}|", f"|{keys.id}")
            self.do("zadd+", named[0], named[1], offset, named[2])
            return
        question = known.asked[interrupt.id] = QuestionFacts(old.number, old.agent, interrupt)
        number = place(old.number)
        self.do(
            "keep", keys.of("interrupts"), interrupt.id, number.encode() + question.packed(self.way)
        )
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
        people = i.terms.names
        looked_at = (owner, people or None, i.status, one.agent, i.reason, i.assigned_to)
        row = (f"{moment(i.created_at)}.", b"|" + joined(keys.id, i.id, *looked_at))
        of = "open" if i.status == "open" else "settled"
        names = [keys.scope.of(of), keys.scope.one(of, owner)]
        if i.status == "open" and i.assigned_to is not None:
            names.append(keys.scope.one("assigned", i.assigned_to))
        names += [keys.scope.one(f"{of}_for", name) for name in people]
        rows = dict.fromkeys(names, row)
        rows[keys.of("asked")] = (f"{prefixed(i.turn_key)}|", f"|{i.id}".encode())
        return rows

    def audit(self, at: int, lines: Sequence[AuditLine]) -> None:
        """Add rows to the audit trail."""
        keys, known = self.keys, self.known
        for line in lines:
            number, said, row, listed = audit_operations(keys.id, at, line, self.way)
            self.do("XADD", keys.trail("audit"), f"{number}-0", "r", row)
            self.do("HSETNX", keys.trail("said"), number, said)
            self.do("ledger", keys.scope.trail("ledger"), listed)
            known.audited, known.digest = line.number, line.digest

    def note(self, at: int, notes: Sequence[Note]) -> None:
        """Add notes of changes."""
        keys, owner = self.keys, self.known.owner
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

    def due(self, need: Need | None) -> None:
        """Put an idle thread among those that need the server, or take it away from them."""
        arm, since, expiry = need or ("", "", "")
        rest = "" if expiry is None else expiry
        self.do("due", self.keys.of("thread"), arm, since, rest)

    def due_at_lease_end(self) -> None:
        """Put a held thread among those that are abandoned once the lease has run out."""
        self.do("due", self.keys.of("thread"), "abandoned", "", "")

    def members(self, values: Mapping[str, Argument]) -> None:
        """Set members of the thread."""
        flat = [part for item in values.items() for part in item]
        self.do("HSET", self.keys.of("thread"), *flat)
