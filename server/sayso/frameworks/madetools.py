"""The tools of a mounted agent as the turn knows them, each made once for each definition.

A run may bring others of one name than the run before: a server of tools was deployed meanwhile, or
another user has other ones. Each is held to its own form.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_core import to_json

from sayso import SchemaViolation, Tool, Turn, approval

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


def made_tool(
    name: str,
    parameters: Mapping[str, Any],
    policy: approval.Policy | None,
    *,
    description: str | None,
    part: bool,
    from_person: Callable[[Any], Any] | None = None,
    check: Callable[[Mapping[str, Any]], Sequence[SchemaViolation]] | None = None,
    timeout: float | None = None,
) -> Tool[..., Any]:
    """Make a tool whose calls each bring their own function, which holds what its run knows.

    A `part` runs another agent, whose calls are recorded for themselves.
    """
    return Tool.of(
        name,
        description=description or "",
        parameters=parameters,
        call=_no_part if part else _no_effect,
        check=check,
        part=part,
        timeout=timeout,
        from_person=from_person,
        approval=policy,
        editable=policy is None or policy.kind != "never",
    )


async def _no_effect(arguments: Mapping[str, Any]) -> Any:
    raise RuntimeError("a tool of a mounted agent is run by the agent that has it")


async def _no_part(turn: Turn, arguments: Mapping[str, Any]) -> Any:
    return await _no_effect(arguments)
