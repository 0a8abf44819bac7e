"""Where the events of an agent come from, and how a run of it can fail."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Any

Json = dict[str, Any]


class NothingBegan(Exception):
    """A request that certainly began nothing: refused, or never connected. The text says why."""

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


class RunBroke(Exception):
    """A run whose end will not be seen. The text says why, to everybody."""


class Source(ABC):
    """An agent that streams events of AG-UI."""

    @abstractmethod
    def run(self, request: Json, headers: Any = None) -> AsyncIterator[Json]:
        """The events of one run, as plain JSON.

        Raises `NothingBegan` where no run has begun; anything else leaves that open.
        """

    def stop(self, request: Json, headers: Any = None) -> None:  # noqa: B027 - most need none
        """Tell the agent, without waiting for it, that nobody wants the rest of a run."""
