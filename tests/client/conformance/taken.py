"""Streams that a consumer takes, and what it makes of them."""

from typing import Any, Final

from tests.client.agent import FINISHED, STARTED, Event, run_of
from tests.client.conformance.fact import Fact
from tests.client.events import (
    CALL,
    CALLED,
    CHUNK,
    CUSTOM,
    END,
    ERROR,
    HELPED,
    HELPER,
    MORE,
    RAW,
    REST,
    START,
    TEXT,
    activity,
    delta,
    owned,
    state,
)

__all__ = ["TAKEN"]

SHOWN: Final = {"role": "assistant", "content": "words"}
PDF: Final = {"type": "document", "id": "d", "metadata": {"title": "Bill"}}
BY_URL: Final = {**PDF, "source": {"type": "url", "value": "https://a.test/b.pdf"}}
BY_FILE: Final = {**PDF, "source": {"type": "file", "value": "f-1", "provider": "cloud"}}
PICTURE: Final = {
    "type": "image",
    "source": {"type": "url", "value": "https://a.test/c.png", "mimeType": "image/png"},
}
BINARY: Final = {"type": "binary", "mimeType": "image/png", "url": "https://a.test/c.png"}
ASKED: Final = {"id": "i", "reason": "approval", "message": "Pay?"}
TOOL_CHUNK: Final = {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "look"}
THOUGHT: Final = {"type": "REASONING_MESSAGE_CONTENT", "messageId": "z"}
PATCHED: Final = {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "plan"}


