"""What is known and recorded of one tool call: its arguments, how far it has come, its outcome.

Arguments come from the journal, never from what a client sends (SB-05).
"""

from typing import Any

from sayso import jsonvalue
from sayso.agents.outcomes import Call
from sayso.agents.parts import are_parts
from sayso.agents.tools import Tool
from sayso.errors import NotRecordable, ToolFailed
from sayso.records import Entry, EntryStatus
from sayso.turns.breakpoints import Named
from sayso.turns.execution import Execution, Place
from sayso.turns.results import EXPIRED, Content, content_parts, result_text
from sayso.turns.unsure import display

__all__ = ["CallRecord"]


class CallRecord:
    """One call as the journal has it; `data` is what goes into its entry."""

    def __init__(
        self,
        execution: Execution,
        place: Place,
        tool: Tool,
        arguments: bytes,
        plain: dict[str, Any],
        turn: Any,
    ) -> None:
        """`arguments` are the proposed ones, as JSON; `plain` is their value."""
        self.execution = execution
        self.place = place
        self.tool = tool
        self.arguments = arguments
        self._proposed = plain
        self._result: bytes | None = None
        self._text: str | None = None
        self.turn = turn
        self.id = execution.identify("call", place.key)
        self.data: dict[str, Any] = {"id": self.id}
        if place.entry is not None:
            self.data = jsonvalue.decode(place.entry.data)

    @property
    def named(self) -> Named:
        """What a breakpoint at it shows: the arguments that run, or would."""
        arguments = self.effective()
        shown = f"tool {display(self.tool.name, arguments)}"
        return Named("tool", self.tool.name, shown, self.id, arguments)

    @property
    def key(self) -> str:
        """What the outside world may know this call by."""
        return self.execution.call_key(self.place.key)

    @property
    def over(self) -> bool:
        """Whether the call has its result."""
        return "end" in self.data

    def write(self, stage: EntryStatus, **changes: Any) -> Entry:
        """Record how far the call has come."""
        self.data = {**self.data, **changes}
        if stage == "done":
            self.data = {"end": self.execution.timeline.end(), **self.data}
        return self.execution.record(
            self.place, "call", self.tool.name, stage, jsonvalue.encode(self.data)
        )

    def returned(self, value: Any, encoded: bytes) -> dict[str, Any]:
        """What to record of a result; content parts are told apart from a value like them."""
        # What a person gave as the result has its type only once it has been decoded.
        self._result = encoded
        made = encoded[:1] in b"[{"
        parts = made and (are_parts(value) or are_parts(self.decoded(encoded)))
        return {"value": jsonvalue.decode(encoded), "parts": parts or None}

    def decoded(self, encoded: bytes) -> Any:
        """The value of a result's JSON, by the tool's annotation."""
        return self.tool.result.decode(encoded, f"the result of tool {self.tool.name!r}")

    def encoded(self, value: Any) -> bytes:
        """The result as JSON; `NotRecordable` if it has none, or none that readers would keep."""
        found = self.tool.result.encode(value, f"the result of tool {self.tool.name!r}")
        if jsonvalue.rounds(found):
            raise NotRecordable(
                f"the result of tool {self.tool.name!r} holds an integer beyond 64 bits, which "
                "readers of JSON round: return it as text"
            )
        return found

    def effective(self) -> dict[str, Any]:
        """The arguments that run, or would: the reviewer's, else the proposed ones. To be read."""
        arguments = self.data.get("edited")
        chosen: dict[str, Any] = self._proposed if arguments is None else arguments
        return chosen

    def written(self) -> bytes:
        """The same as JSON."""
        edited = self.data.get("edited")
        return self.arguments if edited is None else jsonvalue.encode(edited)

    @property
    def text(self) -> str:
        """The result of a call that is over, as a model reads it."""
        if self._text is None:
            self._text = result_text(self.data, self.effective())
        return self._text

    @property
    def content(self) -> Content:
        """The same as clients get it: the text, or the parts that the tool returned (TC-06)."""
        return content_parts(self.data, self.effective()) if self.data.get("parts") else self.text

    def _fails_the_turn(self) -> bool:
        on_error = self.tool.on_error or self.execution.options.tool_errors
        return on_error == "fail" and not self.execution.stopped

    def outcome(self) -> Call[Any]:
        """What the author gets: the same live and on replay."""
        data, value = self.data, None
        if data["status"] == "failed" and self._fails_the_turn():
            failed = ToolFailed(f"tool {self.tool.name!r} failed: {data.get('reason')}")
            self.execution.break_off(failed)
            raise failed
        if data["status"] == "executed":
            value = self.decoded(self._result or jsonvalue.encode(data.get("value")))
        return Call(
            status=data["status"],
            args=jsonvalue.decode(self.written()) if "edited" in data else self._proposed,
            text=self.text,
            value=value,
            edited="edited" in data,
            reason=data.get("reason") or (EXPIRED if "lapsed" in data else None),
            by=data.get("by"),
            rule=data.get("rule"),
            suggested=data.get("suggested"),
        )
