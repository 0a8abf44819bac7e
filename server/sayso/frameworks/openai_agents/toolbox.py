"""The function tools of a mounted agent as the turn knows them, with who is asked about each."""

from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from agents import FunctionTool

from sayso import DeclarationError, Tool, approval
from sayso.frameworks.madetools import MadeTools, made_tool
from sayso.frameworks.openai_agents.outputs import from_person
from sayso.frameworks.policies import Policies

asked_for: ContextVar[bool] = ContextVar("sayso_openai_agents_asked_for", default=True)
"""What a tool's own predicate says of the call at hand; an edited call was asked about."""
_PREDICATE: Final = approval.when(lambda: asked_for.get(), name="needs_approval")


@dataclass
class FunctionTools:
    """The turn's tools, by name: those known at the mount, and those that a run brought along."""

    policies: Policies
    _declared: dict[str, FunctionTool] = field(default_factory=dict)
    _made: MadeTools = field(default_factory=MadeTools)

    def declare(self, function: FunctionTool) -> Tool[..., Any]:
        """The tool of a function tool that is known at the mount.

        Raises:
            DeclarationError: another of that name has other parameters, or asks otherwise.
        """
        self._declared.setdefault(function.name, function)
        return self.tool(function)

    def tool(self, function: FunctionTool) -> Tool[..., Any]:
        """The tool of a function tool, made once for all agents that have one like it.

        Raises:
            DeclarationError: it differs from the one of that name that the mount knows.
        """
        terms = _terms(function)
        if _terms(self._declared.get(function.name, function)) != terms:
            raise DeclarationError(
                f"two tools are named {function.name!r}, and differ in their parameters or in "
                "who is asked: give one of them another name"
            )
        return self._made.get(partial(self._make, function), function.name, *terms)

    def _make(self, function: FunctionTool) -> Tool[..., Any]:
        policy = self.policies.policy(function.name, asks=function.needs_approval is True)
        if policy is None and callable(function.needs_approval):
            policy = _PREDICATE
        part = is_part(function)
        return made_tool(
            function.name,
            {"type": "object", "properties": {}, **function.params_json_schema},
            policy,
            description=function.description,
            part=part,
            timeout=None if part else function.timeout_seconds,
            from_person=from_person,
        )


def _terms(function: FunctionTool) -> tuple[object, ...]:
    """The terms that a person who is asked about a call relies on."""
    asks = function.needs_approval
    own = "predicate" if callable(asks) else asks
    return own, function.params_json_schema, is_part(function), function.timeout_seconds


def is_part(function: FunctionTool) -> bool:
    """True for an agent as a tool: what it does is recorded for itself."""
    return inner_agent(function) is not None


def inner_agent(function: FunctionTool) -> Any:
    """The agent that a tool made by `as_tool` runs; None for another tool."""
    return function._agent_instance
