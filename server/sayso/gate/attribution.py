"""Which question an answer of the older dialect is for (design 5, "Legacy dialect"). Pure, total.

An event with an id names its interrupt, whatever is open. A raw event is for the open question
that was asked with that value. Without an event the only open question takes the answer; several
need a map keyed by id (C4, LG-14).

What has no id could be meant for the next question just as well, so a request that is sent twice is
told by its `runId`: one that began a run answers what began it, never what that run asks (ID-01).
"""

from collections.abc import Iterable
from typing import Any

from sayso.errors import DeclarationError
from sayso.gate import refusals
from sayso.gate.answers import repeats
from sayso.gate.held import uncovered
from sayso.gate.refusals import Refuse
from sayso.gate.situation import Situation
from sayso.protocol.legacy import Command, meant, named_id
from sayso.protocol.runinput import ResumeEntry
from sayso.records import Interrupt, Run
from sayso.schemas.schema import compile_bytes

__all__ = ["attributed"]


def attributed(command: Command, case: Situation) -> dict[str, ResumeEntry] | Refuse:
    """The command as entries by id; `case` is its request beside the thread, without entries."""
    known = case.decided | case.open
    if command.event is not None:
        named = named_id(command.event)
        if named is not None:
            return _entries([(named, command.resume)], known)
        return _again(command, case) or _by_value(command, case)
    by_id = command.by_id
    if by_id and not known.keys().isdisjoint(by_id):
        return _entries(by_id.items(), known)
    return _again(command, case) or _alone(command, case)


def _again(command: Command, case: Situation) -> dict[str, ResumeEntry] | Refuse | None:
    """A request whose `runId` has begun a run with this very answer, or a run of an earlier turn.

    Not one that names the run which asked: some clients resume under its id (design 2).
    """
    view, turn = case.view, case.turn
    run = None if view is None else view.named_run
    if run is None or turn is None:
        return None
    if run.turn_key != turn.key:
        return refusals.nothing_open()
    for item in _settled_by(run, case):
        found = _entry(item, command.resume)
        asked = command.event is None or command.event == item.message
        if asked and repeats(found[item.id], item):
            return found
    return None


def _by_value(command: Command, case: Situation) -> dict[str, ResumeEntry] | Refuse:
    """A raw value is the message that the question was asked with."""
    same = [item for item in case.open.values() if item.message == command.event]
    waiting = uncovered(same) or same
    if len(waiting) > 1:
        return refusals.unattributed([item.id for item in waiting])
    if waiting:
        return _entry(waiting[0], command.resume)
    began = [item for item in _began(case) if item.message == command.event]
    return _entry(began[0], command.resume) if len(began) == 1 else refusals.not_asked()


def _alone(command: Command, case: Situation) -> dict[str, ResumeEntry] | Refuse:
    waiting = uncovered(case.open.values()) or list(case.open.values())
    if len(waiting) > 1:
        return refusals.unattributed([item.id for item in waiting])
    if waiting:
        return _entry(waiting[0], command.resume)
    began = _began(case)
    if len(began) == 1:
        found = _entry(began[0], command.resume)
        if repeats(found[began[0].id], began[0]):
            return found
    return refusals.nothing_open()


def _began(case: Situation) -> list[Interrupt]:
    """What was settled by the request that began the newest run."""
    run = case.view.run if case.view is not None else None
    return [] if run is None else _settled_by(run, case)


def _settled_by(run: Run, case: Situation) -> list[Interrupt]:
    """What was settled by the request that began a run."""
    return [item for item in case.decided.values() if item.run_key == run.key]


def _entry(item: Interrupt, resume: Any) -> dict[str, ResumeEntry]:
    return _entries([(item.id, resume)], {item.id: item})


def _entries(
    answers: Iterable[tuple[str, Any]], known: dict[str, Interrupt]
) -> dict[str, ResumeEntry]:
    return {
        identifier: ResumeEntry(
            interrupt_id=identifier,
            status="resolved",
            payload=meant(resume, takes_text=_takes_text(known.get(identifier))),
        )
        for identifier, resume in answers
    }


def _takes_text(item: Interrupt | None) -> bool:
    if item is None:
        return True
    if item.response_schema is None:
        return item.reason != "confirmation"
    try:
        return compile_bytes(item.response_schema).takes_text
    except DeclarationError:
        return True
