"""The edges put together: starting, stopping, mounting, and uvicorn over a real socket."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from sayso.base.errors import StoreUnavailable
from sayso.http.app import Edge
from sayso.protocol.runinput import RunInput
from sayso.streams.ending import Ending
from sayso.streams.reader import Reader
from tests.asgi import JSON, call, run_body
from tests.bodies import attached, soon, stream_of, types, until
from tests.http.stub import StubEngine, edge
from tests.patience import PATIENCE
from tests.stream_checker import check, events_of


async def test_the_first_request_starts_the_engine_and_no_other_does() -> None:
    """A mounted app has no lifespan of its own (design 6)."""
    engine = StubEngine()
    app = edge(engine)
    await asyncio.gather(*(call(app, "GET", "/agents") for _ in range(5)))
    assert engine.starts == 1


async def test_a_start_that_failed_is_tried_again_by_the_next_request() -> None:
    """The store may be back (design 6)."""
    engine = StubEngine()
    engine.start_fault = StoreUnavailable("not yet")
    app = edge(engine)
    refused = await call(app, "POST", "/agents/support", headers=JSON, body=run_body())
    assert (refused.status, refused.json["code"]) == (503, "store_unavailable")
    engine.start_fault = None
    assert (await call(app, "POST", "/agents/support", headers=JSON, body=run_body())).status == 200
    assert engine.starts == 2


async def test_a_client_that_gives_up_does_not_stop_the_start_for_others() -> None:
    """One start for all who wait (design 6)."""
    gate = asyncio.Event()

    class Slow(StubEngine):
        async def start(self) -> None:
            await super().start()
            await gate.wait()

    engine = Slow()
    app = edge(engine)
    first = asyncio.create_task(call(app, "GET", "/agents"))
    second = asyncio.create_task(call(app, "GET", "/agents"))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    gate.set()
    assert (await soon(second)).status == 200
    assert engine.starts == 1


async def lived(app: Edge, *messages: str) -> list[dict[str, Any]]:
    inbox = [{"type": f"lifespan.{message}"} for message in messages]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return inbox.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    await soon(app({"type": "lifespan"}, receive, send))
    return sent


async def test_the_server_s_lifespan_starts_and_stops_the_engine() -> None:
    """When it is served by itself (design 6)."""
    engine = StubEngine()
    sent = await lived(edge(engine), "startup", "shutdown")
    assert [message["type"] for message in sent] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]
    assert (engine.starts, engine.stops) == (1, 1)


async def test_an_app_can_be_started_again_after_it_was_stopped() -> None:
    """As test suites and reloading servers do."""
    engine = StubEngine()
    app = edge(engine)
    for _ in range(2):
        async with app.lifespan():
            await call(app, "GET", "/agents")
    assert (engine.starts, engine.stops) == (2, 2)


async def test_a_server_that_cannot_start_says_why() -> None:
    """The server exits with this line (design 10)."""
    engine = StubEngine()
    engine.start_fault = StoreUnavailable("cannot open x.db: read-only folder")
    sent = await lived(edge(engine), "startup")
    assert sent == [
        {"type": "lifespan.startup.failed", "message": "cannot open x.db: read-only folder"}
    ]


async def test_web_sockets_are_turned_away() -> None:
    """There is no inbound channel in a run (LC-10)."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("nothing to receive")

    await edge()({"type": "websocket", "path": "/", "headers": []}, receive, send)
    assert [message["type"] for message in sent] == ["websocket.close"]


