"""How a rule asks: who may answer, how many, how long, and what may be remembered. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from sayso.errors import DeclarationError
from sayso.options import DEFAULT, Default, check_lifetime

__all__ = ["Asking", "Remember", "asking"]

_ARGUMENTS: Final = ("same", "any", "like")
_SCOPES: Final = ("user", "thread")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remember:
    """What a reviewer may have remembered beside a yes.

    `arguments`: the `same` ones only (of a call without arguments: none), `any` at all, or those
    `like` patterns that the reviewer gives. `scopes`: this `user`'s calls in all threads, or those
    of this `thread`; the first is meant when the reviewer names none. `expires_in` is the longest
    time in seconds, None for ever.
    """

    arguments: tuple[Literal["same", "any", "like"], ...] = ("same", "any", "like")
    scopes: tuple[Literal["user", "thread"], ...] = ("user", "thread")
    expires_in: float | None = None

    def __post_init__(self) -> None:
        _check_words("arguments", self.arguments, _ARGUMENTS)
        _check_words("scopes", self.scopes, _SCOPES)
        if self.arguments == ("like",):
            raise DeclarationError("arguments of Remember need 'same' or 'any' beside 'like'")
        check_lifetime(self.expires_in, "expires_in of Remember")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How a person is asked.

    `by`: roles of which an approver has one; none: the owner of the thread answers. `of`: how many
    different people have to agree, or for each role how many who have it.
    """

    by: tuple[str, ...] = ()
    of: tuple[tuple[str, int], ...] | int = 1
    expires_in: float | Default | None = DEFAULT
    remember: Remember | None = None


def asking(
    *,
    by: str | Sequence[str] | None = None,
    of: int | Mapping[str, int] = 1,
    expires_in: float | Default | None = DEFAULT,
    remember: Remember | bool = False,
) -> Asking:
    """How to ask, as an author writes it; `DeclarationError` for what cannot be."""
    roles: tuple[Any, ...] = (by,) if isinstance(by, str) else tuple(by or ())
    if not all(isinstance(role, str) and role for role in roles):
        raise DeclarationError(f"by= of an approval names roles, not {by!r}")
    if expires_in is not DEFAULT:
        check_lifetime(expires_in, "expires_in of an approval")
    if not isinstance(remember, Remember | bool):
        raise DeclarationError(
            f"remember= of an approval is True, False or approval.Remember(...), not {remember!r}"
        )
    wanted = _number(of)
    if not isinstance(wanted, int):
        roles = tuple(dict.fromkeys((*roles, *(role for role, _ in wanted))))
    elif wanted > 1 and not roles:
        raise DeclarationError("of= of an approval needs by=: one owner cannot be several people")
    return Asking(
        by=roles,
        of=wanted,
        expires_in=expires_in,
        remember=Remember() if remember is True else remember or None,
    )


def _number(of: Any) -> tuple[tuple[str, int], ...] | int:
    if type(of) is int and of >= 1:
        return of
    if isinstance(of, Mapping) and of:
        counts = tuple(of.items())
        if all(isinstance(r, str) and r and type(n) is int and n >= 1 for r, n in counts):
            return counts
    raise DeclarationError(
        f"of= of an approval is a number from 1, or a number for each role, not {of!r}"
    )


def _check_words(name: str, words: Any, known: tuple[str, ...]) -> None:
    if not isinstance(words, tuple) or not words or not all(word in known for word in words):
        raise DeclarationError(
            f"{name} of Remember is a tuple of {', '.join(map(repr, known))}, not {words!r}"
        )
