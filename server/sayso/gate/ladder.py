"""What a request may do to a thread (design 4). Pure, total, never raises.

The whole request is judged before anything changes; a refusal changes nothing that is stored. A
thread is *running* while somebody holds it, *waiting* while its newest turn is suspended with open
interrupts, *ready* while that turn is suspended and all its interrupts have an answer, settled or
held, else *idle*. `Options` change what the rungs in brackets say.

A call of the client's own tool is open as well, but no question: its answer is a tool message for
it, which counts as something new, and `resume` cannot name it (TC-11, TC-14). A new user message
without that answer says that none will come (design 4). A tool message for any other call of the
server's is ignored.

The ladder; the first rung that applies decides:

 1. Two entries for one id that differ: `duplicate_entry` (RE-08, D8). Equal ones count once.
 2. Only answers equal to settled ones, and no new message: Attach while the thread runs; Resume
    without settling when some are those of a turn that failed after it took them (B1, TR-04), or
    when it is ready; else Replay (ID-01, ID-03, Q2).
 3. No answers, no new message, the `runId` of a run of this thread: Attach while it runs, else
    Replay, also over open interrupts: a retried POST never runs a turn twice. Not when ready.
 4. Another agent's path while something is open or running: `wrong_agent`.
 5. Running: Attach if the request brings nothing new, else `thread_busy` (ID-08).
 6. An id that this thread never asked: `unknown_interrupt` (D1, CR-1), unless the thread is idle
    and a new message came: Start, with a warning (RE-10). [`unknown_entries="ignore"`: beside an
    answer to something that was asked it is dropped, with a warning, before the second rung.]
 7. An answer that differs from the settled one: `already_resolved`, by whom and when (ID-06, Q1);
    `resolved` for one that expired: `interrupt_expired` (D6).
    [`on_message`: a message alone is, from here on, the answers that it stands for.]
 8. An open interrupt without an answer: `interrupts_pending` if there are no answers at all (CR-4,
    E1), else `partial_resume` (CR-3, E6). No answer is ever read out of silence (EX-06). One that
    is held counts. [`partial="accumulate"`: answers without a message go on to the next rungs.]
    Replay if the client's own calls are all that is open and the request brings nothing.
 9. `resolved` at or after `expiresAt`: `interrupt_expired`; `cancelled` counts (EX-04, EX-05).
    An answer of somebody who has none of the roles that may give it: `not_an_approver` (OC-20).
10. A payload over the limit, or one that its schema or its tool refuses: `invalid_payload` (CR-6).
11. Every open interrupt answered: Resume; new messages wait until the turn ends (E5, RE-09). A
    ready turn goes on the same way. Some of them answered: Hold, or Replay if nothing is new.
12. Idle: Start with a new message, on a new thread, or if the last run's body was delivered whole
    (regenerate); else Replay, as for a result of a call that the turn did not wait for any more.

An answer of the older dialect (`forwardedProps.command`, unless `legacy_answers` is off or `resume`
is there, LG-07) is attributed first and then judged like any other (LG-14). What cannot be
attributed is refused at the sixth rung; one for an unknown id also beside a new message (D2). Such
clients know one question at a time, so an answer to some of what is open passes the eighth (TR-28).

A Start or a queued message that would make the history too large is `thread_too_large`.
"""

from sayso.errors import Code
from sayso.gate import approvers, frontend, held, refusals
from sayso.gate.answers import Judge, alike, problems, settled
from sayso.gate.attribution import attributed
from sayso.gate.decisions import Attach, Decision, Hold, Replay, Resume, Start
from sayso.gate.expiry import by_expiry
from sayso.gate.history import merge, too_large
from sayso.gate.refusals import Refuse
from sayso.gate.settled import BY_MESSAGE
from sayso.gate.situation import Situation, distinct, late, situation, with_calls
from sayso.gate.steering import steered
from sayso.limits import Limits
from sayso.making import changed
from sayso.options import Options
from sayso.protocol.legacy import CHANNEL, Command
from sayso.protocol.runinput import ResumeEntry, RunInput
from sayso.records import Interrupt, Principal, ThreadView

__all__ = [
    "Attach",
    "Decision",
    "Hold",
    "Judge",
    "Refuse",
    "Replay",
    "Resume",
    "Start",
    "check",
    "entries",
    "may_be_late",
]

_STRICT = Options()


