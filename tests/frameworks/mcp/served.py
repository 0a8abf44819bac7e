"""The shop's agent, with its tools on an MCP server."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from sayso import Sayso, Turn, approval
from tests.frameworks.chat.served import PlannedProvider
from tests.frameworks.shop import Shop, Tool

POLICIES = {"order_*": approval.never, "issue_*": approval.always}


def server_of(shop: Shop, hints: ToolAnnotations | None = None) -> MCPServer:
    """The server of the tools."""
    server = MCPServer("shop")
    for tool in shop.tools:
        server.tool(annotations=hints)(_at_once(shop, tool))
    return server


def _at_once(shop: Shop, tool: Tool) -> Callable[..., Awaitable[str]]:
    """A tool without a thread of its own, unless it has to wait: who died made no late effect."""

    @wraps(tool)
    async def call(**arguments: Any) -> str:
        if shop.free.is_set():
            return tool(**arguments)
        return await asyncio.to_thread(tool, **arguments)

    return call


def serve(app: Sayso, shop: Shop) -> None:
    """Serve the agent as `shop`, with the tools that the app that serves it has included."""

    @app.agent("shop")
    async def clerk(turn: Turn) -> None:
        model = PlannedProvider(shop)
        await turn.chat(model, model="planned", tools=shop.offers, system=shop.prompt)
