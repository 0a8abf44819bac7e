"""Further apps on the files of a server: other processes, as far as a store can tell."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from sayso import Sayso, Turn
from sayso.testing import FakeClock, FaultyStore
from tests.apps import app_with
from tests.contract.server import Server
from tests.stores.backends import BACKENDS

__all__ = ["replica"]


@asynccontextmanager
async def replica(
    server: Server,
    *agents: tuple[str, Callable[[Turn], Awaitable[Any]]],
    clock: FakeClock | None = None,
) -> AsyncIterator[Sayso]:
    """A started app with a store of its own on the same file, the same tools and these agents.

    In memory there is one store only, which both use.
    """
    store = server.store
    if server.kind != "memory":
        store = FaultyStore(BACKENDS[server.kind](server.folder, server.clock))
    app = app_with(store=store, clock=clock or server.clock, **server.options)
    app.add_tools(*server.app.tools)
    for name, function in agents:
        app.agent(name)(function)
    async with app.lifespan():
        yield app
        if server.kind == "memory":
            # The end of an app closes its store, and this one is not its own.
            await app._engine.stop(0)
            await store.open()
