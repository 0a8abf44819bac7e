"""Nodes of the whole graph as steps that clients see, from the first task to the last one's end."""

from collections.abc import Iterator
from typing import Any

from sayso import Turn


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
