"""The run of an agent inside a turn: what models and tools find, wherever the SDK calls them."""

from dataclasses import dataclass

from sayso import Turn
from sayso.frameworks.current import Current
from sayso.frameworks.openai_agents.toolbox import FunctionTools


@dataclass(frozen=True)
class RunnerEntry:
    """One entry of an agent function, or of an inner agent that is a part of the turn."""

    turn: Turn
    functions: FunctionTools


_current: Current[RunnerEntry] = Current("sayso_openai_agents_running")
running = _current.get
"""The run that this code belongs to; None outside of a turn, and inside a recorded effect."""
entered = _current.entered
"""Makes it the run of the code inside; None for code that is recorded as one."""
