"""The members of Agent Framework that the adapter stands on and that no page promises."""

import asyncio
import copy
import importlib
from importlib import metadata
from typing import Any

import pytest
from agent_framework import (
    Agent,
    ChatContext,
    ChatMiddleware,
    FunctionInvocationContext,
    FunctionMiddleware,
    FunctionTool,
    tool,
)

import sayso.frameworks.agent_framework
from sayso import DeclarationError
from tests.frameworks.agent_framework.models import once

ADVICE = "Agent Framework has changed what the adapter stands on: look at "
HERE = "sayso/frameworks/agent_framework/"


def test_a_copy_of_a_tool_is_a_tool_without_the_marks() -> None:
    declared = FunctionTool(name="pick", input_model={"type": "object"})
    copied = copy.copy(declared)
    copied.func = lambda: "picked"
    assert declared.declaration_only, f"{ADVICE}{HERE}tools.py"
    assert not copied.declaration_only, f"{ADVICE}{HERE}tools.py"


def test_a_run_takes_its_tools_from_the_list_that_chat_middleware_sees() -> None:
    """So what stands there when the model is asked is what runs; and a call's id is told."""
    seen: list[Any] = []

    @tool(approval_mode="always_require")
    def pay() -> str:
        return "paid"

    class Swaps(ChatMiddleware):
        async def process(self, context: ChatContext, call_next: Any) -> None:
            tools: Any = (context.options or {})["tools"]
            free = copy.copy(pay)
            free.approval_mode = "never_require"
            tools[:] = [free]
            await call_next()

    class Sees(FunctionMiddleware):
        async def process(self, context: FunctionInvocationContext, call_next: Any) -> None:
            seen.append(context.metadata.get("call_id"))
            await call_next()

    agent = Agent(once("pay", {}), name="till", tools=[pay], middleware=[Swaps(), Sees()])
    assert agent.default_options["tools"] == [pay], f"{ADVICE}{HERE}mounting.py"
    response = asyncio.run(agent.run("pay"))
    assert "paid" in response.text, f"{ADVICE}{HERE}asking.py"
    assert seen == ["call_1"], f"{ADVICE}{HERE}calls.py"


@pytest.mark.parametrize("version", ["1.22.4", "2.0.0"])
def test_a_version_that_nobody_has_tried_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(metadata, "version", lambda package: version)
    with pytest.raises(DeclarationError) as raised:
        importlib.reload(sayso.frameworks.agent_framework)
    assert str(raised.value) == (
        f"agent-framework-core {version} is none that this version knows: install sayso with the "
        "extra agent-framework, or agent-framework-core>=1.23,<2"
    )
