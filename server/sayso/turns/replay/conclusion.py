"""How an execution ended: what to store, and what to tell the readers once it is stored.

Pure apart from log lines: reads an `Execution` that has come to rest.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from sayso.agents.codec import to_json
from sayso.base import jsonvalue
from sayso.base.audit import REPORTED
from sayso.base.codes import Code
from sayso.base.errors import (
    AgentFailed,
    CancelledCall,
    InterruptsDisabled,
    JournalMissing,
    LeaseLost,
    ModelFailed,
    NotAllowed,
    NotRecordable,
    Problem,
    ReplayMismatch,
    ThreadTooLarge,
    TooManyInterrupts,
    TurnError,
)
from sayso.base.fastrecords import copy_with
from sayso.base.records import Commit, Entry, Interrupt, Run
from sayso.base.texts import error_text
from sayso.gate.client_tools import call_id, is_call
from sayso.gate.interrupts import reopen, settled_by_expiry
from sayso.gate.settled import hidden_message
from sayso.streams.ending import Ending, suspending
from sayso.turns.calls.dangling import close_dangling
from sayso.turns.journal.forks import recorded_question
from sayso.turns.journal.journal import pause_mark, stopped_mark
from sayso.turns.output.custom_events import custom_event
from sayso.turns.replay.execution import Execution

_log = logging.getLogger("sayso.turn")

Tell = Callable[[str, BaseException], None]
failing: ContextVar[Tell | None] = ContextVar("failing", default=None)
"""For tests: told of the thread and the error of an agent that fails, in this context."""

_CODES: dict[type[TurnError], Code] = {
    CancelledCall: Code.CANCELLED_CALL,
    InterruptsDisabled: Code.INTERRUPTS_DISABLED,
    ReplayMismatch: Code.REPLAY_MISMATCH,
    ThreadTooLarge: Code.THREAD_TOO_LARGE,
    TooManyInterrupts: Code.TOO_MANY_INTERRUPTS,
}


@dataclass(frozen=True, slots=True)
class Conclusion:
    """One ending: the commit that makes it durable, then the events and the ending to send.

    `commit` is None when the turn was lost to another holder or to a failing store.
    """

    ending: Ending
    commit: Commit | None
    events: tuple[dict[str, Any], ...] = ()


def conclude(execution: Execution, run: Run, answered: Sequence[Interrupt]) -> Conclusion:
    """Decide how an execution at rest ends.

    `answered` are the interrupts that this run has settled, as they stood before.
    """
    if execution.aborted is not None:
        return Conclusion(_lost(execution), None)
    if isinstance(execution.broken, ReplayMismatch):
        return _reopened(execution, run, answered, execution.broken)
    if execution.broken is not None:
        code = _CODES.get(type(execution.broken), Code.AGENT_ERROR)
        _log.error("agent %r: %s", execution.turn.agent, error_text(execution.broken))
        if code is Code.AGENT_ERROR:
            _tell(execution, execution.broken)
        return _left(execution, run, "failed", _error(code, _said(execution, execution.broken)))
    if execution.stopped is not None:
        ending = Ending(type="cancelled", message=execution.stopped)
        return _left(execution, run, "cancelled", ending)
    if execution.asked:
        return _suspended(execution, run)
    if isinstance(execution.error, NotAllowed):
        return _left(execution, run, "failed", _error(Code.NOT_ALLOWED, str(execution.error)))
    if execution.error is not None:
        name, error = execution.turn.agent, execution.error
        _log.error("agent %r failed in turn %s", name, execution.turn.key, exc_info=error)
        _tell(execution, error)
        text = f"agent {name!r} failed with {type(error).__name__}; the server's log says where"
        if isinstance(error, AgentFailed | ModelFailed):
            text = _said(execution, error)
        return _left(execution, run, "failed", _error(Code.AGENT_ERROR, text))
    return _finished(execution, run)


def _tell(execution: Execution, error: BaseException) -> None:
    if (tell := failing.get()) is not None:
        tell(execution.input.thread_id, error)


def _said(execution: Execution, error: BaseException) -> str:
    return execution.scrub(error_text(error))


def _error(code: Code, message: str, *, goes_on: bool = False) -> Ending:
    details = {"code": code.value}
    return Ending(
        type="error", code=code.value, message=message, details=details, continues_elsewhere=goes_on
    )


def _lost(execution: Execution) -> Ending:
    if isinstance(execution.aborted, LeaseLost):
        thread_id = execution.input.thread_id
        _log.warning("thread %r was taken over by another server", thread_id)
        return _error(
            Code.LEASE_LOST,
            "Another server goes on with this thread: connect again to see it.",
            goes_on=True,
        )
    if isinstance(execution.aborted, Problem):
        return _error(execution.aborted.code, execution.aborted.detail, goes_on=True)
    return _error(
        Code.STORE_UNAVAILABLE,
        "The store cannot be written. The turn goes on from its last record once it can.",
        goes_on=True,
    )


def _commit(execution: Execution, run: Run, ending: Ending, status: Any, **more: Any) -> Commit:
    now = execution.clock.now()
    entries, messages, secrets = execution.take_pending(asked="interrupts" in more)
    ended = None if status == "suspended" else now
    members: dict[str, Any] = {
        "now": now,
        "entries": entries,
        "messages": messages,
        "secrets": secrets,
        "state": jsonvalue.encode(execution.state.visible),
        "turn": copy_with(execution.turn, status=status, ended_at=ended),
        "run": copy_with(run, ended_at=now, outcome=ending.to_json()),
        "release": True,
        "kept": execution.kept.to_store(failed=status == "failed"),
        **execution.approval_writes.take(),
        **more,
    }
    members["interrupts"] = (*execution.results.take(), *more.get("interrupts", ()))
    return Commit(**members)


def _suspended(execution: Execution, run: Run) -> Conclusion:
    interrupts = tuple(execution.asked.values())
    _keep_open(execution, ("reasoning",))
    execution.journal.write(_pause(execution))
    ending = suspension(interrupts, execution.bodies)
    return Conclusion(ending, _commit(execution, run, ending, "suspended", interrupts=interrupts))


def suspension(
    interrupts: Sequence[Interrupt], bodies: Mapping[str, bytes] | None = None
) -> Ending:
    """How a run ends whose turn waits for these interrupts; `bodies` as far as they were made."""
    questions = [item for item in interrupts if not is_call(item)]
    if questions:
        return suspending(questions, bodies)
    # A run that only leaves calls to its client is complete, and no interrupted one (TC-11).
    return Ending(type="success", pending=tuple(map(call_id, interrupts)))


def _pause(execution: Execution) -> Entry:
    data = {
        "writes": execution.state.writes,
        "state": execution.state.visible,
        "ended": execution.replay_order.next_number,
        "history": len(execution.transcript.messages),
        "asked": [recorded_question(entry) for entry in execution.journal.asked()],
    }
    return pause_mark(len(execution.resume_inputs), data)


def _finished(execution: Execution, run: Run) -> Conclusion:
    result = None
    if execution.result is not None:
        try:
            result = to_json(execution.result, f"the result of agent {execution.turn.agent!r}")
        except NotRecordable as error:
            _log.error("agent %r: %s", execution.turn.agent, error)
            return _left(execution, run, "failed", _error(Code.AGENT_RESULT_INVALID, str(error)))
    ending = Ending(type="success", result=None if result == b"null" else result)
    _keep_open(execution)
    withdrawn = execution.reevaluation is not None and execution.reevaluation.withdrawn()
    closed = _closed(execution) if withdrawn or execution.journal.holds(REPORTED) else ()
    # Its journal stays until the next turn begins: the thread can be copied from it.
    commit = _commit(execution, run, ending, "finished")
    unmet = _unmet(execution) if execution.has_breakpoints else ()
    return Conclusion(ending, commit, (*closed, *unmet))


def _unmet(execution: Execution) -> Iterator[dict[str, Any]]:
    """Tell of breakpoints that the turn never came to: steps are not known ahead of a run."""
    missing, met = execution.running.unmet_breakpoints(execution.journal.entries())
    if missing:
        there = ", ".join(map(repr, met)) or "nothing"
        _log.warning(
            "turn %s of agent %r never came to its breakpoints at %s; there were %s",
            execution.turn.key,
            execution.turn.agent,
            ", ".join(map(repr, missing)),
            there,
        )
        yield custom_event("sayso:breakpoints", {"unmet": missing, "met": met})


def _keep_open(execution: Execution, roles: Collection[str] = ("assistant", "reasoning")) -> None:
    """A message that nobody closed was read all the same, so the history has it.

    At a pause only what clients would keep anyway: a text is streamed again when the turn goes on.
    """
    for close in execution.writing.values():
        message = close()
        if message.role in roles and execution.transcript.fits(len(message.body)):
            execution.add_message(message)


def _left(execution: Execution, run: Run, status: str, ending: Ending) -> Conclusion:
    """The turn is over; calls that it leaves behind get results that say so (TC-16)."""
    _keep_open(execution)
    events = _closed(execution, stopped=status == "cancelled")
    if status == "cancelled":
        by, channel = execution.stopped_by, execution.stopped_through
        execution.journal.write(
            stopped_mark(run.key, why=ending.message or "", by=by, channel=channel)
        )
    return Conclusion(ending, _commit(execution, run, ending, status), events)


def _closed(execution: Execution, *, stopped: bool = False) -> tuple[dict[str, Any], ...]:
    """Give calls that the turn leaves behind their results; returns what tells of them."""
    left = close_dangling(
        execution.turn,
        execution.journal.entries(),
        execution.transcript.messages,
        execution.replay_order.end,
        stopped=stopped,
        interrupts=execution.interrupts,
        now=execution.clock.now(),
    )
    for entry in left.entries:
        execution.journal.write(entry)
    for message in left.messages:
        execution.add_message(message, settled=False)
    execution.results.add(left.interrupts)
    return left.events


def _reopened(
    execution: Execution, run: Run, answered: Sequence[Interrupt], mismatch: ReplayMismatch
) -> Conclusion:
    """The code has changed under an open turn, or its journal is gone: nothing is lost (rule 9).

    What was answered in this run is open again as it stood before: what others had said is kept,
    held answers and votes alike, and so is a no of somebody who may decide. A turn that has nothing
    to open again (a question that expired, a turn that was taken over) waits for the code that
    began it.
    """
    _log.error(
        "turn %s of agent %r: %s", execution.turn.key, execution.turn.agent, mismatch.explain
    )
    ending = Ending(
        type="error",
        code=Code.REPLAY_MISMATCH.value,
        message=_said(execution, mismatch),
        details={
            "code": Code.REPLAY_MISMATCH.value,
            "place": mismatch.place,
            "recorded": mismatch.recorded,
            "asked": mismatch.asked,
        },
    )
    waiting = {
        jsonvalue.decode(entry.data)["interrupt"]
        for entry in execution.journal.entries()
        if entry.status == "asked" and not execution.journal.is_behind(entry.place)
    }
    gone = isinstance(mismatch, JournalMissing)
    reopened = tuple(
        reopen(before, execution.interrupts[before.id])
        for before in answered
        if (gone or before.id in waiting) and not settled_by_expiry(execution.interrupts[before.id])
    )
    if not execution.interrupts:
        return _left(execution, run, "failed", ending)
    hidden = (hidden_message(execution.interrupts[before.id]) for before in reopened)
    commit = _commit(execution, run, ending, "suspended", kept=None)
    interrupts = (*commit.interrupts, *reopened)
    messages = (*commit.messages, *(message for message in hidden if message is not None))
    # A yes that is open again leaves no approval behind; replay gives it once more.
    taken_back = {"approvals": (), "uses": ()}
    return Conclusion(
        ending, copy_with(commit, interrupts=interrupts, messages=messages, **taken_back)
    )
