"""The run of an agent inside a turn: what the middleware finds, wherever the framework calls it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from strands import Agent

from sayso import Tool, Turn
from sayso.frameworks.madetools import MadeTools
from sayso.frameworks.policies import Policies
from sayso.frameworks.strands.contents import from_person


def runs_agent(tool: Any) -> bool:
    """True for an agent as a tool, as `as_tool()` makes one."""
    return isinstance(getattr(tool, "agent", None), Agent)


@dataclass
class AgentTools:
    """The tools of a mounted agent as the turn knows them, each made once."""

    policies: Policies
    _made: MadeTools = field(default_factory=MadeTools)

    def tool(self, tool: Any) -> Tool[..., Any]:
        """The tool of a tool of Strands."""
        name, schema, part = tool.tool_name, tool.tool_spec["inputSchema"]["json"], runs_agent(tool)

        def make() -> Tool[..., Any]:
            policy = self.policies.policy(name)
            return Tool.of(
                name,
                description=tool.tool_spec.get("description") or "",
                parameters=schema,
                call=_in_part if part else _nothing,
                part=part,
                from_person=from_person,
                approval=policy,
                editable=policy is None or policy.kind != "never",
            )

        return self._made.get(make, name, schema, part)


@dataclass(frozen=True)
class StrandsRun:
    """One entry of an agent function, or of an inner agent that is a part of the turn."""

    turn: Turn
    tools: AgentTools


_running: ContextVar[StrandsRun | None] = ContextVar("sayso_strands_running", default=None)


def running() -> StrandsRun | None:
    """The run that this code belongs to; None outside of a turn, and inside a recorded effect."""
    return _running.get()


@contextmanager
def entered(run: StrandsRun | None) -> Iterator[None]:
    """Make it the run of the code inside; None for code that is recorded as one."""
    token = _running.set(run)
    try:
        yield
    finally:
        _running.reset(token)


async def _nothing(arguments: Mapping[str, Any]) -> Any:
    """Stands where each call brings its own function, which holds what its run knows."""
    raise RuntimeError("a tool of Strands is run by the agent that has it")


async def _in_part(turn: Turn, arguments: Mapping[str, Any]) -> Any:
    """Stands for a part as `_nothing` does for an effect."""
    return await _nothing(arguments)
