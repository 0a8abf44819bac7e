"""Who opens the toolsets of an agent that have something to open, such as a server."""

from typing import Any, get_args

from pydantic_ai.durable_exec import _toolset

_KEPT = "enter-in-durable-unit"
"""Opened by the first piece of work that needs it, for the whole run; not in all versions."""


def _mcp() -> Any:
    """Each entry of the turn opens a server once at most; older versions open it for each call."""
    lifecycles = get_args(getattr(_toolset, "Lifecycle", None))
    return _KEPT if _KEPT in lifecycles else "enter-never"


LIFECYCLES: dict[Any, Any] = {"function": "enter-always", "mcp": _mcp(), "dynamic": "enter-never"}
