"""What a request may do to a thread (design 4). Pure, total, never raises.

The whole request is judged before anything changes; a refusal changes nothing that is stored. A
thread is *running* while somebody holds it, *waiting* while its newest turn is suspended with open
interrupts, *ready* while that turn is suspended and all its interrupts are settled, else *idle*.

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
    and a new message came: Start, with a warning (RE-10).
 7. An answer that differs from the settled one: `already_resolved`, by whom and when (ID-06, Q1);
    `resolved` for one that expired: `interrupt_expired` (D6).
 8. An open interrupt without an answer: `interrupts_pending` if there are no answers at all (CR-4,
    E1), else `partial_resume` (CR-3, E6). No answer is ever read out of silence (EX-06).
 9. `resolved` at or after `expiresAt`: `interrupt_expired`; `cancelled` counts (EX-04, EX-05).
10. A payload over the limit, or one that its schema or its tool refuses: `invalid_payload` (CR-6).
11. Every open interrupt answered: Resume; new messages wait until the turn ends (E5, RE-09). A
    ready turn goes on the same way with nothing to settle.
12. Idle: an answer in `forwardedProps.command` is `unknown_interrupt`, never plain input (D2).
    Start with a new message, on a new thread, or if the last run's body was delivered whole
    (regenerate); else Replay.

A Start or a queued message that would make the history too large is `thread_too_large`.
"""

from dataclasses import dataclass, replace

from sayso.gate import refusals
from sayso.gate.answers import Judge, alike, problems, repeats, settled
from sayso.gate.history import merge, new_user_messages, too_large
from sayso.gate.refusals import Refuse
from sayso.limits import Limits
from sayso.protocol.runinput import ResumeEntry, RunInput
from sayso.records import Interrupt, Message, Principal, ThreadView, Turn

__all__ = ["Attach", "Decision", "Judge", "Refuse", "Replay", "Resume", "Start", "check"]


@dataclass(frozen=True, slots=True)
class Start:
    """Begin a turn: `append` to the history, `hide` what the request left out."""

    append: tuple[Message, ...]
    hide: tuple[str, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resume:
    """Let the newest turn go on.

    `settle`: its open interrupts with their answers, in the order of asking; the run key is the
    engine's to fill in. It is empty for a ready turn, and for a failed one (`retry`) that goes on
    from its journal with the answers that it already took. `queue`: new user messages, waiting.
    """

    settle: tuple[Interrupt, ...]
    queue: tuple[Message, ...] = ()
    retry: bool = False


@dataclass(frozen=True, slots=True)
class Replay:
    """Show the thread as it stands, ending in its open interrupts or its last outcome."""


@dataclass(frozen=True, slots=True)
class Attach:
    """Follow the run that is going on."""


Decision = Start | Resume | Replay | Attach | Refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A request beside its thread: `fresh` are new user messages, `open` waits for an answer."""

    request: RunInput
    view: ThreadView | None
    agent: str
    entries: dict[str, ResumeEntry]
    fresh: tuple[Message, ...]
    decided: dict[str, Interrupt]
    open: dict[str, Interrupt]

    @property
    def turn(self) -> Turn | None:
        return self.view.turn if self.view else None

    @property
    def running(self) -> bool:
        return self.view is not None and self.view.thread.holder is not None

    @property
    def suspended(self) -> bool:
        """Waiting or ready."""
        return not self.running and self.turn is not None and self.turn.status == "suspended"

    @property
    def ready(self) -> bool:
        return self.suspended and not self.open

    @property
    def foreign(self) -> bool:
        """Whether the newest turn is another agent's."""
        return self.turn is not None and self.turn.agent != self.agent

    @property
    def unknown(self) -> list[str]:
        return [key for key in self.entries if key not in self.decided and key not in self.open]

    @property
    def differing(self) -> list[Interrupt]:
        """What is settled otherwise than this request says."""
        return [
            self.decided[key]
            for key, entry in self.entries.items()
            if key in self.decided and not repeats(entry, self.decided[key])
        ]


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
) -> Decision:
    """Decide what `request`, on the path of `agent`, may do to the thread in `view`.

    `view` is None for a thread that does not exist; otherwise it was loaded with the request's run
    id and interrupt ids. `now` is milliseconds since the epoch, `channel` is how the answers came.
    """
    entries, twice = _distinct(request.resume)
    if twice:
        return refusals.duplicate(twice)
    case = _case(request, view, agent, entries)
    decision = _already_done(case) or _unfinished_elsewhere(case) or _wrong_ids(case)
    if decision is not None:
        return decision
    if not case.suspended:
        return _start(case, limits)
    return (
        _uncovered(case)
        or _expired(case, now)
        or _misfits(case, limits, judge)
        or _resume(case, principal, channel, now, limits)
    )


