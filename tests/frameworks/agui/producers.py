"""Agents written with the protocol's SDK: functions of a run input that yield its events."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    BaseEvent,
    CustomEvent,
    Interrupt,
    MessagesSnapshotEvent,
    RawEvent,
    ReasoningEncryptedValueEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from tests.frameworks.shop import Said, Shop

Produce = Callable[[RunAgentInput], AsyncIterator[BaseEvent]]
Given = Any
"""A `RunAgentInput`, whose members a test knows to be there."""
Script = Callable[[Given], Iterator[Any]]

__all__ = [
    "ActivityDeltaEvent",
    "ActivitySnapshotEvent",
    "BaseEvent",
    "CustomEvent",
    "Given",
    "MessagesSnapshotEvent",
    "Produce",
    "RawEvent",
    "ReasoningEncryptedValueEvent",
    "ReasoningMessageContentEvent",
    "RunAgentInput",
    "StateDeltaEvent",
    "StateSnapshotEvent",
    "StepFinishedEvent",
    "StepStartedEvent",
    "SubagentFinishedEvent",
    "SubagentStartedEvent",
    "TextMessageChunkEvent",
    "TextMessageContentEvent",
    "ToolCallArgsEvent",
    "agent",
    "asks",
    "call",
    "fails",
    "result",
    "shop_agent",
    "text",
    "thought",
]


def text(name: str, *words: str, role: Any = "assistant", **owner: Any) -> Iterator[BaseEvent]:
    """A message, word by word."""
    yield TextMessageStartEvent(message_id=name, role=role, **owner)
    for word in words:
        yield TextMessageContentEvent(message_id=name, delta=word, **owner)
    yield TextMessageEndEvent(message_id=name, **owner)


def thought(name: str, *words: str) -> Iterator[BaseEvent]:
    """A thought."""
    yield ReasoningMessageStartEvent(message_id=name, role="reasoning")
    for word in words:
        yield ReasoningMessageContentEvent(message_id=name, delta=word)
    yield ReasoningMessageEndEvent(message_id=name)


def call(name: str, tool: str, arguments: Any, **owner: Any) -> Iterator[BaseEvent]:
    """A call, its arguments in two pieces."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    yield ToolCallStartEvent(tool_call_id=name, tool_call_name=tool, **owner)
    yield ToolCallArgsEvent(tool_call_id=name, delta=written[:3], **owner)
    yield ToolCallArgsEvent(tool_call_id=name, delta=written[3:], **owner)
    yield ToolCallEndEvent(tool_call_id=name, **owner)


def result(call_id: str, content: str) -> BaseEvent:
    """What came of a call."""
    return ToolCallResultEvent(message_id=f"{call_id}-r", tool_call_id=call_id, content=content)


class Outcome:
    """How a script ends, in place of success."""

    def __init__(self, **members: Any) -> None:
        self.members = members


def asks(*interrupts: dict[str, Any]) -> Outcome:
    """The run ends with these questions."""
    made = [Interrupt(**each) for each in interrupts]
    return Outcome(outcome=RunFinishedInterruptOutcome(type="interrupt", interrupts=made))


def fails(message: str, code: str) -> BaseEvent:
    """The run ends with an error."""
    return RunErrorEvent(message=message, code=code)


def agent(script: Script, seen: list[Given] | None = None) -> Produce:
    """An agent of a script, which yields events, and at the end perhaps an `Outcome`."""

    async def produce(given: RunAgentInput) -> AsyncIterator[BaseEvent]:
        if seen is not None:
            seen.append(given)
        members: dict[str, Any] = {}
        yield RunStartedEvent(thread_id=given.thread_id, run_id=given.run_id)
        for event in script(given):
            if isinstance(event, Outcome):
                members = event.members
                continue
            yield event
            if isinstance(event, RunErrorEvent):
                return
        yield RunFinishedEvent(thread_id=given.thread_id, run_id=given.run_id, **members)

    return produce


def shop_agent(shop: Shop) -> Produce:
    """The shop's agent: its calls are left to whoever runs it."""

    def script(given: RunAgentInput) -> Iterator[Any]:
        roles = {"user": "user", "assistant": "model", "tool": "tool"}
        said = [
            Said(roles[message.role], str(message.content or ""))
            for message in given.messages
            if message.role in roles
        ]
        reply = shop.reply(said)
        turn = sum(message.role == "user" for message in given.messages)
        name = f"m{turn}-{len(given.messages)}"
        yield from text(
            name, *(f"{word} " for word in reply.text.split(" ")[:-1]), reply.text.split(" ")[-1]
        )
        for wanted in reply.calls:
            yield from call(wanted.id, wanted.name, wanted.arguments)

    return agent(script)
