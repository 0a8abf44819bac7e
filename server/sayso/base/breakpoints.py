"""Breakpoints: where an agent waits for a person although nothing asks, to be looked at. Pure.

Declared on an agent or the app (`breakpoints=`), or asked for by a request, in
`forwardedProps.sayso.breakpoints`, where `run_breakpoints="allow"` lets it (design 3).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from sayso.base import jsonvalue
from sayso.base.approvers import OWNER, Approvers
from sayso.base.codes import Code
from sayso.base.errors import DeclarationError, Problem

When = Literal["before", "after"]

ALL: Final = "*"
"""The name that stands for every step, tool, phase and inner agent."""


@dataclass(frozen=True, slots=True)
class Breakpoints:
    """Names before or after which a run waits; `"*"` is all of them.

    Of steps, phases, tools (the client's own too), and agents that are delegated to. `approvers`
    say continue or stop instead of the thread's owner; until then nobody else edits the state.
    Raises `DeclarationError` for what is neither a name nor a list of names.
    """

    before: str | Iterable[str] = ()
    after: str | Iterable[str] = ()
    approvers: Approvers = OWNER

    def __post_init__(self) -> None:
        for when in ("before", "after"):
            try:
                names = _names(getattr(self, when))
            except ValueError as error:
                raise DeclarationError(f"Breakpoints({when}=…) {error}") from None
            object.__setattr__(self, when, names)
        declared: object = self.approvers
        if not isinstance(declared, Approvers):
            raise DeclarationError(f"Breakpoints(approvers=…) is an Approvers, not {declared!r}")

    def matches(self, when: When, name: str) -> bool:
        """True if a run waits there."""
        names = self.before if when == "before" else self.after
        return name in names or ALL in names

    def __bool__(self) -> bool:
        """True if there is any."""
        return bool(self.before or self.after)

    def to_json(self) -> dict[str, Any]:
        """The breakpoints as clients see them: `{"before", "after", "approvers"?}`."""
        names: dict[str, Any] = {"before": list(self.before), "after": list(self.after)}
        if not self.approvers.owners:
            names["approvers"] = self.approvers.terms_for_clients()
        return names


def from_request(forwarded_props: Any) -> Breakpoints | None:
    """The breakpoints that a request asks for; None when it says nothing about them.

    Raises:
        Problem: `invalid_input` for what cannot be read, unknown members among it: a misspelt one
            would be a run that does not stop.
    """
    props = forwarded_props.get("sayso") if isinstance(forwarded_props, Mapping) else None
    requested = props.get("breakpoints") if isinstance(props, Mapping) else None
    if requested is None:
        return None
    where = "/forwardedProps/sayso/breakpoints"
    if not isinstance(requested, Mapping):
        raise _unreadable(where, 'must be an object: {"before": ["deploy"], "after": "*"}')
    names = {}
    for when in ("before", "after"):
        try:
            names[when] = _names(requested.get(when) or ())
        except ValueError as error:
            raise _unreadable(f"{where}/{when}", str(error)) from None
    for member in requested:
        if member not in names:
            raise _unreadable(
                f"{where}{jsonvalue.pointer((member,))}",
                'is no member of breakpoints: they are {"before", "after"}',
            )
    return Breakpoints(names["before"], names["after"])


def _unreadable(pointer: str, message: str) -> Problem:
    return Problem(
        Code.INVALID_INPUT,
        "The breakpoints of this request cannot be read.",
        errors=({"pointer": pointer, "message": message},),
    )


def effective(
    declared: Breakpoints | None, allowed: bool, requests: Iterable[Any]
) -> tuple[Breakpoints, Breakpoints]:
    """The breakpoints of a run: those declared, and those of the newest request that spoke of any.

    Either may be empty. Where an inner agent takes none from requests, only the first holds.

    `requests` are the forwarded props of those that the turn has had, oldest first.
    """
    newest = None
    for props in requests if allowed else ():
        breakpoints = from_request(props)
        newest = newest if breakpoints is None else breakpoints
    return declared or _NONE, newest or _NONE


def _names(names_given: Any) -> tuple[str, ...]:
    names = (names_given,) if isinstance(names_given, str) else names_given
    if not isinstance(names, Iterable) or isinstance(names, bytes | Mapping):
        raise ValueError("must be a name, a list of names, or '*'")
    listed = tuple(names)
    if not all(isinstance(name, str) and name for name in listed):
        raise ValueError("must be a name, a list of names, or '*'")
    return listed


_NONE = Breakpoints()