def _case(
    request: RunInput, view: ThreadView | None, agent: str, entries: dict[str, ResumeEntry]
) -> _Case:
    interrupts = view.interrupts if view else ()
    turn = view.turn if view and view.thread.holder is None else None
    waiting = turn.key if turn and turn.status == "suspended" else None
    return _Case(
        request=request,
        view=view,
        agent=agent,
        entries=entries,
        fresh=new_user_messages(request.messages, view.messages if view else ()),
        decided={item.id: item for item in interrupts if item.status != "open"},
        open={
            item.id: item
            for item in interrupts
            if item.status == "open" and item.turn_key == waiting
        },
    )


def _distinct(resume: tuple[ResumeEntry, ...]) -> tuple[dict[str, ResumeEntry], list[str]]:
    """One entry per id, and the ids that have two different ones."""
    entries: dict[str, ResumeEntry] = {}
    twice: dict[str, None] = {}
    for entry in resume:
        if not alike(entries.setdefault(entry.interrupt_id, entry), entry):
            twice[entry.interrupt_id] = None
    return entries, list(twice)


def _already_done(case: _Case) -> Decision | None:
    if case.fresh:
        return None
    if case.entries:
        if case.unknown or case.differing or not case.entries.keys() <= case.decided.keys():
            return None
        return _repeated(case)
    if case.view is None or case.view.named_run is None or case.ready:
        return None
    return Attach() if case.running else Replay()


def _repeated(case: _Case) -> Decision:
    """Nothing but answers that are settled already."""
    if case.running:
        return Attach()
    turn = case.turn
    failed_with_them = (
        turn is not None
        and turn.status == "failed"
        and any(case.decided[key].turn_key == turn.key for key in case.entries)
    )
    if turn is None or not (case.ready or failed_with_them):
        return Replay()
    if case.foreign:
        return refusals.wrong_agent(turn.agent)
    return Resume(settle=(), retry=failed_with_them)


def _unfinished_elsewhere(case: _Case) -> Decision | None:
    if case.turn is not None and case.foreign and (case.running or case.suspended):
        return refusals.wrong_agent(case.turn.agent)
    if not case.running:
        return None
    return refusals.busy() if case.entries or case.fresh else Attach()


def _wrong_ids(case: _Case) -> Refuse | None:
    if case.unknown and (case.suspended or not case.fresh):
        return refusals.unknown(case.unknown)
    differing = case.differing
    decided = [item for item in differing if item.status != "expired"]
    if decided:
        return refusals.already_resolved(decided)
    return refusals.expired(differing) if differing else None


def _uncovered(case: _Case) -> Refuse | None:
    missing = [key for key in case.open if key not in case.entries]
    if not missing:
        return None
    return refusals.partial(missing) if case.entries else refusals.pending(missing)


def _expired(case: _Case, now: int) -> Refuse | None:
    late = [
        item
        for key, item in case.open.items()
        if item.expires_at is not None
        and now >= item.expires_at
        and case.entries[key].status == "resolved"
    ]
    return refusals.expired(late) if late else None


def _misfits(case: _Case, limits: Limits, judge: Judge | None) -> Refuse | None:
    found = {
        key: wrong
        for key, item in case.open.items()
        if case.entries[key].status == "resolved"
        and (wrong := problems(item, case.entries[key].payload, limits, judge))
    }
    return refusals.invalid(found) if found else None


def _resume(case: _Case, principal: Principal, channel: str, now: int, limits: Limits) -> Decision:
    stored = case.view.messages if case.view else ()
    if case.fresh and too_large(stored, case.fresh, limits.history):
        return refusals.too_large(limits.history)
    return Resume(
        settle=tuple(
            settled(item, case.entries[key], principal, channel, now)
            for key, item in case.open.items()
        ),
        queue=tuple(replace(message, visibility="waiting") for message in case.fresh),
    )


def _start(case: _Case, limits: Limits) -> Decision:
    view = case.view
    if case.request.answers_by_command:
        return refusals.nothing_open()
    if view is not None and view.run is not None and not (case.fresh or view.run.delivered):
        return Replay()
    stored = view.messages if view else ()
    merged = merge(case.request.messages, stored)
    if too_large(stored, merged.append, limits.history):
        return refusals.too_large(limits.history)
    warnings = merged.warnings
    if case.unknown:
        ids = refusals.named(case.unknown)
        warnings += (f"this thread never asked {ids}; that answer was ignored",)
    return Start(append=merged.append, hide=merged.hide, warnings=warnings)
