"""Suggestions of what a user could say next, for pages that ask. Pure."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import iscoroutinefunction, signature
from typing import Any

from sayso.base.errors import DeclarationError
from sayso.base.records import Principal


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One thing that the user could say: `title` is on its button, `message` is sent by it."""

    title: str
    message: str

    def __post_init__(self) -> None:
        for name in ("title", "message"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"the {name} of a Suggestion is a text")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionRequest:
    """A page's request for suggestions.

    All of it is as the page sent it, and none of it is stored: `messages` is its copy of the
    conversation as JSON objects, oldest first, `state` and `context` are those of a run.
    `instructions` is the page's own text about what to suggest and how many. `principal` is the
    authenticated caller. There is no `Turn`: nothing can be asked, called or recorded.
    """

    messages: tuple[Mapping[str, Any], ...]
    state: Any
    context: tuple[Mapping[str, Any], ...]
    instructions: str
    principal: Principal


Suggest = Callable[[SuggestionRequest], Awaitable[Sequence[Suggestion]]]
"""An author's function that suggests; see `Sayso.agent`."""


def check_suggest(name: str, function: Any) -> None:
    """Check the `suggest=` of agent `name`.

    Raises:
        DeclarationError: it is not an async function of one argument.
    """
    if function is None:
        return
    if not iscoroutinefunction(function):
        raise DeclarationError(f"suggest= of agent {name!r} must be an `async def` function")
    try:
        signature(function).bind(None)
    except TypeError:
        raise DeclarationError(
            f"suggest= of agent {name!r} must take one argument, the SuggestionRequest"
        ) from None
