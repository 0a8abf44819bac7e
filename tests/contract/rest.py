"""REST calls against a server of the contract tests."""

import asyncio
import json
from collections.abc import Coroutine, Mapping
from typing import Any

from starlette.routing import Route

from sayso import Sayso
from tests.contract.server import Client, Server, eventually
from tests.contract.wire import Exchange, Run
from tests.patience import PATIENCE

__all__ = [
    "at_once",
    "at_rest",
    "call",
    "delete",
    "get",
    "inbox",
    "post",
    "reached",
    "routes_of",
    "stop",
]

JSON = {"content-type": "application/json"}


def routes_of(app: Sayso) -> list[tuple[str, str]]:
    """Method and path of every plain route of an app; a path has names in braces."""
    return [
        (method, route.path)
        for route in app._edge._routes.routes
        if isinstance(route, Route)
        for method in sorted((route.methods or set()) - {"HEAD"})
    ]


async def call(
    app: Any,
    method: str,
    path: str,
    body: Any = None,
    *,
    headers: Mapping[str, str] | None = None,
) -> Run:
    """One whole exchange; a body of None is none, bytes go out as they are."""
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    fields = {**(JSON if body is not None else {}), **(headers or {})}
    return await Exchange(app, method, path, data, fields).end()


async def get(server: Server, path: str) -> Any:
    """The JSON of a path that is there."""
    run = await call(server.app, "GET", path)
    assert run.status == 200, run.body
    return run.json


async def post(server: Server, path: str, body: Any = None, *, app: Any = None) -> Run:
    """POST to the server, or to another app on its store."""
    return await call(app or server.app, "POST", path, body)


async def delete(server: Server, path: str) -> Run:
    """DELETE a path."""
    return await call(server.app, "DELETE", path)


async def inbox(server: Server, query: str = "") -> list[dict[str, Any]]:
    """The items of the inbox, from one page."""
    items: list[dict[str, Any]] = (await get(server, f"/interrupts{query}"))["items"]
    return items


async def stop(server: Server, client: Client, *, app: Any = None, **body: Any) -> bool:
    """Stop a client's thread; whether there was anything to stop."""
    run = await post(server, f"/threads/{client.thread}/stop", body or None, app=app)
    assert run.status == 200, run.body
    stopped: bool = run.json["stopped"]
    return stopped


async def at_rest(server: Server, client: Client) -> None:
    """Wait until nobody runs a client's thread."""

    async def idle() -> bool:
        view = await server.store.load("default", client.thread)
        return view is not None and view.thread.holder is None

    await eventually(idle)


async def at_once(
    server: Server, client: Client, *exchanges: Coroutine[Any, Any, Run]
) -> list[Run]:
    """Let exchanges about a client's thread race.

    One that follows the run of another process looks for its end every so often, so time passes
    whenever nobody runs the thread; never under a run, whose lease would pass with it.
    """
    race = asyncio.gather(*exchanges)

    async def over() -> bool:
        view = await server.store.load("default", client.thread)
        if not race.done() and view is not None and view.thread.holder is None:
            await server.clock.advance(0.5)
        return race.done()

    await eventually(over)
    return await race


async def reached(event: asyncio.Event) -> None:
    """Wait for what author code does by itself."""
    async with asyncio.timeout(PATIENCE):
        await event.wait()
