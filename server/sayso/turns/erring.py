"""Errors of tools that a person decides about: retry, skip, stop (`on_error="ask"`)."""

from typing import Any

from sayso.schemas.forms import failed_schema
from sayso.turns.breakpoints import Named
from sayso.turns.execution import Execution, Place
from sayso.turns.questions import put

__all__ = ["FAILED", "ask_failed"]

FAILED = "failed"
"""Why such an entry asks."""


def ask_failed(
    execution: Execution, place: Place, data: dict[str, Any], named: Named, reason: str
) -> None:
    """Ask what to do about an error. The caller raises `Pause`."""
    shown = named.shown.removeprefix("tool ")
    put(
        execution,
        place,
        kind="call",
        name=named.name,
        data={**data, "why": FAILED, "error": reason},
        reason="sayso:failed",
        message=f"{shown} failed: {reason}. What now?",
        schema=failed_schema(),
        metadata={
            "sayso": {
                "kind": FAILED,
                "name": named.name,
                "arguments": named.arguments,
                "error": reason,
            }
        },
        tool_call_id=data["id"],
    )
