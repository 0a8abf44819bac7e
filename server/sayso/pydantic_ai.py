"""Agents of Pydantic AI, as they are: `from sayso.pydantic_ai import mount`."""

from sayso.frameworks.pydantic_ai.durability import SaysoDurability as SaysoDurability
from sayso.frameworks.pydantic_ai.mounting import mount as mount
