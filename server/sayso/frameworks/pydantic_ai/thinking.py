"""A model's thought as it is kept: what its provider wants back, sealed in one text."""

from typing import Any

from pydantic_ai.messages import ThinkingPart
from pydantic_core import from_json, to_json

_MEMBERS = ("id", "signature", "provider_name", "provider_details")


def sealed(part: ThinkingPart) -> str | None:
    """All of a thought but its words, as text; None if there is nothing."""
    members = {name: getattr(part, name) for name in _MEMBERS}
    present = {name: value for name, value in members.items() if value is not None}
    return to_json(present).decode() if present else None


def unsealed(words: str, seal: str | None) -> ThinkingPart:
    """The thought again; what is no seal of ours is left out."""
    members: dict[str, Any] = {}
    if seal:
        try:
            decoded = from_json(seal)
        except ValueError:
            decoded = None
        if isinstance(decoded, dict):
            members = {name: decoded[name] for name in _MEMBERS if name in decoded}
    return ThinkingPart(words, **members)
