"""Which tool calls ask a person first. Pure: decides on the validated, effective arguments.

A rule that raises asks: when in doubt a person decides, never silence (design 3).
"""

import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sayso.errors import DeclarationError

__all__ = ["Policy", "always", "check_parameters", "never", "when"]

_log = logging.getLogger("sayso.agents.approval")


@dataclass(frozen=True, slots=True)
class Policy:
    """Decides for one tool call whether a person must approve it; `rule` names the decision."""

    rule: str
    predicate: Callable[..., object] | None = None
    names: tuple[str, ...] | None = None
    asks: bool = False

    def must_ask(self, arguments: Mapping[str, Any]) -> bool:
        """Whether this call needs an approval; a predicate that raises asks."""
        if self.predicate is None:
            return self.asks
        chosen = arguments if self.names is None else {name: arguments[name] for name in self.names}
        try:
            return bool(self.predicate(**chosen))
        except BaseException:  # sys.exit() in a rule is no approval either
            _log.exception("rule %s raised; asking a person instead", self.rule)
            return True


never = Policy("never")
"""Runs without asking."""

always = Policy("always", asks=True)
"""Asks for every call."""


def when(predicate: Callable[..., object]) -> Policy:
    """Asks when the predicate is true; it takes any of the tool's arguments by name.

    Raises `DeclarationError` for a predicate whose parameters cannot be passed by name.
    """
    parameters = inspect.signature(predicate).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL or p.kind is p.POSITIONAL_ONLY for p in parameters):
        raise DeclarationError(
            f"approval rule {predicate!r} takes arguments by position; "
            "name the tool's arguments that it needs"
        )
    named: tuple[str, ...] | None = tuple(p.name for p in parameters if p.kind is not p.VAR_KEYWORD)
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        named = None
    name = getattr(predicate, "__name__", "rule")
    return Policy(f"when:{name}", predicate=predicate, names=named)


def check_parameters(policy: Policy, tool: str, parameters: frozenset[str]) -> None:
    """Refuse a rule that asks for arguments which the tool does not have."""
    missing = [name for name in policy.names or () if name not in parameters]
    if missing:
        raise DeclarationError(
            f"approval rule {policy.rule!r} of tool {tool!r} names {', '.join(missing)}, "
            f"but the tool takes {', '.join(sorted(parameters)) or 'no arguments'}"
        )
