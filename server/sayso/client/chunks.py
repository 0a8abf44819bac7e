"""Chunk events, spelled out as start, content and end (TX-06, TX-07). Pure.

Each owner (the run, or a subagent) has a lane with one stream in it at most.
"""

from dataclasses import dataclass
from typing import Any, Final

from sayso.client.errors import ProtocolViolation
from sayso.protocol.events import CALL, TEXT, THOUGHT, Event, Space


@dataclass(frozen=True)
class _Kind:
    """How the chunks of one kind are spelled out. `fixed` may be repeated, not changed."""

    space: Space
    fixed: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()


_KINDS: Final = {
    "TEXT_MESSAGE_CHUNK": _Kind(TEXT, ("role", "name")),
    "TOOL_CALL_CHUNK": _Kind(CALL, ("toolCallName", "parentMessageId"), ("toolCallName",)),
    "REASONING_MESSAGE_CHUNK": _Kind(THOUGHT),
}
_ASIDE: Final = frozenset(
    {
        "ACTIVITY_DELTA",
        "ACTIVITY_SNAPSHOT",
        "RAW",
        "REASONING_ENCRYPTED_VALUE",
        "SUBAGENT_STARTED",
    }
)
"""Events that leave a chunk stream open."""
_EVERY_LANE: Final = frozenset({"MESSAGES_SNAPSHOT", "RUN_ERROR", "RUN_FINISHED", "RUN_STARTED"})


@dataclass
class _Lane:
    kind: _Kind
    id: str
    fixed: dict[str, Any]
    owner: str | None

    def event(self, kind: str, **members: Any) -> Event:
        owned = {} if self.owner is None else {"subagentRunId": self.owner}
        return {"type": kind, self.kind.space.member: self.id, **members, **owned}


class Chunks:
    """Expands the chunk events of one body."""

    def __init__(self) -> None:
        self._lanes: dict[str | None, _Lane] = {}

    def expanded(self, event: Event) -> list[Event]:
        """Spell out an event; `ProtocolViolation` for a chunk that continues nothing."""
        name, owner = event["type"], event.get("subagentRunId")
        kind = _KINDS.get(name)
        if kind is None:
            if name in _ASIDE:
                return [event]
            closed = list(self._lanes) if name in _EVERY_LANE else [owner]
            return [end for lane in closed for end in self._close(lane)] + [event]
        lane = self._lanes.get(owner)
        events: list[Event] = []
        if (
            lane is None
            or lane.kind is not kind
            or event.get(kind.space.member, lane.id) != lane.id
        ):
            events = [*self._close(owner), self._open(kind, event, owner)]
            lane = self._lanes[owner]
        else:
            for member in kind.fixed:
                if member in event and event[member] != lane.fixed.get(member):
                    raise ProtocolViolation(
                        f"{name}: {member} of {lane.id!r} does not match the one it began with"
                    )
            if "delta" not in event and "metadata" in event:
                event = {**event, "delta": ""}
        if "delta" in event:
            merged = {} if events else _metadata(event)
            events.append(lane.event(kind.space.content, delta=event["delta"], **merged))
        return events

    def _open(self, kind: _Kind, event: Event, owner: str | None) -> Event:
        for member in (kind.space.member, *kind.needed):
            if member not in event:
                raise ProtocolViolation(f"{event['type']}: the first chunk has no {member!r}")
        fixed = {member: event[member] for member in kind.fixed if member in event}
        if kind.space is TEXT:
            fixed.setdefault("role", "assistant")
        elif kind.space is THOUGHT:
            fixed["role"] = "reasoning"
        lane = self._lanes[owner] = _Lane(kind, event[kind.space.member], fixed, owner)
        return lane.event(kind.space.start, **fixed, **_metadata(event))

    def _close(self, owner: str | None) -> list[Event]:
        lane = self._lanes.pop(owner, None)
        return [] if lane is None else [lane.event(lane.kind.space.end)]


def _metadata(event: Event) -> dict[str, Any]:
    return {"metadata": event["metadata"]} if "metadata" in event else {}
