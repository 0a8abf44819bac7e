"""Who is asked about the tools of a mounted agent: the `approve=` of a mount."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Final

from sayso import DeclarationError, approval

_WILD: Final = frozenset("*?[")


@dataclass(frozen=True)
class Policies:
    """Policies by the name of a tool, or by a pattern such as `delete_*`."""

    approve: Mapping[str, approval.Policy]

    def policy(self, name: str, *, asks: bool = False) -> approval.Policy | None:
        """The policy of a tool; `asks` says that the framework's own mark wants an approval.

        A name goes before patterns, patterns before the mark. None: the app's default counts.
        """
        exact = self.approve.get(name)
        if exact is not None:
            return exact
        for pattern, policy in self.approve.items():
            if _is_pattern(pattern) and fnmatchcase(name, pattern):
                return policy
        return approval.always if asks else None


def check_policies(agent: str, approve: Mapping[str, approval.Policy]) -> None:
    """Raise `DeclarationError` for what is no policy."""
    for name, policy in approve.items():
        if not isinstance(policy, approval.Policy):
            raise DeclarationError(
                f"approve of agent {agent!r} has {policy!r} for {name!r}: it takes policies, such "
                "as approval.always"
            )


def check_names(
    agent: str, names: Collection[str], present: Collection[str], *, more: bool, log: logging.Logger
) -> None:
    """Raise `DeclarationError` for a name that no tool has; patterns are not looked up.

    `more` says that only a run knows all tools: then a name that is not known is logged.
    """
    unknown = [name for name in names if name not in present and not _is_pattern(name)]
    if not unknown:
        return
    if more:
        log.info(
            "agent %r lists its tools when it runs: nobody has looked whether it has %s",
            agent,
            ", ".join(map(repr, unknown)),
        )
        return
    close = get_close_matches(unknown[0], present, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(sorted(present))}"
    raise DeclarationError(f"agent {agent!r} has no tool {unknown[0]!r}: {hint}")


def check_run_here(agent: str, names: Collection[str], elsewhere: Collection[str]) -> None:
    """Raise `DeclarationError` for a policy by the name of a tool whose calls are not made here.

    A pattern may mean such tools beside others: for them it has no effect.
    """
    for name in names:
        if name in elsewhere:
            raise DeclarationError(
                f"approve of agent {agent!r} names {name!r}, which has no function: nothing runs "
                "here, so nobody is asked before; leave it out, or give the tool a function"
            )


def _is_pattern(name: str) -> bool:
    return not _WILD.isdisjoint(name)
