"""The words of a graph's models, and the steps of its nodes, each under a place of its own.

A message is known by its task and its number there, which are the same when the task runs again;
LangChain's own ids are not. A step lasts from a node's first task to the last one's end.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from langchain_core.messages import AIMessageChunk, BaseMessage

from sayso import Turn
from sayso.frameworks.langgraph import wire
from sayso.frameworks.langgraph.rooms import Rooms

START: Final = "__start__"
"""The node that brings the input into the graph."""


@dataclass(slots=True)
class _Open:
    """A message or a thought that is being said."""

    kind: Literal["text", "reasoning"]
    stream: Any


class Speech:
    """The words of the graph's models, message by message."""

    def __init__(self, turn: Turn, rooms: Rooms) -> None:
        self._turn, self._rooms = turn, rooms
        self.hushed: set[str] = set()
        self._open: dict[tuple[str, str], _Open] = {}
        self._said: Counter[str] = Counter()
        self._known: set[str] = set()

    def stored(self, messages: Any) -> None:
        """Note messages that the graph has stored: they are not said again."""
        for message in messages if isinstance(messages, list) else ():
            if message_id := getattr(message, "id", None):
                self._known.add(message_id)

    async def hear(self, message: BaseMessage, about: Mapping[str, Any]) -> None:
        """Say a piece of a message."""
        task = about["langgraph_checkpoint_ns"]
        if about["langgraph_node"] == START or self._is_hushed(task):
            return
        message_id = message.id or ""
        if not isinstance(message, AIMessageChunk):
            await self._whole(task, message)
            return
        self._known.add(message_id)
        for kind, text, sealed in wire.spoken(message):
            await self._say(task, message_id, kind, text, sealed)
        if getattr(message, "chunk_position", None) == "last":
            await self._close(task, message_id)

    def _is_hushed(self, task: str) -> bool:
        """True below a tool, but for an agent that it runs: that one speaks for itself."""
        below = any(task == each or task.startswith(f"{each}|") for each in self.hushed)
        return below and self._rooms.around(task) is None

    async def whole(self, namespace: str, task_id: str, message: BaseMessage) -> None:
        """Say a message that was written whole, unless it was said."""
        await self._whole(f"{namespace}|:{task_id}", message)

    async def _whole(self, task: str, message: BaseMessage) -> None:
        if message.id in self._known:
            return
        if message.id:
            self._known.add(message.id)
        key = message.id or f"whole#{self._said[task]}"
        for kind, text, sealed in wire.spoken(message):
            await self._say(task, key, kind, text, sealed)
        await self._close(task, key)

    async def _say(self, task: str, key: str, kind: str, text: str, sealed: str | None) -> None:
        open_one = self._open.get((task, key))
        if open_one is not None and open_one.kind != kind:
            await self._close(task, key)
            open_one = None
        if open_one is None:
            self._said[task] += 1
            stream = await self._rooms.within(task, lambda: self._opened(task, kind))
            open_one = self._open[task, key] = _Open(
                "text" if kind == "text" else "reasoning", stream
            )
        if sealed:
            open_one.stream.encrypted = sealed
        if text:
            await open_one.stream.write(text)

    async def _opened(self, task: str, kind: str) -> Any:
        async with self._turn.at(f"text:{task}#{self._said[task]}"):
            stream: Any = self._turn.message() if kind == "text" else self._turn.reasoning()
            await stream.__aenter__()
        return stream

    async def _close(self, task: str, key: str) -> None:
        open_one = self._open.pop((task, key), None)
        if open_one is not None:
            await open_one.stream.__aexit__(None, None, None)

    async def end(self, task_id: str) -> None:
        """End what a task is still saying."""
        for task, key in [each for each in self._open if each[0].endswith(f":{task_id}")]:
            await self._close(task, key)

    async def close(self) -> None:
        """End all that is still being said."""
        for task, key in list(self._open):
            await self._close(task, key)


class Steps:
    """The steps of one execution; they may overlap."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._phases: dict[str, tuple[str, Any]] = {}
        """The key and the phase of each node that is on."""
        self._tasks: dict[str, set[str]] = {}
        """Its tasks that are on."""

    async def enter(self, task: str, node: str, again: int) -> None:
        """Begin the step of a node, unless it is on; `again` tells its entries apart."""
        task_id = task.rpartition(":")[2]
        self._tasks.setdefault(node, set()).add(task_id)
        if node not in self._phases:
            key = f"step:{task}#{again}"
            phase = self._turn.phase(node)
            async with self._turn.at(key):
                await phase.begin()
            self._phases[node] = key, phase

    async def leave(self, task_id: str) -> None:
        """End the step of a task's node, if no other task of it is on."""
        for node in list(self._over(task_id)):
            key, phase = self._phases.pop(node)
            async with self._turn.at(key):
                await phase.end()

    def _over(self, task_id: str) -> Iterator[str]:
        for node, tasks in self._tasks.items():
            if task_id in tasks:
                tasks.remove(task_id)
                if not tasks:
                    yield node
