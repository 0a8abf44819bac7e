"""How a rule asks: who may answer, how many, how long, and what may be remembered. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from sayso.base.approvers import OWNER, Approvers
from sayso.base.errors import DeclarationError
from sayso.base.options import DEFAULT, Default, check_lifetime
from sayso.schemas.remember import Remember


@dataclass(frozen=True, slots=True, kw_only=True)
class AskTerms:
    """How a person is asked: who, for how long, and what may be remembered."""

    approvers: Approvers = OWNER
    expires_in: float | Default | None = DEFAULT
    remember: Remember | None = None


class AskOptions(TypedDict, total=False):
    """How a rule asks, by name, as an author writes it.

    `by`: roles that may answer instead of the thread's owner, of which an approver has one.
    `approvals`: how many different people have to say the same, or for each role how many who have
    it. `not_by`: who may not although they have the role: the `"requester"`, or those with certain
    roles. All three are the short form of `approvers`, an `Approvers`. The question stays open for
    `expires_in` seconds. `remember`: True if a yes may be remembered, or in which ways (a
    `Remember`); it stands for this rule as it is, so one that changes asks again.
    """

    by: str | Sequence[str] | None
    approvals: int | Mapping[str, int]
    not_by: str | Sequence[str] | None
    approvers: Approvers | None
    expires_in: float | Default | None
    remember: Remember | bool


def ask_terms(
    *,
    by: str | Sequence[str] | None = None,
    approvals: int | Mapping[str, int] = 1,
    not_by: str | Sequence[str] | None = None,
    approvers: Approvers | None = None,
    expires_in: float | Default | None = DEFAULT,
    remember: Remember | bool = False,
) -> AskTerms:
    """Make the terms of `AskOptions`; `DeclarationError` for terms that cannot work."""
    if approvers is not None:
        if not isinstance(approvers, Approvers):
            raise DeclarationError(f"approvers= of an approval is an Approvers, not {approvers!r}")
        if by is not None or approvals != 1 or not_by is not None:
            raise DeclarationError(
                "by=, approvals= and not_by= are the short form of approvers=: give one or the "
                "other"
            )
    if expires_in is not DEFAULT:
        check_lifetime(expires_in, "expires_in of an approval")
    if not isinstance(remember, Remember | bool):
        raise DeclarationError(
            f"remember= of an approval is True, False or approval.Remember(...), not {remember!r}"
        )
    roles = () if by is None else by
    return AskTerms(
        approvers=approvers or Approvers(by=roles, approvals=approvals, not_by=not_by),
        expires_in=expires_in,
        remember=Remember() if remember is True else remember or None,
    )
