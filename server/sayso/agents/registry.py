"""Agents as they are registered: by name, in one or more versions. Pure data."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from inspect import iscoroutinefunction, signature
from typing import Any, Protocol

from sayso.errors import DeclarationError
from sayso.options import Options

__all__ = ["Agent", "Agents", "StateShape", "check_agent"]

_NO_SEGMENT = re.compile(r"[\s/\\?#%\x00-\x1f\x7f]")
"""What no URL can hold as it is in one of its segments, or what is read as something else there."""


class StateShape(Protocol):
    """What an agent declares of its state."""

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON Schema."""

    def problems(self, value: Any) -> Sequence[tuple[str, str]]:
        """What is wrong with a state, as JSON Pointers and sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One version of an agent, with its options: the server's, or its own instead."""

    name: str
    version: str
    function: Callable[[Any], Awaitable[Any]]
    description: str = ""
    state: StateShape | None = None
    kind: str = "sayso"
    options: Options = field(default_factory=Options)


class Agents:
    """All agents of an app. The version registered last is the one that new turns get."""

    def __init__(self) -> None:
        self._versions: dict[str, dict[str, Agent]] = {}

    def add(self, agent: Agent) -> None:
        """Register a version; `DeclarationError` if it is there already."""
        versions = self._versions.setdefault(agent.name, {})
        if agent.version in versions:
            raise DeclarationError(
                f"agent {agent.name!r} version {agent.version!r} is registered twice; give the new "
                "one another version="
            )
        versions[agent.version] = agent

    def newest(self, name: str) -> Agent | None:
        """The version that new turns of this agent get."""
        versions = self._versions.get(name)
        return next(reversed(versions.values())) if versions else None

    def version(self, name: str, version: str) -> Agent | None:
        """The version that an open turn began with, if it is still registered."""
        return self._versions.get(name, {}).get(version)

    def of(self, function: Callable[[Any], Awaitable[Any]]) -> Agent | None:
        """The newest registration of that very function, if it was registered."""
        found = [agent for agent in self.all() if agent.function is function]
        return found[-1] if found else None

    def all(self) -> list[Agent]:
        """Every version of every agent, in the order of registration."""
        return [agent for versions in self._versions.values() for agent in versions.values()]

    def names(self) -> list[str]:
        """All names, in the order of registration."""
        return list(self._versions)


def check_agent(name: str, function: Callable[..., Any]) -> None:
    """Raise `DeclarationError` for a name or a function that cannot be served."""
    if _NO_SEGMENT.search(name) or name.strip(".") == "":
        raise DeclarationError(
            f"agent name {name!r} stands in a path, as in /agents/support: leave out spaces and "
            "the characters / \\ ? # %"
        )
    if not iscoroutinefunction(function):
        raise DeclarationError(f"agent {name!r} must be an `async def` function")
    try:
        signature(function).bind(None)
    except TypeError:
        raise DeclarationError(
            f"agent {name!r} must take one argument, the turn: `async def {name}(turn: Turn)`"
        ) from None
