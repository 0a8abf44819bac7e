"""The agent whose code is running in an execution, be it an inner one: what it has and may do.

Its options, its tools, those that only this run knows among them, and the breakpoints that hold.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sayso.agents.policy import Policy
from sayso.agents.tools import Tool
from sayso.agents.toolset import Tools, ToolsByName
from sayso.base.breakpoints import ALL, Breakpoints
from sayso.base.options import AgentOptions
from sayso.base.records import Entry
from sayso.turns.replay.opened import OpenTurn
from sayso.turns.replay.stream import OwnedStream, enclosing

_NAMED = ("step", "call", "phase", "delegate", "client_tool")
"""Kinds of what a breakpoint may stand at."""


@dataclass(frozen=True, slots=True, eq=False)
class RunningAgent:
    """Asked anew each time: other code may be running by then."""

    _turn: OpenTurn
    _stream: OwnedStream
    _tools: Tools
    _run_tools: dict[str, dict[str, Tool[..., Any]]] = field(default_factory=dict)
    """Tools that only this execution knows, by agent and name."""

    @property
    def options(self) -> AgentOptions:
        """Its options."""
        owner = self._stream.owner
        return self._turn.options if owner is None else owner.options

    @property
    def name(self) -> str:
        """The name that it is registered by."""
        owner = self._stream.owner
        return self._turn.record.agent if owner is None else owner.agent

    @property
    def tools(self) -> ToolsByName:
        """The tools that its code may call: its own first, then all agents'."""
        name = self.name
        tools, of_run = self._tools.of(name), self._run_tools.get(name)
        return {**tools, **of_run} if of_run else tools

    def is_run_tool(self, tool: Tool[..., Any]) -> bool:
        """True for a tool that the app does not have: only this run knows it."""
        return self._tools.of(self.name).get(tool.name) is not tool

    def policy_of(self, tool: Tool[..., Any]) -> Policy:
        """The policy that decides about calls of a tool: its own, else the app's."""
        return self._tools.policy(tool)

    @property
    def four_eyes(self) -> bool:
        """True if nobody approves what it asked for, where approvers do not say otherwise."""
        return self._tools.four_eyes

    def add_tools(self, tools: Sequence[Tool[..., Any]]) -> None:
        """Let it call these as well, in this execution alone."""
        of_app, of_run = self._tools.of(self.name), self._run_tools.setdefault(self.name, {})
        for tool in tools:
            if of_app.get(tool.name) is tool:
                of_run.pop(tool.name, None)
            else:
                self._tools.policy(tool)  # which says what does not fit
                of_run[tool.name] = tool

    def owner_of(self, tool: Tool[..., Any]) -> str | None:
        """The agent whose own this tool is, None for one of all agents."""
        return self.name if self.is_run_tool(tool) else self._tools.owner(tool, self.name)

    @property
    def interrupts_enabled(self) -> bool:
        """True if its code may ask a person: it may, and all that it is inside."""
        owner = self._stream.owner
        inner = owner is None or all(
            invocation.options.interrupts_enabled for invocation in enclosing(owner)
        )
        return inner and self._turn.options.interrupts_enabled

    @property
    def breakpoints(self) -> Sequence[Breakpoints]:
        """Those that hold for its code; a request's not inside an agent that takes none."""
        inner = (invocation.options.run_breakpoints for invocation in enclosing(self._stream.owner))
        return self._turn.breakpoints[:1] if "refuse" in inner else self._turn.breakpoints

    def unmet_breakpoints(self, entries: Iterable[Entry]) -> tuple[list[str], list[str]]:
        """Names at which the turn was to wait and that it never came to, and those that it met."""
        named = {
            name for points in self._turn.breakpoints for name in (*points.before, *points.after)
        } - {ALL}
        if not named:
            return [], []
        met = {entry.name for entry in entries if entry.kind in _NAMED}
        return sorted(named - met), sorted(met)
