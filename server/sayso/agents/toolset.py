"""The tools of an app: those that all its agents may call, and those of one agent alone. Pure data.

An agent's own tool goes before one of all agents that has the same name, and two agents may each
have one: with another policy, or another function.
"""

from collections import ChainMap
from collections.abc import Mapping
from typing import Any

from sayso.agents.tools import Tool
from sayso.base.errors import DeclarationError

ToolsByName = Mapping[str, Tool[..., Any]]


class Tools:
    """All tools of an app."""

    def __init__(self) -> None:
        self._shared: dict[str, Tool[..., Any]] = {}
        self._own: dict[str, dict[str, Tool[..., Any]]] = {}

    def add(self, tool: Tool[..., Any], agent: str | None = None) -> bool:
        """Add a tool: for one agent alone, or for all. False if that very one is there.

        Raises:
            DeclarationError: another tool has the same name there.
        """
        tools = self._shared if agent is None else self._own.setdefault(agent, {})
        is_new = tool.name not in tools
        if tools.setdefault(tool.name, tool) is not tool:
            where = "" if agent is None else f" for agent {agent!r}"
            raise DeclarationError(
                f"tool {tool.name!r} is declared twice{where}; give one of them another name="
            )
        return is_new

    def remove(self, tool: Tool[..., Any], agent: str | None = None) -> None:
        """Take a tool away again."""
        tools = self._shared if agent is None else self._own[agent]
        del tools[tool.name]

    @property
    def shared(self) -> ToolsByName:
        """Those that all agents may call, in the order of declaration."""
        return self._shared

    def of(self, agent: str | None) -> ToolsByName:
        """Those that an agent may call: all agents' first, then its own."""
        own = None if agent is None else self._own.get(agent)
        return self._shared if own is None else ChainMap(own, self._shared)

    def all(self) -> list[tuple[str | None, Tool[..., Any]]]:
        """Each tool, with the agent that it belongs to, None for one of all agents."""
        shared: list[tuple[str | None, Tool[..., Any]]] = [
            (None, tool) for tool in self._shared.values()
        ]
        return shared + [(name, t) for name, tools in self._own.items() for t in tools.values()]

    def named(self, name: str) -> list[Tool[..., Any]]:
        """Each tool of a name, whosever it is."""
        return [tool for _, tool in self.all() if tool.name == name]

    def owner(self, tool: Tool[..., Any], agent: str) -> str | None:
        """The agent, if the tool is its own; None for one of all agents."""
        return agent if self._own.get(agent, {}).get(tool.name) is tool else None
