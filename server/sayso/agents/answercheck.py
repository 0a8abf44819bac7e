"""Answers to approvals, held against the tool and the policy of the call. Pure."""

from collections.abc import Callable, Sequence
from typing import Any

from sayso.agents.policy import Policy, ProposedCall
from sayso.agents.remembered import errors
from sayso.agents.tools import Tool
from sayso.base import jsonvalue

Problems = Sequence[tuple[str, str]]
"""JSON Pointers into an answer, each with a sentence."""


def problems_of(
    tool: Tool[..., Any],
    policy: Policy,
    payload: dict[str, Any],
    arguments: dict[str, Any],
    propose: Callable[[bytes], ProposedCall] | None,
    *,
    approved: bool,
) -> Problems:
    """List what a tool and its policy refuse of an answer about a call with these arguments.

    Schema first, then policy (TB-07). `propose` makes the call that edited arguments are; None
    where nobody knows whose call it is.
    """
    if "editedArgs" in payload:
        edited = payload["editedArgs"]
        wrong = [
            (f"/editedArgs{pointer}", message) for pointer, message in tool.argument_errors(edited)
        ]
        if wrong:
            return wrong
        written = tool.arguments(edited)
        arguments = jsonvalue.decode(written)
        # Arguments beside a denial do not run: they are a suggestion.
        if approved and propose is not None:
            decision = policy.decide(propose(written))
            if decision.verdict == "deny":
                text = f"are not allowed by rule {decision.rule!r}: write others, or deny"
                return [("/editedArgs", text)]
    shown = tool.shown(arguments)
    hidden = {name for name, value in arguments.items() if shown[name] != value}
    return errors(payload.get("remember"), arguments, approved=approved, hidden=hidden)
