"""The run of an agent inside a turn: what the middleware finds, wherever the framework calls it."""

from dataclasses import dataclass

from sayso import Turn
from sayso.frameworks.agent_framework.tools import Functions
from sayso.frameworks.current import Current


@dataclass(frozen=True)
class AgentRun:
    """One entry of an agent function, or of an inner agent that is a part of the turn."""

    turn: Turn
    functions: Functions

    def offers(self, name: str) -> bool:
        """True if the page offers a tool of that name."""
        return any(tool["name"] == name for tool in self.turn.input.tools)


_current: Current[AgentRun] = Current("sayso_agent_framework_running")
running = _current.get
"""The run that this code belongs to; None outside of a turn, and inside a recorded effect."""
entered = _current.entered
"""Makes it the run of the code inside; None for code that is recorded as one."""
