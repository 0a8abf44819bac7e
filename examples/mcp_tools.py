"""Tools of an MCP server that a person has a say in, and questions that the server itself asks.

    pip install 'sayso[mcp]'
    cd examples && sayso serve mcp_tools:app

Say "refund A-17". The look-up only reads and runs, the refund waits for a yes. Then the server asks
why, and the call goes on with the answer. Kill the server in between and start it again: both cards
are there, and the refund happens once.

The MCP server here is in this process. For a real one give its URL to `mcp.include`, and for a real
model call its tools by their names: `turn.chat(client, model=…, tools=["issue_refund"])`.
"""

from functools import partial
from typing import Annotated

from mcp.client.client import Client
from mcp.server.mcpserver import Elicit, MCPServer, RequestStateSecurity, Resolve
from mcp_types import ToolAnnotations
from pydantic import BaseModel

from sayso import Sayso, Turn, mcp

# A key of its own lets a server know what it asked before it was started again.
server = MCPServer("shop", request_state_security=RequestStateSecurity(keys=[b"k" * 32]))


class Reason(BaseModel):
    """What the server wants to know."""

    reason: str


def why(order_id: str) -> Elicit[Reason]:
    """The question of the server."""
    return Elicit(f"Why refund {order_id}?", Reason)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def look_up(order_id: str) -> str:
    """Look an order up."""
    return f"{order_id}: 240.00, paid"


@server.tool()
def issue_refund(order_id: str, amount: float, reason: Annotated[Reason, Resolve(why)]) -> str:
    """Refund an order."""
    return f"refunded {amount:.2f} for {order_id}: {reason.reason}"


app = Sayso(
    store="sqlite:///mcp_tools.db",
    on_start=[mcp.include(partial(Client, server))],  # mcp.include("https://shop.example/mcp")
)


@app.agent("support")
async def support(turn: Turn) -> None:
    """Stands for a model: looks the order up, refunds it, says what it heard."""
    if "refund" not in turn.input.text:
        await turn.say("Say which order to refund.")
        return
    await turn.say(str(await turn.call("look_up", {"order_id": "A-17"})))
    refund = await turn.call("issue_refund", {"order_id": "A-17", "amount": 240.0})
    await turn.say(f"Done: {refund}")
