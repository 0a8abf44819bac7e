"""Answers without a run: a thread's snapshots, and refusals, which show them too to recover.

Nothing here is stored: a run of snapshots changes nothing. What a refusal adds to them (the
problem, and one message that states it) is gone with the next snapshot.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sayso.base import ids, jsonvalue
from sayso.base.codes import Code
from sayso.base.records import Interrupt, Message, ThreadView
from sayso.gate.alignment import PROBLEM, aligned
from sayso.gate.client_tools import is_call, joining, results, results_of
from sayso.gate.history import visible
from sayso.gate.interrupts import answer_record, settle_held, settle_with, unanswered
from sayso.gate.refusals import Refuse, spoken
from sayso.protocol import frames
from sayso.protocol.client_profile import ClientProfile
from sayso.protocol.compat import bodies_for
from sayso.protocol.runinput import RunInput
from sayso.streams.ending import Ending, suspending
from sayso.streams.reader import Reader


def current_outcome(view: ThreadView) -> Ending:
    """The outcome of an idle thread: its open questions, else that of its last run (RE-12)."""
    waiting = _waiting(view)
    if waiting:
        return suspending(waiting, held=_held(view))
    if view.run is not None and view.run.outcome is not None:
        outcome = Ending.from_json(view.run.outcome)
        if outcome.type != "interrupt":
            return outcome
    return Ending(type="success")


def look_outcome(view: ThreadView) -> Ending:
    """The outcome of a look at an idle thread: a success, with the error of its last run."""
    if view.run is None or view.run.outcome is None:
        return Ending(type="success")
    last = Ending.from_json(view.run.outcome)
    if last.type != "error":
        return Ending(type="success")
    problem = {**(last.details or {}), "message": last.message}
    if last.code is not None:
        problem.setdefault("code", last.code)
    return Ending(type="success", details={"problem": problem})


def snapshot_run(
    request: RunInput,
    peer: ClientProfile,
    view: ThreadView | None,
    ending: Ending,
    said: Sequence[bytes] = (),
    sent: Sequence[Message] = (),
    words: bytes | None = None,
) -> Reader:
    """A run of snapshots: the thread as it is (ID-03, SB-06), and `said`, further messages.

    `sent` are those of a refused request, whose results of the client's tools are shown as well.
    `words` is a message that is streamed first and is last in the snapshot: some clients show a
    question with the text of its run, and a snapshot streams none.
    """
    shown = [frames.run_started(request.thread_id, request.run_id, peer.warnings, peer.at)]
    if words is not None:
        shown += _streamed(jsonvalue.decode(words))
        said = [*said, words]
    if view is not None or said:
        stored = visible((*view.messages, *_reported(view, sent))) if view is not None else []
        readable = bodies_for([*stored, *said], peer)
        shown.append(frames.messages_snapshot(readable))
    if view is not None:
        shown.append(frames.state_snapshot(view.thread.state))
    last = ending.last_frames(request.thread_id, request.run_id, peer)
    pause = peer.pause if ending.type == "interrupt" else 0.0
    return Reader.from_frames(shown, last=last, pause=pause)


def refused(request: RunInput, peer: ClientProfile, refusal: Refuse) -> Reader:
    """A run that failed before anything was done: RUN_STARTED, RUN_ERROR (TR-37).

    A client that is made to release what it has answered gets a RUN_FINISHED in between (CK-07).
    """
    peer = replace(
        peer, finishes_before_error=peer.finishes_before_error or refusal.conversation_gone
    )
    ending = Ending(
        type="error",
        code=refusal.code.value,
        message=refusal.message,
        details=_marked(refusal),
    )
    return Reader.from_frames(
        [
            frames.run_started(request.thread_id, request.run_id, peer.warnings, peer.at),
            ending.last_frames(request.thread_id, request.run_id, peer),
        ]
    )


def recovered(
    request: RunInput, peer: ClientProfile, view: ThreadView | None, refusal: Refuse
) -> Reader:
    """A refusal that the client can continue from: the thread as it is, and the problem.

    Open interrupts are asked again, under the same ids, with the problem as
    `metadata.sayso.problem` of those concerned, or of all if it names none; else the thread's
    present outcome follows (OC-01, TR-03). Each refusal's problem has an id of its own, so that a
    page can tell two equal ones apart (CL-08). A request that would only fail again gets an error,
    and so does one that would begin a thread: there is nothing to continue from, and no answer that
    could be stuck.
    """
    waiting = _waiting(view) if view is not None else []
    begins = view is None and not (request.resume or request.command)
    if begins or refusal.code is Code.WRONG_AGENT or (refusal.code.facts.fatal and not waiting):
        return refused(request, peer, refusal)
    ending = Ending(type="success") if view is None else current_outcome(view)
    if waiting:
        ending = suspending(waiting, held=_held(view), beside=_problems(waiting, refusal))
    if ending.type in ("success", "interrupt"):
        ending = replace(ending, details={"refused": True, "problem": _problem(refusal)})
    said, words = unsent_messages(request, view), problem_message(refusal)
    return snapshot_run(request, peer, view, ending, said, sent=request.messages, words=words)


def _streamed(message: dict[str, Any]) -> list[bytes]:
    """The events of a text message."""
    named = {"messageId": message["id"]}
    begins = {**named, "role": message["role"], "metadata": message["metadata"]}
    return [
        frames.frame({"type": "TEXT_MESSAGE_START", **begins}),
        frames.frame({"type": "TEXT_MESSAGE_CONTENT", **named, "delta": message["content"]}),
        frames.frame({"type": "TEXT_MESSAGE_END", **named}),
    ]


def _marked(refusal: Refuse) -> dict[str, Any]:
    """The details of a refusal, marked as one: runs that began may end with the same codes."""
    return {"code": refusal.code.value, **refusal.details, "refused": True}


def _problem(refusal: Refuse) -> dict[str, Any]:
    return {"message": refusal.message, "code": refusal.code.value, **refusal.details}


def unsent_messages(request: RunInput, view: ThreadView | None) -> list[bytes]:
    """The user's new messages of a refused request: shown, not stored, so nothing typed is lost.

    The client keeps them and sends them with the next request.
    """
    return [message.body for message in aligned(request, view).fresh]


def _reported(view: ThreadView, sent: Sequence[Message]) -> list[Message]:
    """The client's results of its open calls, which are not in the history yet.

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
    entries, _ = results(waiting, sent)
    sent_by = view.turn.principal
    answered = [
        settle_with(waiting[key], answer_record(entry, sent_by, "", 0))
        for key, entry in entries.items()
    ]
    messages = joining(results_of((*map(settle_held, kept), *answered)), view.messages)
    stored = {message.id for message in view.messages}
    return [message for message in messages if message.id not in stored]


