"""What agents there are and what they can do: `GET /agents`, `/agents/{a}`, `…/capabilities`.

A declaration has the shape of `AgentCapabilities` and says only what holds; what it leaves out is
unknown, not denied (CP-01, CP-04, CP-06). Nulls are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso.errors import Code, Problem

__all__ = ["AgentRecord", "Agents", "ToolRecord", "capabilities", "description"]

ApprovalKind = Literal["never", "always", "when"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRecord:
    """A tool as it is shown; `parameters` is its JSON Schema.

    `approval` is when a call asks a person first, `editable` whether that person may change the
    arguments.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    approval: ApprovalKind = "never"
    editable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRecord:
    """An agent as it is shown."""

    name: str
    description: str = ""
    version: str = ""
    kind: str = "sayso"
    """What it is built with, as `identity.type` tells clients."""
    tools: tuple[ToolRecord, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    """The options of the agent by name, as JSON; those that are switched off are left out."""
    state: Mapping[str, Any] | None = None
    """The JSON Schema of its state, if it declares one."""


def description(agent: AgentRecord) -> dict[str, Any]:
    """An agent with its tools, as `GET /agents/{a}` shows it."""
    return _without_empty(
        {
            "name": agent.name,
            "description": agent.description,
            "version": agent.version,
            "tools": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "approval": tool.approval,
                    "editable": tool.editable,
                }
                for tool in agent.tools
            ],
            "options": dict(agent.options),
            "stateSchema": "" if agent.state is None else agent.state,
        }
    )


def capabilities(agent: AgentRecord) -> dict[str, Any]:
    """An agent's `AgentCapabilities`."""
    gated = [tool for tool in agent.tools if tool.approval != "never"]
    asks = bool(agent.options.get("mayAsk", True))
    identity = {
        "name": agent.name,
        "type": agent.kind,
        "description": agent.description,
        "version": agent.version,
    }
    return {
        "identity": _without_empty(identity),
        "transport": {"streaming": True},
        "tools": {
            "supported": bool(agent.tools),
            "items": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "metadata": {
                        "sayso": {"approval": tool.approval, "editable": tool.editable},
                    },
                }
                for tool in agent.tools
            ],
        },
        "state": {"snapshots": True, "deltas": True, "persistentState": True},
        "humanInTheLoop": {
            # Any agent that may ask can (`Turn.interrupt`); approvals need a tool that asks.
            "supported": asks,
            "interrupts": asks,
            "approvals": asks and bool(gated),
            "approveWithEdits": asks and any(tool.editable for tool in gated),
        },
    }


def _without_empty(value: dict[str, Any]) -> dict[str, Any]:
    return {name: member for name, member in value.items() if member != ""}


def _json(value: Any) -> Response:
    return Response(orjson.dumps(value), media_type="application/json")


class Agents:
    """The routes over a live mapping of agents."""

    def __init__(self, agents: Mapping[str, AgentRecord]) -> None:
        self._agents = agents

    def routes(self) -> list[Route]:
        """For a Starlette router."""
        return [
            Route("/agents", self._list, methods=["GET"]),
            Route("/agents/{agent}", self._one, methods=["GET"]),
            Route("/agents/{agent}/capabilities", self._capabilities, methods=["GET"]),
        ]

    def _named(self, request: Request) -> AgentRecord:
        agent = self._agents.get(request.path_params["agent"])
        if agent is None:
            raise Problem(
                Code.UNKNOWN_AGENT, "No agent of that name is served. GET /agents lists them."
            )
        return agent

    async def _list(self, _: Request) -> Response:
        return _json(
            {
                "items": [
                    _without_empty(
                        {
                            "name": agent.name,
                            "description": agent.description,
                            "version": agent.version,
                        }
                    )
                    for agent in self._agents.values()
                ]
            }
        )

    async def _one(self, request: Request) -> Response:
        return _json(description(self._named(request)))

    async def _capabilities(self, request: Request) -> Response:
        return _json(capabilities(self._named(request)))
