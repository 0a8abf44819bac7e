"""The tools of a mounted agent as the turn knows them, and as the framework has them in a run."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

from agent_framework import FunctionTool
from pydantic import ValidationError

from sayso import SchemaViolation, Tool
from sayso.frameworks.agent_framework.results import from_person
from sayso.frameworks.madetools import MadeTools, made_tool
from sayso.frameworks.policies import Policies
from sayso.frameworks.violations import violations

ASKS: Final = "asks"
"""The kind of a tool that its author has marked with `approval_mode="always_require"`."""
ELSEWHERE: Final = "elsewhere"
"""The kind of a tool that is declared only: its result comes from elsewhere."""


@dataclass
class Functions:
    """Tools by name: those known at the mount, and those that a run brought along."""

    policies: Policies
    parts: Mapping[str, Any]
    _made: MadeTools = field(default_factory=MadeTools)
    _copies: WeakKeyDictionary[Any, FunctionTool] = field(default_factory=WeakKeyDictionary)
    _kinds: WeakKeyDictionary[Any, str] = field(default_factory=WeakKeyDictionary)

    def kind(self, function: FunctionTool) -> str:
        """The mark that its author gave to a tool: `ASKS`, `ELSEWHERE`, or none."""
        copied = self._kinds.get(function)
        if copied is not None:
            return copied
        if function.approval_mode == "always_require":
            return ASKS
        return ELSEWHERE if function.declaration_only else ""

    def in_run(self, function: Any) -> Any:
        """The tool as a run has it.

        A copy without the marks at which the framework ends a run, before any middleware hears of
        the call; the tool itself stays as it is.
        """
        if not isinstance(function, FunctionTool) or not (kind := self.kind(function)):
            return function
        if function in self._kinds:
            return function
        made = self._copies.get(function)
        if made is None:
            made = copy.copy(function)
            made.approval_mode = "never_require"
            if function.declaration_only:
                made.func = _elsewhere
            self._copies[function] = made
            self._kinds[made] = ELSEWHERE if function.declaration_only else kind
        return made

    def tool(self, function: FunctionTool) -> Tool[..., Any]:
        """The tool of a function, by what it is in this run."""
        kind = self.kind(function)
        make = partial(self._make, function, kind)
        return self._made.get(make, function.name, kind, function.parameters())

    def _make(self, function: FunctionTool, kind: str) -> Tool[..., Any]:
        return made_tool(
            function.name,
            function.parameters(),
            self.policies.policy(function.name, asks=kind == ASKS),
            description=function.description,
            check=None if function.input_model is None else ModelCheck(function.input_model),
            part=function.name in self.parts,
            from_person=from_person,
        )


@dataclass(frozen=True)
class ModelCheck:
    """The look of a tool's own model at arguments, which says more than their schema."""

    model: Any

    def __call__(self, arguments: Mapping[str, Any]) -> Sequence[SchemaViolation]:
        """List what does not fit, each at its member."""
        try:
            self.model.model_validate(dict(arguments))
        except ValidationError as error:
            return violations(error)
        return ()


def _elsewhere(**arguments: Any) -> Any:
    """Stands where a tool is only declared, so that its calls come to the turn."""
    raise RuntimeError("a tool that is only declared has no function")
