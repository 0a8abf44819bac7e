"""Stored things as REST shows them: camelCase, times in ISO 8601, absent members left out."""

from collections.abc import Iterable, Mapping
from typing import Any

from sayso.base import jsonvalue
from sayso.base.clock import format_time
from sayso.base.codes import Code
from sayso.base.progress import result_members
from sayso.base.records import (
    Entry,
    Hold,
    Interrupt,
    ListedInterrupt,
    ListedThread,
    Principal,
    Run,
    ThreadView,
)
from sayso.base.redaction import redacted
from sayso.engine.repairs import repeated
from sayso.gate.client_tools import call_id, is_call
from sayso.gate.rights import details_for
from sayso.protocol.interrupts import to_wire
from sayso.turns.journal.journal import is_after
from sayso.turns.journal.notes import KIND as NOTE

Json = dict[str, Any]

_NOT_SHOWN = (
    "asked",
    "asks",
    "end",
    "ended",
    "history",
    "pause",
    "remember",
    "request",
    "resume",
    "state",
    "turn",
    "unbegun",
    "writes",
)
"""Members of journal entries that only replay needs."""
_OF_BREAKPOINTS = ("anew", "at", "call", "since")
"""Members of entries of breakpoints that only replay needs."""


def listed_view(listed: ListedInterrupt, reader: Principal, now: int) -> Json:
    """An interrupt of the inbox, as it is for this reader; `yours`: so is its thread."""
    item = listed.interrupt
    where = {"threadId": listed.thread_id, "agent": listed.agent, "owner": listed.owner}
    view = interrupt_view(item, _rights(item, listed.owner, reader, now), **where)
    return view | {"yours": listed.owner == reader.subject}


def _rights(item: Interrupt, owner: str, reader: Principal, now: int) -> Json | None:
    """This reader's rights to an open interrupt; None for a settled one."""
    return details_for(item, owner, reader, now) if item.status == "open" else None


def interrupt_view(item: Interrupt, rights: Json | None = None, **where: str) -> Json:
    """An interrupt as clients of the protocol get it, with what became of it.

    `rights` is what its reader may do about it (`metadata.sayso`: `may`, `waitsFor`). `answer` is
    the settled one, or one that is held: `{status, payload?, metadata?, by?, at, channel, held}`.
    `result` is what came of its call: `{status, text?, at, ms?}`.
    `lateRefusals` came after the question had expired. Secrets, by its schema, are not shown.
    """
    view: Json = jsonvalue.decode(to_wire(item, rights))
    view |= where
    view |= {"status": item.status, "createdAt": format_time(item.created_at)}
    if item.assigned_to is not None:
        view["assignedTo"] = item.assigned_to
    if item.lapsed_at is not None:
        view["lapsedAt"] = format_time(item.lapsed_at)
    answer = _held_answer(item) if item.status == "open" else _settled_answer(item)
    if answer is not None:
        view["answer"] = answer
    result = item.progress.result
    if result is not None:
        view["result"] = result_members(result) | {"at": format_time(result.moment)}
    said = [{"by": vote.by, "at": format_time(vote.at)} for vote in item.progress.votes]
    if said:
        view["agreed"] = said
    late = [
        {
            "by": refusal.by,
            "at": format_time(refusal.at),
            "said": refusal.said,
            "channel": refusal.channel,
        }
        for refusal in item.progress.late
    ]
    if late:
        view["lateRefusals"] = late
    return view


def _held_answer(item: Interrupt) -> Json | None:
    answer = item.held
    if answer is None:
        return None
    return _given(
        held=True,
        status=answer.status,
        payload=redacted(_value(answer.payload), _schema(item)),
        metadata=_value(answer.metadata),
        by=answer.by,
        at=format_time(answer.at),
        channel=answer.channel,
    )


def _settled_answer(item: Interrupt) -> Json:
    return _given(
        held=False,
        status=item.status,
        payload=redacted(_value(item.payload), _schema(item)),
        metadata=_value(item.answer_metadata),
        by=item.decided_by,
        at=None if item.decided_at is None else format_time(item.decided_at),
        channel=item.channel,
    )


def _schema(item: Interrupt) -> Json | None:
    schema: Json | None = _value(item.response_schema)
    return schema


def _value(data: bytes | None) -> Any:
    return None if data is None else jsonvalue.decode(data)


def _given(**members: Any) -> Json:
    return {name: value for name, value in members.items() if value is not None}


def listed_thread_view(thread: ListedThread) -> Json:
    """A thread in a list; `status` is that of its newest turn, `outcome` of its newest run."""
    return _given(
        threadId=thread.id,
        agent=thread.agent,
        status=thread.turn_status,
        running=thread.running,
        outcome=thread.outcome,
        openInterrupts=thread.open_interrupts,
        onHold=thread.on_hold or None,
        createdAt=format_time(thread.created_at),
        updatedAt=format_time(thread.active_at),
    )


def hold_view(hold: Hold) -> Json:
    """A hold: whose word it is, why, and since when."""
    return {"by": hold.by, "reason": hold.reason, "at": format_time(hold.said_at)}


def _open(view: ThreadView, *, calls: bool = False) -> list[Interrupt]:
    """The questions that are open, or the calls that the client was left to run."""
    turn = view.turn
    return [
        item
        for item in view.interrupts
        if turn is not None
        and item.status == "open"
        and item.turn_key == turn.key
        and is_call(item) is calls
    ]


