"""The run of an agent inside a turn: what models and tools find, wherever the SDK calls them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from sayso import Turn
from sayso.frameworks.openai_agents.toolbox import FunctionTools


@dataclass(frozen=True)
class RunnerEntry:
    """One entry of an agent function, or of an inner agent that is a part of the turn."""

    turn: Turn
    functions: FunctionTools


_running: ContextVar[RunnerEntry | None] = ContextVar("sayso_openai_agents_running", default=None)


def running() -> RunnerEntry | None:
    """The run that this code belongs to; None outside of a turn, and inside a recorded effect."""
    return _running.get()


@contextmanager
def entered(run: RunnerEntry | None) -> Iterator[None]:
    """Make it the run of the code inside; with None that code is recorded for itself nowhere."""
    token = _running.set(run)
    try:
        yield
    finally:
        _running.reset(token)
