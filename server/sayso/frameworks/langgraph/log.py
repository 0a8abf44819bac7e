"""The log of a turn, read: what was begun and is not known to be done, and what was answered.

Pure. The same events come here when they happen and when they are read again.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

Event: TypeAlias = Mapping[str, Any]

RESUME: Final = "__resume__"
"""The channel of answers that a task has taken."""
NULL_TASK: Final = "00000000-0000-0000-0000-000000000000"
"""The task that LangGraph writes a command's own update for."""


class Log:
    """The sum of the events so far."""

    def __init__(self) -> None:
        self.began = False
        """True once the graph has stored its input."""
        self.begun: dict[str, Event] = {}
        """Nodes that have begun and left nothing since, by their tasks."""
        self.skipped: set[str] = set()
        """Tasks that a person has said must not run again."""
        self.batches: dict[str, Event] = {}
        """The batch that each call belongs to, by the key of the call."""
        self.replies: defaultdict[str, dict[int, Any]] = defaultdict(dict)
        """Answers to what a tool has asked, by the key of its call and the attempt they began."""
        self.done: Event | None = None
        """The end of the turn, once it is over."""
        self._answers: dict[str, Any] = {}
        self._taken: set[str] = set()
        self._raised: dict[str, Sequence[str]] = {}
        self.asked = 0
        """How often people have answered the graph."""
        self.update: dict[str, Any] = {}
        """Changes that a person has made to the state, until the graph has taken them."""

    def note(self, event: Event) -> None:
        """Take one more event."""
        match event["k"]:
            case "put":
                self.began = True
                self.update = {}
            case "writes":
                self._written(event)
            case "begin":
                self.begun[event["task"]] = event
            case "calls":
                self.batches |= {call["key"]: event for call in event["calls"]}
            case "reply":
                self.replies[event["key"]][event["attempt"]] = event["value"]
            case "done":
                self.done = event

    def _written(self, event: Event) -> None:
        task = event["task"]
        if task == NULL_TASK:
            self.update = {}
        for begun in [name for name in self.begun if name.endswith(f":{task}")]:
            del self.begun[begun]
        if any(channel == RESUME for channel, *_ in event["writes"]):
            self._taken.update(self._raised.pop(task, ()))
        if event["raised"]:
            self._raised[task] = event["raised"]

    def unsure(self) -> list[Event]:
        """Nodes that began, and of which nobody knows whether they ended.

        One that has called tasks, as an `@entrypoint` does, is sure where one of these is not.
        """
        around = {event["within"] for event in self.begun.values()}
        return [
            event
            for task, event in self.begun.items()
            if task not in self.skipped and task not in around
        ]

    def decided(self, task: str, *, again: bool) -> None:
        """Take what a person has said about a node that is unsure."""
        if again:
            around = self.begun.pop(task)["within"]
            self.begun.pop(around, None)
        else:
            self.skipped.add(task)

    def answered(self, answers: Mapping[str, Any] | None, update: Mapping[str, Any]) -> None:
        """Take the answers to all that the graph has asked, and changes of its state."""
        self._answers, self._taken = dict(answers or {}), set()
        self.asked += 1
        self.update = dict(update)

    def answers(self) -> dict[str, Any]:
        """The answers that the graph has not taken yet, by the id of the interrupt."""
        return {each: v for each, v in self._answers.items() if each not in self._taken}
