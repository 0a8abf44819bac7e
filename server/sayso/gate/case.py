"""The case that a rung of the gate looks at, and the decisions of the gate. Pure.

A thread is *running* while somebody holds it, *waiting* while its newest turn is suspended with
open interrupts, *ready* while that turn is suspended and all its interrupts have an answer, settled
or held, else *idle*.

An answer of the older dialect becomes one by id here (design 5, "Legacy dialect").

An event with an id names its interrupt, open or not. A raw event is for the open question that was
asked with that value. Without an event the only open question takes the answer; several need a map
keyed by id (C4, LG-14).

An answer without an id could be meant for the next question just as well. So a repeated request is
recognised by its `runId`: one that began a run answers what began it, never what that run asks
(ID-01).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sayso.base.errors import DeclarationError
from sayso.base.fastrecords import fast
from sayso.base.limits import Limits
from sayso.base.options import AgentOptions
from sayso.base.records import (
    AnswerRecord,
    Interrupt,
    Message,
    Principal,
    Run,
    ThreadView,
    TurnRecord,
)
from sayso.base.secretvalues import SecretValue, Vault
from sayso.gate import client_tools, refusals
from sayso.gate.alignment import NOTHING_SENT, Alignment, aligned
from sayso.gate.answers import PayloadCheck, matches_settled, same_entry, taken_apart
from sayso.gate.interrupts import answer_record, unanswered
from sayso.gate.refusals import Refuse
from sayso.protocol.legacy import Command, interrupt_id_of, parse_answer
from sayso.protocol.runinput import ResumeEntry, RunInput
from sayso.schemas.schema import compile_bytes


@dataclass(frozen=True, slots=True)
class Start:
    """Begin a turn: `append` to the history, `hide` what the request left out."""

    append: tuple[Message, ...]
    hide: tuple[str, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resume:
    """Continue the newest turn.

    `settle`: its open interrupts with their answers, in the order of asking; the engine fills in
    the run key. It is empty for a ready turn, and for a failed one (`retry`) that continues from
    its journal with the answers that it already took. `secrets` are kept apart from these answers.
    `queue`: new user messages; they wait for the
    turn to end, except one that was itself the answer: that one is visible.
    """

    settle: tuple[Interrupt, ...]
    queue: tuple[Message, ...] = ()
    retry: bool = False
    warnings: tuple[str, ...] = ()
    secrets: tuple[SecretValue, ...] = ()


@dataclass(frozen=True, slots=True)
class HoldAnswers:
    """Keep answers until the rest arrive: `items` change, `remaining` still wait afterwards.

    `dropped` are people who had agreed to another answer, and agree no longer. `shown`: new user
    messages that are not kept, since they come again with the last answer. `secrets` are kept apart
    from the answers.
    """

    items: tuple[Interrupt, ...]
    remaining: int
    dropped: tuple[str, ...] = ()
    shown: tuple[Message, ...] = ()
    warnings: tuple[str, ...] = ()
    secrets: tuple[SecretValue, ...] = ()


@dataclass(frozen=True, slots=True)
class Replay:
    """Show the thread as it is, ending in its open interrupts or its last outcome."""

    warnings: tuple[str, ...] = ()
    late: tuple[Interrupt, ...] = ()
    """Expired questions with the refusals of them noted that came with this request (D6)."""


@dataclass(frozen=True, slots=True)
class Attach:
    """Follow the run in progress; `late` as for `Replay`."""

    warnings: tuple[str, ...] = ()
    late: tuple[Interrupt, ...] = ()


@dataclass(frozen=True, slots=True)
class AlreadyAnswered:
    """Change nothing: the thread has these answers; `run_key` is the run that they started.

    `late` as for `Replay`.
    """

    run_key: str | None
    late: tuple[Interrupt, ...] = ()


GateDecision = Start | Resume | HoldAnswers | Replay | Attach | AlreadyAnswered | Refuse
_VERDICTS: Final[dict[type[GateDecision], str]] = {
    Start: "start",
    Resume: "resume",
    HoldAnswers: "hold",
    Replay: "replay",
    Attach: "attach",
    AlreadyAnswered: "answered",
    Refuse: "refuse",
}


def verdict_of(decision: GateDecision) -> str:
    """A decision in one word."""
    return _VERDICTS[type(decision)]


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A request, or answers of the inbox, beside the thread: all that a rung needs.

    `view` is None for a thread that does not exist. `resume` are the answers as they came,
    `all_entries` the same by id, `entries` those that count on the current rung. `settled` are the
    thread's settled interrupts, `open` those that wait for an answer, also while one is held;
    `calls` likewise wait for the client's own tools, and `results` are tool messages for them.
    `messages` are the request's, `sent` these beside the thread's, `new_messages` the new ones of
    its user. `options` are those of the agent for a request, and the defaults for the inbox.
    """

    view: ThreadView | None
    agent: str
    principal: Principal
    channel: str
    now: int
    limits: Limits
    options: AgentOptions
    check: PayloadCheck | None
    resume: Sequence[ResumeEntry]
    all_entries: dict[str, ResumeEntry]
    entries: dict[str, ResumeEntry]
    settled: dict[str, Interrupt]
    open: dict[str, Interrupt]
    calls: dict[str, Interrupt] = field(default_factory=dict)
    results: dict[str, ResumeEntry] = field(default_factory=dict)
    messages: Sequence[Message] = ()
    sent: Alignment = NOTHING_SENT
    new_messages: tuple[Message, ...] = ()
    answering_messages: tuple[Message, ...] = ()
    """Messages that are themselves an answer: they join the history at once."""
    warnings: tuple[str, ...] = ()
    command: Command | None = None
    """The answer in the older dialect, if it counts."""
    legacy: bool = False
    """True if its answers came one by one, in the older dialect (TR-28)."""
    has_breakpoints: bool = False
    """True if the request sets breakpoints of its own."""
    refuse_repeats: bool = False
    """True if an answer that is settled or held already is refused, also when it is equal."""
    counted: tuple[Interrupt, ...] = ()
    """Questions that have other votes than before, and not enough of them yet."""
    dropped: tuple[str, ...] = ()
    """People who had agreed to another answer, and agree no longer."""
    vault: Vault | None = None
    """Takes secrets out of answers; None if no question keeps them apart."""

    @property
    def turn(self) -> TurnRecord | None:
        """The thread's newest turn."""
        return self.view.turn if self.view else None

    @property
    def running(self) -> bool:
        """True if somebody holds the thread."""
        return self.view is not None and self.view.thread.holder is not None

    @property
    def suspended(self) -> bool:
        """True if the thread is waiting or ready."""
        return not self.running and self.turn is not None and self.turn.status == "suspended"

    @property
    def complete(self) -> bool:
        """True if the thread is ready: suspended, with an answer to everything."""
        return self.suspended and not unanswered((*self.open.values(), *self.calls.values()))

    @property
    def waiting(self) -> dict[str, Interrupt]:
        """The open questions and calls, in order of asking."""
        everything = self.open | self.calls
        interrupts = self.view.interrupts if self.view else ()
        return {item.id: item for item in interrupts if item.id in everything}

    @property
    def questions(self) -> dict[str, Interrupt]:
        """The open interrupts that people answer, without calls of the client's own tools."""
        return {key: item for key, item in self.open.items() if key not in self.calls}

    @property
    def stored(self) -> tuple[Message, ...]:
        """The thread's messages."""
        return self.view.messages if self.view else ()

    @property
    def has_new_input(self) -> bool:
        """True if the request brings a message that the thread can use."""
        return bool(self.new_messages or self.results)

    @property
    def is_others(self) -> bool:
        """True if the thread has unfinished work of another agent."""
        turn = self.turn
        return turn is not None and turn.agent != self.agent and (self.running or self.suspended)

    @property
    def unknown(self) -> list[str]:
        """Ids in the request that this thread never asked."""
        if not self.entries:
            return []
        return [key for key in self.entries if key not in self.settled and key not in self.open]

    @property
    def contradicting(self) -> list[Interrupt]:
        """Settled interrupts that this request answers differently."""
        return [
            self.settled[key]
            for key, entry in self.entries.items()
            if key in self.settled and not matches_settled(entry, self.settled[key])
        ]

    @property
    def answers(self) -> dict[str, ResumeEntry]:
        """The answers to what is open."""
        return {key: entry for key, entry in self.entries.items() if key in self.open}

    @property
    def resolving(self) -> dict[str, ResumeEntry]:
        """The answers to what is open that cancel nothing."""
        return {key: entry for key, entry in self.answers.items() if entry.status == "resolved"}

    @property
    def answered(self) -> list[Interrupt]:
        """The open questions that have an answer in the request, or are cancelled by it."""
        return [self.open[key] for key in self.answers]

    @property
    def is_foreign(self) -> bool:
        """True if the thread is somebody else's."""
        return self.view is not None and self.view.thread.owner != self.principal.subject

    @property
    def unanswered(self) -> list[str]:
        """Ids that are open, with no answer in the request and none held."""
        return [item.id for item in unanswered(self.open.values()) if item.id not in self.entries]

    def record(self, key: str) -> AnswerRecord:
        """The answer to an interrupt, as it is given now."""
        return answer_record(self.entries[key], self.principal, self.channel, self.now)


