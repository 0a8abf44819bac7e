"""Stored things as REST shows them: camelCase, times in ISO 8601, absent members left out."""

from collections.abc import Iterable
from typing import Any

from sayso import jsonvalue
from sayso.clock import iso
from sayso.engine.restarts import repeated
from sayso.errors import Code
from sayso.gate import held
from sayso.gate.approvers import agreed
from sayso.gate.expiry import late_refusals
from sayso.gate.frontend import called, is_call
from sayso.protocol.interrupts import interrupt_body
from sayso.records import (
    Entry,
    Interrupt,
    ListedInterrupt,
    Run,
    ThreadSummary,
    ThreadView,
)

__all__ = [
    "history_view",
    "interrupt_view",
    "listed_view",
    "state_view",
    "summary_view",
    "thread_view",
]

Json = dict[str, Any]

_NOT_SHOWN = (
    "asked",
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


def listed_view(listed: ListedInterrupt) -> Json:
    """An interrupt of the inbox."""
    return interrupt_view(
        listed.interrupt, threadId=listed.thread_id, agent=listed.agent, owner=listed.owner
    )


def interrupt_view(item: Interrupt, **where: str) -> Json:
    """An interrupt as clients of the protocol get it, with what became of it.

    `answer` is the settled one, or one that is held: `{status, payload?, metadata?, by?, at,
    channel, held}`. `lateRefusals` came after the question had expired.
    """
    view: Json = jsonvalue.decode(interrupt_body(item))
    view |= where
    view |= {"status": item.status, "createdAt": iso(item.created_at)}
    if item.assigned_to is not None:
        view["assignedTo"] = item.assigned_to
    if item.lapsed_at is not None:
        view["lapsedAt"] = iso(item.lapsed_at)
    answer = _held_answer(item) if item.status == "open" else _settled_answer(item)
    if answer is not None:
        view["answer"] = answer
    said = [{"by": vote["by"], "at": iso(vote["at"])} for vote in agreed(item)]
    if said:
        view["agreed"] = said
    late = [{**one, "at": iso(one["at"])} for one in late_refusals(item)]
    if late:
        view["lateRefusals"] = late
    return view


def _held_answer(item: Interrupt) -> Json | None:
    kept = held.read(item)
    if kept is None:
        return None
    return _given(
        held=True,
        status=kept.entry.status,
        payload=kept.entry.payload,
        metadata=kept.entry.metadata,
        by=kept.by,
        at=iso(kept.at),
        channel=kept.channel,
    )


def _settled_answer(item: Interrupt) -> Json:
    return _given(
        held=False,
        status=item.status,
        payload=None if item.payload is None else jsonvalue.decode(item.payload),
        metadata=None if item.answer_metadata is None else jsonvalue.decode(item.answer_metadata),
        by=item.decided_by,
        at=None if item.decided_at is None else iso(item.decided_at),
        channel=item.channel,
    )


def _given(**members: Any) -> Json:
    return {name: value for name, value in members.items() if value is not None}


def summary_view(summary: ThreadSummary) -> Json:
    """A thread in a list; `status` is that of its newest turn, `outcome` of its newest run."""
    return _given(
        threadId=summary.id,
        agent=summary.agent,
        status=summary.turn_status,
        running=summary.running,
        outcome=summary.outcome,
        openInterrupts=summary.open_interrupts,
        createdAt=iso(summary.created_at),
        updatedAt=iso(summary.active_at),
    )


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


def thread_view(view: ThreadView) -> Json:
    """One thread, with its open interrupts, and the calls that its client has yet to answer.

    `problem` is why its last run failed.
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
        interrupts=[interrupt_view(item) for item in _open(view)],
        pendingToolCallIds=[called(item) for item in _open(view, calls=True)] or None,
        createdAt=iso(thread.created_at),
        updatedAt=iso(thread.updated_at),
    )


def state_view(view: ThreadView, journal: Iterable[Entry]) -> Json:
    """Where a turn stands: what it goes on with, the state, and what it has recorded.

    `next` names the tools, steps and questions that have begun and not ended; it is empty when
    nothing goes on. `metadata.forkedFrom` says of which thread this one is a copy. Where the code
    has changed under the turn, `metadata.repeats` names what a restart would do again, in order.
    """
    entries = list(journal)
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
        "next": [entry.name for entry in entries if goes_on and entry.status != "done"],
        "values": jsonvalue.decode(view.thread.state),
        "metadata": metadata,
        "journal": [_entry_view(entry) for entry in entries],
    }


def _entry_view(entry: Entry) -> Json:
    data = jsonvalue.decode(entry.data)
    shown = {name: value for name, value in data.items() if name not in _NOT_SHOWN}
    view = {
        "place": entry.place,
        "kind": entry.kind,
        "name": entry.name,
        "status": entry.status,
    }
    return {**view, "data": shown} if shown else view


def history_view(
    view: ThreadView,
    bodies: Iterable[bytes],
    runs: Iterable[Run],
    interrupts: Iterable[Interrupt],
) -> Json:
    """What happened in a thread: runs with their outcomes, messages, questions with decisions."""
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
        startedAt=iso(run.started_at),
        endedAt=None if run.ended_at is None else iso(run.ended_at),
        outcome=None if run.outcome is None else jsonvalue.decode(run.outcome),
    )
