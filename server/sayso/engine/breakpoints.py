"""Breakpoints that a request sets: read before there is a stream, refused where none are taken."""

from collections.abc import Iterable

from sayso import jsonvalue
from sayso.agents.registry import Agent
from sayso.breakpoints import Breakpoints, asked_for
from sayso.errors import Code, Problem
from sayso.gate import ladder as gate
from sayso.protocol.runinput import RunInput

__all__ = ["breakpoints_of", "permitted"]


def breakpoints_of(request: RunInput) -> Breakpoints | None:
    """The breakpoints that a request asks for; `Problem` for what is none."""
    try:
        wanted = asked_for(request.forwarded_props)
        if wanted is not None:
            _check_members(request.forwarded_props["sayso"]["breakpoints"])
        return wanted
    except ValueError as error:
        pointer, message = error.args
        raise Problem(
            Code.INVALID_INPUT,
            "The breakpoints of this request cannot be read.",
            errors=({"pointer": pointer, "message": message},),
        ) from None


def _check_members(said: Iterable[str]) -> None:
    """Refuse what would be lost: a misspelt one would be a run that does not stop."""
    for name in said:
        if name not in ("before", "after"):
            raise ValueError(
                f"/forwardedProps/sayso/breakpoints{jsonvalue.pointer((name,))}",
                'is no member of breakpoints: they are {"before", "after"}',
            )


def permitted(decision: gate.Decision, agent: Agent) -> gate.Decision:
    """Refuse a run that would not stop where its client expects it to."""
    if agent.options.run_breakpoints == "allow":
        return decision
    return gate.Refuse(
        Code.BREAKPOINTS_REFUSED,
        f"Agent {agent.name!r} takes no breakpoints from requests: send this again without "
        "forwardedProps.sayso.breakpoints.",
    )
