"""A shop on a real server with the tools of an MCP server, which dies in a tool or in a model."""

from functools import partial

from mcp.client.client import Client

from sayso import Sayso, ServerOptions, mcp
from tests.frameworks.mcp.served import POLICIES, serve, server_of
from tests.frameworks.mortal import Ledger

shop = Ledger()
app = Sayso(
    store="memory:",
    server=ServerOptions(lease=3.0, console=False),
    on_start=[mcp.include(partial(Client, server_of(shop)), agent="shop", approve=POLICIES)],
)
serve(app, shop)
