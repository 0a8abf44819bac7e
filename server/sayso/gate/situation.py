"""A request beside its thread: who holds it, what is open, what the request brings. Pure."""

from dataclasses import dataclass, field

from sayso.gate import frontend
from sayso.gate.answers import alike, repeats
from sayso.gate.held import uncovered
from sayso.gate.history import new_user_messages
from sayso.making import changed, quick
from sayso.protocol.runinput import ResumeEntry, RunInput
from sayso.records import Interrupt, Message, ThreadView, Turn

__all__ = ["Situation", "distinct", "late", "situation", "with_calls"]


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A request beside its thread.

    `entries` are its answers by id, `fresh` its new user messages; `decided` are the thread's
    settled interrupts, `open` those that wait for an answer, also when one is held for them;
    `calls` likewise wait for the client's own tools, `results` are tool messages for them.
    """

    request: RunInput
    view: ThreadView | None
    agent: str
    entries: dict[str, ResumeEntry]
    fresh: tuple[Message, ...]
    decided: dict[str, Interrupt]
    open: dict[str, Interrupt]
    calls: dict[str, Interrupt] = field(default_factory=dict)
    results: dict[str, ResumeEntry] = field(default_factory=dict)
    said: tuple[Message, ...] = ()
    """Messages that are themselves an answer: they join the history at once."""
    warnings: tuple[str, ...] = ()
    legacy: bool = False
    """Its answers came one by one, in the older dialect (TR-28)."""

    @property
    def turn(self) -> Turn | None:
        """The thread's newest turn."""
        return self.view.turn if self.view else None

    @property
    def running(self) -> bool:
        """Whether somebody holds the thread."""
        return self.view is not None and self.view.thread.holder is not None

    @property
    def suspended(self) -> bool:
        """Waiting or ready."""
        return not self.running and self.turn is not None and self.turn.status == "suspended"

    @property
    def ready(self) -> bool:
        """Suspended, with an answer to everything."""
        return self.suspended and not uncovered((*self.open.values(), *self.calls.values()))

    @property
    def waiting(self) -> dict[str, Interrupt]:
        """All that is open, questions and calls, in order of asking."""
        everything = self.open | self.calls
        asked = self.view.interrupts if self.view else ()
        return {item.id: item for item in asked if item.id in everything}

    @property
    def news(self) -> bool:
        """Whether the request brings a message that the thread can use."""
        return bool(self.fresh or self.results)

    @property
    def foreign(self) -> bool:
        """Whether the newest turn is another agent's."""
        return self.turn is not None and self.turn.agent != self.agent

    @property
    def unknown(self) -> list[str]:
        """Ids in the request that this thread never asked."""
        return [key for key in self.entries if key not in self.decided and key not in self.open]

    @property
    def differing(self) -> list[Interrupt]:
        """What is settled otherwise than this request says."""
        return [
            self.decided[key]
            for key, entry in self.entries.items()
            if key in self.decided and not repeats(entry, self.decided[key])
        ]

    @property
    def given(self) -> dict[str, ResumeEntry]:
        """The answers to what is open."""
        return {key: entry for key, entry in self.entries.items() if key in self.open}

    @property
    def missing(self) -> list[str]:
        """Ids that are open, without an answer in the request or one that is held."""
        return [item.id for item in uncovered(self.open.values()) if item.id not in self.entries]


def situation(
    request: RunInput, view: ThreadView | None, agent: str, entries: dict[str, ResumeEntry]
) -> Situation:
    """The request beside the thread that was loaded for it."""
    interrupts = view.interrupts if view else ()
    turn = view.turn if view and view.thread.holder is None else None
    waiting = turn.key if turn and turn.status == "suspended" else None
    open_ones = {
        item.id: item for item in interrupts if item.status == "open" and item.turn_key == waiting
    }
    calls = {key: item for key, item in open_ones.items() if frontend.is_call(item)}
    results, warnings = frontend.answers(calls, request.messages) if calls else ({}, ())
    return Situation(
        request=request,
        view=view,
        agent=agent,
        entries=entries,
        fresh=new_user_messages(request.messages, view.messages if view else ()),
        decided={
            item.id: item
            for item in interrupts
            if item.status != "open" and not frontend.is_call(item)
        },
        open={key: item for key, item in open_ones.items() if key not in calls},
        calls=calls,
        results=results,
        warnings=warnings,
    )


def with_calls(case: Situation, now: int) -> Situation:
    """The case with the client's calls among what is open, and what came of them as answers.

    A user message says of every call whose answer neither came with it nor is held that none will;
    also of one whose answer comes too late, which would be refused without a message beside it.
    """
    if not case.calls:
        return case
    given = dict(case.results)
    if case.fresh or case.said:
        given = {key: entry for key, entry in given.items() if not late(case.calls[key], now)}
        left = [item.id for item in uncovered(case.calls.values()) if item.id not in given]
        given |= {key: frontend.unanswered(key) for key in left}
    return changed(case, entries=case.entries | given, open=case.waiting)


def late(item: Interrupt, now: int) -> bool:
    """Whether only a cancellation can settle it: `now == expiresAt` is late (EX-01, EX-05)."""
    return item.expires_at is not None and now >= item.expires_at


def distinct(resume: tuple[ResumeEntry, ...]) -> tuple[dict[str, ResumeEntry], list[str]]:
    """One entry per id, and the ids that have two different ones."""
    entries: dict[str, ResumeEntry] = {}
    twice: dict[str, None] = {}
    for entry in resume:
        known = entries.setdefault(entry.interrupt_id, entry)
        if known is not entry and not alike(known, entry):
            twice[entry.interrupt_id] = None
    return entries, list(twice)
