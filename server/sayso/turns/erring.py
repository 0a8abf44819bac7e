"""Errors of tools that a person decides about: retry, skip, stop (`on_error="ask"`)."""

from typing import Any

from sayso import jsonvalue
from sayso.schemas.forms import failed_schema
from sayso.turns.execution import Execution, Place
from sayso.turns.questions import put
from sayso.turns.unsure import display

__all__ = ["FAILED", "ask_failed"]

FAILED = "failed"
"""Why such an entry asks."""


def ask_failed(
    execution: Execution,
    place: Place,
    name: str,
    data: dict[str, Any],
    arguments: dict[str, Any],
    reason: str,
) -> None:
    """Ask what to do about an error. The caller raises `Pause`."""
    put(
        execution,
        place,
        kind="call",
        name=name,
        data={**data, "why": FAILED, "error": reason},
        reason="sayso:failed",
        message=f"{display(name, arguments)} failed: {reason}. What now?",
        schema=jsonvalue.encode(failed_schema()),
        metadata={"sayso": {"kind": FAILED, "name": name, "arguments": arguments, "error": reason}},
        tool_call_id=data["id"],
    )