def case_of_request(
    request: RunInput,
    view: ThreadView | None,
    *,
    agent: str,
    principal: Principal,
    channel: str,
    now: int,
    limits: Limits,
    options: AgentOptions,
    check: PayloadCheck | None = None,
    has_breakpoints: bool = False,
    refuse_repeats: bool = False,
    vault: Vault | None = None,
) -> Case:
    """The case of a request on the path of `agent`, beside the thread that was loaded for it.

    `view` was loaded with the request's run id and interrupt ids. `now` is milliseconds since the
    epoch, `channel` is how the answers came, `options` are those of `agent`.
    """
    interrupts = view.interrupts if view else ()
    waiting = open_interrupts(view)
    calls = {key: item for key, item in waiting.items() if client_tools.is_call(item)}
    results, warnings = client_tools.results(calls, request.messages) if calls else ({}, ())
    sent = aligned(request, view)
    entries = _by_id(request.resume, interrupts, vault)
    return Case(
        view=view,
        agent=agent,
        principal=principal,
        channel=channel,
        now=now,
        limits=limits,
        options=options,
        check=check,
        resume=request.resume,
        all_entries=entries,
        entries=entries,
        settled={
            item.id: item
            for item in interrupts
            if item.status != "open" and not client_tools.is_call(item)
        },
        open={key: item for key, item in waiting.items() if key not in calls},
        calls=calls,
        results=results,
        messages=request.messages,
        sent=sent,
        new_messages=sent.fresh,
        warnings=(*sent.warnings, *warnings),
        command=request.command if options.legacy.answers else None,
        has_breakpoints=has_breakpoints,
        refuse_repeats=refuse_repeats,
        vault=vault,
    )


