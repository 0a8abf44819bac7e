"""The members of Strands that the adapter stands on and that no page promises."""

import asyncio
import importlib
from importlib import metadata
from typing import Any

import pytest
from strands import Agent, ToolContext, tool
from strands.middleware import ExecuteToolStage

import sayso.frameworks.strands
from sayso import DeclarationError
from tests.frameworks.late import is_loaded_by_its_adapter_alone
from tests.frameworks.strands.models import once

ADVICE = "Strands has changed what the adapter stands on: look at sayso/frameworks/strands/"


def test_an_agent_says_whether_it_has_sessions_and_background_tasks() -> None:
    agent = Agent(model=once("pay", {}), callback_handler=None)
    for name in ("_session_manager", "_background_tasks"):
        assert getattr(agent, name, "gone") is None, f"{name}: {ADVICE}mounting.py"
    outer = Agent(model=once("pay", {}), tools=[agent.as_tool(name="a")], callback_handler=None)
    assert outer.tool_registry.registry["a"].agent is agent, f"{ADVICE}running.py"


def test_an_interrupt_of_a_tool_ends_its_events_and_takes_an_answer() -> None:
    """The tool gets the answer when it runs again, since the interrupt is kept by the agent."""
    seen: list[Any] = []

    @tool(context=True)
    def pay(tool_context: ToolContext) -> str:
        """Pay."""
        return str(tool_context.interrupt("sure"))

    async def twice(context: Any, next_fn: Any) -> Any:
        events = [event async for event in next_fn(context)]
        (interrupt,) = events[-1].interrupts
        seen.append(interrupt.name)
        interrupt.response = "yes"
        async for event in next_fn(context):
            yield event

    agent = Agent(model=once("pay", {}), tools=[pay], callback_handler=None)
    agent.add_middleware(ExecuteToolStage, twice)
    result = asyncio.run(agent.invoke_async("pay"))
    assert seen == ["sure"], f"{ADVICE}middleware.py"
    assert "Done: yes" in str(result), f"{ADVICE}middleware.py"


@pytest.mark.parametrize("version", ["1.61.9", "2.0.0"])
def test_a_version_that_nobody_has_tried_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(metadata, "version", lambda package: version)
    with pytest.raises(DeclarationError) as raised:
        importlib.reload(sayso.frameworks.strands)
    assert str(raised.value) == (
        f"strands-agents {version} is none that this version knows: install sayso with the extra "
        "strands, or strands-agents>=1.62,<2"
    )


def test_the_package_loads_no_framework_until_an_adapter_is_imported() -> None:
    is_loaded_by_its_adapter_alone("strands", "sayso.strands")
