"""The run of an agent inside a turn: what its parts find, wherever the framework calls them."""

from dataclasses import dataclass, field
from typing import Any

from sayso import Turn
from sayso.frameworks.current import Current
from sayso.frameworks.pydantic_ai.tools import Toolbox


@dataclass
class Running:
    """One entry of an agent function, or of an inner agent that is a part of the turn."""

    turn: Turn
    toolbox: Toolbox
    key: str
    """The same in every execution of the turn."""
    runs: int = 0
    """Runs of agents that have begun in it."""
    silent: bool = False
    """True if who began the first run in it wants no events of it."""
    kinds: dict[tuple[int, str], str] = field(default_factory=dict)
    """The kind that each tool was declared with, by capability and name."""

    def next_run(self) -> str:
        """The id of the run that begins now, the same in every execution."""
        self.runs += 1
        return f"{self.key}-{self.runs}"

    def hears_nothing(self, run_id: str | None) -> bool:
        """True of the first run in it, if who began that wants no events."""
        return self.silent and run_id == f"{self.key}-1"

    def offers(self, name: str) -> bool:
        """True if the page offers a tool of that name."""
        return any(tool["name"] == name for tool in self.turn.input.tools)


_current: Current[Running] = Current("sayso_pydantic_ai_running")
running = _current.get
"""The run that this code belongs to; None outside of a turn."""
entered = _current.entered
"""Makes it the run of the code inside."""

_effect: Current[Any] = Current("sayso_pydantic_ai_effect")
effect_of = _effect.get
"""The capability whose recorded effect this code is in; None outside of one."""
in_effect = _effect.entered
"""Marks the code inside as one recorded effect: nothing in it is recorded for itself."""