def check(
    request: RunInput,
    view: ThreadView | None,
    *,
    agent: str,
    principal: Principal,
    channel: str,
    now: int,
    limits: Limits,
    judge: Judge | None = None,
    options: Options = _STRICT,
) -> Decision:
    """Decide what `request`, on the path of `agent`, may do to the thread in `view`.

    `view` is None for a thread that does not exist; otherwise it was loaded with the request's run
    id and interrupt ids. `now` is milliseconds since the epoch, `channel` is how the answers came,
    `options` are those of `agent`.
    """
    read = _read(request, view, agent, options)
    if isinstance(read, Refuse):
        return read
    if read.legacy:
        channel = CHANNEL
    case = _without_unknown(read, options)
    decision = _already_done(case) or _unfinished_elsewhere(case) or _wrong_ids(case)
    if decision is not None:
        return decision
    if not case.suspended:
        return _start(case, limits)
    meant = steered(case, options, limits, judge)
    if isinstance(meant, Refuse):
        return meant
    if meant is not None:
        case, channel = meant, BY_MESSAGE
    case = with_calls(case, now)
    return (
        _uncovered(case, options)
        or _unentitled(case, principal)
        or _expired(case, now)
        or _misfits(case, limits, judge)
        or _taken(case, principal, channel, now, limits)
    )


def entries(
    request: RunInput, view: ThreadView | None, agent: str, options: Options
) -> tuple[ResumeEntry, ...]:
    """The answers of a request, whichever dialect they came in; none that cannot be told."""
    read = _read(request, view, agent, options)
    return () if isinstance(read, Refuse) else tuple(read.entries.values())


def may_be_late(decision: Decision) -> bool:
    """Whether a request that was decided so may have refused what had expired (D6)."""
    if isinstance(decision, Refuse):
        return decision.code is Code.INTERRUPT_EXPIRED
    return isinstance(decision, Replay | Attach)


def _read(
    request: RunInput, view: ThreadView | None, agent: str, options: Options
) -> Situation | Refuse:
    command = request.command if options.legacy_answers else None
    if command is None:
        return _listed(request, view, agent)
    return _commanded(command, situation(request, view, agent, {}))


def _listed(request: RunInput, view: ThreadView | None, agent: str) -> Situation | Refuse:
    entries, twice = distinct(request.resume)
    return refusals.duplicate(twice) if twice else situation(request, view, agent, entries)


def _commanded(command: Command, case: Situation) -> Situation | Refuse:
    """An answer of the older dialect, beside its thread."""
    found = attributed(command, case)
    if not isinstance(found, Refuse):
        return changed(case, entries=found, legacy=True)
    if case.turn is not None and case.foreign and (case.running or case.suspended):
        return refusals.wrong_agent(case.turn.agent)
    return refusals.busy() if case.running else found


def _without_unknown(case: Situation, options: Options) -> Situation:
    """TR-01: what was never asked is dropped, but only beside an answer to what was."""
    unknown = case.unknown
    if options.unknown_entries == "refuse" or not unknown or len(unknown) == len(case.entries):
        return case
    return changed(
        case,
        entries={key: entry for key, entry in case.entries.items() if key not in unknown},
        warnings=(*case.warnings, _ignored(unknown)),
    )


def _ignored(ids: list[str]) -> str:
    return f"this thread never asked {refusals.named(ids)}; that answer was ignored"


def _already_done(case: Situation) -> Decision | None:
    if case.news:
        return None
    if case.entries:
        if case.unknown or case.differing or not case.entries.keys() <= case.decided.keys():
            return None
        return _repeated(case)
    if case.view is None or case.view.named_run is None or case.ready:
        return None
    return Attach() if case.running else Replay()


def _repeated(case: Situation) -> Decision:
    """Nothing but answers that are settled already."""
    if case.running:
        return Attach(case.warnings)
    turn = case.turn
    failed_with_them = (
        turn is not None
        and turn.status == "failed"
        and any(case.decided[key].turn_key == turn.key for key in case.entries)
    )
    if turn is None or not (case.ready or failed_with_them):
        return Replay(case.warnings)
    if case.foreign:
        return refusals.wrong_agent(turn.agent)
    return Resume(settle=_held(case), retry=failed_with_them, warnings=case.warnings)


def _held(case: Situation) -> tuple[Interrupt, ...]:
    return tuple(held.settle(item) for item in case.waiting.values())


def _unfinished_elsewhere(case: Situation) -> Decision | None:
    if case.turn is not None and case.foreign and (case.running or case.suspended):
        return refusals.wrong_agent(case.turn.agent)
    if not case.running:
        return None
    return refusals.busy() if case.entries or case.fresh else Attach()


def _wrong_ids(case: Situation) -> Refuse | None:
    if case.unknown and (case.suspended or case.legacy or not case.fresh):
        return refusals.unknown(case.unknown)
    differing = case.differing
    decided = [item for item in differing if not by_expiry(item)]
    if decided:
        return refusals.already_resolved(decided)
    return refusals.expired(differing) if differing else None


