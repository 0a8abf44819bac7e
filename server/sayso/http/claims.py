"""The person or service of a token, by its checked claims. Pure."""

from collections.abc import Mapping
from typing import Any, Final

_YEAR_10000_S: Final = 253_402_300_800


def scope_in(claims: Mapping[str, Any], tenant: str | None) -> str | None:
    """The scope that the claim `tenant` names; None if it names none."""
    scope = "default" if tenant is None else claims.get(tenant)
    return scope if isinstance(scope, str) and scope else None


def roles_in(claims: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The roles of a claim: a list, or one text with blanks."""
    listed = claims.get(name, ())
    names = listed.split() if isinstance(listed, str) else listed
    if not isinstance(names, list | tuple):
        return ()
    return tuple(role for role in names if isinstance(role, str))


def moment_in(claims: Mapping[str, Any], name: str) -> int | None:
    """A claim in seconds since the epoch, in ms; None for anything else, or no date."""
    claim: Any = claims.get(name)
    is_moment = type(claim) in (int, float) and 0 <= claim < _YEAR_10000_S
    return int(claim * 1000) if is_moment else None


def text_in(claims: Mapping[str, Any], name: str) -> str | None:
    """A claim that is a text; None for anything else."""
    claim = claims.get(name)
    return claim if isinstance(claim, str) else None


def is_text(value: Any) -> bool:
    """True for a text that can be stored and sent."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
