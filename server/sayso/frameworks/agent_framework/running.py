"""The run of an agent inside a turn: what the middleware finds, wherever the framework calls it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from sayso import Turn
from sayso.frameworks.agent_framework.tools import Functions


@dataclass(frozen=True)
class AgentRun:
    """One entry of an agent function, or of an inner agent that is a part of the turn."""

    turn: Turn
    functions: Functions

    def offers(self, name: str) -> bool:
        """True if the page offers a tool of that name."""
        return any(tool["name"] == name for tool in self.turn.input.tools)


_running: ContextVar[AgentRun | None] = ContextVar("sayso_agent_framework_running", default=None)


def running() -> AgentRun | None:
    """The run that this code belongs to; None outside of a turn, and inside a recorded effect."""
    return _running.get()


@contextmanager
def entered(run: AgentRun | None) -> Iterator[None]:
    """Make it the run of the code inside; None for code that is recorded as one."""
    token = _running.set(run)
    try:
        yield
    finally:
        _running.reset(token)
