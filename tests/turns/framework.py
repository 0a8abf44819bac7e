"""A framework in small: a plain task that runs nodes side by side, and a pump that records them.

    run = Framework(turn, world, [["a"], ["b", "c"]], calls)
    values = await run.pump()

It has no records of its own but the notes of the turn, as an adapter of a real one would. The pump
alone notes; a node's call is a task of its own, found by its key.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from sayso import Turn
from tests.turns.driver import ticks

__all__ = ["Framework"]

Calls = Callable[[str], Awaitable[Any]]


class Framework:
    """One execution of it; `calls` is what a node does, by its name."""

    def __init__(self, turn: Turn, nodes: Sequence[Sequence[str]], calls: Calls) -> None:
        self.turn, self.nodes, self.calls = turn, nodes, calls
        self.queue: asyncio.Queue[tuple[str, str, Any, asyncio.Future[Any]]] = asyncio.Queue()
        self.values = {note["node"]: note["value"] for note in turn.notes("log")}
        self.began = 0

    async def graph(self) -> None:
        """The plain task: step by step, all nodes of one side by side."""
        for step in self.nodes:
            await asyncio.gather(*map(self.node, step))
        await self.ask("end", "", None)

    async def node(self, name: str) -> None:
        """A node that has not run, or has not been noted."""
        if name not in self.values:
            await ticks(len(name))
            value = await self.ask("call", name, None)
            await self.ask("put", name, value)

    async def ask(self, kind: str, name: str, value: Any) -> Any:
        """Ask the pump; returns what it says."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.queue.put_nowait((kind, name, value, answer))
        return await answer

    async def pump(self) -> dict[str, Any]:
        """Record what the graph tells, in the agent's own task; returns the values of all nodes."""
        tasks = [asyncio.create_task(self.graph())]
        try:
            while True:
                kind, name, value, answer = await self.turn.resting(self.queue.get())
                if kind == "end":
                    return self.values
                if kind == "call":
                    tasks.append(asyncio.create_task(self.call(name, answer)))
                    continue
                await self.turn.note("log", {"node": name, "value": value}, durable=True)
                self.values[name] = value
                answer.set_result(None)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def call(self, name: str, answer: "asyncio.Future[Any]") -> None:
        """Make a node's call, under the key of the node."""
        async with self.turn.at(f"calls:{name}"):
            value = await self.calls(name)
        answer.set_result(value)
