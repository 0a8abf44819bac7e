"""One tool call as the journal has it: its record, and the outcome that is read from that.

Arguments come from the journal, never from what a client sends (SB-05).
"""

import logging
import secrets
from collections.abc import Callable
from typing import Any, Final

from sayso.agents.briefing import display
from sayso.agents.outcomes import Call, ToolCall
from sayso.agents.parameters import MISFITS
from sayso.agents.parts import are_parts
from sayso.agents.told import Told, value_of, words_of
from sayso.agents.tools import Tool
from sayso.base import jsonvalue
from sayso.base.errors import NotRecordable, OutcomeUnknown, ToolFailed
from sayso.base.jsonpatch import differences
from sayso.base.progress import CallResult
from sayso.base.records import Entry, EntryStatus
from sayso.base.scrubbing import scrub_deep
from sayso.base.texts import error_text, to_utf8_safe
from sayso.turns.ask.breakpoints import Ended, Named
from sayso.turns.calls.results import (
    EXPIRED,
    Content,
    content_parts,
    result_text,
)
from sayso.turns.replay.execution import Execution, Place
from sayso.turns.replay.recorded import Recorded

MAX_CALL_CHARS: Final = 300
"""Characters of a call in a message that says more than the call."""

_log = logging.getLogger("sayso.tool")