def thread_view(view: ThreadView, reader: Principal | None = None, now: int = 0) -> Json:
    """One thread, with its open interrupts, and the calls that its client has yet to answer.

    `reader` is told what it may do about them. `problem` is why its last run failed.
    """
    thread, turn, run = view.thread, view.turn, view.run
    ended = {} if run is None or run.outcome is None else jsonvalue.decode(run.outcome)
    problem = {name: ended[name] for name in ("code", "message", "details") if name in ended}
    return _given(
        threadId=thread.id,
        agent=thread.agent,
        status=None if turn is None else turn.status,
        running=thread.holder is not None,
        stopping=True if thread.stopping else None,
        runId=None if run is None else run.run_id,
        outcome=ended.get("type"),
        problem=problem if ended.get("type") == "error" else None,
        openInterrupts=len(_open(view)),
        interrupts=[
            interrupt_view(
                item, None if reader is None else _rights(item, thread.owner, reader, now)
            )
            for item in _open(view)
        ],
        hold=None if thread.hold is None else hold_view(thread.hold),
        pendingToolCallIds=[call_id(item) for item in _open(view, calls=True)] or None,
        createdAt=format_time(thread.created_at),
        updatedAt=format_time(thread.updated_at),
    )


def state_view(view: ThreadView, journal: Iterable[Entry]) -> Json:
    """The state of a turn: what it continues with, its state, and what it has recorded.

    `next` names the tools and steps that run and the questions that are open, `after …` where it
    waits behind something; it is empty when nothing runs. `metadata.forkedFrom` names the thread
    that this one is a copy of. If the code has changed under the turn, `metadata.repeats` names
    what a restart would do again, in order.
    """
    entries = list(journal)
    interrupts = {item.id: item for item in view.interrupts}
    turn = view.turn
    goes_on = turn is not None and turn.status in ("running", "suspended")
    metadata = thread_view(view)
    del metadata["interrupts"]
    if turn is not None:
        metadata |= {"turnId": turn.key, "agent": turn.agent, "version": turn.version}
    if metadata.get("problem", {}).get("code") == Code.REPLAY_MISMATCH.value:
        metadata["repeats"] = list(repeated(entries))
    forks = [jsonvalue.decode(entry.data) for entry in entries if entry.kind == "fork"]
    if forks:
        metadata["forkedFrom"] = {name: forks[-1][name] for name in ("threadId", "interruptId")}
    return {
        "threadId": view.thread.id,
        "next": list(_next(entries, interrupts)) if goes_on else [],
        "values": jsonvalue.decode(view.thread.state),
        "metadata": metadata,
        "journal": [_entry_view(entry, interrupts) for entry in entries],
    }


def _next(entries: Iterable[Entry], interrupts: Mapping[str, Interrupt]) -> Iterable[str]:
    """List what has begun and not ended: each open question once, in order of asking."""
    listed: set[str] = set()
    for entry in entries:
        item = _question_of(entry, interrupts)
        if entry.status == "started" and entry.kind != "breakpoint":
            yield entry.name
        elif item is not None and item.status == "open" and item.id not in listed:
            listed.add(item.id)
            yield f"after {entry.name}" if is_after(entry) else entry.name


def _question_of(entry: Entry, interrupts: Mapping[str, Interrupt]) -> Interrupt | None:
    """The question that an entry waits for, or waited."""
    if entry.status != "asked" and not (entry.kind == "breakpoint" and entry.status == "done"):
        return None
    return interrupts.get(jsonvalue.decode(entry.data)["interrupt"])


def _entry_view(entry: Entry, interrupts: Mapping[str, Interrupt]) -> Json:
    """An entry of the journal; a question that is settled is `answered`: how, by whom and when."""
    data = jsonvalue.decode(entry.data)
    hidden = (*_NOT_SHOWN, *_OF_BREAKPOINTS) if entry.kind == "breakpoint" else _NOT_SHOWN
    shown = {name: value for name, value in data.items() if name not in hidden}
    view: Json = {
        "place": entry.place,
        "kind": entry.kind,
        "name": entry.name,
        "status": entry.status,
    }
    if entry.kind == NOTE:
        return view  # what code keeps for itself is nobody else's
    item = _question_of(entry, interrupts)
    if item is not None and item.status != "open":
        answer = _settled_answer(item)
        view["status"] = "answered"
        view["answer"] = {name: answer[name] for name in ("status", "by", "at") if name in answer}
    return {**view, "data": shown} if shown else view


def history_view(
    view: ThreadView,
    bodies: Iterable[bytes],
    runs: Iterable[Run],
    interrupts: Iterable[Interrupt],
) -> Json:
    """The history of a thread: runs with their outcomes, messages, questions with decisions."""
    return {
        "threadId": view.thread.id,
        "runs": [_run_view(run) for run in runs],
        "messages": [jsonvalue.decode(body) for body in bodies],
        "interrupts": [
            interrupt_view(item, turnId=item.turn_key) for item in interrupts if not is_call(item)
        ],
    }


def _run_view(run: Run) -> Json:
    return _given(
        runId=run.run_id,
        turnId=run.turn_key,
        startedAt=format_time(run.started_at),
        endedAt=None if run.ended_at is None else format_time(run.ended_at),
        outcome=None if run.outcome is None else jsonvalue.decode(run.outcome),
    )
