"""Answers without a run: how a thread stands, and refusals, which show it too if they may recover.

Nothing here is stored: a run of snapshots changes nothing, and what a refusal adds to them (the
problem, and one message that says it) is gone with the next snapshot.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from sayso import jsonvalue
from sayso.errors import Code
from sayso.gate.decisions import Refuse
from sayso.gate.frontend import answers, is_call, message_of, results_of
from sayso.gate.held import settle, uncovered
from sayso.gate.history import PROBLEM, new_user_messages, visible
from sayso.gate.spoken import spoken
from sayso.protocol import frames
from sayso.protocol.ending import Ending
from sayso.protocol.generations import shown_to
from sayso.protocol.interrupts import interrupt_body
from sayso.protocol.peers import Peer
from sayso.protocol.runinput import RunInput
from sayso.records import Interrupt, Message, ThreadView
from sayso.streams.stream import Reader

__all__ = ["idle", "present", "recovered", "refused", "standing", "told", "unsent"]

_LASTING = (Code.WRONG_AGENT, Code.THREAD_TOO_LARGE)
"""What the same client would run into again: it is told in so many words."""


def present(view: ThreadView) -> Ending:
    """How an idle thread stands: what it waits for, or else the outcome of its last run (RE-12)."""
    waiting = _waiting(view)
    if waiting:
        return Ending(type="interrupt", interrupts=tuple(map(interrupt_body, waiting)))
    if view.run is not None and view.run.outcome is not None:
        outcome = Ending.from_json(view.run.outcome)
        if outcome.type != "interrupt":
            return outcome
    return Ending(type="success")


def idle(view: ThreadView) -> Ending:
    """A look at a thread on which nothing goes on: a success, and what its last run failed of."""
    if view.run is None or view.run.outcome is None:
        return Ending(type="success")
    last = Ending.from_json(view.run.outcome)
    if last.type != "error":
        return Ending(type="success")
    problem = {**(last.details or {}), "message": last.message}
    if last.code is not None:
        problem.setdefault("code", last.code)
    return Ending(type="success", details={"problem": problem})


def standing(
    request: RunInput,
    peer: Peer,
    view: ThreadView | None,
    ending: Ending,
    said: Sequence[bytes] = (),
    sent: Sequence[Message] = (),
) -> Reader:
    """A run of snapshots: the thread as it stands (ID-03, SB-06); `said` are messages besides.

    `sent` are those of a refused request, whose results of the client's tools are shown as well.
    """
    shown = [frames.run_started(request.thread_id, request.run_id, peer.warnings)]
    if view is not None or said:
        stored = visible((*view.messages, *_reported(view, sent))) if view is not None else []
        readable = shown_to(peer.versioned, [*stored, *said])
        shown.append(frames.messages_snapshot(readable))
    if view is not None:
        shown.append(frames.state_snapshot(view.thread.state))
    shown.append(ending.last_frames(request.thread_id, request.run_id, peer))
    return Reader.canned(shown)


def refused(request: RunInput, peer: Peer, refusal: Refuse) -> Reader:
    """A run that failed before anything was done: RUN_STARTED, RUN_ERROR (TR-37)."""
    ending = Ending(
        type="error",
        code=refusal.code.value,
        message=refusal.message,
        details={"code": refusal.code.value, **refusal.details},
    )
    return Reader.canned(
        [
            frames.run_started(request.thread_id, request.run_id, peer.warnings),
            ending.last_frames(request.thread_id, request.run_id, peer),
        ]
    )


def recovered(request: RunInput, peer: Peer, view: ThreadView | None, refusal: Refuse) -> Reader:
    """A refusal that the client can go on from: the thread as it stands, and what was wrong.

    Over open interrupts they are asked again, under the same ids, with the problem as
    `metadata.sayso.problem` of those concerned, or of all if it names none; else the thread's
    present outcome (OC-01, TR-03). What would only fail again is told as an error, and so is what
    would begin a thread: there is nothing yet to go on from, and no answer that could be stuck.
    """
    waiting = _waiting(view) if view is not None else []
    begins = view is None and not (request.resume or request.command)
    if begins or refusal.code is Code.WRONG_AGENT or (refusal.code in _LASTING and not waiting):
        return refused(request, peer, refusal)
    ending = Ending(type="success") if view is None else present(view)
    if waiting:
        ending = Ending(type="interrupt", interrupts=_with_problem(waiting, refusal))
    said = [*unsent(request, view), told(refusal)]
    return standing(request, peer, view, ending, said, sent=request.messages)


def unsent(request: RunInput, view: ThreadView | None) -> list[bytes]:
    """The user's new messages of a refused request, shown and not stored: nothing typed is lost.

    The client keeps them and sends them with the next request.
    """
    stored = view.messages if view is not None else ()
    return [message.body for message in new_user_messages(request.messages, stored)]


def _reported(view: ThreadView, sent: Sequence[Message]) -> list[Message]:
    """What the client has said of calls that wait for it, though it is not in the history yet.

    Held results, and those of a refused request: a client that lost them would run its tool again.
    """
    if view.turn is None or view.turn.status != "suspended":
        return []
    calls = {
        item.id: item
        for item in view.interrupts
        if item.status == "open" and item.turn_key == view.turn.key and is_call(item)
    }
    kept = [item for item in calls.values() if item.held is not None]
    waiting = {key: item for key, item in calls.items() if item.held is None}
    found, _ = answers(waiting, sent)
    known = {message.id for message in view.messages}
    messages = [*results_of(map(settle, kept)), *map(message_of, found.values())]
    return [message for message in messages if message.id not in known]


def _waiting(view: ThreadView) -> list[Interrupt]:
    """What an idle thread asks; a question whose answer is held is not asked again."""
    if view.turn is None or view.turn.status != "suspended":
        return []
    mine = [item for item in view.interrupts if item.turn_key == view.turn.key]
    return uncovered(item for item in mine if not is_call(item))


def _with_problem(waiting: list[Interrupt], refusal: Refuse) -> tuple[bytes, ...]:
    listed = refusal.details.get("interrupts", ())
    details = {one["interruptId"]: one for one in listed if "interruptId" in one}
    concerned = {item.id for item in waiting if item.id in details}
    bodies = []
    for item in waiting:
        if item.id in concerned or not concerned:
            problem = {"code": refusal.code.value, "message": refusal.message}
            problem |= {
                name: value
                for name, value in details.get(item.id, {}).items()
                if name != "interruptId"
            }
            item = replace(item, metadata=_beside(item.metadata, problem))
        bodies.append(interrupt_body(item))
    return tuple(bodies)


def _beside(metadata: bytes | None, problem: dict[str, Any]) -> bytes:
    value: dict[str, Any] = jsonvalue.decode(metadata) if metadata else {}
    ours = value.get("sayso")
    return jsonvalue.encode(
        {**value, "sayso": {**(ours if isinstance(ours, dict) else {}), "problem": problem}}
    )


def told(refusal: Refuse) -> bytes:
    """The refusal as a message, marked as what it is; it never joins the history."""
    return jsonvalue.encode(
        {
            "id": f"{PROBLEM}{uuid4().hex}",
            "role": "assistant",
            "content": spoken(refusal),
            "metadata": {"sayso": {"type": "problem", "code": refusal.code.value}},
        }
    )
