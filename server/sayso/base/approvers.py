"""The people who may answer a question, and how many it takes. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Final, Literal, Self

from sayso.base.default import DEFAULT, Default
from sayso.base.errors import DeclarationError

ApproversAsJson = Mapping[str, Any]
"""Approvers as `Approvers.terms` writes them."""
ROLE: Final = "role:"
"""The beginning of a name that stands for everybody with a role."""
REQUESTER: Final = "requester"
"""The word in `not_by` for whoever wants the thing done."""
_MEMBERS: Final = {
    "of": "approvals",
    "notBy": "not_by",
    "forks": "forks_of_denied",
    "stepUp": "step_up",
}
"""Members of the JSON of approvers that have another name here."""


def _names(member: str, names_given: Any) -> tuple[str, ...]:
    names = tuple(names_given) if isinstance(names_given, Iterable) else None
    if names is None or not all(isinstance(name, str) and name for name in names):
        what = "subjects" if member == "people" else "roles"
        raise DeclarationError(f"{member}= of an approval names {what}, not {names_given!r}")
    return tuple(dict.fromkeys(names))


def _counts(approvals: Any) -> dict[str, int] | int:
    if type(approvals) is int and approvals >= 1:
        return approvals
    if isinstance(approvals, Mapping) and approvals:
        counts = dict(approvals)
        if all(isinstance(r, str) and r and type(n) is int and n >= 1 for r, n in counts.items()):
            return counts
    raise DeclarationError(
        f"approvals= is a number from 1, or a number for each role, not {approvals!r}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvers:
    """The people who may answer, and how many of them it takes.

    `by`: roles of which an approver has one, and `people`: subjects who may as well; without both
    it is the thread's owner. `approvals`: how many different people have to say the same, or for
    each role how many who have it. `not_by`: who may not although they have a role: the
    `"requester"`, who owns the thread, began or restarted the turn, or made the copy; or those with
    certain roles. Left out, it is the requester under `Sayso(four_eyes=True)`, else nobody; None is
    nobody always. `step_up`: the seconds for which a sign-in lets them answer
    (`Principal.auth_time`), None: any sign-in does. `forks_of_denied`: a copy or a restart of what
    was denied is asked again and told so (`"show"`), or refused (`"refuse"`).

    Raises:
        DeclarationError: for approvers that could never agree.
    """

    by: str | Sequence[str] = ()
    people: Sequence[str] = ()
    approvals: int | Mapping[str, int] = 1
    not_by: str | Sequence[str] | Default | None = DEFAULT
    step_up: float | None = None
    forks_of_denied: Literal["show", "refuse"] = "show"
    _left_to_app: bool = field(default=False, init=False, repr=False)
    """True while nobody has said who is barred, and the app does."""

    def __post_init__(self) -> None:
        by = _names("by", (self.by,) if isinstance(self.by, str) else self.by)
        if isinstance(self.people, str):
            raise DeclarationError(f"people= of approvers takes a list: write [{self.people!r}]")
        people = _names("people", self.people)
        unsaid = self.not_by is DEFAULT
        not_by: Any = None if unsaid else self.not_by
        barred = _names("not_by", (not_by,) if isinstance(not_by, str) else not_by or ())
        approvals = _counts(self.approvals)
        if not isinstance(approvals, int):
            by = tuple(dict.fromkeys((*by, *approvals)))
            if people:
                raise DeclarationError(
                    "people= of approvers has no role to be counted by in approvals="
                )
        elif approvals > 1 and not by and not people:
            raise DeclarationError("approvals= needs by=: one owner cannot be several people")
        elif approvals > len(people) > 0 and not by:
            raise DeclarationError(
                f"approvals={approvals} is more than the people who may approve: {people}"
            )
        if barred and not by and not people:
            raise DeclarationError(
                "not_by= of approvers needs by=, or nobody but the owner is left"
            )
        if self.forks_of_denied not in ("show", "refuse"):
            raise DeclarationError(
                f"forks_of_denied of approvers is 'show' or 'refuse', not {self.forks_of_denied!r}"
            )
        seconds: Any = self.step_up
        if seconds is not None and not (
            type(seconds) in (int, float) and isfinite(seconds) and seconds > 0
        ):
            raise DeclarationError(f"step_up= of approvers is seconds above 0, not {seconds!r}")
        members = {
            "by": by,
            "people": people,
            "approvals": approvals,
            "not_by": barred,
            "_left_to_app": unsaid and bool(by or people),
        }
        for name, value in members.items():
            object.__setattr__(self, name, value)

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of which an approver has one."""
        return tuple(self.by)

    @property
    def owners(self) -> bool:
        """True if the owner of the thread answers."""
        return not self.by and not self.people

    @property
    def names(self) -> tuple[str, ...]:
        """The names under which questions wait for these people, as `names_of` has a person's."""
        return (*map(_role, self.by), *map(_person, self.people))

    @property
    def alone(self) -> bool:
        """True if one person is enough."""
        counts = self.approvals
        return (counts if isinstance(counts, int) else sum(counts.values())) == 1

    @property
    def any_time(self) -> bool:
        """True if one person is enough, at whatever time: a yes may be remembered."""
        return self.alone and self.step_up is None

    @property
    def plain(self) -> bool:
        """True if silence may count as their yes: any one of them, barred by nothing."""
        return self.any_time and not self.barred

    @property
    def barred(self) -> tuple[str, ...]:
        """Those who may not: the word `requester`, and roles."""
        return () if isinstance(self.not_by, Default) else tuple(self.not_by or ())

    @property
    def left_to_app(self) -> bool:
        """True while nobody has said who is barred, and the app does (`under`)."""
        return self._left_to_app

    def under(self, *, four_eyes: bool) -> "Approvers":
        """The same in an app: where `not_by` was left out, it is the requester if `four_eyes`."""
        return self.barring(four_eyes=four_eyes) if self._left_to_app else self

    def barring(self, *, four_eyes: bool) -> Self:
        """The same with the requester barred, if `four_eyes`, and otherwise nobody."""
        return replace(self, not_by=REQUESTER if four_eyes else None)

    def terms(self) -> dict[str, Any]:
        """The same as JSON: `{"by", "of", "people"?, "notBy"?, "stepUp"?, "forks"?}`."""
        terms: dict[str, Any] = {
            "by": list(self.by),
            "of": self.approvals if isinstance(self.approvals, int) else dict(self.approvals),
        }
        if self.people:
            terms["people"] = list(self.people)
        if self.barred:
            terms["notBy"] = list(self.barred)
        if self.step_up is not None:
            terms["stepUp"] = self.step_up
        if self.forks_of_denied != "show":
            terms["forks"] = self.forks_of_denied
        return terms

    def terms_for_clients(self) -> dict[str, Any]:
        """The terms as clients are told them: without what concerns copies."""
        terms = self.terms()
        terms.pop("forks", None)
        return terms

    @classmethod
    def from_terms(cls, terms: Mapping[str, Any]) -> Self:
        """Read what `terms` has written."""
        members = {_MEMBERS.get(name, name): value for name, value in terms.items()}
        return cls(**{"not_by": None, **members})


OWNER: Final = Approvers()
"""The owner of the thread, alone."""


def names_of(subject: str, roles: Iterable[str]) -> tuple[str, ...]:
    """The names under which questions wait for a person: `person:<subject>`, `role:<role>`."""
    return (_person(subject), *map(_role, dict.fromkeys(roles)))


def _role(role: str) -> str:
    return f"{ROLE}{role}"


def _person(subject: str) -> str:
    return f"person:{subject}"
