"""What a tool and its policy say about an answer to its call, before anything is committed (TB-07).

Schema first, then policy: what a rule denies is refused at `/editedArgs`, and the question stays
open. That another rule asks about the edited arguments is no reason to refuse: it asks afterwards.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sayso import jsonvalue
from sayso.agents.remembering import misfits
from sayso.agents.tools import Tool
from sayso.agents.turninput import turn_input
from sayso.gate.answers import Judge
from sayso.records import Interrupt, ThreadView

__all__ = ["approving_roles", "tool_judge"]

_MEANT = ("editedArgs", "remember")
"""What of an answer is the tool's business."""


def approving_roles(tools: Mapping[str, Tool]) -> frozenset[str]:
    """The roles that some tool asks for an approval."""
    return frozenset(role for tool in tools.values() for role in tool.approval.roles)


def tool_judge(tools: Mapping[str, Tool], view: ThreadView | None) -> Judge:
    """A judge over the tools of an app, for the gate: of answers for the thread in `view`."""

    def judge(interrupt: Interrupt, payload: Any) -> Sequence[tuple[str, str]]:
        if interrupt.reason not in ("tool_call", "input_required") or not isinstance(payload, dict):
            return ()
        if interrupt.reason == "tool_call" and payload.keys().isdisjoint(_MEANT):
            return ()  # the schema has said all that there is to say
        told = jsonvalue.decode(interrupt.metadata or b"{}").get("sayso", {})
        tool = tools.get(told.get("tool", ""))
        if tool is None:
            return ()
        if interrupt.reason == "input_required":
            whole = {**told.get("arguments", {}), **payload}
            return tool.problems(whole) if "missing" in told else ()
        approved = payload.get("approved") is True
        arguments = told.get("arguments", {})
        if "editedArgs" in payload:
            wrong = [
                (f"/editedArgs{pointer}", message)
                for pointer, message in tool.problems(payload["editedArgs"])
            ]
            if wrong:
                return wrong
            arguments = jsonvalue.decode(tool.arguments(payload["editedArgs"]))
            # Arguments beside a denial do not run: they are a suggestion.
            if approved and (forbidden := _forbidden(tool, view, payload["editedArgs"])):
                return forbidden
        return misfits(payload.get("remember"), arguments, approved=approved)

    return judge


def _forbidden(
    tool: Tool, view: ThreadView | None, edited: dict[str, Any]
) -> Sequence[tuple[str, str]]:
    if view is None or view.turn is None:
        return ()
    begun = turn_input(view.thread.id, jsonvalue.decode(view.turn.request), ())
    call = tool.proposed(tool.arguments(edited), view.turn.principal, view.thread.id, begun.text)
    decision = tool.approval.decide(call)
    if decision.verdict != "deny":
        return ()
    return [("/editedArgs", f"are not allowed by rule {decision.rule!r}: write others, or deny")]
