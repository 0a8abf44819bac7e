"""The order of a stream: what may follow what (LC-01 to LC-08, TX, TC, RS, ST, SA). Pure."""

from typing import Any, Final

from sayso.client.errors import ProtocolViolation

Event = dict[str, Any]
_Key = tuple[str, str | None, str]

_PAIRS: Final = {
    "TEXT_MESSAGE_START": ("text message", "open", "messageId"),
    "TEXT_MESSAGE_CONTENT": ("text message", "in", "messageId"),
    "TEXT_MESSAGE_END": ("text message", "close", "messageId"),
    "TOOL_CALL_START": ("tool call", "open", "toolCallId"),
    "TOOL_CALL_ARGS": ("tool call", "in", "toolCallId"),
    "TOOL_CALL_END": ("tool call", "close", "toolCallId"),
    "REASONING_START": ("reasoning span", "open", "messageId"),
    "REASONING_END": ("reasoning span", "close", "messageId"),
    "REASONING_MESSAGE_START": ("reasoning message", "open", "messageId"),
    "REASONING_MESSAGE_CONTENT": ("reasoning message", "in", "messageId"),
    "REASONING_MESSAGE_END": ("reasoning message", "close", "messageId"),
    "STEP_STARTED": ("step", "open", "stepName"),
    "STEP_FINISHED": ("step", "close", "stepName"),
    "SUBAGENT_STARTED": ("subagent", "open", "subagentRunId"),
    "SUBAGENT_FINISHED": ("subagent", "close", "subagentRunId"),
    "SUBAGENT_ERROR": ("subagent", "close", "subagentRunId"),
}
_AGREEING: Final = ("subagentRunId", "role", "name")
"""What a message that is opened again must say as it did before (TX-05)."""


class Order:
    """Follows one body; every breach is a `ProtocolViolation`, and ends it."""

    def __init__(self) -> None:
        self.ended: bool = False
        """True if the last run has its terminal event."""
        self._last = ""
        self._run: tuple[str, str] | None = None
        self._open: dict[_Key, str | None] = {}
        self._gone: set[str] = set()
        self._openers: dict[str, tuple[Any, ...]] = {}

    def take(self, event: Event) -> None:
        """The next event."""
        kind = event["type"]
        if kind == "RUN_STARTED":
            self._start(event)
        elif not self._last and kind != "RUN_ERROR":
            raise ProtocolViolation(f"the first event must be RUN_STARTED, not {kind}")
        elif self.ended and (kind != "RUN_ERROR" or self._last == "RUN_ERROR"):
            raise ProtocolViolation(f"{kind} came after {self._last} ended the run")
        elif kind == "RUN_FINISHED":
            self._finish(event)
        elif kind in _PAIRS:
            self._pair(event)
        self.ended = kind in ("RUN_FINISHED", "RUN_ERROR")
        self._last = kind

    def _start(self, event: Event) -> None:
        if self._last and not self.ended:
            raise ProtocolViolation("RUN_STARTED came while a run is going on")
        if self._run is not None and self._run[0] != event["threadId"]:
            raise ProtocolViolation("RUN_STARTED names another thread than the run before it")
        self._run = (event["threadId"], event["runId"])
        self._open.clear()
        self._gone.clear()

    def _finish(self, event: Event) -> None:
        left = [f"{space} {name!r}" for space, _, name in self._open]
        if left:
            raise ProtocolViolation(f"RUN_FINISHED came while still open: {', '.join(left)}")
        if self._run != (event["threadId"], event["runId"]):
            raise ProtocolViolation("RUN_FINISHED names another run than its RUN_STARTED")
        interrupts = (event.get("outcome") or {}).get("interrupts", [])
        if len({each["id"] for each in interrupts}) < len(interrupts):
            raise ProtocolViolation("RUN_FINISHED has two interrupts of one id")

    def _pair(self, event: Event) -> None:
        space, act, member = _PAIRS[event["type"]]
        name, owner = event[member], event.get("subagentRunId")
        # A step is told apart by its owner as well; every other name stands for itself.
        key = (space, owner if space == "step" else None, name)
        if act == "open":
            if key in self._open or (space == "subagent" and name in self._gone):
                raise ProtocolViolation(f"{event['type']}: {space} {name!r} was opened before")
            self._agrees(space, event)
            self._open[key] = owner
            return
        if key not in self._open:
            raise ProtocolViolation(f"{event['type']}: no {space} {name!r} is open")
        if owner is not None and owner != self._open[key]:
            raise ProtocolViolation(
                f"{event['type']}: the owner {owner!r} does not match who opened {space} {name!r}"
            )
        if act == "close":
            del self._open[key]
            if space == "subagent":
                self._gone.add(name)

    def _agrees(self, space: str, event: Event) -> None:
        if space in ("text message", "reasoning message"):
            said = tuple(event.get(member) for member in _AGREEING)
            if self._openers.setdefault(event["messageId"], said) != said:
                raise ProtocolViolation(
                    f"message {event['messageId']!r} is opened again as somebody else's"
                )
        elif space == "tool call" and "subagentRunId" in event:
            parent = self._openers.get(event.get("parentMessageId", ""))
            if parent is not None and parent[0] != event["subagentRunId"]:
                raise ProtocolViolation(
                    f"the owner of call {event['toolCallId']!r} does not match its message's"
                )