def _waiting(view: ThreadView) -> list[Interrupt]:
    """The questions of an idle thread without a held answer."""
    return unanswered(_open(view))


def _held(view: ThreadView | None) -> list[Interrupt]:
    """The questions of an idle thread that it holds an answer to."""
    return [] if view is None else [item for item in _open(view) if item.held is not None]


def _open(view: ThreadView) -> list[Interrupt]:
    if view.turn is None or view.turn.status != "suspended":
        return []
    mine = [item for item in view.interrupts if item.turn_key == view.turn.key]
    return [item for item in mine if item.status == "open" and not is_call(item)]


def _problems(waiting: list[Interrupt], refusal: Refuse) -> dict[str, dict[str, Any]]:
    """Members to stand beside each question that a refusal is about."""
    listed = refusal.details.get("interrupts", ())
    details = {detail["interruptId"]: detail for detail in listed if "interruptId" in detail}
    concerned = {item.id for item in waiting if item.id in details}
    beside, refused_as = {}, ids.new("problem")
    for item in waiting:
        if item.id in concerned or not concerned:
            problem: dict[str, Any] = {
                "id": refused_as,
                "code": refusal.code.value,
                "message": refusal.message,
            }
            if "errors" in refusal.details:
                problem["errors"] = refusal.details["errors"]
            problem |= {
                name: value
                for name, value in details.get(item.id, {}).items()
                if name != "interruptId"
            }
            beside[item.id] = {"problem": problem}
    return beside


def problem_message(refusal: Refuse) -> bytes:
    """The refusal as a message, marked as what it is; it never joins the history."""
    return jsonvalue.encode(
        {
            "id": ids.new(PROBLEM.rstrip("_")),
            "role": "assistant",
            "content": spoken(refusal),
            "metadata": {"sayso": {"type": "problem", "code": refusal.code.value, "refused": True}},
        }
    )
