"""Agents as they are registered: by name, in one or more versions. Pure data."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sayso.errors import DeclarationError
from sayso.options import Options

__all__ = ["Agent", "Agents", "StateShape"]


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
        return list(versions.values())[-1] if versions else None

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
