"""The terms of a rule that asks: who may answer, how many, how long, what is remembered. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from sayso.agents.codec import to_json
from sayso.base.approvers import OWNER, Approvers
from sayso.base.default import DEFAULT, Default
from sayso.base.errors import DeclarationError
from sayso.base.options import check_lifetime
from sayso.schemas.remember import Remember
from sayso.schemas.responses import response_type


@dataclass(frozen=True, slots=True, kw_only=True)
class AskTerms:
    """The terms on which a person is asked: who, for how long, and what may be remembered."""

    approvers: Approvers = OWNER
    expires_in: float | Default | None = DEFAULT
    remember: Remember | None = None


class AskFirst(Exception):
    """Raised by a tool before its effect: a person is asked, and then the same call runs again.

    Without `schema` the question is an approval: a yes runs the call again, a no closes it as
    denied, and `editable` says whether arguments may be edited, by default as the tool does. With
    one (a pydantic model, a Python type or a JSON Schema object) any value of it is asked for. What
    was answered is `current_call().answer`, a JSON value. `message` is the question, by default
    that of an approval; `metadata` is for clients. The ninth time the call fails.
    """

    def __init__(
        self,
        message: str | None = None,
        *,
        metadata: Mapping[str, Any] | None = None,
        schema: Any = None,
        editable: bool | None = None,
    ) -> None:
        """Raises what a question of these members cannot be: it fails the call."""
        text: object = message
        if text is not None and not isinstance(text, str):
            raise TypeError(f"message of AskFirst is a text, not {text!r}")
        if schema is not None and editable is not None:
            raise ValueError("editable= of AskFirst is for an approval, which has no schema=")
        super().__init__(message or "a person is to be asked first")
        self.message = message
        self.metadata: dict[str, Any] = dict(metadata or {})
        to_json(self.metadata, "the metadata of AskFirst")
        self.schema: dict[str, Any] | None = response_type(schema).schema
        self.editable = editable


class AskOptions(TypedDict, total=False):
    """The terms of a rule that asks, by name, as an author writes them.

    - `by`: roles that may answer instead of the thread's owner; an approver has one of them.
    - `approvals`: how many different people have to say the same, or how many for each role.
    - `not_by`: people who may not although they have the role: the `"requester"`, or those with
      certain roles. Left out, it is the requester under `Sayso(four_eyes=True)`; None lifts that.
    - `approvers`: an `Approvers`; the three above are its short form.
    - `expires_in`: seconds that the question stays open.
    - `remember`: True if a yes may be remembered, or a `Remember` that says in which ways. The yes
      holds for this rule as it is: a rule that changes asks again.
    """

    by: str | Sequence[str] | None
    approvals: int | Mapping[str, int]
    not_by: str | Sequence[str] | Default | None
    approvers: Approvers | None
    expires_in: float | Default | None
    remember: Remember | bool


def ask_terms(
    *,
    by: str | Sequence[str] | None = None,
    approvals: int | Mapping[str, int] = 1,
    not_by: str | Sequence[str] | Default | None = DEFAULT,
    approvers: Approvers | None = None,
    expires_in: float | Default | None = DEFAULT,
    remember: Remember | bool = False,
) -> AskTerms:
    """Make the terms of `AskOptions`.

    Raises:
        DeclarationError: terms that cannot work.
    """
    if approvers is not None:
        if not isinstance(approvers, Approvers):
            raise DeclarationError(f"approvers= of an approval is an Approvers, not {approvers!r}")
        if by is not None or approvals != 1 or not_by is not DEFAULT:
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
