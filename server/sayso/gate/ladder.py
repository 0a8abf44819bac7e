"""The ladders of the gate: what a request, or an answer, may do to a thread (design 4). Pure.

The whole request is judged before anything changes; a refusal changes nothing that is stored. A
ladder is a tuple of rungs, and each rung's docstring is its rule. The first one that decides ends
it; a rung may also amend the case for those below it, or pass.

A call of the client's own tool is open as well, but is not a question: its answer is a tool message
for it, which counts as something new, and `resume` cannot name it (TC-11, TC-14). A new user
message without that answer says that none will come (design 4). A tool message for any other call
of the server's is ignored.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from textwrap import fill

from sayso.base.codes import Code
from sayso.base.fastrecords import copy_with
from sayso.base.records import Interrupt, Message
from sayso.base.shown import digest_of
from sayso.gate import client_tools, interrupts, quorum, refusals
from sayso.gate.answers import asks_for_text, matches_held, payload_errors
from sayso.gate.case import (
    AlreadyAnswered,
    Attach,
    Case,
    GateDecision,
    HoldAnswers,
    Replay,
    Resume,
    Start,
    attribute,
    contradicted,
)
from sayso.gate.contents import answered_call, call_ids, calls, plain_text
from sayso.gate.history import merge, too_large
from sayso.gate.refusals import Refuse
from sayso.gate.settled import BY_MESSAGE
from sayso.protocol.legacy import CHANNEL as BY_COMMAND
from sayso.protocol.runinput import ResumeEntry

Rung = Callable[[Case], GateDecision | Case | None]
"""Decides; or amends the case for the rungs below; or passes."""


def decide(case: Case, ladder: tuple[Rung, ...]) -> GateDecision:
    """Climb down a ladder until a rung decides, which its last one always does.

    A decision that changes nothing carries the refusals that came too late, noted (D6).
    """
    channel = case.channel
    for rung in ladder:
        outcome = rung(case)
        if outcome is None:
            continue
        if not isinstance(outcome, Case):
            if case.vault is not None and isinstance(outcome, Resume | HoldAnswers):
                outcome = replace(outcome, secrets=case.vault.kept)
            return _with_late(outcome, case, channel)
        case = outcome
    raise AssertionError("the last rung of a ladder decides")


def _with_late(decision: GateDecision, case: Case, channel: str) -> GateDecision:
    if isinstance(decision, Refuse) and decision.code is not Code.INTERRUPT_EXPIRED:
        return decision
    if case.view is None or not isinstance(decision, Refuse | Replay | Attach | AlreadyAnswered):
        return decision
    late = interrupts.note_late_refusals(
        case.view.interrupts, case.all_entries.values(), case.principal.subject, channel, case.now
    )
    return replace(decision, late=late) if late else decision


def duplicates(case: Case) -> Refuse | None:
    """Two answers for one id that differ: `duplicate_entry` (RE-08, D8).

    Equal ones count once.
    """
    twice = contradicted(case.resume)
    return refusals.duplicate(twice) if twice else None


def attribute_legacy(case: Case) -> Refuse | Case | None:
    """An answer of the older dialect is attributed, and then judged like any other (LG-14).

    `forwardedProps.command` counts unless `Legacy.answers` is off or `resume` is there (LG-07).
    What cannot be attributed is refused, but `wrong_agent` and `thread_busy` come first.
    """
    if case.command is None:
        return None
    if case.view is None:
        return refusals.gone(case.command.names)
    entries = attribute(case.command, case)
    if not isinstance(entries, Refuse):
        return copy_with(
            case, entries=entries, all_entries=entries, legacy=True, channel=BY_COMMAND
        )
    if case.turn is not None and case.is_others:
        return refusals.wrong_agent(case.turn.agent)
    return refusals.busy() if case.running else entries


def drop_unknown(case: Case) -> Case | None:
    """With `unknown_entries="ignore"` an id that this thread never asked is dropped (TR-01).

    With a warning, and only beside an answer to something that was asked.
    """
    unknown = case.unknown if case.options.unknown_entries == "ignore" else []
    if not unknown or len(unknown) == len(case.entries):
        return None
    return copy_with(
        case,
        entries={key: entry for key, entry in case.entries.items() if key not in unknown},
        warnings=(*case.warnings, _ignored(unknown)),
    )


def repeats(case: Case) -> GateDecision | None:
    """Only answers equal to settled ones, and no new message: Attach while the thread runs.

    Resume without settling when some are those of a turn that failed after it took them (B1,
    TR-04), or when it is ready; else Replay (ID-01, ID-03, Q2). An edge may refuse such repeats.
    """
    if case.has_new_input or not case.entries:
        return None
    if case.contradicting or not case.entries.keys() <= case.settled.keys():
        return None
    turn = case.turn
    if case.running:
        return _refused_repeat(case) or Attach(case.warnings)
    failed = turn is not None and turn.status == "failed" and _of_newest_turn(case)
    if turn is None or not (case.complete or failed):
        return _refused_repeat(case) or Replay(case.warnings)
    if turn.agent != case.agent:
        return refusals.wrong_agent(turn.agent)
    plan = Resume(settle=_held(case), retry=failed, warnings=case.warnings)
    return _refused_breakpoints(case) or plan


def retried_run(case: Case) -> GateDecision | None:
    """No answers, no new message, the `runId` of a run of this thread: Attach, or Replay.

    Replay also over open interrupts: a retried POST never runs a turn twice. Not when it is ready.
    """
    if case.has_new_input or case.entries:
        return None
    if case.view is None or case.view.named_run is None or case.complete:
        return None
    return Attach() if case.running else Replay()


def other_agent(case: Case) -> Refuse | None:
    """Another agent's path while something is open or running: `wrong_agent`."""
    return refusals.wrong_agent(case.turn.agent) if case.turn and case.is_others else None


