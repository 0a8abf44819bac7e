"""Agents and their capabilities over HTTP: `GET /agents`, `/agents/{a}`, `…/capabilities`.

A declaration has the shape of `AgentCapabilities` and says only what holds; what it leaves out is
unknown, not denied (CP-01, CP-04, CP-06). Nulls are left out.
"""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso.agents.registry import Agent, Agents
from sayso.agents.toolset import Tools
from sayso.base.options import options_to_json
from sayso.http.body import json_response, principal_of
from sayso.turns.authorization import Authorization


def description(agent: Agent, tools: Tools) -> dict[str, Any]:
    """An agent with the tools it may call, as `GET /agents/{a}` shows it."""
    callable_tools = tools.of(agent.name).values()
    return _without_empty(
        {
            **_heading(agent),
            "tools": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "approval": tools.policy(tool).kind,
                    "editable": tools.is_editable(tool),
                }
                for tool in callable_tools
            ],
            "options": options_to_json(agent.options),
            "stateSchema": "" if agent.state is None else agent.state.schema,
        }
    )


def capabilities(agent: Agent, tools: Tools) -> dict[str, Any]:
    """The `AgentCapabilities` of an agent with the tools it may call."""
    callable_tools = tools.of(agent.name).values()
    gated = [tool for tool in callable_tools if tools.policy(tool).kind != "never"]
    asks = agent.options.interrupts_enabled
    return {
        "identity": _without_empty({**_heading(agent), "type": agent.kind}),
        "transport": {"streaming": True},
        "tools": {
            "supported": bool(callable_tools),
            "items": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "metadata": {
                        "sayso": {
                            "approval": tools.policy(tool).kind,
                            "editable": tools.is_editable(tool),
                        },
                    },
                }
                for tool in callable_tools
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


def _heading(agent: Agent) -> dict[str, Any]:
    return {"name": agent.name, "description": agent.description, "version": agent.version}


def _without_empty(value: dict[str, Any]) -> dict[str, Any]:
    return {name: member for name, member in value.items() if member != ""}


class AgentRoutes:
    """The routes over the agents and tools of an app, as they are at each request."""

    def __init__(self, agents: Agents, tools: Tools, authorization: Authorization) -> None:
        self._agents = agents
        self._tools = tools
        self._authorization = authorization

    def routes(self) -> list[Route]:
        """For a Starlette router."""
        return [
            Route("/agents", self._list, methods=["GET"]),
            Route("/agents/{agent}", self._one, methods=["GET"]),
            Route("/agents/{agent}/capabilities", self._capabilities, methods=["GET"]),
        ]

    async def _list(self, request: Request) -> Response:
        principal = principal_of(request)
        agents = [
            agent
            for agent in self._agents.each_newest()
            if await self._authorization.allows(principal, "see", agent.name)
        ]
        return json_response({"items": [_without_empty(_heading(agent)) for agent in agents]})

    async def _one(self, request: Request) -> Response:
        return json_response(description(await self._named(request), self._tools))

    async def _capabilities(self, request: Request) -> Response:
        return json_response(capabilities(await self._named(request), self._tools))

    async def _named(self, request: Request) -> Agent:
        name = request.path_params["agent"]
        return await self._authorization.agent(self._agents, name, principal_of(request))
