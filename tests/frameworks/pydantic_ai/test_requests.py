"""Requests to a model: who hears their events, and where they are recorded."""

from collections.abc import AsyncIterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic_ai import Agent, ModelRequestNode, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import AgentStreamEvent

from sayso.base.records import Entry
from sayso.frameworks.pydantic_ai.requests import SUPPORTED
from sayso.testing import Conversation
from sayso.turns.journal.journal import Journal
from tests.frameworks.pydantic_ai.models import once
from tests.frameworks.pydantic_ai.served import app_of


@dataclass
class Listening(AbstractCapability[Any]):
    """A capability of an agent's author, who wants the events of its runs."""

    heard: list[str] = field(default_factory=list)

    async def wrap_run_event_stream(
        self, ctx: RunContext[Any], *, stream: AsyncIterable[AgentStreamEvent]
    ) -> AsyncIterable[AgentStreamEvent]:
        async for event in stream:
            self.heard.append(event.event_kind)
            yield event


@dataclass
class Looking(AbstractCapability[Any]):
    """A capability that looks at the requests of a run before they are made."""

    nodes: list[type] = field(default_factory=list)

    async def after_node_run(self, ctx: RunContext[Any], *, node: Any, result: Any) -> Any:
        if isinstance(node, ModelRequestNode):
            self.nodes.append(type(node))
        return result


def paying(*capabilities: AbstractCapability[Any]) -> Agent[None, Any]:
    """An agent that pays, once a person has said yes."""
    model = once("pay", {"amount": 5.0})
    agent: Agent[None, Any] = Agent(model, name="till", capabilities=capabilities)

    @agent.tool_plain(requires_approval=True)
    def pay(amount: float) -> str:
        return f"paid {amount:g}"

    return agent


def test_the_events_of_a_run_reach_a_capability_that_wants_them() -> None:
    listening = Listening()
    with Conversation(app_of(paying(listening))) as talk:
        talk.say("pay")
        assert {"part_start", "part_end"} <= set(listening.heard)
        assert talk.question.approve().text == "Done: paid 5"
    assert "function_tool_result" in listening.heard


def test_a_reply_whose_events_nobody_wants_comes_whole() -> None:
    looking = Looking()
    with Conversation(app_of(paying(looking)), replays=False) as talk:
        talk.say("pay")
        talk.restart()
        run = talk.question.approve()
    assert len(run.of("TEXT_MESSAGE_CONTENT")) > 1  # it was said as it came all the same
    assert [node is ModelRequestNode for node in looking.nodes] == [not SUPPORTED] * 3


def test_a_run_records_its_requests_in_its_own_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they come whole: what other versions have recorded is found there."""
    places: list[str] = []
    write = Journal.write

    def noted(journal: Journal, entry: Entry) -> Entry:
        if entry.kind == "step":
            places.append(entry.place)
        return write(journal, entry)

    monkeypatch.setattr(Journal, "write", noted)
    with Conversation(app_of(paying()), replays=False) as talk:
        talk.say("pay")
        talk.question.approve()
    assert len(places) == 2
    assert all(map(str.isdecimal, places))  # none is of a task of the framework
