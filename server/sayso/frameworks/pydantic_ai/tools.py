"""The tools of a mounted agent as the turn knows them: each made once, with who is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pydantic import ValidationError
from pydantic_ai import ToolDefinition
from pydantic_core import SchemaValidator, to_json

from sayso import SchemaViolation, Tool
from sayso.frameworks.madetools import MadeTools, made_tool
from sayso.frameworks.policies import Policies
from sayso.frameworks.pydantic_ai.results import from_person
from sayso.frameworks.violations import violations


@dataclass
class Toolbox:
    """Tools of a mount: those that the agent's code declares, and those that runs bring along.

    The former are tools of the app. The latter are no one's but the run's: each execution of a turn
    that comes to a call has the definition from its toolset again, here or in another process.
    """

    policies: Policies
    parts: Mapping[str, Any]
    _declared: dict[str, tuple[ToolDefinition, Tool[..., Any]]] = field(default_factory=dict)
    _of_runs: MadeTools = field(default_factory=MadeTools)

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
        return made_tool(
            definition.name,
            definition.parameters_json_schema,
            self.policies.policy(definition.name, asks=kind == "unapproved"),
            description=definition.description,
            check=None if validator is None else Check(validator),
            part=definition.name in self.parts,
            from_person=from_person,
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
