"""Agents as they are registered: by name, in one or more versions. Pure data."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from inspect import iscoroutinefunction, signature
from typing import Any

from sayso.agents.suggestions import Suggest
from sayso.base import jsonvalue
from sayso.base.codes import Code
from sayso.base.errors import DeclarationError, Problem
from sayso.base.limits import MAX_STATE_BYTES
from sayso.base.options import AgentOptions
from sayso.schemas.responses import ResponseType, response_type
from sayso.schemas.schema import Schema, compile_schema

_NO_SEGMENT = re.compile(r"[\s/\\?#%\x00-\x1f\x7f]")
"""Characters that a segment of a URL cannot hold, or that mean something else there."""


@dataclass(frozen=True, slots=True)
class StateType:
    """The shape that an agent declares for its state: published, and held against edits."""

    schema: dict[str, Any]
    _compiled: Schema
    _type: ResponseType

    def errors(self, value: Any) -> list[tuple[str, str]]:
        """List the errors of a JSON value, as JSON Pointers and sentences."""
        errors = [(fault.pointer, fault.message) for fault in self._compiled.errors(value)]
        if not errors:
            try:
                self._type.decode(value)
            except ValueError as error:
                errors = [("", str(error))]
        return errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One version of an agent, with its options: the server's, or its own instead."""

    name: str
    version: str
    function: Callable[[Any], Awaitable[Any]]
    description: str = ""
    state: StateType | None = None
    kind: str = "sayso"
    options: AgentOptions = field(default_factory=AgentOptions)
    suggest: Suggest | None = None
    """The author's function for pages that ask what the user could say next, if there is one."""

    def state_errors(self, state: Any, before: Any = None) -> Sequence[tuple[str, str]]:
        """List the problems of a state from outside, as JSON Pointers and sentences.

        It has to fit the agent's declaration. An agent without one takes any object, and any JSON
        value in place of a state that was not an object `before`.
        """
        if len(jsonvalue.encode(state)) > MAX_STATE_BYTES:
            return [("", f"has more than {MAX_STATE_BYTES} bytes as JSON")]
        if self.state is not None:
            return self.state.errors(state)
        if isinstance(state, dict) or not isinstance(before, dict):
            return ()
        return [("", "must be an object")]


class Agents:
    """All agents of an app. The version registered last is the one that new turns get."""

    def __init__(self) -> None:
        self._versions: dict[str, dict[str, Agent]] = {}

    def add(self, agent: Agent) -> None:
        """Register a version.

        Raises:
            DeclarationError: it is registered already.
        """
        versions = self._versions.setdefault(agent.name, {})
        if agent.version in versions:
            raise DeclarationError(
                f"agent {agent.name!r} version {agent.version!r} is registered twice; give the new "
                "one another version="
            )
        versions[agent.version] = agent

    def remove(self, agent: Agent) -> None:
        """Take a version away again, as if it had never been registered."""
        versions = self._versions[agent.name]
        del versions[agent.version]
        if not versions:
            del self._versions[agent.name]

    def newest(self, name: str) -> Agent | None:
        """The version that new turns of this agent get."""
        versions = self._versions.get(name)
        return next(reversed(versions.values())) if versions else None

    def require(self, name: str) -> Agent:
        """The version that new turns get.

        Raises:
            Problem: `unknown_agent`, there is none.
        """
        agent = self.newest(name)
        if agent is None:
            raise unknown_agent()
        return agent

    def version(self, name: str, version: str) -> Agent | None:
        """The version that an open turn began with, if it is still registered."""
        return self._versions.get(name, {}).get(version)

    def of(self, function: Callable[[Any], Awaitable[Any]]) -> Agent | None:
        """The newest registration of that very function, if it was registered."""
        agents = [agent for agent in self.all() if agent.function is function]
        return agents[-1] if agents else None

    def all(self) -> list[Agent]:
        """Every version of every agent, in the order of registration."""
        return [agent for versions in self._versions.values() for agent in versions.values()]

    def names(self) -> list[str]:
        """All names, in the order of registration."""
        return list(self._versions)

    def each_newest(self) -> list[Agent]:
        """The newest version of each agent, in the order of registration."""
        return [next(reversed(versions.values())) for versions in self._versions.values()]


def unknown_agent() -> Problem:
    """The problem of an agent that there is not, or that a caller may not know of."""
    return Problem(Code.UNKNOWN_AGENT, "No agent of that name is served. GET /agents lists them.")


def check_agent(name: str, function: Callable[..., Any]) -> None:
    """Check that an agent can be served.

    Raises:
        DeclarationError: its name or its function cannot be served.
    """
    if _NO_SEGMENT.search(name) or name.strip(".") == "":
        raise DeclarationError(
            f"agent name {name!r} stands in a path, as in /agents/support: leave out spaces and "
            "the characters / \\ ? # %"
        )
    if not iscoroutinefunction(function):
        raise DeclarationError(f"agent {name!r} must be an `async def` function")
    try:
        signature(function).bind(None)
    except TypeError:
        raise DeclarationError(
            f"agent {name!r} must take one argument, the turn: `async def {name}(turn: Turn)`"
        ) from None


def state_type(declared: Any) -> StateType:
    """Read `state_schema=`: a pydantic model, a Python type, or a JSON Schema object.

    Raises:
        DeclarationError: a type without a JSON Schema, or a schema that cannot be used.
    """
    described = response_type(declared)
    if described.schema is None:
        raise DeclarationError("state_schema= takes a type or a JSON Schema object, not None")
    return StateType(described.schema, compile_schema(described.schema), described)