def busy(case: Case) -> GateDecision | None:
    """Running: Attach if the request brings nothing new, else `thread_busy` (ID-08)."""
    if not case.running:
        return None
    return refusals.busy() if case.entries or case.new_messages else Attach()


def gone(case: Case) -> Refuse | None:
    """A conversation that is not, or no longer, here: its client is made to abandon it (D2).

    All answers are unknown, and there is no such thread; or they come beside messages of assistants
    and tools none of which it has, or beside calls that it never made. Or the last message is the
    result of a call that nobody made here.
    """
    return refusals.gone(list(case.entries)) if _is_gone(case) else None


def unknown_ids(case: Case) -> Refuse | None:
    """An id that this thread never asked: `unknown_interrupt` (D1, CR-1).

    Unless the thread is idle and a new message came: then Start, with a warning (RE-10). Never for
    the older dialect (D2).
    """
    if case.unknown and (case.suspended or case.legacy or not case.new_messages):
        return refusals.unknown(case.unknown)
    return None


def already_resolved(case: Case) -> Refuse | None:
    """An answer that differs from the settled one: `already_resolved` (ID-06, Q1).

    It says by whom and when. If the question expired: `interrupt_expired` (D6).
    """
    differing = case.contradicting
    decided = [item for item in differing if not interrupts.settled_by_expiry(item)]
    if decided:
        return refusals.already_resolved(decided)
    return refusals.expired(differing) if differing else None


