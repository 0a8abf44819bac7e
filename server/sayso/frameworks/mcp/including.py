"""Listing a server's tools when an app starts: `include(url)`."""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp_types import Tool as ListedTool

from sayso import DeclarationError, Sayso, Tool, Turn, approval
from sayso.frameworks.mcp.rounds import RemoteTool, Server, why
from sayso.frameworks.policies import Policies, check_names, check_policies

_log: Final = logging.getLogger("sayso.mcp")


def include(
    server: str | StdioServerParameters | Callable[..., Client],
    *,
    approve: approval.Policy | Mapping[str, approval.Policy] | None = None,
    prefix: str = "",
    only: Collection[str] | None = None,
    agent: str | None = None,
) -> Callable[[Sayso], Awaitable[None]]:
    """Serve the tools of an MCP server, listed when the app starts: `Sayso(on_start=[include(…)])`.

    - `server`: its URL, a command (`StdioServerParameters`), or a function that makes a `Client` of
      the options that it is called with, for headers and transports of your own.
    - `approve`: the policy of all its tools, or policies by a tool's name or a pattern. A tool that
      none is for asks, unless the server says that it only reads.
    - `prefix`: stands in front of the names of the tools here.
    - `only`: the tools that are served, by the server's names; all by default.
    - `agent`: the one agent that has them; all by default.

    What is returned raises `DeclarationError` for a server that is not reached, and for a name that
    no tool of it has.
    """
    remote = Server(_label(server), _connect(server))

    async def included(app: Sayso) -> None:
        listed = {tool.name: tool for tool in await _listed(remote)}
        named = {} if approve is None or isinstance(approve, approval.Policy) else dict(approve)
        check_policies(remote.label, named)
        check_names(remote.label, [*named, *(only or ())], listed, more=False, log=_log)
        policies = Policies({"*": approve} if isinstance(approve, approval.Policy) else named)
        for name, tool in listed.items():
            if only is None or name in only:
                app.add_tools(_tool(remote, tool, policies, prefix), agent=agent)

    included.__name__ = included.__qualname__ = f"mcp.include({remote.label})"
    return included


def _label(server: object) -> str:
    """The name by which people and records know a server; it says nothing of its paths."""
    if isinstance(server, str):
        return urlsplit(server).netloc.rpartition("@")[2] or server
    return server.command if isinstance(server, StdioServerParameters) else "server"


def _connect(server: str | StdioServerParameters | Callable[..., Client]) -> Callable[..., Client]:
    if callable(server):
        return server

    def connect(**options: Any) -> Client:
        return Client(server, **options)

    return connect


async def _listed(server: Server) -> list[ListedTool]:
    """All tools of a server, of all pages."""
    tools: list[ListedTool] = []
    try:
        async with server.connect() as client:
            cursor = None
            while True:
                page = await client.list_tools(cursor=cursor)
                tools += page.tools
                cursor = page.next_cursor
                if cursor is None:
                    return tools
    except Exception as error:
        raise DeclarationError(
            f"the tools of MCP server {server.label} cannot be listed: {why(error)}"
        ) from error


def _tool(server: Server, listed: ListedTool, policies: Policies, prefix: str) -> Tool[..., Any]:
    """A tool of the server as one that a person can be asked about; hints are the server's word."""
    hints = listed.annotations
    reads = hints is not None and hints.read_only_hint is True
    harmless = hints is not None and hints.destructive_hint is False
    repeats = reads or (hints is not None and hints.idempotent_hint is True)
    policy = policies.policy(listed.name, asks=not reads) or approval.never
    remote = RemoteTool(server, listed.name, repeats)

    async def call(turn: Turn, arguments: Mapping[str, Any]) -> Any:
        return await remote.call(turn, arguments)

    return Tool.of(
        prefix + listed.name,
        description=listed.description or "",
        parameters={"type": "object", "properties": {}, **listed.input_schema},
        call=call,
        part=True,
        approval=policy,
        editable=policy.kind != "never",
        effect="read" if reads else "write" if harmless else "irreversible",
    )
