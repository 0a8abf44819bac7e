"""The run of an agent inside a turn: what its parts find, wherever the framework calls them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from sayso import Turn
from sayso.frameworks.pydantic_ai.tools import Toolbox


@dataclass
class Running:
    """One entry of an agent function, or of an inner agent that is a part of the turn."""

    turn: Turn
    toolbox: Toolbox
    key: str
    """The same in every execution of the turn."""
    runs: int = 0
    """Runs of agents that have begun in it."""
    kinds: dict[tuple[int, str], str] = field(default_factory=dict)
    """The kind that each tool was declared with, by capability and name."""

    def next_run(self) -> str:
        """The id of the run that begins now, the same in every execution."""
        self.runs += 1
        return f"{self.key}-{self.runs}"

    def offers(self, name: str) -> bool:
        """True if the page offers a tool of that name."""
        return any(tool["name"] == name for tool in self.turn.input.tools)


_running: ContextVar[Running | None] = ContextVar("sayso_pydantic_ai_running", default=None)
_effect: ContextVar[Any] = ContextVar("sayso_pydantic_ai_effect", default=None)


def running() -> Running | None:
    """The run that this code belongs to; None outside of a turn."""
    return _running.get()


def effect_of() -> Any:
    """The capability whose recorded effect this code is in; None outside of one."""
    return _effect.get()


@contextmanager
def entered(run: Running) -> Iterator[None]:
    """Make it the run of the code inside."""
    token = _running.set(run)
    try:
        yield
    finally:
        _running.reset(token)


@contextmanager
def in_effect(capability: Any) -> Iterator[None]:
    """Mark the code inside as one recorded effect: nothing in it is recorded for itself."""
    token = _effect.set(capability)
    try:
        yield
    finally:
        _effect.reset(token)
