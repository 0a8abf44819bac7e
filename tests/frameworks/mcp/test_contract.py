"""What every adapter keeps, with the shop's tools on an MCP server, by both of its protocols."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from mcp.client.client import Client
from mcp_types import ToolAnnotations

from sayso import Sayso, mcp
from tests.frameworks.contract import Cards, Contract
from tests.frameworks.mcp.served import POLICIES, serve, server_of
from tests.frameworks.shop import Shop
from tests.turns.driver import Json, World


class StepCards(Cards):
    """The call of a server's tool is a part of the turn: its step is named after both."""

    record = "step"
    cut = "stopped before its outcome was known"

    def tool(self, card: Json) -> str:
        return super().tool(card).rpartition("/")[2]


class TestContract(Contract):
    """The contract's tests."""

    commits_of_a_gated_trip = 7
    cards = StepCards()
    policies = POLICIES
    hints: ToolAnnotations | None = None
    mode: Literal["auto", "legacy"] = "auto"

    @asynccontextmanager
    async def world(
        self, kind: str, folder: Path, shop: Shop, beside: Any = None, **options: Any
    ) -> AsyncIterator[World]:
        def client(**more: Any) -> Client:
            return Client(self.server, mode=self.mode, **more)

        start = [mcp.include(client, agent="shop", approve=self.policies)]
        async with super().world(kind, folder, shop, beside, on_start=start, **options) as world:
            yield world

    def mount(self, app: Sayso, shop: Shop) -> None:
        self.server = server_of(shop, self.hints)
        serve(app, shop)

    async def test_a_tool_without_a_policy_is_as_the_server_says(
        self, tmp_path: Path, shop: Shop
    ) -> None:
        self.policies, self.hints = {}, ToolAnnotations(read_only_hint=True)
        await super().test_a_tool_without_a_policy_is_as_the_server_says(tmp_path, shop)


class TestLegacy(TestContract):
    """The same by the protocols of before."""

    mode = "legacy"
