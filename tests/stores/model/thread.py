"""One thread of the memory store: its records and what they say together."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sayso.base.fastrecords import copy_with
from sayso.base.records import (
    Claim,
    Entry,
    Interrupt,
    InterruptFilter,
    Lease,
    ListedInterrupt,
    ListedThread,
    Message,
    Run,
    Thread,
    ThreadView,
    TurnRecord,
    TurnStatus,
    Visibility,
)
from sayso.base.runoutcome import outcome_type
from sayso.gate.client_tools import is_call
from sayso.stores.pagination import fits_interrupt
from tests.stores.model.lists import Key

Arm = Literal["abandoned", "waking", "ready"]
"""The lists of threads that need the server; `waking`: at an expiry or for a reminder."""


@dataclass(slots=True)
class QuestionRow:
    """Where an interrupt belongs, as it was when it was first written."""

    held: "ThreadTables"
    id: str
    number: int
    agent: str

    @property
    def interrupt(self) -> Interrupt:
        """The interrupt itself."""
        return self.held.interrupts[self.id]

    @property
    def key(self) -> Key:
        """Its place in lists."""
        return self.interrupt.created_at, self.number

    def fits(self, wanted: InterruptFilter) -> bool:
        """Whether it belongs in a list."""
        thread, interrupt = self.held.thread, self.interrupt
        if wanted.thread_id is not None and wanted.thread_id != thread.id:
            return False
        row = (interrupt.status, self.agent, interrupt.reason, interrupt.assigned_to)
        return fits_interrupt(wanted, thread.owner, interrupt.terms.names, row)

    @property
    def listed(self) -> ListedInterrupt:
        """The interrupt as lists show it."""
        thread = self.held.thread
        return ListedInterrupt(
            thread_id=thread.id, owner=thread.owner, agent=self.agent, interrupt=self.interrupt
        )


@dataclass(slots=True)
class ThreadTables:
    """All of one thread. Every dict is in the order of first writing."""

    thread: Thread
    number: int
    active_at: int | None = None
    """None until the claim that creates it is written."""
    turns: dict[str, TurnRecord] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    run_numbers: dict[str, int] = field(default_factory=dict)
    messages: dict[str, Message] = field(default_factory=dict)
    interrupts: dict[str, Interrupt] = field(default_factory=dict)
    asked: dict[str, QuestionRow] = field(default_factory=dict)
    journals: dict[str, dict[str, Entry]] = field(default_factory=dict)
    due: dict[Arm, int] = field(default_factory=dict)
    """Since when the server is or will be needed, as noted in the store's lists."""

    @property
    def turn(self) -> TurnRecord | None:
        """The newest turn."""
        return next(reversed(self.turns.values()), None)

    @property
    def run(self) -> Run | None:
        """The newest run."""
        return next(reversed(self.runs.values()), None)

    def has(self, lease: Lease) -> bool:
        """Whether a lease is the one of now."""
        return self.thread.fence == lease.fence and self.thread.holder == lease.holder

    def is_at(self, revision: int, now: int) -> bool:
        """Whether it may be taken at that store time by somebody who read that revision."""
        until = self.thread.lease_until
        return self.thread.revision == revision and (until is None or until <= now)

    def write_turn(self, turn: TurnRecord) -> None:
        """Write a turn; a new one ends the journals of the others."""
        if turn.key not in self.turns:
            self.journals.clear()
        self.turns[turn.key] = turn

    def write_entries(self, turn_key: str, entries: Iterable[Entry]) -> None:
        """Write journal entries at their places."""
        for entry in entries:
            self.journals.setdefault(turn_key, {})[entry.place] = entry

    def write_messages(self, claim: Claim) -> None:
        """Hide and append what a claim says."""
        for message_id in claim.hide:
            self._show(message_id, "visible", "hidden")
        for message in claim.messages:
            if message.id in self.messages:
                self._show(message.id, "hidden", "visible")
            else:
                self.messages[message.id] = message

    def dequeue(self) -> None:
        """Move what waits to the end of the history."""
        for message in [m for m in self.messages.values() if m.visibility == "waiting"]:
            del self.messages[message.id]
            self.messages[message.id] = copy_with(message, visibility="visible")

    def view(self, run_id: str | None, interrupt_ids: Sequence[str]) -> ThreadView:
        """The thread as `load` gives it."""
        newest, asked = self._of_newest_turn(), set(interrupt_ids)
        known = {interrupt.id for interrupt in newest}
        earlier = (i for i in self.interrupts.values() if i.id in asked and i.id not in known)
        named = (run for run in reversed(self.runs.values()) if run.run_id == run_id)
        return ThreadView(
            thread=self.thread,
            turn=self.turn,
            run=self.run,
            named_run=next(named, None),
            interrupts=(*newest, *earlier),
            messages=tuple(self._in_order()),
        )

    @property
    def status(self) -> TurnStatus | None:
        """The status of the newest turn."""
        turn = self.turn
        return turn.status if turn else None

    @property
    def summary(self) -> ListedThread:
        """The thread as lists show it."""
        thread, turn, run = self.thread, self.turn, self.run
        if turn is None or run is None or self.active_at is None:
            raise AssertionError(f"thread {thread.id!r} was created by no claim")
        return ListedThread(
            scope=thread.scope,
            id=thread.id,
            owner=thread.owner,
            agent=thread.agent,
            revision=thread.revision,
            created_at=thread.created_at,
            active_at=self.active_at,
            running=thread.holder is not None,
            turn_status=turn.status,
            outcome=outcome_type(run.outcome),
            open_interrupts=sum(
                i.status == "open" and not is_call(i) for i in self._of_newest_turn()
            ),
            on_hold=thread.hold is not None,
        )

    def due_now(self) -> dict[Arm, int]:
        """In which list of those that need the server it belongs, and since when."""
        if self.thread.lease_until is not None:
            return {"abandoned": self.thread.lease_until}
        if self.status != "suspended":
            return {}
        waits = self._waiting()
        if not waits:
            return {"ready": self.thread.updated_at}
        moments = self._expiries(waits)
        moments += [i.remind_at for i in waits if i.remind_at is not None and i.reminded_at is None]
        return {"waking": min(moments)} if moments else {}

    def is_expired(self, now: int) -> bool:
        """Whether a question waits in vain; of an idle thread with a suspended turn."""
        return any(moment <= now for moment in self._expiries(self._waiting()))

    def _waiting(self) -> list[Interrupt]:
        return [i for i in self._of_newest_turn() if i.status == "open" and i.held is None]

    def _expiries(self, waits: list[Interrupt]) -> list[int]:
        return [i.expires_at for i in waits if i.expires_at is not None and i.lapsed_at is None]

    def _of_newest_turn(self) -> list[Interrupt]:
        turn = self.turn
        return [i for i in self.interrupts.values() if turn and i.turn_key == turn.key]

    def _in_order(self) -> Iterator[Message]:
        """History first, what waits for the end of the turn last."""
        yield from (m for m in self.messages.values() if m.visibility != "waiting")
        yield from (m for m in self.messages.values() if m.visibility == "waiting")

    def _show(self, message_id: str, old: Visibility, new: Visibility) -> None:
        message = self.messages.get(message_id)
        if message is not None and message.visibility == old:
            self.messages[message_id] = copy_with(message, visibility=new)
