"""The ways in which a yes may be remembered, as authors declare them. Pure."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from sayso.base.errors import DeclarationError
from sayso.base.options import check_lifetime

_ARGUMENTS: Final = ("same", "any", "like")


_SCOPES: Final = ("user", "thread")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remember:
    """The ways in which a yes may be remembered.

    `arguments`: the `same` ones only (of a call without arguments: none), `any` at all, or those
    `like` patterns that the reviewer gives. `scopes`: this `user`'s calls in all threads, or those
    of this `thread`; the first is meant when the reviewer names none. `expires_in` is the longest
    time in seconds, None: forever.
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


def _check_words(name: str, words: Any, allowed: tuple[str, ...]) -> None:
    if not isinstance(words, tuple) or not words or not all(word in allowed for word in words):
        raise DeclarationError(
            f"{name} of Remember is a tuple of {', '.join(map(repr, allowed))}, not {words!r}"
        )