def start(case: Case) -> GateDecision | None:
    """Idle: Start with a new message, on a new thread, or to regenerate; else Replay.

    Regenerate: the last run's body was delivered whole. Replay also for a result of a call that the
    turn no longer waited for. Too large a history is `thread_too_large`. A run with breakpoints, of
    an agent that takes none from requests, is `breakpoints_refused`.
    """
    if case.suspended:
        return None
    view = case.view
    if view is not None and view.run is not None and not (case.new_messages or view.run.delivered):
        return Replay(case.warnings)
    items = view.interrupts if view else ()
    if not case.new_messages and client_tools.late_results(items, case.sent.new):
        # A result that came after its turn continued does not ask to run that turn again.
        return Replay((*case.warnings, "a result for a call that no longer waits was ignored"))
    merged = merge(case.sent, case.stored)
    if too_large(case.stored, merged.append, case.limits.history):
        return refusals.too_large(case.limits.history)
    warnings = merged.warnings + case.warnings
    if case.unknown:
        warnings += (_ignored(case.unknown),)
    plan = Start(append=merged.append, hide=merged.hide, warnings=warnings)
    return _refused_breakpoints(case) or plan


def contradicted_while_running(case: Case) -> Refuse | None:
    """While the thread runs, an answer that differs from the settled one is refused first.

    `already_resolved`, or `interrupt_expired`: a latecomer is told the truth.
    """
    return already_resolved(case) if case.running else None


def steer(case: Case) -> Refuse | Case | None:
    """With `on_message` a message alone counts as answers (E1, E2, E9).

    `answer`: its text answers the one question that still waits, if that takes a string. `cancel`:
    all that is open is cancelled, and the message starts a turn when this one has ended (OC-12). A
    request with answers means those (D2).
    """
    if case.entries or not case.new_messages or not case.unanswered:
        return None
    if case.options.on_message == "cancel":
        return copy_with(
            case,
            entries={key: ResumeEntry(interrupt_id=key, status="cancelled") for key in case.open},
            channel=BY_MESSAGE,
        )
    single = len(case.unanswered) == 1 and len(case.new_messages) == 1
    if case.options.on_message == "answer" and single:
        return _answer_by_message(case, case.open[case.unanswered[0]], case.new_messages[0])
    return None


def add_client_calls(case: Case) -> Case | None:
    """The client's own calls are open from here on, and tool messages are their answers.

    A user message says that no answer will come to any call whose answer neither came with it nor
    is held; also to a call whose answer comes too late, which alone would be refused.
    """
    if not case.calls:
        return None
    entries = dict(case.results)
    if case.new_messages or case.answering_messages:
        entries = {
            key: entry
            for key, entry in entries.items()
            if not interrupts.is_past(case.calls[key], case.now)
        }
        waiting = interrupts.unanswered(case.calls.values())
        left = [item.id for item in waiting if item.id not in entries]
        entries |= {key: client_tools.no_result(key) for key in left}
    return copy_with(case, entries=case.entries | entries, open=case.waiting)


def pending(case: Case) -> GateDecision | None:
    """An open interrupt without an answer: `interrupts_pending`, or `partial_resume`.

    The former if there are no answers at all (CR-4, E1), the latter beside some (CR-3, E6). No
    answer is ever read out of silence (EX-06). One that is held counts. With `partial="accumulate"`
    answers without a message pass; so do those of the older dialect, whose clients know one
    question at a time (TR-28). Replay if only the client's own calls are open and nothing came.
    """
    missing = case.unanswered
    if not missing:
        return None
    questions = [key for key in missing if key not in case.calls]
    if not case.entries:
        # A request without anything, on a thread that waits for its client alone, is shown it.
        return refusals.pending(questions) if questions else Replay(case.warnings)
    # A message cannot be kept beside answers that are: it would wait for nothing (E6).
    accumulates = case.options.partial == "accumulate" and case.answers and not case.new_messages
    if case.legacy or accumulates:
        return None
    left = [client_tools.call_id(case.calls[key]) for key in missing if key in case.calls]
    return refusals.partial(questions, left)


def not_an_approver(case: Case) -> Refuse | None:
    """An answer of somebody who may not give it: `not_an_approver` (OC-20).

    `own_request` for whoever wants the thing done, `person_required` for a service, which cancels
    its own questions alone; `step_up_required` where the sign-in is too old. Anybody else may
    cancel. This comes before `interrupt_expired`: a stranger is told less.
    """
    resolving = [case.open[key] for key in case.resolving]
    if refused := refusals.unentitled(resolving, case.principal):
        return refused
    if case.is_foreign and (
        left := [item for item in case.answered if not quorum.decides(item, case.principal)]
    ):
        return refusals.person_required(left)
    return refusals.step_up_required(resolving, case.principal, case.now)


