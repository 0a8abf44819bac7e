"""The order of a body as a consumer holds it (LC-01 to LC-08, TX, TC, RS, ST, SA). Pure."""

from typing import Any, ClassVar, Final

from sayso.client.errors import ProtocolViolation
from sayso.protocol.events import CALL, EVENTS, SPACES, SUBAGENT, TEXT, THOUGHT, Event, Space
from sayso.protocol.order import StreamOrder

_AGREEING: Final = ("subagentRunId", "role", "name")
"""Members of a message that is opened again which must be as they were (TX-05)."""


class BodyOrder(StreamOrder):
    """The forgiving policy over `protocol/order`: what has ended may be opened again, if it agrees.

    Follows one body; every breach is a `ProtocolViolation`, and ends it.
    """

    reopened: ClassVar[frozenset[Space]] = frozenset(SPACES) - {SUBAGENT}

    def __init__(self) -> None:
        super().__init__()
        self.ended: bool = False
        """True if the last run has its terminal event."""
        self._last = ""
        self._run: tuple[str, str] | None = None
        self._openers: dict[str, tuple[Any, ...]] = {}

    def breach(self, fact: str, advice: str) -> ProtocolViolation:
        """The fact: the advice would be for somebody else."""
        return ProtocolViolation(fact)

    def take(self, event: Event) -> None:
        """The next event."""
        kind = event["type"]
        row = EVENTS[kind]
        if kind == "RUN_STARTED":
            self._start(event)
        elif not self._last and kind != "RUN_ERROR":
            raise ProtocolViolation(f"the first event must be RUN_STARTED, not {kind}")
        elif self.ended and (kind != "RUN_ERROR" or self._last == "RUN_ERROR"):
            raise ProtocolViolation(f"{kind} came after {self._last} ended the run")
        elif kind == "RUN_FINISHED":
            self._finish(event)
        elif row.space is not None:
            self.follow(row, event)
        self.ended = kind in ("RUN_FINISHED", "RUN_ERROR")
        self._last = kind

    def _start(self, event: Event) -> None:
        if self._last and not self.ended:
            raise ProtocolViolation("RUN_STARTED came while a run is going on")
        if self._run is not None and self._run[0] != event["threadId"]:
            raise ProtocolViolation("RUN_STARTED names another thread than the run before it")
        self._run = (event["threadId"], event["runId"])
        for things in (*self.items.values(), *self.open.values()):
            things.clear()

    def _finish(self, event: Event) -> None:
        if left := self.open_in(*SPACES):
            names = ", ".join(map(str, left))
            raise ProtocolViolation(f"RUN_FINISHED came while still open: {names}")
        if self._run != (event["threadId"], event["runId"]):
            raise ProtocolViolation("RUN_FINISHED names another run than its RUN_STARTED")
        interrupts = (event.get("outcome") or {}).get("interrupts", [])
        if len({each["id"] for each in interrupts}) < len(interrupts):
            raise ProtocolViolation("RUN_FINISHED has two interrupts of one id")

    def opening(self, space: Space, event: Event) -> None:
        """Refuse a message that is opened again as another's, and a call of another owner."""
        name = event[space.member]
        if space in (TEXT, THOUGHT):
            said = tuple(event.get(member) for member in _AGREEING)
            if self._openers.setdefault(name, said) != said:
                raise ProtocolViolation(f"message {name!r} is opened again as somebody else's")
        elif space is CALL and "subagentRunId" in event:
            parent = self._openers.get(event.get("parentMessageId", ""))
            if parent is not None and parent[0] != event["subagentRunId"]:
                raise ProtocolViolation(
                    f"the owner of call {name!r} does not match that of its message"
                )
