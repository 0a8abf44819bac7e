"""The question that an answer of the older dialect is for (design 5, "Legacy dialect").

An event with an id names its interrupt, open or not. A raw event is for the open question that was
asked with that value. Without an event the only open question takes the answer; several need a map
keyed by id (C4, LG-14).

An answer without an id could be meant for the next question just as well. So a repeated request is
recognised by its `runId`: one that began a run answers what began it, never what that run asks
(ID-01). Pure and total.
"""

from collections.abc import Iterable
from typing import Any

from sayso.base.errors import DeclarationError
from sayso.base.records import Interrupt, Run
from sayso.gate import refusals
from sayso.gate.answers import matches_settled
from sayso.gate.case import Case
from sayso.gate.interrupts import unanswered
from sayso.gate.refusals import Refuse
from sayso.protocol.legacy import Command, interrupt_id_of, parse_answer
from sayso.protocol.runinput import ResumeEntry
from sayso.schemas.schema import compile_bytes


def attribute(command: Command, case: Case) -> dict[str, ResumeEntry] | Refuse:
    """Turn the command into entries by id; `case` is its request beside the thread, with none."""
    interrupts = case.settled | case.open
    if command.event is not None:
        named = interrupt_id_of(command.event)
        if named is not None:
            return _entries([(named, command.resume)], interrupts)
        return _again(command, case) or _by_value(command, case)
    by_id = command.by_id
    if by_id and not interrupts.keys().isdisjoint(by_id):
        return _entries(by_id.items(), interrupts)
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
        entries = _entry(item, command.resume)
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
        return _entry(waiting[0], command.resume)
    began = [item for item in _began(case) if item.message == command.event]
    return _entry(began[0], command.resume) if len(began) == 1 else refusals.not_asked()


def _alone(command: Command, case: Case) -> dict[str, ResumeEntry] | Refuse:
    waiting = unanswered(case.open.values()) or list(case.open.values())
    if len(waiting) > 1:
        return refusals.unattributed([item.id for item in waiting])
    if waiting:
        return _entry(waiting[0], command.resume)
    began = _began(case)
    if len(began) == 1:
        entries = _entry(began[0], command.resume)
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


def _entry(item: Interrupt, resume: Any) -> dict[str, ResumeEntry]:
    return _entries([(item.id, resume)], {item.id: item})


def _entries(
    answers: Iterable[tuple[str, Any]], interrupts: dict[str, Interrupt]
) -> dict[str, ResumeEntry]:
    return {
        identifier: ResumeEntry(
            interrupt_id=identifier,
            status="resolved",
            payload=parse_answer(resume, takes_text=_takes_text(interrupts.get(identifier))),
        )
        for identifier, resume in answers
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
