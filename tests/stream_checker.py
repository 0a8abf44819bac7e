"""An independent reading of the stream rules: what a strict client would hold against a stream.

Written from the rules (LC, TX, TC, RS, ST, SS, AC, PT, EN), not from the product's guard: it knows
no class of the product, and reads bytes.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

__all__ = ["check", "events_of"]

Event = dict[str, Any]

PAIRS = {
    "TEXT_MESSAGE_START": ("text", "open", "messageId"),
    "TEXT_MESSAGE_CONTENT": ("text", "in", "messageId"),
    "TEXT_MESSAGE_END": ("text", "close", "messageId"),
    "TOOL_CALL_START": ("call", "open", "toolCallId"),
    "TOOL_CALL_ARGS": ("call", "in", "toolCallId"),
    "TOOL_CALL_END": ("call", "close", "toolCallId"),
    "REASONING_START": ("span", "open", "messageId"),
    "REASONING_END": ("span", "close", "messageId"),
    "REASONING_MESSAGE_START": ("thought", "open", "messageId"),
    "REASONING_MESSAGE_CONTENT": ("thought", "in", "messageId"),
    "REASONING_MESSAGE_END": ("thought", "close", "messageId"),
    "SUBAGENT_STARTED": ("subagent", "open", "subagentRunId"),
    "SUBAGENT_FINISHED": ("subagent", "close", "subagentRunId"),
    "SUBAGENT_ERROR": ("subagent", "close", "subagentRunId"),
}
NULL_MAY_STAND = {"CUSTOM": "value", "RAW": "event", "STATE_SNAPSHOT": "snapshot"}
OPEN_OBJECTS = {"snapshot", "value", "event", "metadata", "delta", "patch", "content", "result"}


def events_of(body: bytes) -> list[Event]:
    """The events of an SSE body; AssertionError for framing that clients do not take (EN-04 ff)."""
    assert b"\r" not in body, "EN-04: frames end with LF alone"
    assert body == b"" or body.endswith(b"\n\n"), "EN-05: the last frame is complete"
    found = []
    for block in body.decode("utf-8").split("\n\n")[:-1]:
        if block.startswith(":"):
            assert "\n" not in block, "EN-06: a comment is one line"
            continue
        assert block.startswith("data: {"), f"EN-05: one object per frame, not {block[:40]!r}"
        assert "\n" not in block, "EN-20: an object is one line"
        found.append(json.loads(block.removeprefix("data: "), parse_constant=_no_constant))
    return found


def _no_constant(name: str) -> None:
    raise AssertionError(f"EN-07: {name} is no JSON")


def check(events: list[Event]) -> list[str]:
    """Every rule that the events of one run break, in words."""
    return list(_Checker().run(events))


class _Checker:
    def __init__(self) -> None:
        self.open: dict[tuple[str, str], Event] = {}
        self.seen: set[tuple[str, str]] = set()
        self.steps: Counter[tuple[Any, str]] = Counter()
        self.activities: set[str] = set()
        self.results: set[str] = set()
        self.message_ids: dict[str, str] = {}
        self.asked = False

    def run(self, events: list[Event]) -> Iterator[str]:
        if not events:
            yield "LC-02: no event at all"
            return
        if events[0]["type"] != "RUN_STARTED":
            yield f"LC-01: the first event is {events[0]['type']}"
        elif events[0].get("protocolVersion") != "1.0":
            yield "VN-01: RUN_STARTED declares no version"
        if events[-1]["type"] not in ("RUN_FINISHED", "RUN_ERROR"):
            yield f"LC-02: the last event is {events[-1]['type']}"
        for position, event in enumerate(events):
            for fault in self.one(event, first=position == 0, last=position == len(events) - 1):
                yield f"event {position} {event['type']}: {fault}"
        ids = {(e.get("threadId"), e.get("runId")) for e in (events[0], events[-1])}
        if events[-1]["type"] == "RUN_FINISHED" and len(ids) != 1:
            yield "LC-08: the boundary events disagree about the run"

    def one(self, event: Event, *, first: bool, last: bool) -> Iterator[str]:
        kind = event["type"]
        yield from _nulls(event)
        if kind == "RUN_STARTED" and not first:
            yield "LC-03: a second start"
        elif kind in ("RUN_FINISHED", "RUN_ERROR"):
            if not last:
                yield "LC-04: something follows the end"
            if kind == "RUN_FINISHED":
                yield from self.finished(event)
        elif kind in PAIRS:
            yield from self.paired(event)
        elif kind.startswith("STEP_"):
            yield from self.step(event)
        elif kind == "TOOL_CALL_RESULT":
            yield from self.result(event)
        elif kind.startswith("ACTIVITY_"):
            yield from self.activity(event)
        elif kind == "MESSAGES_SNAPSHOT":
            if any(space != "subagent" for space, _ in self.open):
                yield "MS-06: a snapshot while something is open"
        elif kind == "CUSTOM":
            yield from self.custom(event)

    def finished(self, event: Event) -> Iterator[str]:
        for space, name in self.open:
            yield f"LC-06: {space} {name!r} is still open"
        for (_, name), count in self.steps.items():
            if count:
                yield f"ST-02: step {name!r} is still open"
        outcome = event.get("outcome")
        if outcome is None:
            if not self.asked:
                yield "LG-09: neither an outcome nor a question by event"
            return
        if outcome["type"] == "interrupt" and not outcome["interrupts"]:
            yield "OU-04: no interrupts"
        if outcome["type"] != "interrupt" and "interrupts" in outcome:
            yield "OU-06: interrupts on another outcome"

    def custom(self, event: Event) -> Iterator[str]:
        if "value" not in event:
            yield "PT-01: no value"
        self.asked |= event["name"] == "on_interrupt"

    def paired(self, event: Event) -> Iterator[str]:
        space, act, member = PAIRS[event["type"]]
        key = (space, event[member])
        opener = self.open.get(key)
        if act == "open":
            if key in self.seen:
                yield "TX-01, TX-05: opened before"
            yield from self.identified(space, event)
            if space == "text" and event.get("role") not in (
                "developer",
                "system",
                "assistant",
                "user",
            ):
                yield "TX-03: no valid role"
            self.open[key] = event
            self.seen.add(key)
            return
        if opener is None:
            yield "TX-02, TC-01, RS-01, SA-01: not open"
            return
        if act == "in" and not isinstance(event["delta"], str):
            yield "TX-04: the delta is no string"
        owner = event.get("subagentRunId")
        if owner is not None and owner != opener.get("subagentRunId"):
            yield "SA-09: another owner than its start"
        if act == "close":
            del self.open[key]

    def identified(self, space: str, event: Event) -> Iterator[str]:
        if space in ("text", "thought"):
            yield from self.claim(event["messageId"], space)
        if space == "call" and "parentMessageId" not in event:
            yield from self.claim(event["toolCallId"], space)

    def claim(self, name: str, space: str) -> Iterator[str]:
        if name in self.message_ids:
            yield f"LC-20, AC-02: the id {name!r} belongs to a {self.message_ids[name]}"
        self.message_ids[name] = space

    def step(self, event: Event) -> Iterator[str]:
        key = (event.get("subagentRunId"), event["stepName"])
        if event["type"] == "STEP_STARTED":
            if self.steps[key]:
                yield "ST-01: open already"
            self.steps[key] += 1
        else:
            if not self.steps[key]:
                yield "ST-01: never opened"
            self.steps[key] = 0

    def result(self, event: Event) -> Iterator[str]:
        if ("call", event["toolCallId"]) in self.open:
            yield "TC-01: a result before the end of its call"
        if event["toolCallId"] in self.results:
            yield "TC-09: a second result"
        if not isinstance(event["content"], str | list):
            yield "TC-06: the content is neither a string nor a list of parts"
        self.results.add(event["toolCallId"])
        yield from self.claim(event["messageId"], "result")

    def activity(self, event: Event) -> Iterator[str]:
        name = event["messageId"]
        if event["type"] == "ACTIVITY_DELTA" and name not in self.activities:
            yield "AC-01: a delta before its snapshot"
        if name not in self.activities:
            yield from self.claim(name, "activity")
        self.activities.add(name)


def _nulls(event: Event) -> Iterator[str]:
    for name, value in event.items():
        if value is None and NULL_MAY_STAND.get(event["type"]) != name:
            yield f"LC-22: {name} is null"
        elif isinstance(value, dict) and name not in OPEN_OBJECTS and None in value.values():
            yield f"LC-22: a null inside {name}"
