"""Serving an agent of Agent Framework: `mount(app, "support", agent)`."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agent_framework import (
    Agent,
    ChatMiddlewareLayer,
    FunctionInvocationLayer,
    FunctionTool,
    HistoryProvider,
    InMemoryHistoryProvider,
    Message,
)
from pydantic_core import to_jsonable_python

from sayso import DeclarationError, Sayso, Turn, approval
from sayso.frameworks.agent_framework.contents import history_of
from sayso.frameworks.agent_framework.middleware import RecordedCalls, RecordedChat
from sayso.frameworks.agent_framework.running import AgentRun, entered
from sayso.frameworks.agent_framework.tools import ELSEWHERE, Functions
from sayso.frameworks.policies import Policies, check_names, check_policies, check_run_here

_log = logging.getLogger("sayso.agent_framework")

Trim = Callable[[list[Message]], list[Message]]


def mount(
    app: Sayso,
    name: str,
    agent: Agent[Any],
    *,
    approve: Mapping[str, approval.Policy] | None = None,
    parts: Mapping[str, Agent[Any]] | None = None,
    function_invocation_kwargs: Callable[[Turn], Mapping[str, Any]] | None = None,
    history: Trim | None = None,
    **options: Any,
) -> Callable[[Turn], Awaitable[Any]]:
    """Serve an agent of Microsoft's Agent Framework, as it is, as `POST /agents/{name}`.

    - `approve`: policies by the name of a tool, or by a pattern such as `delete_*`. They stand in
      place of what the tool says of itself (`approval_mode`).
    - `parts`: tools that run another agent, as those of `as_tool()` do, by name. What that agent
      does is recorded for itself and may ask. It gets middleware that does nothing elsewhere.
    - `function_invocation_kwargs`: makes of the turn what tools find in their context; it runs on
      each entry.
    - `history`: what the model gets of the thread's messages, by default all.
    - `options`: those of `app.agent`.

    Raises:
        DeclarationError: a name in `approve` or `parts` that no tool has, or an agent that cannot
            be made durable.
    """
    approve, parts = dict(approve or {}), dict(parts or {})
    check_policies(name, approve)
    _check_agent(name, agent)
    for tool, inner in parts.items():
        _check_agent(f"{name}, part {tool}", inner)
    everybody = (agent, *parts.values())
    declared = {tool.name: tool for each in everybody for tool in _tools(each)}
    more = any(each.mcp_tools or each.context_providers for each in everybody)
    check_names(name, [*approve, *parts], declared, more=more, log=_log)
    functions = Functions(Policies(approve), parts)
    left = [name for name, tool in declared.items() if functions.kind(tool) == ELSEWHERE]
    check_run_here(name, approve, left)
    for function in declared.values():
        if function.name not in left:
            app.add_tools(functions.tool(function), agent=name)
    for inner in parts.values():
        _make_durable(inner)

    async def run(turn: Turn) -> Any:
        messages = history_of(turn.input.messages)
        context = function_invocation_kwargs
        with entered(AgentRun(turn, functions)):
            stream = agent.run(
                messages if history is None else history(messages),
                stream=True,
                middleware=None if _is_durable(agent) else [RecordedChat(), RecordedCalls()],
                function_invocation_kwargs=None if context is None else context(turn),
            )
            async for _ in stream:
                pass  # it was said inside the request
            response = await stream.get_final_response()
        if response.user_input_requests:
            raise RuntimeError(
                "a run ended with a request for a person that Sayso does not know: "
                + ", ".join(sorted({each.type for each in response.user_input_requests}))
            )
        return to_jsonable_python(response.value)

    run.__doc__ = agent.description or ""
    app.agent(name, **{"kind": "agent-framework", **options})(run)
    return run


def _tools(agent: Agent[Any]) -> list[FunctionTool]:
    """The functions among an agent's tools that are known before it runs."""
    tools = agent.default_options.get("tools") or []
    return [tool for tool in tools if isinstance(tool, FunctionTool)]


def _is_durable(agent: Agent[Any]) -> bool:
    return any(isinstance(each, RecordedChat) for each in agent.middleware or ())


def _make_durable(agent: Agent[Any]) -> None:
    """Give an inner agent the turn's middleware, behind its own; it passes on outside of a turn."""
    if not _is_durable(agent):
        agent.middleware = [*(agent.middleware or ()), RecordedChat(), RecordedCalls()]


def _check_agent(name: str, agent: Any) -> None:
    if not isinstance(agent, Agent):
        raise DeclarationError(f"agent {name!r} is not an agent_framework.Agent, but {agent!r}")
    for layer in (FunctionInvocationLayer, ChatMiddlewareLayer):
        if not isinstance(agent.client, layer):
            raise DeclarationError(
                f"the client of agent {name!r} calls no middleware: derive "
                f"{type(agent.client).__name__} from {layer.__name__}"
            )
    if agent.client.function_invocation_configuration.get("additional_tools"):
        raise DeclarationError(
            f"the client of agent {name!r} has additional_tools, at which a run ends: give them to "
            "the agent, as tools without a function"
        )
    for provider in agent.context_providers:
        if isinstance(provider, HistoryProvider) and type(provider) is not InMemoryHistoryProvider:
            raise DeclarationError(
                f"agent {name!r} has a history of its own ({type(provider).__name__}): the thread "
                "is the history"
            )
