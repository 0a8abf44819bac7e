"""Breakpoints: where an agent waits for a person although nothing asks, to be looked at. Pure.

Declared on an agent or the app (`breakpoints=`), or asked for by a request, in
`forwardedProps.sayso.breakpoints`, where `run_breakpoints="allow"` lets it (design 3).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from sayso.errors import DeclarationError

__all__ = ["ALL", "Breakpoints", "When", "asked_for", "in_force"]

When = Literal["before", "after"]

ALL: Final = "*"
"""The name that stands for every step, tool, phase and inner agent."""


@dataclass(frozen=True, slots=True)
class Breakpoints:
    """Names before or after which a run waits; `"*"` is all of them.

    Of steps, phases, tools (the client's own too), and agents that are delegated to.
    Raises `DeclarationError` for what is neither a name nor a list of names.
    """

    before: str | Iterable[str] = ()
    after: str | Iterable[str] = ()

    def __post_init__(self) -> None:
        for when in ("before", "after"):
            try:
                names = _names(getattr(self, when))
            except ValueError as error:
                raise DeclarationError(f"Breakpoints({when}=…) {error}") from None
            object.__setattr__(self, when, names)

    def stop(self, when: When, name: str) -> bool:
        """Whether a run waits there."""
        names = self.before if when == "before" else self.after
        return name in names or ALL in names

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.before or self.after)

    def to_json(self) -> dict[str, list[str]]:
        """As clients see them."""
        return {"before": list(self.before), "after": list(self.after)}


def asked_for(forwarded_props: Any) -> Breakpoints | None:
    """The breakpoints that a request asks for; None when it says nothing about them.

    ValueError, with the JSON Pointer of the member first, for what is none.
    """
    props = forwarded_props.get("sayso") if isinstance(forwarded_props, Mapping) else None
    wanted = props.get("breakpoints") if isinstance(props, Mapping) else None
    if wanted is None:
        return None
    where = "/forwardedProps/sayso/breakpoints"
    if not isinstance(wanted, Mapping):
        raise ValueError(where, 'must be an object: {"before": ["deploy"], "after": "*"}')
    found = {}
    for when in ("before", "after"):
        try:
            found[when] = _names(wanted.get(when) or ())
        except ValueError as error:
            raise ValueError(f"{where}/{when}", str(error)) from None
    return Breakpoints(**found)


def in_force(
    declared: Breakpoints | None, allowed: bool, requests: Iterable[Any]
) -> tuple[Breakpoints, Breakpoints]:
    """What holds for a run: what is declared, and what the newest request that spoke of it asked.

    Either may be empty. Where an inner agent takes none from requests, only the first holds.

    `requests` are the forwarded props of those that the turn has had, oldest first.
    """
    newest = None
    for props in requests if allowed else ():
        found = asked_for(props)
        newest = newest if found is None else found
    return declared or _NONE, newest or _NONE


def _names(given: Any) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Iterable) or isinstance(names, bytes | Mapping):
        raise ValueError("must be a name, a list of names, or '*'")
    found = tuple(names)
    if not all(isinstance(name, str) and name for name in found):
        raise ValueError("must be a name, a list of names, or '*'")
    return found


_NONE = Breakpoints()
