"""Graphs inside a graph whose work clients see as that of an inner agent.

What such a graph says and calls is told to the pump, which knows its namespace alone. A room is
the part of the turn that it belongs to, by the beginning of that namespace.
"""

import asyncio
import contextvars
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar

from sayso import Turn

T = TypeVar("T")
Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
"""Begins work that ends with the execution."""


class Rooms:
    """The rooms of one execution."""

    def __init__(self, turn: Turn, spawn: Spawn) -> None:
        self._turn, self._spawn = turn, spawn
        self._contexts: dict[str, contextvars.Context] = {}
        self._open: dict[str, tuple[asyncio.Event, asyncio.Task[None]]] = {}

    def around(self, task: str) -> contextvars.Context | None:
        """The room of a task, the innermost of several; a copy, as one runs in one task alone."""
        prefixes = [each for each in self._contexts if task == each or task.startswith(f"{each}|")]
        return self._contexts[max(prefixes, key=len)].copy() if prefixes else None

    async def within(self, task: str, work: Callable[[], Awaitable[T]]) -> T:
        """Do something of the turn in the room of a task; outside of all it is the turn's own."""

        async def done() -> T:
            return await work()

        context = self.around(task)
        if context is None:
            return await work()
        return await asyncio.get_running_loop().create_task(done(), context=context)

    @asynccontextmanager
    async def room(self, prefix: str, agent: str) -> AsyncIterator[None]:
        """Let what happens below a namespace be the work of an agent; it ends with the block."""
        async with self._turn.at(f"agent:{prefix}", agent=agent) as part:
            self._contexts[prefix] = contextvars.copy_context()
            try:
                yield
            finally:
                del self._contexts[prefix]
            await part.end()

    async def enter(self, task: str, agent: str) -> None:
        """Open the room of a node that is a graph, until `leave`."""
        if task in self._open:
            return
        ready, ends = asyncio.Event(), asyncio.Event()

        async def hold() -> None:
            async with self.room(task, agent):
                ready.set()
                await self._turn.resting(ends.wait())

        self._open[task] = ends, self._spawn(hold())
        await ready.wait()

    async def leave(self, task_id: str) -> None:
        """Close the room of a node that is done."""
        for task in [each for each in self._open if each.endswith(f":{task_id}")]:
            ends, holds = self._open.pop(task)
            ends.set()
            await holds