def _uncovered(case: Situation, options: Options) -> Decision | None:
    missing = case.missing
    if not missing:
        return None
    questions = [key for key in missing if key not in case.calls]
    if not case.entries:
        # Who brings nothing to a thread that waits for its client alone is shown it as it stands.
        return refusals.pending(questions) if questions else Replay(case.warnings)
    if case.legacy:
        return None
    # A message cannot be kept beside answers that are: it would wait for nothing (E6).
    if options.partial == "accumulate" and case.given and not case.fresh:
        return None
    calls = [frontend.called(case.calls[key]) for key in missing if key in case.calls]
    return refusals.partial(questions, calls)


def _unentitled(case: Situation, principal: Principal) -> Refuse | None:
    others = [
        case.open[key]
        for key, entry in case.given.items()
        if entry.status == "resolved" and not approvers.entitled(case.open[key], principal)
    ]
    return refusals.not_an_approver(others) if others else None


def _taken(
    case: Situation, principal: Principal, channel: str, now: int, limits: Limits
) -> Decision:
    """What comes of answers that fit; those that others have to agree to are counted."""
    tallies = {
        key: approvers.counted(case.open[key], entry, principal, channel, now)
        for key, entry in case.given.items()
    }
    short = {key: item for key, (item, stands) in tallies.items() if not stands}
    if short and case.fresh:
        return refusals.pending(list(short))
    counted = tuple(item for key, item in short.items() if item is not case.open[key])
    case = changed(
        case,
        open={key: tallies[key][0] if key in tallies else item for key, item in case.open.items()},
        entries={key: entry for key, entry in case.entries.items() if key not in short},
    )
    return _hold(case, principal, channel, now, limits, counted) or _resume(
        case, principal, channel, now, limits
    )


def _expired(case: Situation, now: int) -> Refuse | None:
    overdue = [
        case.open[key]
        for key, entry in case.given.items()
        if entry.status == "resolved" and late(case.open[key], now)
    ]
    return refusals.expired(overdue) if overdue else None


def _misfits(case: Situation, limits: Limits, judge: Judge | None) -> Refuse | None:
    found = {
        item.id: wrong
        for item in case.open.values()
        if (entry := case.entries.get(item.id)) is not None
        and entry.status == "resolved"
        and not frontend.is_call(item)
        and (wrong := problems(item, entry.payload, limits, judge))
    }
    return refusals.invalid(found) if found else None


def _hold(
    case: Situation,
    principal: Principal,
    channel: str,
    now: int,
    limits: Limits,
    counted: tuple[Interrupt, ...],
) -> Decision | None:
    """Answers to some of what is open: kept, unless the same are kept already.

    `counted` are questions that have more agreement than before, and not enough yet.
    """
    if not case.missing:
        return None
    new = [
        item
        for item in case.open.values()
        if (entry := case.entries.get(item.id)) is not None
        and ((kept := held.read(item)) is None or not alike(kept.entry, entry))
    ]
    if not new and not case.fresh and not counted:
        return Replay(case.warnings)
    holding = [held.hold(item, case.entries[item.id], principal, channel, now) for item in new]
    stored = case.view.messages if case.view else ()
    results = frontend.results_of(map(held.settle, holding))
    if results and too_large(stored, results, limits.history):
        return refusals.too_large(limits.history)
    return Hold(held=(*holding, *counted), shown=case.fresh, warnings=case.warnings)


def _resume(
    case: Situation, principal: Principal, channel: str, now: int, limits: Limits
) -> Decision:
    stored = case.view.messages if case.view else ()
    settle = tuple(
        settled(item, case.entries[key], principal, channel, now)
        if key in case.entries
        else held.settle(item)
        for key, item in case.open.items()
    )
    new = (*frontend.results_of(settle), *case.said, *case.fresh)
    if new and too_large(stored, new, limits.history):
        return refusals.too_large(limits.history)
    return Resume(
        settle=settle,
        queue=(*case.said, *(changed(message, visibility="waiting") for message in case.fresh)),
        warnings=case.warnings,
    )


def _start(case: Situation, limits: Limits) -> Decision:
    view = case.view
    if view is not None and view.run is not None and not (case.fresh or view.run.delivered):
        return Replay(case.warnings)
    stored = view.messages if view else ()
    asked = view.interrupts if view else ()
    if not case.fresh and frontend.belated(asked, case.request.messages, stored):
        # What came of a call after its turn went on is no wish to hear that turn once more.
        return Replay((*case.warnings, "a result for a call that waits no more was ignored"))
    merged = merge(case.request.messages, stored)
    if too_large(stored, merged.append, limits.history):
        return refusals.too_large(limits.history)
    warnings = merged.warnings + case.warnings
    if case.unknown:
        warnings += (_ignored(case.unknown),)
    return Start(append=merged.append, hide=merged.hide, warnings=warnings)
