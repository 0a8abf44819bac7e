"""How an execution ended: what to store, and what to tell the readers once it is stored.

Pure apart from log lines: reads an `Execution` that has come to rest.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sayso import jsonvalue
from sayso.agents.codec import to_json
from sayso.errors import (
    CancelledCall,
    Code,
    InterruptsDisabled,
    JournalMissing,
    LeaseLost,
    NotRecordable,
    ReplayMismatch,
    ThreadTooLarge,
    TooManyInterrupts,
    TurnError,
)
from sayso.gate.expiry import by_expiry
from sayso.gate.frontend import called, is_call
from sayso.gate.settled import withdrawn
from sayso.making import changed
from sayso.protocol.ending import Ending, EndingType
from sayso.protocol.interrupts import interrupt_body
from sayso.records import Commit, Entry, Interrupt, Run
from sayso.turns.copies import recorded_question
from sayso.turns.execution import Execution
from sayso.turns.leftovers import leftovers
from sayso.turns.marks import pause_mark

__all__ = ["Conclusion", "conclude", "suspension"]

_log = logging.getLogger("sayso.turn")

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


def conclude(execution: Execution, run: Run, settled: tuple[Interrupt, ...]) -> Conclusion:
    """What to do about an execution at rest; `settled`: the interrupts that this run answered."""
    if execution.aborted is not None:
        return Conclusion(_lost(execution), None)
    if isinstance(execution.broken, ReplayMismatch):
        return _reopened(execution, run, settled, execution.broken)
    if execution.broken is not None:
        code = _CODES.get(type(execution.broken), Code.AGENT_ERROR)
        return _left(execution, run, "failed", _error(code, str(execution.broken)))
    if execution.stopped is not None:
        ending = Ending(type="cancelled", message=execution.stopped)
        return _left(execution, run, "cancelled", ending)
    if execution.asked:
        return _suspended(execution, run)
    if execution.error is not None:
        name, error = execution.turn.agent, execution.error
        _log.error("agent %r failed in turn %s", name, execution.turn.key, exc_info=error)
        text = f"agent {name!r} failed with {type(error).__name__}; the server's log says where"
        return _left(execution, run, "failed", _error(Code.AGENT_ERROR, text))
    return _finished(execution, run)


def _error(code: Code, message: str, *, goes_on: bool = False) -> Ending:
    details = {"code": code.value}
    return Ending(type="error", code=code.value, message=message, details=details, goes_on=goes_on)


def _lost(execution: Execution) -> Ending:
    if isinstance(execution.aborted, LeaseLost):
        thread_id = execution.given.thread_id
        _log.warning("thread %r was taken over by another server", thread_id)
        return _error(
            Code.LEASE_LOST,
            "Another server goes on with this thread: connect again to see it.",
            goes_on=True,
        )
    return _error(
        Code.STORE_UNAVAILABLE,
        "The store cannot be written. The turn goes on from its last record once it can.",
        goes_on=True,
    )


def _commit(execution: Execution, run: Run, ending: Ending, status: Any, **more: Any) -> Commit:
    now = execution.clock.now()
    entries, messages = execution.riding(asked="interrupts" in more)
    ended = None if status == "suspended" else now
    members: dict[str, Any] = {
        "now": now,
        "entries": entries,
        "messages": messages,
        "state": jsonvalue.encode(execution.state.shown),
        "turn": changed(execution.turn, status=status, ended_at=ended),
        "run": changed(run, ended_at=now, outcome=ending.to_json()),
        "release": True,
        **execution.permits.take(),
    }
    return Commit(**{**members, **more})


def _suspended(execution: Execution, run: Run) -> Conclusion:
    asked = tuple(execution.asked.values())
    _keep_open(execution, ("reasoning",))
    execution.journal.write(_pause(execution))
    ending = suspension(asked, execution.bodies)
    return Conclusion(ending, _commit(execution, run, ending, "suspended", interrupts=asked))


def suspension(asked: Sequence[Interrupt], bodies: Mapping[str, bytes] | None = None) -> Ending:
    """How a run ends whose turn waits for these interrupts; `bodies` as far as they were made."""
    made = bodies or {}
    questions = tuple(
        made.get(item.id) or interrupt_body(item) for item in asked if not is_call(item)
    )
    # A run that only leaves calls to its client is complete, and no interrupted one (TC-11).
    pending = () if questions else tuple(map(called, asked))
    kind: EndingType = "interrupt" if questions else "success"
    return Ending(type=kind, interrupts=questions, pending=pending)


def _pause(execution: Execution) -> Entry:
    data = {
        "writes": execution.state.writes,
        "state": execution.state.shown,
        "ended": execution.timeline.upcoming,
        "history": len(execution.transcript.messages),
        "asked": [recorded_question(entry) for entry in execution.journal.asked()],
    }
    return pause_mark(len(execution.resumed_with), data)


def _finished(execution: Execution, run: Run) -> Conclusion:
    result = None
    if execution.result is not None:
        try:
            result = to_json(execution.result, f"the result of agent {execution.turn.agent!r}")
        except NotRecordable as error:
            return _left(execution, run, "failed", _error(Code.AGENT_RESULT_INVALID, str(error)))
    ending = Ending(type="success", result=None if result == b"null" else result)
    _keep_open(execution)
    # Its journal stays until the next turn begins: the thread can be copied from it.
    return Conclusion(ending, _commit(execution, run, ending, "finished"))


def _keep_open(execution: Execution, roles: Collection[str] = ("assistant", "reasoning")) -> None:
    """A message that nobody closed was read all the same, so the history has it.

    At a pause only what clients would keep anyway: a text is streamed again when the turn goes on.
    """
    for close in execution.writing.values():
        message = close()
        if message.role in roles and execution.transcript.fits(len(message.body)):
            execution.remember(message)


def _left(execution: Execution, run: Run, status: str, ending: Ending) -> Conclusion:
    """The turn is over; calls that it leaves behind get results that say so (TC-16)."""
    _keep_open(execution)
    left = leftovers(
        execution.turn,
        execution.journal.entries(),
        execution.transcript.messages,
        execution.timeline.end,
        stopped=status == "cancelled",
    )
    for entry in left.entries:
        execution.journal.write(entry)
    for message in left.messages:
        execution.remember(message, settled=False)
    return Conclusion(ending, _commit(execution, run, ending, status), left.events)


def _reopened(
    execution: Execution, run: Run, settled: tuple[Interrupt, ...], mismatch: ReplayMismatch
) -> Conclusion:
    """The code has changed under an open turn, or its journal is gone: nothing is lost (rule 9).

    What a person has answered in this run is open again. A turn that has nothing to open again (a
    question that expired, a turn that was taken over) waits for the code that began it.
    """
    _log.error("turn %s of agent %r: %s", execution.turn.key, execution.turn.agent, mismatch)
    ending = Ending(
        type="error",
        code=Code.REPLAY_MISMATCH.value,
        message=str(mismatch),
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
        _open_again(interrupt)
        for interrupt in settled
        if (gone or interrupt.id in waiting) and not by_expiry(interrupt)
    )
    if not execution.interrupts:
        return _left(execution, run, "failed", ending)
    again = {item.id for item in reopened}
    hidden = (withdrawn(item) for item in settled if item.id in again)
    commit = _commit(execution, run, ending, "suspended")
    messages = (*commit.messages, *(message for message in hidden if message is not None))
    return Conclusion(ending, changed(commit, interrupts=reopened, messages=messages))


def _open_again(interrupt: Interrupt) -> Interrupt:
    return changed(
        interrupt,
        status="open",
        payload=None,
        answer_metadata=None,
        decided_by=None,
        decided_at=None,
        channel=None,
        run_key=None,
    )
