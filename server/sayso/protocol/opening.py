"""What a reader is told first and last about inner agents and the thread. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from sayso import jsonvalue
from sayso.protocol import frames
from sayso.protocol.ending import STOPPED, Ending
from sayso.protocol.peers import Peer

__all__ = ["is_lifecycle", "left_open", "opening"]


def opening(
    thread_id: str,
    run_id: str,
    peer: Peer,
    messages: Iterable[bytes] | None,
    state: bytes | None,
    restated: Iterable[Mapping[str, Any]],
) -> bytes:
    """The frames of a reader who comes: its run, the snapshots given, then what is open.

    `messages` are as that reader takes them (`generations.shown_to`).
    """
    shown = [frames.run_started(thread_id, run_id, peer.warnings)]
    if messages is not None:
        shown.append(frames.messages_snapshot(messages))
    if state is not None:
        shown.append(frames.state_snapshot(state))
    shown += [frames.frame(e) for e in restated if peer.subagents or not is_lifecycle(e)]
    return b"".join(shown)


def is_lifecycle(event: Mapping[str, Any]) -> bool:
    """Whether it tells that an inner agent begins or ends, which not all can read (SA-12)."""
    kind: str = event["type"]
    return kind.startswith("SUBAGENT_")


def left_open(owner: str, ending: Ending | None) -> dict[str, Any]:
    """The last event of an inner agent that the end of its run finds at work (SA-01, SA-03).

    It waits when the run does, or goes on elsewhere, and names the questions that are its own; a
    run that is over for good ends it as well.
    """
    event: dict[str, Any] = {"type": "SUBAGENT_FINISHED", "subagentRunId": owner}
    if ending is not None and not (ending.waits or ending.goes_on):
        text = STOPPED if ending.type == "cancelled" else "The run ended before this did."
        return {"type": "SUBAGENT_ERROR", "subagentRunId": owner, "message": text}
    outcome: dict[str, Any] = {"type": "suspended"}
    mine = [
        body["id"]
        for data in (ending.interrupts if ending is not None else ())
        if owner.encode() in data and (body := jsonvalue.decode(data)).get("subagentRunId") == owner
    ]
    if mine:
        outcome["interruptIds"] = mine
    return {**event, "outcome": outcome}
