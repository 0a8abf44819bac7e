"""What the adapter uses of the Agents SDK that is not told as public, in this version."""

import dataclasses

from agents import Agent, FunctionTool, Handoff, Model, handoff

from tests.frameworks.openai_agents.models import says

ADVICE = "the Agents SDK has changed what the adapter stands on: look at frameworks/openai_agents/"


def test_a_tool_of_an_agent_and_a_handoff_name_that_agent() -> None:
    inner = Agent[None](name="inner", model=says("x"))
    assert inner.as_tool("ask", "Asks.")._agent_instance is inner, f"{ADVICE}toolbox.py"
    reference = handoff(inner)._agent_ref
    assert reference is not None, f"{ADVICE}opening.py"
    assert reference() is inner, f"{ADVICE}opening.py"
    names = {field.name for field in dataclasses.fields(Handoff)}
    assert "_agent_ref" in names, f"{ADVICE}opening.py"


def test_the_runner_takes_tools_and_answers_from_methods_that_an_object_may_have() -> None:
    """Agents and models are opened by attributes on the objects."""
    agent, model = Agent[None](name="a"), says("x")
    agent.get_all_tools = model.get_response = None  # type: ignore[method-assign,assignment]
    assert "get_all_tools" in vars(agent), f"{ADVICE}opening.py"
    assert "get_response" in vars(model), f"{ADVICE}opening.py"
    assert {"get_response", "stream_response"} <= Model.__abstractmethods__, f"{ADVICE}models.py"
    fields = {field.name for field in dataclasses.fields(FunctionTool)}
    assert {"on_invoke_tool", "needs_approval", "timeout_seconds"} <= fields, f"{ADVICE}calls.py"
