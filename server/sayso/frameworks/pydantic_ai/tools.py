"""The tools of a mounted agent as the turn knows them: each made once, with who is asked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final

from pydantic import ValidationError
from pydantic_ai import ToolDefinition
from pydantic_core import SchemaValidator, to_json

from sayso import DeclarationError, SchemaViolation, Tool, Turn, approval
from sayso.frameworks.pydantic_ai.results import from_person
from sayso.frameworks.violations import violations

WILD: Final = frozenset("*?[")


@dataclass
class Toolbox:
    """Tools by name: those known at the mount, and those that a run brought along.

    `serve` makes a tool one of the app, so that answers are held against it.
    """

    approve: Mapping[str, approval.Policy]
    parts: Mapping[str, Any]
    serve: Callable[[Tool[..., Any]], None]
    _made: dict[str, tuple[str, Tool[..., Any]]] = field(default_factory=dict)

    def policy(self, name: str, kind: str) -> approval.Policy | None:
        """The mount's policy for a tool of that name, else what the tool says; None: the app's."""
        exact = self.approve.get(name)
        if exact is not None:
            return exact
        for pattern, policy in self.approve.items():
            if WILD & set(pattern) and fnmatchcase(name, pattern):
                return policy
        return approval.always if kind == "unapproved" else None

    def tool(
        self, definition: ToolDefinition, kind: str, validator: SchemaValidator | None
    ) -> Tool[..., Any]:
        """The tool of a definition; `validator` is the framework's own for its arguments.

        It is made once: a run that prepares another schema for the name shows the first one.

        Raises:
            DeclarationError: it asks for an approval now, and was made as one that does not.
        """
        name = definition.name
        made = self._made.get(name)
        if made is None:
            tool = self._make(definition, kind, validator)
            self.serve(tool)
            made = self._made[name] = (kind, tool)
        elif kind == "unapproved" and made[0] != kind and self._may_run_free(name):
            raise DeclarationError(
                f"tool {name!r} asks for an approval in this run and not in others: give it a "
                "policy by approve="
            )
        return made[1]

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

    def _may_run_free(self, name: str) -> bool:
        policy = self.policy(name, "")
        return policy is None or policy.kind == "never"


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
