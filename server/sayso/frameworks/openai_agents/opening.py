"""Agents and models that do through the turn what they do inside one.

The closure of a tool made by `as_tool` holds the inner agent itself, and a handoff may return any
agent. So agents and models are opened in place, once, by methods of the same names on the objects:
outside of a turn these pass on, so that nothing else is changed.
"""

from collections.abc import Iterable
from typing import Any

from agents import (
    Agent,
    ApplyPatchTool,
    ComputerTool,
    CustomTool,
    FunctionTool,
    Handoff,
    HostedMCPTool,
    LocalShellTool,
    Model,
    ModelProvider,
    RunHooks,
    ShellTool,
)

from sayso import DeclarationError
from sayso.frameworks.openai_agents.calls import through_turn
from sayso.frameworks.openai_agents.models import recorded
from sayso.frameworks.openai_agents.running import running
from sayso.frameworks.openai_agents.toolbox import inner_agent

_OPENED = "_sayso_opened"


def opened(agent: Agent[Any]) -> None:
    """Let an agent, those that it hands off to and those that its tools run be the turn's."""
    if isinstance(agent.model, Model):
        open_model(agent.model)
    if _OPENED in vars(agent):
        return
    setattr(agent, _OPENED, True)
    list_tools = agent.get_all_tools

    async def get_all_tools(run_context: Any) -> Any:
        tools = await list_tools(run_context)
        run = running()
        if run is None:
            return tools
        check_tools(agent.name, tools)
        return [through_turn(tool) if isinstance(tool, FunctionTool) else tool for tool in tools]

    agent.get_all_tools = get_all_tools
    for each in neighbours(agent):
        opened(each)


def open_model(model: Model) -> Model:
    """Let a model be asked through the turn inside one; returns it."""
    if _OPENED not in vars(model):
        setattr(model, _OPENED, True)
        ask = model.get_response

        async def get_response(*args: Any, **more: Any) -> Any:
            run = running()
            if run is None:
                return await ask(*args, **more)
            return await recorded(run, model, args, more)

        model.get_response = get_response
    return model


def neighbours(agent: Agent[Any]) -> Iterable[Agent[Any]]:
    """The agents that an agent hands off to, and those that its tools run, as far as it is known.

    One that only a run knows is opened when it begins (`Opening`).
    """
    for handoff in agent.handoffs:
        target: object = handoff
        if isinstance(handoff, Handoff):
            target = None if handoff._agent_ref is None else handoff._agent_ref()
        if isinstance(target, Agent):
            yield target
    for tool in agent.tools:
        inner = inner_agent(tool) if isinstance(tool, FunctionTool) else None
        if isinstance(inner, Agent):
            yield inner


def check_tools(name: str, tools: Iterable[Any]) -> None:
    """Refuse tools that run on this machine, or ask, where no turn can record it.

    Raises:
        DeclarationError: there is one.
    """
    for tool in tools:
        shell = isinstance(tool, ShellTool) and tool.executor is not None
        if shell or isinstance(tool, ApplyPatchTool | ComputerTool | CustomTool | LocalShellTool):
            raise DeclarationError(
                f"agent {name!r} has the tool {tool.name!r}, which runs here and cannot be "
                "recorded: make it a function tool"
            )
        if isinstance(tool, HostedMCPTool):
            asks = tool.tool_config.get("require_approval")
            if asks != "never":
                raise DeclarationError(
                    f"agent {name!r} has a hosted MCP server that asks for approvals of its own: "
                    'give it require_approval "never", or add the server to the app by '
                    "sayso.mcp, whose tools ask here"
                )


class Opening(RunHooks[Any]):
    """Opens agents that only a run knows, as they begin."""

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        """Open the agent."""
        if isinstance(agent, Agent):
            opened(agent)


class TurnProvider(ModelProvider):
    """The models of a provider, asked through the turn."""

    def __init__(self, provider: ModelProvider) -> None:
        self._provider = provider

    def get_model(self, model_name: str | None) -> Model:
        """The provider's model, opened."""
        return open_model(self._provider.get_model(model_name))
