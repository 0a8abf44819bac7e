"""The tools of an app: those that all its agents may call, and those of one agent alone. Pure data.

An agent's own tool goes before one of all agents that has the same name, and two agents may each
have one: with another policy, or another function. A tool without a policy of its own has the
app's, wherever it comes from.
"""

from collections import ChainMap
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from sayso.agents.approval import never
from sayso.agents.policy import Policy
from sayso.agents.tools import Tool
from sayso.base.errors import DeclarationError

ToolsByName = Mapping[str, Tool[..., Any]]


class Tools:
    """All tools of an app."""

    def __init__(self, default_approval: Policy = never, *, four_eyes: bool = False) -> None:
        """`default_approval` is the policy of tools that have none of their own.

        `four_eyes`: nobody approves what it asked for, where approvers do not say otherwise.
        """
        self._default = default_approval
        self.four_eyes = four_eyes
        self._policies: WeakKeyDictionary[Tool[..., Any], Policy] = WeakKeyDictionary()
        self._shared: dict[str, Tool[..., Any]] = {}
        self._own: dict[str, dict[str, Tool[..., Any]]] = {}

    def add(self, tool: Tool[..., Any], agent: str | None = None) -> bool:
        """Add a tool: for one agent alone, or for all. False if that very one is there.

        Raises:
            DeclarationError: another tool has the same name there, or the app's policy does not
                fit a tool that has none.
        """
        self.policy(tool)
        tools = self._shared if agent is None else self._own.setdefault(agent, {})
        is_new = tool.name not in tools
        if tools.setdefault(tool.name, tool) is not tool:
            where = "" if agent is None else f" for agent {agent!r}"
            raise DeclarationError(
                f"tool {tool.name!r} is declared twice{where}; give one of them another name="
            )
        return is_new

    def policy(self, tool: Tool[..., Any]) -> Policy:
        """The policy that decides about calls of a tool: its own, else the app's."""
        if tool.approval is not None and not self.four_eyes:
            return tool.approval
        policy = self._policies.get(tool)
        if policy is None:
            own = self._default_for(tool) if tool.approval is None else tool.approval
            policy = self._policies[tool] = tool.fitted(own, four_eyes=self.four_eyes)
        return policy

    def _default_for(self, tool: Tool[..., Any]) -> Policy:
        """The app's policy; for a tool that another app has declared, beside that of the other."""
        before = tool.declared_under
        if before is None or before in (never, self._default):
            return self._default
        return Policy.all_of(before, self._default)

    def is_editable(self, tool: Tool[..., Any]) -> bool:
        """True if who is asked about its calls may change the arguments."""
        return tool.editable and self.policy(tool).kind != "never"

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