def case_of_answers(
    entries: Sequence[ResumeEntry],
    view: ThreadView,
    *,
    principal: Principal,
    channel: str,
    now: int,
    limits: Limits,
    check: PayloadCheck | None = None,
    vault: Vault | None = None,
) -> Case:
    """The case of answers that came one by one; `view` was loaded with their ids."""
    answers = _by_id(entries, view.interrupts, vault)
    return Case(
        view=view,
        agent=view.turn.agent if view.turn else view.thread.agent,
        principal=principal,
        channel=channel,
        now=now,
        limits=limits,
        options=_DEFAULTS,
        check=check,
        resume=entries,
        all_entries=answers,
        entries=answers,
        settled={item.id: item for item in view.interrupts if item.status != "open"},
        open=open_interrupts(view),
        vault=vault,
    )


_DEFAULTS = AgentOptions()
"""The options of every case of the inbox: its rungs read none of the agent's."""


def open_interrupts(view: ThreadView | None) -> dict[str, Interrupt]:
    """The interrupts that a thread waits for, by id; none while it runs."""
    turn = None if view is None or view.thread.holder is not None else view.turn
    if view is None or turn is None or turn.status != "suspended":
        return {}
    return {
        item.id: item
        for item in view.interrupts
        if item.status == "open" and item.turn_key == turn.key
    }


def contradicted(resume: Iterable[ResumeEntry]) -> list[str]:
    """The ids that have two different answers."""
    entries: dict[str, ResumeEntry] = {}
    twice: dict[str, None] = {}
    for entry in resume:
        first = entries.setdefault(entry.interrupt_id, entry)
        if first is not entry and not same_entry(first, entry):
            twice[entry.interrupt_id] = None
    return list(twice)