class CallRecord(Recorded[Call[Any]]):
    """One call as the journal has it; `data` is what goes into its entry."""

    kind = "call"
    place: Place
    execution: Execution
    """The execution that it is made in."""
    id: str

    def __init__(
        self,
        requested: ToolCall,
        proposed: bytes,
        turn: Any,
    ) -> None:
        """`requested` names a tool itself; `proposed` are its effective arguments, as JSON."""
        self.tool: Tool[..., Any] = requested.tool
        self.name: str = self.tool.name
        self.fn: Callable[..., Any] = requested.call or self.tool.fn
        """The function that runs if this execution runs the call."""
        self.proposed = proposed
        self.arguments: dict[str, Any] = jsonvalue.decode(proposed)
        self.turn = turn
        self.why: str | None = requested.why
        self.told_as: str | None = (
            None if requested.told_as is None else to_utf8_safe(requested.told_as)
        )
        self.data: dict[str, Any] = {}
        self._result: bytes | None = None
        self._text: str | None = None

    def take(self, place: Place) -> None:
        """Take what is recorded at its place."""
        self.place, self.execution = place, place.execution
        if place.entry is not None:
            self.data = jsonvalue.decode(place.entry.data)
        else:
            self.data = {"id": place.call or place.id("call")}
            if self.told_as is not None:
                self.data["told"] = self.told_as
            if place.moved:  # the proposed ones stay what they were (TB-15)
                self.data |= {"edited": self.arguments, "moved": True}
        self.id = self.data["id"]
        if "edited" in self.data and not self.over:
            try:
                self.tool.decode_arguments(self.whole())
            except MISFITS as error:
                self.execution.unfit(place, "other arguments", error)

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The changes that people have made to the proposed arguments."""
        return differences(self.arguments, self.effective()) if "edited" in self.data else []

    @property
    def line(self) -> str:
        """The call as messages tell it: with the arguments that run, but for secrets."""
        return display(self.tool.name, self.tool.shown(self.effective()), MAX_CALL_CHARS)

    @property
    def named(self) -> Named:
        """The call as a breakpoint shows it, with the arguments that run, or would."""
        arguments = self.effective()
        shown = f"tool {self.line}"
        parameters = self.tool.parameters
        apart = self.execution.sealed and self.tool.has_secrets
        return Named("tool", self.tool.name, shown, self.id, arguments, parameters, apart)

    @property
    def told(self) -> dict[str, Any]:
        """The outcome, as a breakpoint behind it shows that."""
        if self.data["status"] == "executed" and "unrecorded" not in self.data:
            return {"result": self.data.get("words", self.data.get("value"))}
        return {"error": self.data.get("reason") or self.data.get("unrecorded") or ""}

    @property
    def key(self) -> str:
        """The call key: the id of this call for the outside world."""
        return self.execution.call_key(self.place.key)

    @property
    def over(self) -> bool:
        """True if the call has its result."""
        return "end" in self.data

    def tell_result(self, result: CallResult) -> None:
        """Keep what came of the call, or how far it is, with the questions about it."""
        self.execution.results.tell(self.id, result, self.data.get("decision"))

    def summary(self) -> dict[str, str | int]:
        """Tell how far it has come: the rule that decided, its verdict, and how it ended."""
        entry = self.execution.journal.at(self.place.key)
        if entry is None:  # it was not decided
            return {}
        status = self.data["status"] if self.over else entry.status
        verdict = {"asked": "ask", "denied": "deny"}.get(status, "allow")
        facts = {"status": status, "verdict": verdict, "attempt": self.data.get("attempt", 1)}
        return {**facts, "rule": self.data["rule"]} if "rule" in self.data else facts

    def write(self, stage: EntryStatus, **changes: Any) -> Entry:
        """Record how far the call has come."""
        self.data = {**self.data, **changes}
        if "edited" in self.data and (shown := self._shown) != self.data["edited"]:
            self.data["editedShown"] = shown  # what the audit trail has of it
        else:
            self.data.pop("editedShown", None)
        if stage == "done":
            self.data = {"end": self.execution.replay_order.end(), **self.data}
        return self.place.record(stage, jsonvalue.encode(self.data))

    def ending(self, value: Any) -> dict[str, Any]:
        """The record of a result that the tool has returned: it ran, whatever comes of that."""
        try:
            return self.recorded(value)
        except Exception as error:
            return {"unrecorded": self.failure(error, "ran, and its result cannot be recorded")}

    def recorded(self, result: Any) -> dict[str, Any]:
        """The record of a result, and of what the tool says instead of it (`Told`)."""
        value = value_of(result)
        words = {"words": _words(result)} if isinstance(result, Told) else {}
        encoded = self.encoded(value)
        if self.tool.scrubs:
            plain, words = scrub_deep(
                [jsonvalue.decode(encoded), words], self.execution.scrub_result
            )
            encoded = jsonvalue.encode(plain)
            value = self.decoded(encoded)
        return {**self.returned(value, encoded), **words}

    def failure(self, error: BaseException, what: str = "failed") -> str:
        """The public words for an error of the tool: its type, and an id that the log has.

        What an exception says was written for a log: it may hold a password, an address, a row.
        """
        number = f"e_{secrets.token_hex(4)}"
        name, key = self.tool.name, self.execution.turn.key
        _log.warning("tool %r of turn %s %s (error %s)", name, key, what, number, exc_info=error)
        text = self.execution.scrub(error_text(error))
        if isinstance(error, ToolFailed | NotRecordable | OutcomeUnknown):  # meant to be read
            return text
        if self._on_error() == "text":
            return f"{type(error).__name__}: {text}"
        return f"{type(error).__name__} (error {number})"

    def returned(self, value: Any, encoded: bytes) -> dict[str, Any]:
        """The record of a result; content parts are told apart from a value like them."""
        # What a person gave as the result has its type only once it has been decoded.
        self._result = encoded
        made = encoded[:1] in b"[{"
        parts = made and (are_parts(value) or are_parts(self.decoded(encoded)))
        return {"value": jsonvalue.decode(encoded), "parts": parts or None}

    def decoded(self, encoded: bytes) -> Any:
        """The value of a result's JSON, by the tool's annotation."""
        return self.tool.result.decode(encoded, f"the result of tool {self.tool.name!r}")

    def value_of(self, encoded: bytes) -> Any:
        """The value of a result that is recorded, or that a person gave."""
        try:
            return self.decoded(encoded)
        except NotRecordable as error:
            self.execution.unfit(self.place, "a result of another type", error)

    def encoded(self, value: Any) -> bytes:
        """The result as JSON; `NotRecordable` if it has none, or none that readers would keep."""
        data = self.tool.result.encode(value, f"the result of tool {self.tool.name!r}")
        read = self.decoded(data)
        self.tool.result.tell_change(value, read, f"the result of tool {self.tool.name!r}")
        if jsonvalue.loses_digits(data):
            raise NotRecordable(
                f"the result of tool {self.tool.name!r} holds an integer beyond 64 bits, which "
                "readers of JSON round: return it as text"
            )
        return data

    def effective(self) -> dict[str, Any]:
        """The arguments that run, or would: the reviewer's, else the proposed ones. To be read."""
        arguments = self.data.get("edited")
        chosen: dict[str, Any] = self.arguments if arguments is None else arguments
        return chosen

    def written(self) -> bytes:
        """The same as JSON."""
        edited = self.data.get("edited")
        return self.proposed if edited is None else jsonvalue.encode(edited)

    def whole(self) -> bytes:
        """The same with the secrets that are kept apart from them, for code of the author."""
        return self.execution.kept_apart.whole(self.tool, self.written())

    @property
    def text(self) -> str:
        """The result of a call that is over, as a model reads it."""
        if self._text is None:
            self._text = result_text(self._told_data, self._shown)
        return self._text

    @property
    def content(self) -> Content:
        """The same as clients get it: the text, or the parts that the tool returned (TC-06)."""
        return content_parts(self.data, self._shown) or self.text

    @property
    def _shown(self) -> dict[str, Any]:
        """The arguments that run, as a text shows them: without secrets."""
        return self.tool.shown(self.effective())

    @property
    def _told_data(self) -> dict[str, Any]:
        if "suggested" not in self.data:
            return self.data
        return {**self.data, "suggested": self.tool.shown(self.data["suggested"])}

    def _on_error(self) -> str:
        own, general = self.tool.on_error, self.execution.running.options.tool_errors
        return general if own is None or own == "ask" else own

    def _fails_the_turn(self) -> bool:
        ends = self._on_error() == "fail" and self.tool.on_error != "ask"
        return ends and not self.execution.stopped

    def after(self, place: Place, entry: Entry | None) -> Ended:
        """The outcome."""
        return Ended(place, self.named, self.told)

    def read(self, place: Place, entry: Entry | None) -> Call[Any]:
        """The author's outcome: the same live and on replay."""
        data, value = self.data, None
        if data["status"] == "failed" and self._fails_the_turn():
            failed = ToolFailed(f"tool {self.tool.name!r} failed: {data.get('reason')}")
            self.execution.fail(failed)
            raise failed
        if data["status"] == "executed" and "unrecorded" not in data:
            value = self.value_of(self._result or jsonvalue.encode(data.get("value")))
        return Call(
            status=data["status"],
            args=jsonvalue.decode(self.written()) if "edited" in data else self.arguments,
            text=self.text,
            value=value,
            edited="edited" in data,
            reason=data.get("reason") or (EXPIRED if "lapsed" in data else None),
            by=data.get("by"),
            rule=data.get("rule"),
            suggested=data.get("suggested"),
            id=self.id,
            told_as=data.get("told", self.told_as),
            parts=content_parts(data, self._shown),
        )


def _words(result: Told[Any]) -> str | list[Any]:
    """The words of a tool instead of its result; that they are none is for everybody to read."""
    try:
        return words_of(result)
    except TypeError as error:
        raise NotRecordable(str(error)) from None
