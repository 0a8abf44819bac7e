"""What a body says about its thread, held against itself: from the rules, not from the code.

Beside the order of events (`tests.stream_checker`): ids of the request (LC-08), nothing streamed
twice (LC-12, TR-10), both snapshots before an interrupt and after every closer (SB-01, SB-02),
snapshots that restate what was streamed (MS-03, TC-03), results for calls that a client knows
(TR-11), calls that an interrupt names (IN-05, IN-15), distinct interrupts (OU-05).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["thread_faults"]

Event = Mapping[str, Any]

BOUNDARY = ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]


def thread_faults(events: Sequence[Event], *, thread_id: str, run_id: str) -> list[str]:
    """Every rule that is broken, in words."""
    checker = _Checker(thread_id, run_id)
    # Text for which a thread has no room is taken back, which the code of the end says.
    checker.takes_back = events[-1].get("code") == "thread_too_large"
    for event in events:
        handler = getattr(checker, f"_{event['type'].lower()}", None)
        if handler is not None:
            handler(event)
    asked = [event for event in events if event.get("name") == "on_interrupt"]
    if asked:
        checker.asked(events, len(asked))
    if events[-1].get("outcome", {}).get("type") == "interrupt":
        checker.interrupted([event for event in events if event not in asked])
    return checker.faults


class _Checker:
    def __init__(self, thread_id: str, run_id: str) -> None:
        self.faults: list[str] = []
        self.takes_back = False
        self.ids = {"threadId": thread_id, "runId": run_id}
        self.texts: dict[str, str] = {}
        self.sealed: dict[str, str] = {}
        self.calls: dict[str, str] = {}
        self.known_calls: set[str] = set()
        self.known_messages: set[str] = set()

    def fault(self, text: str) -> None:
        self.faults.append(text)

    def _run_started(self, event: Event) -> None:
        if any(event[name] != value for name, value in self.ids.items()):
            self.fault(f"LC-08: {event['type']} of another run or thread")

    _run_finished = _run_started

    def _text_message_start(self, event: Event) -> None:
        if event["messageId"] in self.known_messages:
            self.fault(f"LC-12: {event['messageId']} is streamed though a snapshot has shown it")
        self.texts[event["messageId"]] = ""

    def _text_message_content(self, event: Event) -> None:
        if not event["delta"]:
            self.fault("TR-36: an empty delta")
        self.texts[event["messageId"]] += event["delta"]

    _reasoning_message_start = _text_message_start
    _reasoning_message_content = _text_message_content

    def _reasoning_encrypted_value(self, event: Event) -> None:
        self.sealed[event["entityId"]] = event["encryptedValue"]

    def _tool_call_start(self, event: Event) -> None:
        if event["toolCallId"] in self.known_calls:
            self.fault(f"TR-10: the call {event['toolCallId']} is streamed a second time")
        if "parentMessageId" not in event:
            self.fault("TC-03: a call without its assistant message")
        self.calls[event["toolCallId"]] = ""

    def _tool_call_args(self, event: Event) -> None:
        self.calls[event["toolCallId"]] += event["delta"]

    def _tool_call_end(self, event: Event) -> None:
        try:
            json.loads(self.calls[event["toolCallId"]])
        except ValueError:
            self.fault("TC-04: arguments that are no JSON")

    def _tool_call_result(self, event: Event) -> None:
        if event["toolCallId"] not in {*self.known_calls, *self.calls}:
            self.fault(f"TR-11: a result for {event['toolCallId']}, which this body has not shown")
        if event["messageId"] in self.known_messages:
            self.fault("TB-03: a result under the id of a known message")
        if not event["content"]:
            self.fault("H3: a result without text")

    def _messages_snapshot(self, event: Event) -> None:
        shown = {message["id"]: message for message in event["messages"]}
        if len(shown) != len(event["messages"]):
            self.fault("MS-01: an id twice in a snapshot")
        self.known_messages |= set(shown)
        for message_id, text in self.texts.items():
            if self.takes_back and message_id not in shown:
                continue
            if shown.get(message_id, {}).get("content") != text:
                self.fault(f"MS-03: {message_id} is not restated as it was streamed")
        for message_id, value in self.sealed.items():
            if shown.get(message_id, {}).get("encryptedValue") != value:
                self.fault(f"RS-04: the encrypted value of {message_id} is withdrawn")
        calls = [call for m in event["messages"] for call in m.get("toolCalls", ())]
        self.known_calls |= {call["id"] for call in calls}
        for call in calls:
            if (
                self.calls.get(call["id"], call["function"]["arguments"])
                != call["function"]["arguments"]
            ):
                self.fault(f"MS-03: {call['id']} is not restated as it was streamed")

    def asked(self, events: Sequence[Event], number: int) -> None:
        """LG-01: the questions of the older dialect come last, and each is one of the outcome's."""
        tail = events[-1 - number :]
        if any(event.get("name") != "on_interrupt" for event in tail[:-1]):
            self.fault(f"LG-01: what is asked by event does not come last: {tail}")
        if not all(isinstance(event["value"], str) for event in tail[:-1]):
            self.fault("LG-02: a question by event that is no text")
        if len(tail[-1].get("outcome", {}).get("interrupts", tail[:-1])) != number:
            self.fault("F3: the two channels ask for different things")

    def interrupted(self, events: Sequence[Event]) -> None:
        interrupts = events[-1]["outcome"]["interrupts"]
        ids = [interrupt["id"] for interrupt in interrupts]
        if len(set(ids)) != len(ids):
            self.fault(f"OU-05: interrupt ids {ids}")
        kinds = [event["type"] for event in events]
        if sorted(kinds[-3:-1]) != sorted(BOUNDARY[:2]):
            self.fault(f"SB-02: the boundary is {kinds[-4:]}")
        for interrupt in interrupts:
            call = interrupt.get("toolCallId")
            if interrupt["reason"] == "tool_call" and call is None:
                self.fault("IN-05: a tool_call interrupt without toolCallId")
            if call is not None and call not in self.known_calls:
                self.fault(f"IN-15: an interrupt for {call}, which no message holds")