def _by_id(
    resume: Iterable[ResumeEntry], questions: Iterable[Interrupt], vault: Vault | None
) -> dict[str, ResumeEntry]:
    """The first answer for each id, without what is kept apart from it."""
    entries: dict[str, ResumeEntry] = {}
    for entry in resume:
        entries.setdefault(entry.interrupt_id, entry)
    if vault is not None:
        for item in questions:
            if item.id in entries:
                entries[item.id] = taken_apart(entries[item.id], item, vault)
    return entries


def attribute(command: Command, case: Case) -> dict[str, ResumeEntry] | Refuse:
    """Turn the command into entries by id; `case` is its request beside the thread, with none."""
    interrupts = case.settled | case.open
    if command.event is not None:
        named = interrupt_id_of(command.event)
        if named is not None:
            return _entries([(named, command.resume)], interrupts, case.vault)
        return _again(command, case) or _by_value(command, case)
    by_id = command.by_id
    if by_id and not interrupts.keys().isdisjoint(by_id):
        return _entries(by_id.items(), interrupts, case.vault)
    return _again(command, case) or _alone(command, case)


def _again(command: Command, case: Case) -> dict[str, ResumeEntry] | Refuse | None:
    """Recognise a request whose `runId` began a run with this very answer, or in an earlier turn.

    Unless it names the run that asked: some clients resume under its id (design 2).
    """
    view, turn = case.view, case.turn
    run = None if view is None else view.named_run
    if run is None or turn is None:
        return None
    if run.turn_key != turn.key:
        return refusals.nothing_open()
    for item in _settled_by(run, case):
        entries = _entry(item, command.resume, case.vault)
        names_it = command.event is None or command.event == item.message
        if names_it and matches_settled(entries[item.id], item):
            return entries
    return None


def _by_value(command: Command, case: Case) -> dict[str, ResumeEntry] | Refuse:
    """Find the question by a raw value: the message that it was asked with."""
    same = [item for item in case.open.values() if item.message == command.event]
    waiting = unanswered(same) or same
    if len(waiting) > 1:
        return refusals.unattributed([item.id for item in waiting])
    if waiting:
        return _entry(waiting[0], command.resume, case.vault)
    began = [item for item in _began(case) if item.message == command.event]
    return _entry(began[0], command.resume, case.vault) if len(began) == 1 else refusals.not_asked()


def _alone(command: Command, case: Case) -> dict[str, ResumeEntry] | Refuse:
    waiting = unanswered(case.open.values()) or list(case.open.values())
    if len(waiting) > 1:
        return refusals.unattributed([item.id for item in waiting])
    if waiting:
        return _entry(waiting[0], command.resume, case.vault)
    began = _began(case)
    if len(began) == 1:
        entries = _entry(began[0], command.resume, case.vault)
        if matches_settled(entries[began[0].id], began[0]):
            return entries
    return refusals.nothing_open()


def _began(case: Case) -> list[Interrupt]:
    """The interrupts that the request which began the newest run has settled."""
    run = case.view.run if case.view is not None else None
    return [] if run is None else _settled_by(run, case)


def _settled_by(run: Run, case: Case) -> list[Interrupt]:
    """The interrupts that the request which began a run has settled."""
    return [item for item in case.settled.values() if item.run_key == run.key]


def _entry(item: Interrupt, resume: Any, vault: Vault | None) -> dict[str, ResumeEntry]:
    return _entries([(item.id, resume)], {item.id: item}, vault)


def _entries(
    answers: Iterable[tuple[str, Any]], interrupts: dict[str, Interrupt], vault: Vault | None
) -> dict[str, ResumeEntry]:
    entries = {
        identifier: ResumeEntry(
            interrupt_id=identifier,
            status="resolved",
            payload=parse_answer(resume, takes_text=_takes_text(interrupts.get(identifier))),
        )
        for identifier, resume in answers
    }
    return {
        identifier: taken_apart(entry, interrupts.get(identifier), vault)
        for identifier, entry in entries.items()
    }


def _takes_text(item: Interrupt | None) -> bool:
    if item is None:
        return True
    if item.response_schema is None:
        return item.reason != "confirmation"
    try:
        return compile_bytes(item.response_schema).accepts_string
    except DeclarationError:
        return True
