"""The agents of an app as the edges show them, made when they are asked for."""

from collections.abc import Mapping
from typing import Any

from sayso.agents.registry import Agents
from sayso.agents.tools import Tool
from sayso.http.agents import AgentRecord, ToolRecord
from sayso.options import shown

__all__ = ["Catalogue"]


class Catalogue(Mapping[str, AgentRecord]):
    """The agents as the edges show them, made when they are asked for."""

    def __init__(self, agents: Agents, tools: Mapping[str, Tool]) -> None:
        self._agents = agents
        self._tools = tools

    def __getitem__(self, name: str) -> AgentRecord:
        agent = self._agents.newest(name)
        if agent is None:
            raise KeyError(name)
        return AgentRecord(
            name=agent.name,
            description=agent.description,
            version=agent.version,
            tools=tuple(_tool(tool) for tool in self._tools.values()),
            options=shown(agent.options),
            state=None if agent.state is None else agent.state.schema,
            kind=agent.kind,
        )

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._agents.newest(name) is not None

    def __iter__(self) -> Any:
        return iter(self._agents.names())

    def __len__(self) -> int:
        return len(self._agents.names())


def _tool(tool: Tool) -> ToolRecord:
    return ToolRecord(
        name=tool.name,
        description=tool.description,
        parameters=tool.parameters,
        approval=tool.approval.kind,
        editable=tool.editable,
    )
