"""The tools that are known when an agent is mounted."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import ToolDefinition
from pydantic_ai.toolsets import (
    AbstractToolset,
    CombinedToolset,
    ExternalToolset,
    FunctionToolset,
    PrefixedToolset,
    RenamedToolset,
    WrapperToolset,
)
from pydantic_core import SchemaValidator


@dataclass(frozen=True)
class Declared:
    """A tool as the agent's code declares it; `validator` is the framework's for its arguments."""

    definition: ToolDefinition
    validator: SchemaValidator | None = None

    def named(self, name: str) -> "Declared":
        """The same under another name."""
        return replace(self, definition=replace(self.definition, name=name))


def declared(agent: Any) -> tuple[dict[str, Declared], bool]:
    """An agent's tools by name; and True if these are all, False if only a run knows the others."""
    tools: dict[str, Declared] = {}
    whole = _collect(agent.toolsets, tools)
    return tools, whole


def _collect(toolsets: Iterable[AbstractToolset[Any]], tools: dict[str, Declared]) -> bool:
    whole = True
    for toolset in toolsets:
        if isinstance(toolset, FunctionToolset):
            for name, tool in toolset.tools.items():
                validator = tool.function_schema.validator
                own = validator if isinstance(validator, SchemaValidator) else None
                tools[name] = Declared(tool.tool_def, own)
        elif isinstance(toolset, ExternalToolset):
            for definition in toolset.tool_defs:
                tools[definition.name] = Declared(replace(definition, kind="external"))
        elif isinstance(toolset, CombinedToolset):
            whole = _collect(toolset.toolsets, tools) and whole
        elif isinstance(toolset, WrapperToolset):
            inner: dict[str, Declared] = {}
            whole = _collect([toolset.wrapped], inner) and whole
            tools.update({name: tool.named(name) for name, tool in _renamed(toolset, inner)})
        else:
            whole = False
    return whole


def _renamed(
    toolset: WrapperToolset[Any], inner: dict[str, Declared]
) -> list[tuple[str, Declared]]:
    """The tools of a wrapped toolset under the names that the wrapper gives them."""
    if isinstance(toolset, PrefixedToolset):
        return [(f"{toolset.prefix}_{name}", tool) for name, tool in inner.items()]
    if isinstance(toolset, RenamedToolset):
        new = {old: name for name, old in toolset.name_map.items()}
        return [(new.get(name, name), tool) for name, tool in inner.items()]
    return list(inner.items())