@pytest.mark.parametrize("prefix", ["/sayso", ""])
async def test_another_app_mounts_it_with_its_lifespan(prefix: str) -> None:
    """In Starlette, and so in FastAPI (design 6); its error handlers stay its own."""
    engine = StubEngine()
    app = edge(engine)

    @asynccontextmanager
    async def lifespan(outer: Starlette) -> AsyncIterator[None]:
        async with app.lifespan(outer):
            yield

    async def page(_: Request, error: Exception | None = None) -> PlainTextResponse:
        return PlainTextResponse("theirs" if error is None else "their error")

    outer = Starlette(
        routes=[Route("/theirs", page), Mount(prefix, app=app)],
        lifespan=lifespan,
        exception_handlers={404: page, 405: page},
    )
    async with outer.router.lifespan_context(outer):
        transport = httpx.ASGITransport(outer)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            theirs = await client.get("/theirs")
            ours = await client.post(f"{prefix}/agents/support", content=run_body(), headers=JSON)
            missing = await client.post(f"{prefix}/agents", headers=JSON)
    assert theirs.text == "theirs"
    assert check(events_of(ours.content)) == []
    assert (missing.status_code, missing.json()["code"]) == (405, "method_not_allowed")
    assert (engine.starts, engine.stops) == (1, 1)


async def test_further_routes_are_served_behind_authentication() -> None:
    """The demo's effects, the inbox (design 5)."""

    async def nobody(_: Any) -> None:
        return None

    async def effects(_: Request) -> PlainTextResponse:
        return PlainTextResponse("[]")

    routes = [Route("/demo/effects", effects)]
    assert (await call(edge(routes=routes), "GET", "/demo/effects/")).body == b"[]"
    closed = edge(routes=routes, authenticate=nobody)
    assert (await call(closed, "GET", "/demo/effects")).status == 401


@asynccontextmanager
async def serving(app: Edge) -> AsyncIterator[tuple[str, int]]:
    """The app in uvicorn on a free port of loopback."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="on")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    try:
        yield server.servers[0].sockets[0].getsockname()
    finally:
        server.should_exit = True
        await soon(task)


async def test_uvicorn_streams_a_run_chunk_by_chunk_and_sees_a_client_leave() -> None:
    """Over a real socket: flushed at once, ended in order, let go when closed (EN-10, ER-13)."""
    streams = []

    def answer(request: RunInput) -> Reader:
        streams.append(stream_of())
        return attached(streams[-1], request.run_id)

    async with serving(edge(StubEngine(answer))) as (host, port):
        head = (
            f"POST /agents/support HTTP/1.1\r\nHost: {host}:{port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(run_body())}\r\n\r\n"
        )
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(head.encode() + run_body())
        seen = await soon(reader.readuntil(b'"RUN_STARTED"'))
        assert b"content-type: text/event-stream\r\n" in seen
        text = streams[0].text("m")
        text.write("one")
        await soon(reader.readuntil(b"one"))
        text.write("two")
        await soon(reader.readuntil(b"two"))
        streams[0].finish(Ending(type="success"))
        last = await soon(reader.readuntil(b"0\r\n\r\n"))
        assert last.count(b"RUN_FINISHED") == 1

        writer.write(head.encode() + run_body())
        await soon(reader.readuntil(b'"RUN_STARTED"'))
        assert len(streams[1].readers) == 1
        writer.close()
        await writer.wait_closed()
        await until(lambda: not streams[1].readers)


async def test_a_client_of_the_library_reads_it_whole() -> None:
    """Over uvicorn: one body, every event (EN-03)."""

    def answer(request: RunInput) -> Reader:
        stream = stream_of()
        reader = attached(stream, request.run_id)
        text = stream.text("m")
        for position in range(1000):
            text.write(f"<{position}>")
        stream.finish(Ending(type="success"))
        return reader

    engine = StubEngine(answer)
    async with serving(edge(engine)) as (host, port), httpx.AsyncClient(timeout=PATIENCE) as client:
        response = await client.post(
            f"http://{host}:{port}/agents/support", content=run_body(), headers=JSON
        )
    found = events_of(response.content)
    assert len(found) == 1004
    assert types(found)[-1] == "RUN_FINISHED"
    assert [key for key, _ in engine.noted] == ["run_1"]
