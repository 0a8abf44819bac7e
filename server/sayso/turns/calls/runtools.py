"""Tools that only a run knows: an answer about a call of one is held against it all the same.

The app does not have them, so the gate cannot look there. The type of the question does it, as with
any question of an author: another process finds it by a look (`engine/validation`).
"""

from typing import Any

from sayso.agents.answercheck import problems_of
from sayso.agents.tools import Tool
from sayso.schemas.errors import SchemaViolation
from sayso.schemas.responses import ResponseType
from sayso.turns.replay.execution import Execution


def answers_about(
    execution: Execution, tool: Tool[..., Any], arguments: dict[str, Any]
) -> ResponseType | None:
    """The type of an answer about a call with these arguments; None for a tool of the app."""
    if not execution.running.is_run_tool(tool):
        return None
    policy, principal = execution.running.policy_of(tool), execution.principal
    thread_id, request = execution.input.thread_id, execution.input.text

    def problems(payload: Any) -> tuple[SchemaViolation, ...]:
        refused = problems_of(
            tool,
            policy,
            payload,
            arguments,
            lambda written: tool.proposed(written, principal, thread_id, request),
            approved=payload.get("approved") is True,
        )
        return tuple(SchemaViolation(pointer, message) for pointer, message in refused)

    return ResponseType(None, lambda payload: payload, problems, stricter=True)
