"""A copy of a graph whose nodes tell the running turn what they are about to do.

A node says that it begins, so that a death inside it can be seen. A `ToolNode` hands its calls to
the turn. Nothing of the graph that was given is changed.
"""

import asyncio
import contextvars
import dataclasses
import functools
import inspect
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

from sayso.frameworks.langgraph.log import RESUME
from sayso.frameworks.langgraph.saver import unrecorded

Execute: TypeAlias = Callable[[Mapping[str, Any], Sequence[Any], str | None], Awaitable[Any]]
"""Runs a tool with these arguments, as its node would, and with answers for its interrupts; what
graphs it runs are below that namespace, if there is one."""

CALL = "__pregel_call"
"""The member of a configuration by which a task calls another one."""
SCRATCHPAD = "__pregel_scratchpad"
"""The member that holds the answers to a task's interrupts."""
CHECKPOINT = "checkpoint_id"
"""The member that names the checkpoint of a graph."""
NAMESPACE = "checkpoint_ns"
"""The member that holds the namespace of a graph inside another one."""
SEND = "__pregel_send"
"""The member by which a task writes."""

FREE = ("langchain.", "langgraph.prebuilt.")
"""Packages whose nodes ask models and change the graph's own state, and do nothing else."""


class Recorder(Protocol):
    """A running turn, as far as a graph speaks to it."""

    def enter(self, task: str, node: str) -> None:
        """Tell that a node begins that clients see as a step, or as an inner agent."""

    async def begin(self, task: str, node: str, passed: Any, within: str | None = None) -> bool:
        """Note that a node begins; False where a person has said that it must not.

        `within` is the task that has called it.
        """

    async def call(self, task: str, request: Any, execute: Execute) -> Any:
        """Have the turn make a call of a tool; returns what the node takes for its result."""

    def nears(self, task: str) -> None:
        """Tell that a node of tools begins, and is about to make its calls."""

    def over(self, task: str) -> None:
        """Tell that a node of tools has ended, whether it has made calls or not."""

    def hush(self, task: str) -> None:
        """Say nothing that models say below this task."""


recorder: ContextVar[Recorder | None] = ContextVar("recorder", default=None)
"""The turn that runs the graph."""


def recording() -> Recorder | None:
    """The turn that runs the graph; None outside of one, and inside a tool that is one effect."""
    return None if unrecorded.get() else recorder.get()


@dataclass(slots=True)
class Wrapped:
    """A copy of a graph, the tools that its nodes may call, and whether it has breakpoints."""

    graph: Any
    tools: dict[str, BaseTool] = field(default_factory=dict)
    nodes: list[str] = field(default_factory=list)
    stops: bool = False


def wrapped(graph: Any, repeatable: frozenset[str], seen: Callable[[str], bool]) -> Wrapped:
    """Wrap a compiled graph, with all graphs that are nodes of it; clients see nodes as `seen`."""
    made = Wrapped(graph)
    made.graph = graph.copy({"nodes": _nodes(graph, repeatable, made, seen)})
    return made


def wrap_in_place(graph: Any, repeatable: frozenset[str], made: Wrapped) -> None:
    """Wrap a graph that a tool runs, once: its tool holds the very graph.

    Outside of a turn it behaves as before.
    """
    graph.nodes = _nodes(graph, repeatable, made, lambda name: False)


def _nodes(
    graph: Any, repeatable: frozenset[str], made: Wrapped, seen: Callable[[str], bool]
) -> dict[str, Any]:
    nodes = {}
    made.stops |= bool(graph.interrupt_before_nodes or graph.interrupt_after_nodes)
    for name, node in graph.nodes.items():
        made.nodes.append(name)
        bound = node.bound
        if name == "__start__" or isinstance(bound, Telling):
            nodes[name] = node
            if isinstance(bound, Telling) and isinstance(bound.inner, ToolNode):
                made.tools.update(bound.inner.tools_by_name)
            continue
        marks = False
        if isinstance(bound, Pregel):
            inner = _nodes(bound, repeatable, made, lambda name: False)
            bound = bound.copy({"nodes": inner})
        elif isinstance(bound, ToolNode):
            made.tools.update(bound.tools_by_name)
            bound = _tool_node(bound)
        else:
            marks = not (name in repeatable or node.retry_policy or _is_free(bound))
        nodes[name] = node.copy({"bound": Telling(name, bound, marks=marks, seen=seen(name))})
    return nodes


def _is_free(bound: Any) -> bool:
    """True for what `create_agent` and its own middleware bring: models and the graph's state."""
    functions = [getattr(bound, name, None) for name in ("func", "afunc")]
    return any(functions) and all(_module(each).startswith(FREE) for each in functions if each)


def _module(function: Any) -> str:
    """The module of a function, or of the class whose method it is."""
    owner = getattr(function, "__self__", None)
    return str(getattr(function if owner is None else type(owner), "__module__", None) or "")


