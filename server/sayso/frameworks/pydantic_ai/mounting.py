"""Serving an agent of Pydantic AI: `mount(app, "support", agent)`."""

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, ToolDefinition
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.durable_exec import JSON_CODEC
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.toolsets import (
    AbstractToolset,
    CombinedToolset,
    ExternalToolset,
    FunctionToolset,
    PrefixedToolset,
    RenamedToolset,
    WrapperToolset,
)
from pydantic_core import SchemaValidator

from sayso import DeclarationError, Sayso, Turn, approval
from sayso.frameworks.policies import Policies, check_names, check_policies, check_run_here
from sayso.frameworks.pydantic_ai.durability import SaysoDurability
from sayso.frameworks.pydantic_ai.history import prompt_and_history
from sayso.frameworks.pydantic_ai.replaying import replay_scope
from sayso.frameworks.pydantic_ai.requests import SUPPORTED
from sayso.frameworks.pydantic_ai.running import Running, entered
from sayso.frameworks.pydantic_ai.tools import Toolbox


@dataclass(frozen=True)
class Declared:
    """A tool as the agent's code declares it; `validator` is the framework's for its arguments."""

    definition: ToolDefinition
    validator: SchemaValidator | None = None

    def named(self, name: str) -> "Declared":
        """The same under another name."""
        return replace(self, definition=replace(self.definition, name=name))


def declared(agent: Any) -> tuple[dict[str, Declared], bool]:
    """An agent's tools by name; and True if these are all, False if only a run knows the others."""
    tools: dict[str, Declared] = {}
    whole = _collect(agent.toolsets, tools)
    return tools, whole


def _collect(toolsets: Iterable[AbstractToolset[Any]], tools: dict[str, Declared]) -> bool:
    whole = True
    for toolset in toolsets:
        if isinstance(toolset, FunctionToolset):
            for name, tool in toolset.tools.items():
                validator = tool.function_schema.validator
                own = validator if isinstance(validator, SchemaValidator) else None
                tools[name] = Declared(tool.tool_def, own)
        elif isinstance(toolset, ExternalToolset):
            for definition in toolset.tool_defs:
                tools[definition.name] = Declared(replace(definition, kind="external"))
        elif isinstance(toolset, CombinedToolset):
            whole = _collect(toolset.toolsets, tools) and whole
        elif isinstance(toolset, WrapperToolset):
            inner: dict[str, Declared] = {}
            whole = _collect([toolset.wrapped], inner) and whole
            tools.update({name: tool.named(name) for name, tool in _renamed(toolset, inner)})
        else:
            whole = False
    return whole


def _renamed(
    toolset: WrapperToolset[Any], inner: dict[str, Declared]
) -> list[tuple[str, Declared]]:
    """The tools of a wrapped toolset under the names that the wrapper gives them."""
    if isinstance(toolset, PrefixedToolset):
        return [(f"{toolset.prefix}_{name}", tool) for name, tool in inner.items()]
    if isinstance(toolset, RenamedToolset):
        new = {old: name for name, old in toolset.name_map.items()}
        return [(new.get(name, name), tool) for name, tool in inner.items()]
    return list(inner.items())


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
            the capability, a model that cannot stream, or an agent that cannot be made durable.
    """
    approve, parts = dict(approve or {}), dict(parts or {})
    for each in (agent, *parts.values()):
        _check_streams(each)
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
    silent = SUPPORTED and agent.event_stream_handler is None

    async def run(turn: Turn) -> Any:
        prompt, earlier = prompt_and_history(turn.input.messages)
        made = None if deps is None else deps(turn)
        if inspect.isawaitable(made):
            made = await made
        with entered(Running(turn, toolbox, turn.key, silent=silent)), replay_scope():
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


def _check_streams(agent: AbstractAgent[Any, Any]) -> None:
    """Raise `DeclarationError` for an agent whose model has no way to stream what it says."""
    model = getattr(agent, "model", None)
    while isinstance(model, WrapperModel):
        model = model.wrapped
    if isinstance(model, FunctionModel) and model.stream_function is None:
        raise DeclarationError(
            f"the FunctionModel of agent {agent.name!r} cannot stream, and requests inside a turn "
            "do: give it a stream_function="
        )
    if isinstance(model, Model) and type(model).request_stream is Model.request_stream:
        raise DeclarationError(
            f"{type(model).__name__}, the model of agent {agent.name!r}, cannot stream, and "
            "requests inside a turn do: give it a request_stream"
        )


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
