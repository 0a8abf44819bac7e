"""What an author sees of the request that began a turn, or of one that answered it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["TurnInput"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInput:
    """A run input in Python's words, the same for the whole turn (design 3).

    `messages` is the visible history as JSON objects, oldest first; `text` the newest user
    message's text. `state`, `tools`, `context` and `forwarded_props` are as the client sent them.
    """

    thread_id: str
    run_id: str
    text: str = ""
    messages: tuple[Mapping[str, Any], ...] = ()
    state: Any = field(default_factory=dict)
    tools: tuple[Mapping[str, Any], ...] = ()
    context: tuple[Mapping[str, Any], ...] = ()
    forwarded_props: Any = None
