"""`DEFAULT`: the value of what is left out, where None means something itself."""

from enum import Enum
from typing import Final


class Default(Enum):
    """The kind of `DEFAULT`."""

    DEFAULT = "default"


DEFAULT: Final = Default.DEFAULT
"""The value of the next wider place: the agent for a tool or question, the server for an agent."""
