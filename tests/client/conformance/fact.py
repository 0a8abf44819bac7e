"""What a stream of the conformance suite has to come to."""

from dataclasses import dataclass, field
from typing import Any

from tests.client.agent import Event, run_of

__all__ = ["UNTOLD", "Fact", "wrong"]

UNTOLD: Any = object()


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A stream, and what has to come of it.

    `rejected` and `with_warnings` are words of the violation and of the one warning; without them
    there is neither. `types` are those of the events that reach the application, `at` has values in
    these events by pointer and `gone` the pointers at which there must be nothing. `told` are
    members of all messages in order, `asked` those of the request.
    """

    stream: list[Event]
    rejected: str | None = None
    warned: str | None = None
    types: list[str] | None = None
    at: dict[str, Any] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    told: list[Event] | None = None
    state: Any = UNTOLD
    outcome: str = "success"
    error: str | None = None
    asked: dict[str, Any] = field(default_factory=dict)
    messages: list[Event] = field(default_factory=list)


def wrong(words: str, *events: Event) -> Fact:
    """A run that is rejected for what is in it."""
    return Fact(stream=run_of(*events), rejected=words)
