"""The shop's agent as its author would write it without a framework."""

import json
import re

from sayso import Sayso, Tool, Turn
from sayso.providers import ModelRequest, Reply, RequestedCall, Speaks
from tests.frameworks.shop import Said, Shop

ROLES = {"user": "user", "assistant": "model", "tool": "tool"}


class PlannedProvider:
    """A provider that says what the shop's plan says, in pieces."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop

    async def reply(self, request: ModelRequest, speak: Speaks) -> Reply:
        said = [
            Said(ROLES[message["role"]], str(message.get("content") or ""))
            for message in request.messages
            if message["role"] in ROLES
        ]
        for one_round in request.rounds:
            said.append(Said("model", one_round.reply.text))
            said += [Said("tool", str(result)) for result in one_round.results]
        reply = self.shop.reply(said)
        for piece in re.findall(r"\S+\s*", reply.text):
            await speak.text(piece)
        calls = (RequestedCall(c.id, c.name, json.dumps(c.arguments)) for c in reply.calls)
        return Reply(reply.text, tuple(calls))


def tools_of(shop: Shop) -> list[Tool[..., str]]:
    """The shop's tools, in threads, as it has them."""
    return [
        Tool(function, approval=shop.policies[name], editable=True)
        if name in shop.policies
        else Tool(function)
        for name, function in zip(shop.offers, shop.tools, strict=True)
    ]


def mount_chat(app: Sayso, shop: Shop) -> None:
    """Serve the shop's agent as `shop`."""
    tools = tools_of(shop)
    app.add_tools(*tools, agent="shop")

    @app.agent("shop")
    async def clerk(turn: Turn) -> None:
        await turn.chat(PlannedProvider(shop), model="planned", tools=tools, system=shop.prompt)
