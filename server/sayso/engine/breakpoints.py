"""Breakpoints that a request sets: read before there is a stream, refused where none are taken."""

from sayso.agents.registry import Agent
from sayso.breakpoints import Breakpoints, asked_for
from sayso.errors import Code, Problem
from sayso.gate import ladder as gate
from sayso.protocol.runinput import RunInput

__all__ = ["breakpoints_of", "permitted"]


def breakpoints_of(request: RunInput) -> Breakpoints | None:
    """The breakpoints that a request asks for; `Problem` for what is none."""
    try:
        return asked_for(request.forwarded_props)
    except ValueError as error:
        pointer, message = error.args
        raise Problem(
            Code.INVALID_INPUT,
            "The breakpoints of this request cannot be read.",
            errors=({"pointer": pointer, "message": message},),
        ) from None


def permitted(decision: gate.Decision, agent: Agent) -> gate.Decision:
    """Refuse a run that would not stop where its client expects it to."""
    if agent.options.run_breakpoints == "allow":
        return decision
    return gate.Refuse(
        Code.BREAKPOINTS_REFUSED,
        f"Agent {agent.name!r} takes no breakpoints from requests: send this again without "
        "forwardedProps.sayso.breakpoints.",
    )