def denied_before(case: Case) -> Refuse | None:
    """A yes to what was denied in another copy: `denied_before`.

    Only if its approvers do not want to be asked again.
    """
    yes = [
        case.open[key]
        for key, entry in case.resolving.items()
        if not quorum.denies(case.open[key], entry.payload)
    ]
    return refusals.denied_before(yes) if yes else None


def beside_held(case: Case) -> Refuse | Case | None:
    """Where others than the owner decide, an answer may meet one that is held (`quorum.effect`).

    A held one that decides the question: `already_resolved`. An equal answer changes nothing.
    """
    effects = {key: quorum.effect(case.open[key], entry) for key, entry in case.answers.items()}
    decided = [key for key, effect in effects.items() if effect == "decided"]
    if decided:
        held = [interrupts.settle_held(case.open[key]) for key in decided]
        return refusals.already_resolved(held)
    if "stands" not in effects.values():
        return None
    entries = {key: entry for key, entry in case.entries.items() if effects.get(key) != "stands"}
    return copy_with(case, entries=entries)


def expired(case: Case) -> Refuse | None:
    """`resolved` at or after `expiresAt`: `interrupt_expired` (EX-04, EX-05).

    `cancelled` counts. Where others gave an answer in time, one of them may still say no to it.
    """
    overdue = [
        item
        for item in map(case.open.__getitem__, case.resolving)
        if interrupts.is_past(item, case.now)
        and not (item.held is not None and quorum.asks_others(item))
    ]
    return refusals.expired(overdue) if overdue else None


def out_of_date(case: Case) -> Refuse | None:
    """An answer to a question that is another now than its client showed: `out_of_date`.

    The refusal has the question as it is. A client that does not say what it showed is not asked;
    a person's own agreement may come again.
    """
    changed = [
        item
        for item, entry in ((case.open[key], entry) for key, entry in case.resolving.items())
        if entry.shown is not None
        and entry.shown != digest_of(item)
        and not quorum.has_agreed(item, entry, case.principal.subject)
    ]
    if not changed or case.view is None:
        return None
    return refusals.out_of_date(changed, case.view.thread.owner, case.principal, case.now)


def invalid(case: Case) -> Refuse | None:
    """A payload over the limit, or refused by its schema or tool: `invalid_payload` (CR-6)."""
    resolving = case.resolving
    problems = {
        item.id: wrong
        for item in case.questions.values()
        if item.id in resolving
        and (
            wrong := payload_errors(item, resolving[item.id], case.limits, case.check)
            or (_remembers(item, resolving[item.id]) if case.is_foreign else ())
        )
    }
    return refusals.invalid(problems) if problems else None


def _remembers(item: Interrupt, entry: ResumeEntry) -> list[tuple[str, str]]:
    """Whoever an owner has let answer one question says nothing about the owner's later calls."""
    payload = entry.payload
    if item.terms.granted and isinstance(payload, dict) and payload.get("remember"):
        return [("/remember", "is for the owner of the thread to say: leave it out")]
    return []


def count_votes(case: Case) -> Refuse | Case | None:
    """Answers that several people have to agree to are counted.

    An answer that not enough people agree to yet leaves its question open: beside a new message
    that is `interrupts_pending`.
    """
    counts = {
        key: quorum.count_vote(case.open[key], entry, case.principal, case.channel, case.now)
        for key, entry in case.answers.items()
    }
    if not counts:
        return None
    short = [key for key, count in counts.items() if not count.stands]
    if short and case.new_messages:
        return refusals.pending(short)
    voted = {
        key: interrupts.with_votes(case.open[key], count.votes) for key, count in counts.items()
    }
    if not short and all(item is case.open[key] for key, item in voted.items()):
        return None
    return copy_with(
        case,
        open=case.open | voted,
        entries={key: entry for key, entry in case.entries.items() if key not in short},
        counted=tuple(voted[key] for key in short if voted[key] is not case.open[key]),
        dropped=tuple(dict.fromkeys(name for count in counts.values() for name in count.dropped)),
    )