def result(*parts: Event) -> list[Event]:
    """A call of the message `p`, its result in parts, and an answer."""
    told = {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c"}
    return [{**CALL, "parentMessageId": "p"}, CALLED, {**told, "content": list(parts)}, *TEXT]


def ending(outcome: Any, *events: Event) -> list[Event]:
    """A run with this outcome."""
    return [STARTED, *events, {**FINISHED, "outcome": outcome}]


def text(message_id: str, words: str) -> list[Event]:
    """A whole message."""
    return [{**event, "messageId": message_id} for event in (START, {**MORE, "delta": words}, END)]


def types(*events: Event) -> list[str]:
    return [event["type"] for event in events]


TAKEN: Final[dict[str, Fact]] = {
    "activity-delta-missing-target-tolerated": Fact(
        stream=run_of(*TEXT, {**PATCHED, "patch": []}), warned="not there", told=[SHOWN]
    ),
    "activity-replace-false-preserves": Fact(
        stream=run_of(activity({"a": 1}), activity({"b": 2}, activityType="x", replace=False)),
        told=[{"role": "activity", "activityType": "plan", "content": {"a": 1}}],
    ),
    "activity-snapshot-then-delta": Fact(
        stream=run_of(
            activity({"done": 1}),
            {**PATCHED, "patch": [{"op": "replace", "path": "/done", "value": 2}]},
        ),
        told=[{"role": "activity", "content": {"done": 2}}],
    ),
    "chunk-expansion-assembles": Fact(
        stream=run_of(CHUNK, REST),
        types=types(STARTED, START, MORE, MORE, END, FINISHED),
        told=[{"role": "assistant", "content": "half and half"}],
    ),
    "chunk-repeat-identical-accepted": Fact(
        stream=run_of(
            *TEXT,
            {**TOOL_CHUNK, "parentMessageId": "m", "delta": '{"q"'},
            {**TOOL_CHUNK, "parentMessageId": "m", "delta": ":1}"},
        ),
        told=[
            {
                **SHOWN,
                "toolCalls": [
                    {
                        "id": "c",
                        "type": "function",
                        "function": {"name": "look", "arguments": '{"q":1}'},
                    }
                ],
            }
        ],
    ),
    "conformant-run-is-quiet": Fact(
        stream=run_of(
            {"type": "STEP_STARTED", "stepName": "think"},
            *TEXT,
            state({"done": True}),
            {"type": "STEP_FINISHED", "stepName": "think"},
        ),
        told=[SHOWN],
        state={"done": True},
    ),
    "current-peer-declares-protocol-version": Fact(
        stream=run_of(), asked={"protocolVersion": "1.0"}
    ),
    "encrypted-value-unknown-entity-tolerated": Fact(
        stream=run_of(
            *TEXT,
            {
                "type": "REASONING_ENCRYPTED_VALUE",
                "subtype": "message",
                "entityId": "nobody",
                "encryptedValue": "e",
            },
        ),
        told=[SHOWN],
    ),
    "era-current-peer-keeps-modern-content": Fact(
        stream=run_of(HELPER, HELPED),
        messages=[
            {"id": "u", "role": "user", "content": [PICTURE]},
            {"id": "v", "role": "user", "content": [BINARY]},
            {"id": "w", "role": "assistant", "content": "Passed on.", "subagentRunId": "s"},
        ],
        types=types(STARTED, HELPER, HELPED, FINISHED),
        asked={
            "messages": [
                {"id": "u", "role": "user", "content": [PICTURE]},
                {"id": "v", "role": "user", "content": [PICTURE]},
                {"id": "w", "role": "assistant", "content": "Passed on.", "subagentRunId": "s"},
            ]
        },
    ),
    "late-run-error-after-finished-run-continues": Fact(
        stream=[*run_of(*TEXT), ERROR], told=[SHOWN], outcome="error", error="gone"
    ),
    "messages-snapshot-reconciles-by-id": Fact(
        stream=run_of(
            *TEXT,
            *text("n", "taken back"),
            {"type": "MESSAGES_SNAPSHOT", "messages": [{**SHOWN, "id": "m", "content": "better"}]},
        ),
        told=[{"id": "m", "content": "better"}],
    ),
    "metadata-merges-last-write-wins": Fact(
        stream=run_of(
            {**START, "metadata": {"a": 1, "b": [1, 2]}}, {**MORE, "metadata": {"b": [3]}}, END
        ),
        told=[{**SHOWN, "metadata": {"a": 1, "b": [3]}}],
    ),
    "open-metadata-preserved": Fact(
        stream=run_of({**START, "metadata": {"a.test/x": None}}, MORE, END),
        told=[{**SHOWN, "metadata": {"a.test/x": None}}],
    ),
    "open-object-patch-op-extras": Fact(
        stream=run_of(state(["a", "b"]), delta({"op": "remove", "path": "/1", "value": "b"})),
        state=["a"],
        at={"/2/delta/0/value": "b"},
    ),
    "producer-declares-newer-version-warns": Fact(
        stream=[{**STARTED, "protocolVersion": "1.10"}, FINISHED], warned="1.10"
    ),
    "producer-declares-same-version-quiet": Fact(
        stream=[{**STARTED, "protocolVersion": "1.0"}, FINISHED]
    ),
    "producer-declares-uninterpretable-version-warns": Fact(
        stream=[{**STARTED, "protocolVersion": "one"}, FINISHED], warned="one"
    ),
    "raw-and-custom-pass-through": Fact(
        stream=run_of(START, MORE, RAW, MORE, END, CUSTOM),
        types=types(STARTED, START, MORE, RAW, MORE, END, CUSTOM, FINISHED),
        told=[{"content": "wordswords"}],
    ),
    "raw-does-not-close-chunk-stream": Fact(
        stream=run_of(CHUNK, RAW, REST), told=[{"content": "half and half"}]
    ),
    "reasoning-span-and-message": Fact(
        stream=run_of(
            {"type": "REASONING_START", "messageId": "y"},
            {"type": "REASONING_MESSAGE_START", "messageId": "z", "role": "reasoning"},
            {**THOUGHT, "delta": "h"},
            {**THOUGHT, "delta": "m"},
            {"type": "REASONING_MESSAGE_END", "messageId": "z"},
            {"type": "REASONING_END", "messageId": "y"},
            *TEXT,
        ),
        told=[{"id": "z", "role": "reasoning", "content": "hm"}, SHOWN],
    ),
    "reopen-closed-message-appends": Fact(
        stream=run_of(*TEXT, *TEXT), told=[{"id": "m", "content": "wordswords"}]
    ),
    "run-error-first-run-continues": Fact(
        stream=[ERROR], types=["RUN_ERROR"], at={"/0/code": "x"}, outcome="error", error="gone"
    ),
    "run-error-then-new-run-continues": Fact(
        stream=[STARTED, ERROR, {**STARTED, "runId": "s"}, *TEXT, {**FINISHED, "runId": "s"}],
        types=types(STARTED, ERROR, STARTED, *TEXT, FINISHED),
        at={"/2/runId": "s"},
        told=[SHOWN],
    ),
    "run-finished-cancelled-outcome-accepted": Fact(
        stream=ending({"type": "cancelled"}, *TEXT),
        at={"/4/outcome/type": "cancelled"},
        told=[SHOWN],
        outcome="cancelled",
    ),
    "run-finished-interrupt-outcome-accepted": Fact(
        stream=ending({"type": "interrupt", "interrupts": [ASKED]}, *TEXT),
        at={"/4/outcome/interrupts/0/id": "i"},
        told=[SHOWN],
        outcome="interrupt",
    ),
    "state-delta-applies": Fact(
        stream=run_of(state({"a": 1}), delta({"op": "add", "path": "/b", "value": [2]})),
        state={"a": 1, "b": [2]},
    ),
    "state-delta-unappliable-warns-and-keeps": Fact(
        stream=run_of(
            state({"a": 1}),
            delta(
                {"op": "replace", "path": "/a", "value": 2},
                {"op": "replace", "path": "/b/c", "value": 3},
            ),
        ),
        warned="does not apply",
        state={"a": 1},
    ),
    "state-delta-unknown-op-dropped": Fact(
        stream=run_of(
            state({"a": 1}),
            delta({"op": "double", "path": "/a"}, {"op": "replace", "path": "/a", "value": 5}),
        ),
        warned="/delta/0",
        state={"a": 5},
    ),
    "state-falsy-snapshot-applies": Fact(stream=run_of(state({"a": 1}), state(0)), state=0),
    "state-null-snapshot-applies": Fact(stream=run_of(state({"a": 1}), state(None)), state=None),
    "state-snapshot-replaces": Fact(stream=run_of(state({"a": 1}), state(["b"])), state=["b"]),
    "subagent-terminal-closes-open-chunk-stream": Fact(
        stream=run_of(HELPER, owned(CHUNK), owned(REST), HELPED),
        types=types(STARTED, HELPER, START, MORE, MORE, END, HELPED, FINISHED),
        told=[{"content": "half and half", "subagentRunId": "s"}],
    ),
    "subagent-unannounced-attribution-accepted": Fact(
        stream=run_of(owned(START), MORE, owned(END)), told=[{**SHOWN, "subagentRunId": "s"}]
    ),
    "tool-call-metadata-lands-on-the-call": Fact(
        stream=run_of(
            {**CALL, "parentMessageId": "p", "metadata": {"n": 1, "o": 1}},
            {**CALLED, "metadata": {"n": 2}},
        ),
        told=[
            {
                "id": "p",
                "toolCalls": [
                    {
                        "id": "c",
                        "type": "function",
                        "function": {"name": "look", "arguments": ""},
                        "metadata": {"n": 2, "o": 1},
                    }
                ],
            }
        ],
    ),
    "tool-call-triad-assembles": Fact(
        stream=run_of(
            {**CALL, "parentMessageId": "p"},
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"q"'},
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": ":1}"},
            CALLED,
        ),
        told=[
            {
                "id": "p",
                "role": "assistant",
                "toolCalls": [
                    {
                        "id": "c",
                        "type": "function",
                        "function": {"name": "look", "arguments": '{"q":1}'},
                    }
                ],
            }
        ],
    ),
    "tool-result-file-source-passes-through": Fact(
        stream=run_of(*result({"type": "text", "text": "Sent."}, BY_FILE)),
        told=[
            {"id": "p"},
            {"id": "r", "content": [{"type": "text", "text": "Sent."}, BY_FILE]},
            SHOWN,
        ],
    ),
    "tool-result-parts-mint-tool-message": Fact(
        stream=run_of(*result({"type": "text", "text": "Here."}, BY_URL)),
        told=[
            {"id": "p", "role": "assistant"},
            {
                "id": "r",
                "role": "tool",
                "toolCallId": "c",
                "content": [{"type": "text", "text": "Here."}, BY_URL],
            },
            SHOWN,
        ],
    ),
    "triad-assembles-message": Fact(
        stream=run_of(START, MORE, MORE, END),
        told=[{"role": "assistant", "content": "wordswords"}],
    ),
    "two-sequential-runs-accumulate": Fact(
        stream=[
            *run_of(*text("m", "one")),
            {**STARTED, "runId": "s"},
            *text("n", "two"),
            {**FINISHED, "runId": "s"},
        ],
        told=[{"id": "m", "content": "one"}, {"id": "n", "content": "two"}],
    ),
    "unknown-event-dropped": Fact(
        stream=run_of(START, MORE, {"type": "LATER"}, MORE, END),
        warned="LATER",
        types=types(STARTED, START, MORE, MORE, END, FINISHED),
        told=[{"content": "wordswords"}],
    ),
    "unknown-outcome-stripped": Fact(
        stream=ending({"type": "postponed"}),
        warned="/outcome",
        types=types(STARTED, FINISHED),
        gone=("/1/outcome",),
    ),
    "unknown-part-in-message-list": Fact(
        stream=run_of(
            {
                "type": "MESSAGES_SNAPSHOT",
                "messages": [
                    {
                        "id": "u",
                        "role": "user",
                        "content": [
                            {"type": "text", "text": "a"},
                            {"type": "scent", "source": {}},
                            {"type": "text", "text": "b"},
                        ],
                    }
                ],
            }
        ),
        warned="/messages/0/content/1",
        at={
            "/1/messages/0/content": [
                {"type": "text", "text": "a"},
                {"type": "text", "text": "b"},
            ]
        },
    ),
    "unknown-property-stripped": Fact(
        stream=run_of(START, {**MORE, "mood": "good"}, END),
        warned="/mood",
        types=types(STARTED, *TEXT, FINISHED),
        gone=("/2/mood",),
        told=[SHOWN],
    ),
}
