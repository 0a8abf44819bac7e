"""The tools of a mounted agent as the turn knows them, each made once for each definition.

A run may bring others of one name than the run before: a server of tools was deployed meanwhile, or
another user has other ones. Each is held to its own form.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_core import to_json

from sayso import Tool

MOST_KEPT: Final = 1_000
"""Tools that are kept; those that were not called for longest are made again."""


@dataclass
class MadeTools:
    """Tools by what defines them."""

    _made: dict[bytes, Tool[..., Any]] = field(default_factory=dict)

    def get(self, make: Callable[[], Tool[..., Any]], *definition: Any) -> Tool[..., Any]:
        """The tool of a definition, which is JSON: name, schema, and what else people rely on."""
        key = to_json(definition)
        tool = self._made.pop(key, None) or make()
        self._made[key] = tool
        if len(self._made) > MOST_KEPT:
            del self._made[next(iter(self._made))]
        return tool