def accumulate(case: Case) -> GateDecision | None:
    """Some of what is open answered: the answers are held; Replay if nothing is new.

    Results that would make the history too large are `thread_too_large`.
    """
    if not case.unanswered:
        return None
    held = _newly_held(case, case.open)
    if not held and not case.new_messages and not case.counted:
        return _refused_repeat(case) or Replay(case.warnings)
    results = client_tools.results_of(map(interrupts.settle_held, held))
    if results and too_large(case.stored, results, case.limits.history):
        return refusals.too_large(case.limits.history)
    return HoldAnswers(
        items=(*held, *case.counted),
        remaining=len(case.unanswered),
        dropped=case.dropped,
        shown=case.new_messages,
        warnings=case.warnings,
    )


def resume(case: Case) -> GateDecision:
    """Every open interrupt answered: Resume; new messages wait for the turn's end (E5, RE-09).

    A ready turn continues the same way. Too large a history is `thread_too_large`. A run with
    breakpoints, of an agent that takes none from requests, is `breakpoints_refused`.
    """
    settle = _settled(case)
    results = client_tools.results_of(settle)
    added = (*results, *case.answering_messages, *case.new_messages)
    if added and too_large(case.stored, added, case.limits.history):
        return refusals.too_large(case.limits.history)
    queue = (
        *case.answering_messages,
        *(copy_with(message, visibility="waiting") for message in case.new_messages),
    )
    plan = Resume(settle=settle, queue=queue, warnings=case.warnings)
    return _refused_breakpoints(case) or plan


def settled_before(case: Case) -> GateDecision | None:
    """Only answers equal to settled ones: they stand.

    A turn that is ready, or that failed after it took them, continues.
    """
    if case.contradicting or not case.entries.keys() <= case.settled.keys():
        return None
    answered = [case.settled[key] for key in case.entries]
    if _of_newest_turn(case):
        if case.complete:
            return Resume(settle=_held(case))
        if case.turn is not None and case.turn.status == "failed" and not case.running:
            return Resume(settle=(), retry=True)
    return AlreadyAnswered(answered[-1].run_key if answered else None)


def hold_or_settle(case: Case) -> GateDecision:
    """Others of the set wait for an answer: these are held.

    The set is complete: all are settled, and the turn continues.
    """
    remaining = len(case.unanswered)
    if not remaining:
        return Resume(settle=_settled(case))
    return HoldAnswers(
        items=(*_newly_held(case, case.answers), *case.counted),
        remaining=remaining,
        dropped=case.dropped,
    )


RUN: tuple[Rung, ...] = (
    duplicates,
    attribute_legacy,
    drop_unknown,
    repeats,
    retried_run,
    other_agent,
    busy,
    gone,
    unknown_ids,
    already_resolved,
    start,
    steer,
    add_client_calls,
    pending,
    not_an_approver,
    denied_before,
    beside_held,
    expired,
    out_of_date,
    invalid,
    count_votes,
    accumulate,
    resume,
)
"""Requests to run an agent. `AgentOptions` change what some of the rungs say."""

INBOX: tuple[Rung, ...] = (
    duplicates,
    settled_before,
    contradicted_while_running,
    busy,
    unknown_ids,
    already_resolved,
    not_an_approver,
    denied_before,
    beside_held,
    expired,
    out_of_date,
    invalid,
    count_votes,
    hold_or_settle,
)
"""Answers that come one by one: none is refused because others are still open.

No option of an agent changes what these rungs say.
"""


