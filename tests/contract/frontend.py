"""Tools that a client offers, what a run left to it, and what it says of them."""

from typing import Any

from sayso import Turn
from tests.contract.server import Client, Server
from tests.contract.tools import Kit
from tests.contract.wire import Run

__all__ = ["DRAW", "OFFERED", "PICK", "both", "left", "left_open", "mixed", "picking", "put"]

Json = dict[str, Any]

PICK: Json = {"name": "pick", "description": "Let the user pick.", "parameters": {}}
DRAW: Json = {"name": "draw", "description": "Draw a chart.", "parameters": {}}
OFFERED = [PICK, DRAW]


def left(run: Run) -> list[str]:
    """The calls that a run left to its client, as the client derives them."""
    assert run.outcome == "success", run.last
    return [
        e["toolCallId"] for e in run.of("TOOL_CALL_START") if e["toolCallId"] not in run.results
    ]


def put(client: Client, call: str, content: Any, **members: Any) -> Json:
    """A tool message, which the client keeps from now on."""
    message = {
        "id": f"tool-{len(client.model.messages)}-{call}",
        "role": "tool",
        "toolCallId": call,
        "content": content,
        **members,
    }
    client.model.messages.append(message)
    return message


def picking(server: Server) -> Any:
    async def agent(turn: Turn) -> None:
        server.effects.append(turn.input.text)
        await turn.say("Pick one.")
        picked = await turn.client_tool("pick", {"from": [1, 2]})
        await turn.step(server.effects.append, (picked.status, picked.value))
        await turn.say(f"{picked.status}: {picked}")

    return agent


def both(server: Server) -> Any:
    async def agent(turn: Turn) -> str:
        calls = await turn.gather(turn.client_tool("pick"), turn.client_tool("draw"))
        await turn.step(server.effects.append, "went on")
        return " ".join(map(str, calls))

    return agent


def mixed(tools: Kit) -> Any:
    async def agent(turn: Turn) -> str:
        refund, picked = await turn.gather(
            turn.call(tools.refund, order_id="A-17", amount=240.0), turn.client_tool("pick")
        )
        return f"{refund.status} {picked.status} {picked.value}"

    return agent


def left_open(view: Any) -> list[str]:
    return [one.id for one in view.interrupts if one.status == "open"]
