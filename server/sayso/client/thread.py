"""A thread as its events make it: messages, state and pending interrupts (MS, SS, AC, OU-12).

Pure. `ThreadState.apply` takes events that `events` has read and `order` has passed.
"""

import copy
from typing import Any

from sayso.base import jsonpatch
from sayso.base.codes import Code
from sayso.client.events import Notes

Json = dict[str, Any]


class ThreadState:
    """A client's thread. `outcome` is the last run's: success, interrupt, cancelled or error."""

    def __init__(self, state: Any = None) -> None:
        self.messages: list[Json] = []
        self.state: Any = {} if state is None else state
        self.pending: list[Json] = []
        self.outcome: str | None = None
        self.result: Any = None
        self.error: Json | None = None
        self.refused: bool = False
        self.signed_out: bool = False
        """True if the run was cut off since the sign-in ended; how it ends is not known."""
        self._requested: str | None = None
        self._asked = False

    def begin(self, run_id: str | None = None) -> None:
        """A run is asked for, under that id; nothing is known of how it ends."""
        self._requested, self._asked = run_id, False
        self._forget()

    def _forget(self) -> None:
        self.outcome = self.result = self.error = None
        self.refused = self.signed_out = False

    def apply(self, event: Json, notes: Notes) -> None:
        """Take an event; what cannot be applied is noted and changes nothing (SS-04)."""
        handler = getattr(self, f"_{event['type'].lower()}", None)
        if handler is not None:
            handler(event, notes)

    # Runs

    def _run_started(self, event: Json, notes: Notes) -> None:
        self._forget()
        if event.get("input", {}).get("resume"):
            self._asked = False
        for message in event.get("input", {}).get("messages", ()):
            if self._find(message["id"]) is None:
                self.messages.append(copy.deepcopy(message))

    def _run_finished(self, event: Json, notes: Notes) -> None:
        outcome = event.get("outcome") or {"type": "success"}
        self.outcome = outcome["type"]
        self.result = event.get("result")
        if self.outcome == "interrupt":
            self._asked = event["runId"] == self._requested
        elif self._asked:
            # A further run of the body: only one with an answer retires what was asked (O7).
            self.outcome = "interrupt"
            return
        self.pending = copy.deepcopy(outcome.get("interrupts", []))

    def _run_error(self, event: Json, notes: Notes) -> None:
        if event.get("code") == Code.TOKEN_EXPIRED:
            self.signed_out = True
            return
        self.outcome = "error"
        self.error = {key: event[key] for key in ("code", "message") if key in event}
        metadata = event.get("metadata")
        ours = metadata.get("sayso") if isinstance(metadata, dict) else None
        self.refused = isinstance(ours, dict) and ours.get("refused") is True

    # Messages

    def _text_message_start(self, event: Json, notes: Notes) -> None:
        message = self._find(event["messageId"])
        if message is not None and message["role"] == "activity":
            notes.append(f"message {message['id']!r} has the id of an activity and was left out")
            return
        if message is None:
            role = event.get("role", "assistant")
            message = {"id": event["messageId"], "role": role, "content": ""}
            message.update({key: event[key] for key in ("name", "subagentRunId") if key in event})
            self.messages.append(message)
        _merge(message, event)

    def _text_message_content(self, event: Json, notes: Notes) -> None:
        message = self._find(event["messageId"])
        if message is None or message["role"] == "activity":
            return
        if isinstance(message.get("content", ""), str):
            message["content"] = message.get("content", "") + event.get("delta", "")
        else:
            message["content"].append({"type": "text", "text": event.get("delta", "")})
        _merge(message, event)

    def _text_message_end(self, event: Json, notes: Notes) -> None:
        message = self._find(event["messageId"])
        if message is not None:
            _merge(message, event)

    _reasoning_message_start = _text_message_start
    _reasoning_message_content = _text_message_content
    _reasoning_message_end = _text_message_end

    def _reasoning_encrypted_value(self, event: Json, notes: Notes) -> None:
        of_call = event["subtype"] == "tool-call"
        entity = self.call(event["entityId"]) if of_call else self._find(event["entityId"])
        if entity is not None:
            entity["encryptedValue"] = event["encryptedValue"]
            # The type is that of one value: it goes with it.
            entity.pop("encryptedValueType", None)
            if "encryptedValueType" in event:
                entity["encryptedValueType"] = event["encryptedValueType"]

    def _messages_snapshot(self, event: Json, notes: Notes) -> None:
        shown = {message["id"]: message for message in event["messages"]}
        roles = {message["role"] for message in event["messages"]}
        stay = {"activity", "reasoning"} - roles
        kept = [
            shown.pop(held["id"], held)
            for held in self.messages
            if held["id"] in shown or held["role"] in stay
        ]
        self.messages = copy.deepcopy([*kept, *shown.values()])

    # Tool calls

    def _tool_call_start(self, event: Json, notes: Notes) -> None:
        call = self.call(event["toolCallId"])
        if call is None:
            named: str = event["parentMessageId" if "parentMessageId" in event else "toolCallId"]
            parent = self._find(named)
            if parent is None or parent["role"] != "assistant":
                own = named if parent is None else event["toolCallId"]
                parent = {"id": own, "role": "assistant"}
                if "subagentRunId" in event:
                    parent["subagentRunId"] = event["subagentRunId"]
                self.messages.append(parent)
            function = {"name": event["toolCallName"], "arguments": ""}
            call = {"id": event["toolCallId"], "type": "function", "function": function}
            parent.setdefault("toolCalls", []).append(call)
        _merge(call, event)

    def _tool_call_args(self, event: Json, notes: Notes) -> None:
        call = self.call(event["toolCallId"])
        if call is not None:
            call["function"]["arguments"] += event.get("delta", "")
            _merge(call, event)

    _tool_call_end = _tool_call_args

    def _tool_call_result(self, event: Json, notes: Notes) -> None:
        kept = ("toolCallId", "content", "error", "subagentRunId")
        message = {"id": event["messageId"], "role": "tool"}
        message |= {key: copy.deepcopy(event[key]) for key in kept if key in event}
        _merge(message, event)
        self.messages.insert(self._after_results(event["toolCallId"]), message)

    def _after_results(self, call_id: str) -> int:
        """After the message of the call and the results that stand there already (TC-09)."""
        for position, message in enumerate(self.messages):
            if any(call["id"] == call_id for call in message.get("toolCalls", ())):
                position += 1
                while position < len(self.messages) and self.messages[position]["role"] == "tool":
                    position += 1
                return position
        return len(self.messages)

    # State and activities

    def _state_snapshot(self, event: Json, notes: Notes) -> None:
        self.state = copy.deepcopy(event["snapshot"])

    def _state_delta(self, event: Json, notes: Notes) -> None:
        try:
            self.state = jsonpatch.apply(self.state, event["delta"])
        except ValueError as error:
            notes.append(f"STATE_DELTA does not apply, so the state stays: {error}")

    def _activity_snapshot(self, event: Json, notes: Notes) -> None:
        held = self._find(event["messageId"])
        if held is not None and (held["role"] != "activity" or event.get("replace") is False):
            return
        body = {"activityType": event["activityType"], "content": copy.deepcopy(event["content"])}
        if held is None:
            held = {"id": event["messageId"], "role": "activity"}
            if "subagentRunId" in event:
                held["subagentRunId"] = event["subagentRunId"]
            self.messages.append(held)
        held |= body
        _merge(held, event)

    def _activity_delta(self, event: Json, notes: Notes) -> None:
        held = self._find(event["messageId"])
        if held is None or held["role"] != "activity":
            notes.append(f"ACTIVITY_DELTA for {event['messageId']!r}, which is not there")
            return
        try:
            content = jsonpatch.apply(held["content"], event["patch"])
        except ValueError as error:
            notes.append(f"ACTIVITY_DELTA does not apply, so the activity stays: {error}")
            return
        if not isinstance(content, dict):
            notes.append("ACTIVITY_DELTA would leave no object, so the activity stays")
            return
        held |= {"activityType": event["activityType"], "content": content}
        _merge(held, event)

    # Finding

    def call(self, call_id: str) -> Json | None:
        """A tool call by its id (CL-18): `{"id", "type", "function": {"name", "arguments"}}`."""
        for message in self.messages:
            for call in message.get("toolCalls", ()):
                if call["id"] == call_id:
                    entry: Json = call
                    return entry
        return None

    def _find(self, message_id: str) -> Json | None:
        for message in reversed(self.messages):  # it is most often the newest
            if message["id"] == message_id:
                return message
        return None


def _merge(held: Json, event: Json) -> None:
    """Metadata key by key, the last one wins, without recursion (TX-08, MD-02)."""
    if "metadata" in event:
        held["metadata"] = {**held.get("metadata", {}), **copy.deepcopy(event["metadata"])}
