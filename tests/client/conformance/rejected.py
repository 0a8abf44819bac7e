"""Streams that a consumer rejects."""

from typing import Final

from tests.client.agent import FINISHED, STARTED, run_of
from tests.client.conformance.fact import Fact, wrong
from tests.client.events import (
    CALL,
    CALLED,
    CHUNK,
    CUSTOM,
    END,
    HELPED,
    HELPER,
    MORE,
    REST,
    START,
    TEXT,
    owned,
)

__all__ = ["REJECTED"]

TOOL_CHUNK: Final = {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "look"}
THOUGHT: Final = {"type": "REASONING_MESSAGE_CONTENT", "messageId": "z"}


REJECTED: Final[dict[str, Fact]] = {
    "chunk-conflicting-role-fatal": wrong("does not match", CHUNK, {**REST, "role": "user"}),
    "chunk-conflicting-tool-name-fatal": wrong(
        "does not match", TOOL_CHUNK, {**TOOL_CHUNK, "toolCallName": "other"}
    ),
    "content-without-start-fatal": wrong("no text message", MORE),
    "custom-closes-chunk-stream-fatal": wrong("messageId", CHUNK, CUSTOM, REST),
    "event-after-run-finished-fatal": Fact(
        stream=[*run_of(), CUSTOM], rejected="after RUN_FINISHED"
    ),
    "first-chunk-missing-id-fatal": wrong("messageId", REST),
    "first-event-not-run-started-fatal": Fact(stream=[*TEXT, FINISHED], rejected="first event"),
    "first-tool-chunk-missing-name-fatal": wrong(
        "toolCallName", {"type": "TOOL_CALL_CHUNK", "toolCallId": "c"}
    ),
    "malformed-known-field-fatal": wrong("delta", START, {**MORE, "delta": 7}, END),
    "nested-run-started-fatal": Fact(stream=[STARTED, *run_of()], rejected="going on"),
    "open-message-at-run-finished-fatal": wrong("still open", START, MORE),
    "reasoning-discipline-verified": wrong(
        "no reasoning message", {**THOUGHT, "delta": "hm"}, *TEXT
    ),
    "reasoning-message-wrong-role-fatal": wrong(
        "role", {"type": "REASONING_MESSAGE_START", "messageId": "z", "role": "assistant"}
    ),
    "run-finished-with-active-subagent-fatal": wrong("still open", HELPER),
    "step-finished-without-start-fatal": wrong(
        "no step", {"type": "STEP_FINISHED", "stepName": "s"}
    ),
    "subagent-attribution-mismatch-fatal": wrong("not match", owned(CALL), owned(CALLED, "z")),
    "subagent-finished-unstarted-fatal": wrong("no subagent", HELPED),
    "subagent-started-missing-name-fatal": wrong(
        "name", {"type": "SUBAGENT_STARTED", "subagentRunId": "s"}
    ),
    "unknown-outcome-array-fatal": Fact(
        stream=[STARTED, {**FINISHED, "outcome": []}], rejected="outcome"
    ),
}
