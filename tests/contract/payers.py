"""Agents that pay once, for tests of who may say yes to it."""

from collections.abc import Callable
from typing import Any

from sayso import Tool, Turn, approval
from tests.contract.server import Client, Server


def payer(
    server: Server, who: str, pay: Callable[[], str], policy: approval.Policy, **options: Any
) -> Client:
    """Somebody's client of an agent that pays, and says what came of it and by whom."""
    tool: Tool[..., Any] = Tool(pay, approval=policy, **options)
    server.app.add_tools(tool)

    async def pays(turn: Turn) -> None:
        done = await turn.call(tool)
        await turn.say(f"{done.status} by {done.by}")

    server.app.agent("payer")(pays)
    client = server.client("payer")
    client.headers["authorization"] = f"Bearer {who}"
    return client
