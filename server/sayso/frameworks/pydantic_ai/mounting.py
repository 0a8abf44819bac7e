"""Serving an agent of Pydantic AI: `mount(app, "support", agent)`."""

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.durable_exec import JSON_CODEC
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage

from sayso import DeclarationError, Sayso, Turn, approval
from sayso.frameworks.policies import Policies, check_names, check_policies, check_run_here
from sayso.frameworks.pydantic_ai.declared import declared
from sayso.frameworks.pydantic_ai.durability import SaysoDurability
from sayso.frameworks.pydantic_ai.history import prompt_and_history
from sayso.frameworks.pydantic_ai.replaying import replay_scope
from sayso.frameworks.pydantic_ai.running import Running, entered
from sayso.frameworks.pydantic_ai.tools import Toolbox

_log = logging.getLogger("sayso.pydantic_ai")

Trim = Callable[[list[ModelMessage]], list[ModelMessage]]


def mount(
    app: Sayso,
    name: str,
    agent: AbstractAgent[Any, Any],
    *,
    approve: Mapping[str, approval.Policy] | None = None,
    parts: Mapping[str, AbstractAgent[Any, Any]] | None = None,
    deps: Callable[[Turn], Any] | None = None,
    history: Trim | None = None,
    **options: Any,
) -> Callable[[Turn], Awaitable[Any]]:
    """Serve an agent of Pydantic AI, as it is, as `POST /agents/{name}`.

    - `approve`: policies by the name of a tool, or by a pattern such as `delete_*`. They stand in
      place of what the tool says of itself (`requires_approval`). Tools about which neither says
      anything are as the app's `default_approval` says.
    - `parts`: tools that run another agent, by name. What that agent does is recorded for itself
      and may ask; it has `SaysoDurability(name=…)` among its capabilities.
    - `deps`: makes the agent's `deps` of the turn; it may be async, and runs on each entry.
    - `history`: what the model gets of the messages before this one, by default all.
    - `options`: those of `app.agent`.

    Raises:
        DeclarationError: a name in `approve` or `parts` that no tool has, an inner agent without
            the capability, or an agent that cannot be made durable.
    """
    approve, parts = dict(approve or {}), dict(parts or {})
    _check_names(name, agent, approve, parts)
    capability = _bound(name, agent)
    toolbox = Toolbox(Policies(approve), parts)
    definitions = {
        tool_name: tool
        for each in (*reversed(parts.values()), agent)
        for tool_name, tool in declared(each)[0].items()
    }
    left = [tool for tool, each in definitions.items() if each.definition.kind == "external"]
    check_run_here(name, approve, left)
    for tool_name, tool in definitions.items():
        if tool_name not in left:
            app.add_tools(toolbox.declare(tool.definition, tool.validator), agent=name)
    own = SaysoDurability.from_agent(agent)
    capabilities = [] if own is not None else [capability]

    async def run(turn: Turn) -> Any:
        prompt, earlier = prompt_and_history(turn.input.messages)
        made = None if deps is None else deps(turn)
        if inspect.isawaitable(made):
            made = await made
        with entered(Running(turn, toolbox, turn.key)), replay_scope():
            # The framework's own work is none of the turn's, which so comes to rest at once.
            result = await turn.resting(
                agent.run(
                    prompt,
                    message_history=earlier if history is None else history(earlier),
                    deps=made,
                    capabilities=capabilities,
                )
            )
        return _plain(result.output)

    run.__doc__ = getattr(agent, "description", None) or ""
    app.agent(name, **{"kind": "pydantic-ai", **options})(run)
    return run


def _plain(output: Any) -> Any:
    """The agent's output as JSON; a text was said already."""
    if isinstance(output, DeferredToolRequests):
        raise RuntimeError("a call was left open at the end of a run; Sayso answers each inside it")
    return None if isinstance(output, str) else JSON_CODEC.dump(Any, output)


def _bound(name: str, agent: AbstractAgent[Any, Any]) -> Any:
    """The capability of a mount, bound once."""
    try:
        return SaysoDurability(name=agent.name or name).for_agent(agent)
    except UserError as error:
        raise DeclarationError(f"agent {name!r} cannot be served: {error}") from error


def _check_names(
    name: str,
    agent: AbstractAgent[Any, Any],
    approve: Mapping[str, approval.Policy],
    parts: Mapping[str, AbstractAgent[Any, Any]],
) -> None:
    check_policies(name, approve)
    for tool, inner in parts.items():
        if not isinstance(inner, Agent) or SaysoDurability.from_agent(inner) is None:
            inner_name = getattr(inner, "name", None) or tool
            raise DeclarationError(
                f"the agent that tool {tool!r} runs cannot ask inside a turn: make it with "
                f'Agent(…, capabilities=[SaysoDurability(name="{inner_name}")])'
            )
    listed = [declared(each) for each in (agent, *parts.values())]
    names: set[str] = set().union(*(tools for tools, _ in listed))
    more = not all(whole for _, whole in listed)
    check_names(name, [*approve, *parts], names, more=more, log=_log)
