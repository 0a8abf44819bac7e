"""`mount`: a compiled graph of LangGraph as an agent of an app."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, get_args, get_origin

from langgraph.channels import BinaryOperatorAggregate
from langgraph.pregel import Pregel

from sayso import DeclarationError, Sayso, Tool, Turn, approval
from sayso.frameworks.langgraph.before import MESSAGES
from sayso.frameworks.langgraph.pump import GraphTurn, Served
from sayso.frameworks.langgraph.wrap import wrap_in_place, wrapped
from sayso.frameworks.madetools import made_tool

_log = logging.getLogger("sayso.langgraph")


def mount(
    app: Sayso,
    name: str,
    graph: Any,
    *,
    approve: Mapping[str, approval.Policy] | None = None,
    repeatable: Iterable[str] = (),
    parts: Mapping[str, Any] | None = None,
    subagents: Iterable[str] = (),
    input: Callable[[Turn], Any] | None = None,
    context: Any = None,
    config: Mapping[str, Any] | None = None,
    steps: bool = True,
    on_cancel: Any = "raise",
    version: str = "1",
    description: str | None = None,
    **options: Any,
) -> None:
    """Serve a compiled graph, or an `@entrypoint`, as an agent of an app; it is not changed.

    - `approve`: policies of tools, by name; for the others the app's `default_approval` counts.
    - `repeatable`: nodes that may run again after a crash, as those that only ask a model do.
    - `parts`: the graph that a tool runs, by the tool's name: what it does is recorded for itself,
      and it may ask. `approve` and `repeatable` name its tools and nodes too.
    - `subagents`: nodes that are graphs, whose work clients see as that of an inner agent.
    - `input`: makes the graph's input of a turn; by default the thread's messages.
    - `context`, `config`: passed on to the graph.
    - `steps`: clients see the nodes of the graph as steps.
    - `on_cancel`: the value that `interrupt()` returns where nobody answers; by default it raises.
    - `version`, `description`, `options`: those of `Sayso.agent`.

    Raises:
        DeclarationError: it is no such graph, or a name means nothing in it.
    """
    if not isinstance(graph, Pregel):
        raise DeclarationError(f"mount takes a compiled graph, as of .compile(), not {graph!r}")
    policies, free = dict(approve or {}), frozenset(repeatable)
    inner, agents = dict(parts or {}), frozenset(subagents)
    made = wrapped(graph, free, seen=lambda node: steps or node in agents)
    _check_names(name, "parts", inner, made.tools)
    _check_names(name, "subagents", agents, graph.nodes)
    for tool, part in inner.items():
        _check_part(name, tool, part)
        wrap_in_place(part, free, made)
    _check_names(name, "approve", policies, made.tools)
    _check_names(name, "repeatable", free, made.nodes)
    if graph.checkpointer not in (None, True, False):
        _log.warning("graph %r is stored by this server: its own checkpointer is not used", name)
    tools = {
        each: _tool(tool, policies.get(each), part=each in inner)
        for each, tool in made.tools.items()
    }
    app.add_tools(*tools.values(), agent=name)
    served = Served(
        graph=made.graph,
        tools=tools,
        tool=lambda tool: _tool(tool, policies.get(tool.name)),
        nodes=tuple(made.nodes),
        shared=_shared(graph),
        plain=tuple(each for each in _shared(graph) if _is_plain(graph.channels[each])),
        reduced=_reduced(graph),
        config=dict(config or {}),
        stops=made.stops,
        steps=steps,
        subagents=agents,
        parts={tool: _name_of(part, tool) for tool, part in inner.items()},
        context=context,
        first=input,
        on_cancel=on_cancel,
        serde=getattr(graph.checkpointer, "serde", None),
    )

    async def run(turn: Turn) -> Any:
        return await GraphTurn(turn, served).go()

    serve = app.agent(name, version=version, description=description, kind="langgraph", **options)
    serve(run)


def _check_names(agent: str, what: str, names: Iterable[str], present: Iterable[str]) -> None:
    """Raise `DeclarationError` for a name that means nothing here."""
    there = set(present)
    wrong = sorted(set(names) - there)
    if wrong:
        raise DeclarationError(
            f"{what}= of agent {agent!r} names {', '.join(wrong)}, and the graph has "
            f"{', '.join(sorted(there)) or 'none'}"
        )


def _check_part(agent: str, tool: str, part: Any) -> None:
    """Raise `DeclarationError` for a part that cannot be recorded."""
    if not isinstance(part, Pregel):
        raise DeclarationError(
            f"parts= of agent {agent!r}: tool {tool!r} runs a compiled graph, as of .compile(), "
            f"not {part!r}"
        )
    if part.checkpointer not in (None, True, False):
        raise DeclarationError(
            f"parts= of agent {agent!r}: the graph of tool {tool!r} has a checkpointer of its own, "
            "where nothing of it is recorded here: compile it without one"
        )


def _name_of(part: Any, tool: str) -> str:
    """The name of an inner agent: its graph's own, or that of its tool."""
    own = part.get_name()
    return tool if own in ("LangGraph", "") else str(own)


def _tool(tool: Any, policy: approval.Policy | None, *, part: bool = False) -> Tool[..., Any]:
    """A tool of LangChain's as one that a person can be asked about; by default as the app says."""
    schema = tool.tool_call_schema
    parameters = schema if isinstance(schema, dict) else schema.model_json_schema()
    return made_tool(tool.name, parameters, policy, description=tool.description, part=part)


def _shared(graph: Any) -> tuple[str, ...]:
    """The channels that clients see as the shared state: the graph's output but its messages."""
    names = graph.output_channels
    channels = (names,) if isinstance(names, str) else tuple(names)
    return tuple(each for each in channels if each != MESSAGES and not each.startswith("__"))


def _reduced(graph: Any) -> frozenset[str]:
    """The channels whose values are added to, and not replaced."""
    return frozenset(
        each
        for each, channel in graph.channels.items()
        if isinstance(channel, BinaryOperatorAggregate)
    )


def _is_plain(channel: Any) -> bool:
    """True for a channel whose values are JSON as they are."""
    kind = getattr(channel, "typ", None)
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return (get_origin(kind) or kind) in (bool, dict, float, int, list, str)
