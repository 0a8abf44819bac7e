"""A copy of a graph whose nodes tell the running turn what they are about to do.

A node says that it begins, so that a death inside it can be seen. A `ToolNode` hands its calls to
the turn. Nothing of the graph that was given is changed.
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

Execute: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Any]]
"""Runs a tool with these arguments, as its node would."""

FREE = ("langchain.", "langgraph.prebuilt.")
"""Packages whose nodes ask models and change the graph's own state, and do nothing else."""


class Recorder(Protocol):
    """A running turn, as far as a graph speaks to it."""

    async def begin(self, task: str, node: str, passed: Any) -> bool:
        """Note that a node begins; False where a person has said that it must not."""

    async def call(self, task: str, request: Any, execute: Execute) -> Any:
        """Have the turn make a call of a tool; returns what the node takes for its result."""

    def hush(self, task: str) -> None:
        """Say nothing that models say below this task."""


recorder: ContextVar[Recorder] = ContextVar("recorder")
"""The turn that runs the graph."""


@dataclass(slots=True)
class Wrapped:
    """A copy of a graph, the tools that its nodes may call, and whether it has breakpoints."""

    graph: Any
    tools: dict[str, BaseTool] = field(default_factory=dict)
    nodes: list[str] = field(default_factory=list)
    stops: bool = False


def wrapped(graph: Any, repeatable: frozenset[str]) -> Wrapped:
    """Wrap a compiled graph, with all graphs that are nodes of it."""
    made = Wrapped(graph)
    made.graph = _copy(graph, repeatable, made)
    return made


def _copy(graph: Any, repeatable: frozenset[str], made: Wrapped) -> Any:
    nodes = {}
    made.stops |= bool(graph.interrupt_before_nodes or graph.interrupt_after_nodes)
    for name, node in graph.nodes.items():
        made.nodes.append(name)
        bound = node.bound
        if name == "__start__":
            nodes[name] = node
        elif isinstance(bound, Pregel):
            nodes[name] = node.copy({"bound": _copy(bound, repeatable, made)})
        elif isinstance(bound, ToolNode):
            made.tools.update(bound.tools_by_name)
            nodes[name] = node.copy({"bound": _tool_node(bound)})
        elif name in repeatable or node.retry_policy or _is_free(bound):
            nodes[name] = node
        else:
            nodes[name] = node.copy({"bound": Marked(name, bound)})
    return graph.copy({"nodes": nodes})


def _is_free(bound: Any) -> bool:
    """True for what `create_agent` and its own middleware bring: models and the graph's state."""
    functions = [getattr(bound, name, None) for name in ("func", "afunc")]
    return any(functions) and all(_module(each).startswith(FREE) for each in functions if each)


def _module(function: Any) -> str:
    """The module of a function, or of the class whose method it is."""
    owner = getattr(function, "__self__", None)
    return str(getattr(function if owner is None else type(owner), "__module__", None) or "")


class Marked(Runnable[Any, Any]):
    """A node that says that it begins before it does."""

    def __init__(self, name: str, inner: Runnable[Any, Any]) -> None:
        self.name = name
        self.inner = inner

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Refuse: a graph that is served runs on an event loop."""
        raise RuntimeError("a graph that Sayso serves is run with ainvoke or astream")

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Say that the node begins, and run it unless it must not."""
        if await recorder.get().begin(task_of(config), str(self.name), input):
            return await self.inner.ainvoke(input, config, **kwargs)
        return None


def task_of(config: Any) -> str:
    """The task that runs with this configuration: its namespace, the same when it runs again."""
    return str(config["metadata"]["langgraph_checkpoint_ns"])


def _tool_node(node: ToolNode) -> ToolNode:
    """A copy of a node of tools whose calls are made by the turn, inside its own wrappers."""
    outer, outer_sync = node._awrap_tool_call, node._wrap_tool_call

    async def innermost(request: Any, execute: Callable[[Any], Awaitable[Any]]) -> Any:
        async def run(arguments: Mapping[str, Any]) -> Any:
            call = {**request.tool_call, "args": dict(arguments)}
            return await execute(request.override(tool_call=call))

        if request.tool is None:  # the node itself says that there is no such tool
            return await execute(request)
        running, task = recorder.get(), task_of(request.runtime.config)
        running.hush(task)
        return await running.call(task, request, run)

    async def composed(request: Any, execute: Callable[[Any], Awaitable[Any]]) -> Any:
        if outer is not None:
            return await outer(request, lambda each: innermost(each, execute))
        if outer_sync is not None:
            return await _in_sync(outer_sync, request, lambda each: innermost(each, execute))
        return await innermost(request, execute)

    return ToolNode(
        list(node.tools_by_name.values()),
        name=node.name or "tools",
        tags=node.tags,
        handle_tool_errors=node._handle_tool_errors,
        messages_key=node._messages_key,
        awrap_tool_call=composed,
    )


async def _in_sync(wrapper: Any, request: Any, execute: Callable[[Any], Awaitable[Any]]) -> Any:
    """Run a wrapper that is a plain function in a thread; the call itself runs on the loop."""
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()

    async def within(each: Any) -> Any:
        return await loop.create_task(_awaited(execute(each)), context=context)

    def on_the_loop(each: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(within(each), loop).result()

    return await asyncio.to_thread(wrapper, request, on_the_loop)


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work
