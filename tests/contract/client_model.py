"""What a client of the protocol makes of a stream: its messages, state and pending interrupts.

A second, small implementation of the consumer's rules (MS-02, SS-01, SS-02, TC-03, OU-12), so that
tests can say what a user's browser holds after a run.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from ag_ui_validate import PatchOk, apply_patch

__all__ = ["ClientModel"]

Json = dict[str, Any]


class ClientModel:
    """The thread as one client knows it."""

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self.state: Any = {}
        self.pending: list[Json] = []

    def take(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Apply a body's events in order."""
        for event in events:
            handler = getattr(self, f"_{event['type'].lower()}", None)
            if handler is not None:
                handler(event)

    def _text_message_start(self, event: Json) -> None:
        if self._find(event["messageId"]) is None:
            message = {"id": event["messageId"], "role": event["role"], "content": ""}
            if "metadata" in event:
                message["metadata"] = copy.deepcopy(event["metadata"])
            self.messages.append(message)

    def _text_message_content(self, event: Json) -> None:
        self._known(event["messageId"])["content"] += event["delta"]

    _reasoning_message_start = _text_message_start
    _reasoning_message_content = _text_message_content

    def _reasoning_encrypted_value(self, event: Json) -> None:
        self._known(event["entityId"])["encryptedValue"] = event["encryptedValue"]

    def _activity_snapshot(self, event: Json) -> None:
        content = copy.deepcopy(event["content"])
        message = self._find(event["messageId"])
        if message is None:
            named = {"id": event["messageId"], "activityType": event["activityType"]}
            self.messages.append({**named, "role": "activity", "content": content})
        else:
            message["content"] = content

    def _activity_delta(self, event: Json) -> None:
        message = self._known(event["messageId"])
        applied = apply_patch(copy.deepcopy(message["content"]), event["patch"])
        assert isinstance(applied, PatchOk), f"a patch that does not apply: {event['patch']}"
        message["content"] = applied.result

    def _tool_call_start(self, event: Json) -> None:
        parent = self._find(event["parentMessageId"])
        if parent is None:
            parent = {"id": event["parentMessageId"], "role": "assistant"}
            self.messages.append(parent)
        function = {"name": event["toolCallName"], "arguments": ""}
        call = {"id": event["toolCallId"], "type": "function", "function": function}
        parent.setdefault("toolCalls", []).append(call)

    def _tool_call_args(self, event: Json) -> None:
        for message in self.messages:
            for call in message.get("toolCalls", ()):
                if call["id"] == event["toolCallId"]:
                    call["function"]["arguments"] += event["delta"]

    def _tool_call_result(self, event: Json) -> None:
        body = {key: event[key] for key in ("toolCallId", "content")}
        self.messages.append({"id": event["messageId"], "role": "tool", **body})

    def _messages_snapshot(self, event: Json) -> None:
        shown = {message["id"]: message for message in event["messages"]}
        roles = {message["role"] for message in event["messages"]}
        stay = {"activity", "reasoning"} - roles
        kept = [
            shown.pop(m["id"], m) for m in self.messages if m["id"] in shown or m["role"] in stay
        ]
        self.messages = copy.deepcopy([*kept, *shown.values()])

    def _state_snapshot(self, event: Json) -> None:
        self.state = copy.deepcopy(event["snapshot"])

    def _state_delta(self, event: Json) -> None:
        applied = apply_patch(copy.deepcopy(self.state), event["delta"])
        assert isinstance(applied, PatchOk), f"a delta that does not apply: {event['delta']}"
        self.state = applied.result

    def _run_finished(self, event: Json) -> None:
        self.pending = list(event.get("outcome", {}).get("interrupts", ()))

    def _known(self, message_id: str) -> Json:
        message = self._find(message_id)
        assert message is not None, f"no message {message_id}"
        return message

    def _find(self, message_id: str) -> Json | None:
        return next((m for m in self.messages if m["id"] == message_id), None)