class Telling(Runnable[Any, Any]):
    """A node that tells of itself before it runs."""

    def __init__(
        self, name: str, inner: Runnable[Any, Any], *, marks: bool, seen: bool = False
    ) -> None:
        """`marks`: it may not run twice; `seen`: clients hear of it."""
        self.name = name
        self.inner = inner
        self.marks, self.seen = marks, seen

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run it outside of a turn; what is served runs on an event loop."""
        if recording() is not None:
            raise RuntimeError("a graph that Sayso serves is run with ainvoke or astream")
        return self.inner.invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Say that the node begins, and run it unless it must not."""
        running = recording()
        if running is not None and isinstance(self.inner, ToolNode):
            return await self._calling_tools(running, input, config, **kwargs)
        return await self._run(running, input, config, **kwargs)

    async def _calling_tools(
        self, running: Recorder, input: Any, config: RunnableConfig | None, **kwargs: Any
    ) -> Any:
        """Run a node of tools: it says when its calls are near, so that they ask together."""
        task = task_of(config)
        running.nears(task)
        try:
            return await self._run(running, input, config, **kwargs)
        finally:
            running.over(task)

    async def _run(
        self, running: Recorder | None, input: Any, config: RunnableConfig | None, **kwargs: Any
    ) -> Any:
        if running is not None:
            task = task_of(config)
            if self.seen:
                running.enter(task, str(self.name))
            if self.marks:
                if not await running.begin(task, str(self.name), input):
                    return None
                config = _calling(config, task)
                var_child_runnable_config.set(config)  # where its tasks look; this task is its own
        return await self.inner.ainvoke(input, _newest(config), **kwargs)


def _newest(config: Any) -> Any:
    """A configuration whose graphs go on from their newest checkpoint.

    LangGraph 1.0 runs tasks of an inner graph again that are done, where that is said by None.
    """
    own = config["configurable"]
    if own.get(CHECKPOINT, "") is not None:
        return config
    rest = {name: value for name, value in own.items() if name != CHECKPOINT}
    return {**config, "configurable": rest}


def _calling(config: Any, within: str) -> Any:
    """A configuration whose `@task`s say that they begin, but for those that may be retried."""
    own = config["configurable"]
    call = own.get(CALL)
    if call is None:
        return config

    def telling(func: Any, *args: Any, **options: Any) -> Any:
        free = options.get("retry_policy") or options.get("retry")
        return call(func if free else _told_task(func, within), *args, **options)

    return {**config, "configurable": {**own, CALL: telling}}


def _told_task(func: Any, within: str) -> Any:
    """A task that says that it begins before it does."""

    @functools.wraps(func)
    async def telling(*args: Any, **kwargs: Any) -> Any:
        running, task = recording(), task_of(get_config())
        passed = kwargs if not args else list(args)
        if running is not None and not await running.begin(task, func.__name__, passed, within):
            return None
        if inspect.iscoroutinefunction(func):
            return await func(*args, **kwargs)
        return await asyncio.to_thread(func, *args, **kwargs)

    return telling


def task_of(config: Any) -> str:
    """The task that runs with this configuration: its namespace, the same when it runs again."""
    return str(config["metadata"]["langgraph_checkpoint_ns"])


def _tool_node(node: ToolNode) -> ToolNode:
    """A copy of a node of tools whose calls are made by the turn, inside its own wrappers."""
    outer, outer_sync = node._awrap_tool_call, node._wrap_tool_call

    async def innermost(request: Any, execute: Callable[[Any], Awaitable[Any]]) -> Any:
        async def run(
            arguments: Mapping[str, Any], answers: Sequence[Any], below: str | None
        ) -> Any:
            call = {**request.tool_call, "args": dict(arguments)}
            tool = _Answered(request.tool, answers, below)
            return await execute(request.override(tool_call=call, tool=tool))

        running = recording()
        if running is None or request.tool is None:  # the node says that there is no such tool
            return await execute(request)
        task = task_of(request.runtime.config)
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
        wrap_tool_call=outer_sync,
        awrap_tool_call=composed,
    )


class _Answered:
    """A tool whose `interrupt()`s return these answers, and that asks what is not among them."""

    def __init__(self, inner: BaseTool, answers: Sequence[Any], below: str | None) -> None:
        """`below` is the namespace of graphs that it runs."""
        self._inner, self._answers, self._below = inner, answers, below

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """Run the tool."""
        own = config["configurable"]
        pad = dataclasses.replace(
            own[SCRATCHPAD],
            interrupt_counter=itertools.count().__next__,
            get_null_resume=lambda consume=False: None,
            resume=list(self._answers),
            subgraph_counter=itertools.count().__next__,
        )
        place = {} if self._below is None else {NAMESPACE: self._below}

        def send(writes: Sequence[tuple[str, Any]]) -> None:
            own[SEND]([write for write in writes if write[0] != RESUME])

        asking = {**config, "configurable": {**own, SCRATCHPAD: pad, SEND: send, **place}}
        return await self._inner.ainvoke(input, _newest(asking), **kwargs)


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
