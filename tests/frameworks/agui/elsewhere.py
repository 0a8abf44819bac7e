"""A server elsewhere, in this process: its bytes come as they are sent."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx

from tests.contract.wire import Exchange
from tests.frameworks.chat.served import mount_chat
from tests.frameworks.shop import Shop
from tests.turns.driver import World


class Elsewhere(World):
    """A world whose agent is the shop's, behind `turn.chat`, as it is deployed by then."""

    def __init__(self, folder: Path, shop: Shop, **options: Any) -> None:
        self._deployed = shop
        folder.mkdir()
        super().__init__("memory", folder, lambda app: mount_chat(app, self._deployed), **options)
        self.answered: list[str] = []
        """The paths of the requests that are over."""

    async def deploy(self, shop: Shop) -> None:
        """Serve that shop's agent from now on."""
        if shop is not self._deployed:
            self._deployed = shop
            await self.restart()

    def http(self, shop: Shop) -> httpx.AsyncClient:
        """A client for the server, on which that shop's agent is deployed once it is asked."""
        return httpx.AsyncClient(transport=_Way(self, shop))


class _Way(httpx.AsyncBaseTransport):
    def __init__(self, there: Elsewhere, shop: Shop) -> None:
        self._there, self._shop = there, shop

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await self._there.deploy(self._shop)
        headers = {name: value for name, value in request.headers.items() if name != "host"}
        body = await request.aread()
        exchange = Exchange(self._there.app, request.method, request.url.path, body, headers)
        while not exchange.sent:
            await exchange.next_bytes()
        return httpx.Response(
            exchange.status,
            headers=exchange.headers,
            stream=_Body(exchange, self._there.answered, request.url.path),
        )


class _Body(httpx.AsyncByteStream):
    def __init__(self, exchange: Exchange, answered: list[str], path: str) -> None:
        self._exchange, self._answered, self._path = exchange, answered, path

    async def __aiter__(self) -> AsyncIterator[bytes]:
        exchange, taken = self._exchange, 0
        while taken < len(exchange.sent) or not exchange.ended:
            if taken == len(exchange.sent):
                await exchange.next_bytes()
            else:
                yield exchange.sent[taken]
                taken += 1

    async def aclose(self) -> None:
        await self._exchange.disconnect()
        self._answered.append(self._path)
