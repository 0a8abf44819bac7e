"""The tools of a mounted agent as the turn knows them: each made once, with who is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final

from pydantic import ValidationError
from pydantic_ai import ToolDefinition
from pydantic_core import SchemaValidator, to_json

from sayso import SchemaViolation, Tool, Turn, approval
from sayso.frameworks.madetools import MadeTools
from sayso.frameworks.pydantic_ai.results import from_person
from sayso.frameworks.violations import violations

WILD: Final = frozenset("*?[")


@dataclass
class Toolbox:
    """Tools of a mount: those that the agent's code declares, and those that runs bring along.

    The former are tools of the app. The latter are no one's but the run's: each execution of a turn
    that comes to a call has the definition from its toolset again, here or in another process.
    """

    approve: Mapping[str, approval.Policy]
    parts: Mapping[str, Any]
    _declared: dict[str, tuple[ToolDefinition, Tool[..., Any]]] = field(default_factory=dict)
    _of_runs: MadeTools = field(default_factory=MadeTools)

    def policy(self, name: str, kind: str) -> approval.Policy | None:
        """The mount's policy for a tool of that name, else what the tool says; None: the app's."""
        exact = self.approve.get(name)
        if exact is not None:
            return exact
        for pattern, policy in self.approve.items():
            if WILD & set(pattern) and fnmatchcase(name, pattern):
                return policy
        return approval.always if kind == "unapproved" else None

    def declare(
        self, definition: ToolDefinition, validator: SchemaValidator | None
    ) -> Tool[..., Any]:
        """Make a tool that the agent's code declares; `validator` is the framework's own."""
        tool = self._make(definition, definition.kind, validator)
        self._declared[definition.name] = (definition, tool)
        return tool

    def tool(
        self, definition: ToolDefinition, kind: str, validator: SchemaValidator | None
    ) -> Tool[..., Any]:
        """The tool of a definition that a run has: the declared one, unless the run changed it.

        Others are made once for each schema.
        """
        name, schema = definition.name, definition.parameters_json_schema
        first, tool = self._declared.get(name, (None, None))
        if (
            tool is not None
            and first is not None
            and schema == first.parameters_json_schema
            and kind in (first.kind, "function")
        ):
            return tool
        make = partial(self._make, definition, kind, validator)
        return self._of_runs.get(make, name, kind, definition.description, schema)

    def _make(
        self, definition: ToolDefinition, kind: str, validator: SchemaValidator | None
    ) -> Tool[..., Any]:
        policy = self.policy(definition.name, kind)
        return Tool.of(
            definition.name,
            description=definition.description or "",
            parameters=definition.parameters_json_schema,
            call=_in_part if definition.name in self.parts else _nothing,
            check=None if validator is None else Check(validator),
            part=definition.name in self.parts,
            from_person=from_person,
            approval=policy,
            editable=policy is None or policy.kind != "never",
        )


@dataclass(frozen=True)
class Check:
    """The framework's own look at arguments, which says more than their schema."""

    validator: SchemaValidator

    def __call__(self, arguments: Mapping[str, Any]) -> Sequence[SchemaViolation]:
        """List what does not fit, each at its member."""
        try:
            self.validator.validate_json(to_json(arguments))
        except ValidationError as error:
            return violations(error)
        return ()


async def _nothing(arguments: Mapping[str, Any]) -> Any:
    """Stands where each call brings its own function, which holds what its run knows."""
    raise RuntimeError("a tool of Pydantic AI is run by the agent that has it")


async def _in_part(turn: Turn, arguments: Mapping[str, Any]) -> Any:
    """Stands for a part as `_nothing` does for an effect."""
    return await _nothing(arguments)
