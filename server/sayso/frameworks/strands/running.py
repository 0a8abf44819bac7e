"""The run of an agent inside a turn: what the middleware finds, wherever the framework calls it."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from strands import Agent

from sayso import Tool, Turn
from sayso.frameworks.current import Current
from sayso.frameworks.madetools import MadeTools, made_tool
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
        make = partial(
            made_tool,
            name,
            schema,
            self.policies.policy(name),
            description=tool.tool_spec.get("description"),
            part=part,
            from_person=from_person,
        )
        return self._made.get(make, name, schema, part)


@dataclass(frozen=True)
class StrandsRun:
    """One entry of an agent function, or of an inner agent that is a part of the turn."""

    turn: Turn
    tools: AgentTools


_current: Current[StrandsRun] = Current("sayso_strands_running")
running = _current.get
"""The run that this code belongs to; None outside of a turn, and inside a recorded effect."""
entered = _current.entered
"""Makes it the run of the code inside; None for code that is recorded as one."""