def as_text(ladder: tuple[Rung, ...]) -> str:
    """A ladder as the list that `docs/design.md` shows: the name and the rule of each rung."""
    return "\n".join(
        fill(
            f"{number}. `{rung.__name__}`: {' '.join((rung.__doc__ or '').split())}",
            width=120,
            subsequent_indent=" " * 4,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for number, rung in enumerate(ladder, 1)
    )


def _settled(case: Case) -> tuple[Interrupt, ...]:
    """Settle all that is open: with the answers that came, or with those that are held."""
    return tuple(
        interrupts.settle_with(item, case.record(key))
        if key in case.entries
        else interrupts.settle_held(item)
        for key, item in case.open.items()
    )


def _held(case: Case) -> tuple[Interrupt, ...]:
    """Settle all that is open with the answers that are held."""
    return tuple(map(interrupts.settle_held, case.waiting.values()))


def _newly_held(case: Case, order: Iterable[str]) -> list[Interrupt]:
    """Hold the answers that came on their open interrupts, unless the same are held.

    In the order of these ids; those without an answer are passed over.
    """
    answers = case.answers
    return [
        interrupts.hold(case.open[key], case.record(key))
        for key in order
        if key in answers and not matches_held(answers[key], case.open[key])
    ]


def _of_newest_turn(case: Case) -> bool:
    """True if some of the answers are to settled interrupts of the newest turn."""
    turn = case.turn
    return turn is not None and any(
        case.settled[key].turn_key == turn.key for key in case.entries if key in case.settled
    )


def _refused_breakpoints(case: Case) -> Refuse | None:
    """The refusal of a run that would not stop where its client expects it to."""
    if case.has_breakpoints and case.options.run_breakpoints != "allow":
        return refusals.breakpoints(case.agent)
    return None


def _refused_repeat(case: Case) -> Refuse | None:
    """The refusal of a repeated answer, settled or held, for an edge that takes no repeats.

    An agreement that others have yet to join settles nothing, so it may be given again.
    """
    if not case.refuse_repeats or case.view is None:
        return None
    items = {item.id: interrupts.as_answered(item) for item in case.view.interrupts}
    again = [items[entry.interrupt_id] for entry in case.resume if entry.interrupt_id in items]
    over = [item for item in again if item.status != "open"]
    return refusals.already_resolved(over) if over else None


def _answer_by_message(case: Case, item: Interrupt, message: Message) -> Refuse | Case | None:
    text = plain_text(message)
    if text is None or item.terms.apart:  # a message stands in the history
        return None
    entry = ResumeEntry(interrupt_id=item.id, status="resolved", payload=text)
    wrong = payload_errors(item, entry, case.limits, case.check)
    if wrong:
        return refusals.invalid({item.id: wrong}) if asks_for_text(item) else None
    return copy_with(
        case,
        entries={item.id: entry},
        new_messages=(),
        answering_messages=(message,),
        channel=BY_MESSAGE,
    )


def _ignored(ids: list[str]) -> str:
    return f"this thread never asked {refusals.named(ids)}; that answer was ignored"


def _is_gone(case: Case) -> bool:
    """True if the conversation that the request continues is not, or no longer, here."""
    if case.entries:
        # An id may be used again, for another conversation than the one that was answered.
        only_unknown = len(case.unknown) == len(case.entries)
        return case.view is None or (only_unknown and (case.sent.strange or _calls_elsewhere(case)))
    if case.suspended and not case.new_messages:
        return False  # it begins nothing and says nothing to what waits
    last = case.messages[-1] if case.messages else None
    if last is None or last.role != "tool" or last not in case.sent.new[-1:]:
        return False
    call = answered_call(last)
    return not any(call in call_ids(message) for message in case.stored if calls(message))


def _calls_elsewhere(case: Case) -> bool:
    """True if an assistant of the request makes calls that nobody made here."""
    return any(calls(message) and call_ids(message) for message in case.sent.new)
