"""What strangers may take of a server before anybody knows them: bounded, and told or cut off."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import uvicorn

from sayso.ops.bounded_protocol import BoundedProtocol, Bounds
from tests.bodies import soon, until

SHORT = Bounds(head_within=0.2, body_within=0.2, taken_within=0.2)
HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
LONG = b"x" * 7_000_000


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with how much came; at `/long` with more than a socket takes, at `/early` at once."""
    size, more = 0, scope["path"] != "/early"
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    body = LONG if scope["path"] == "/long" else str(size).encode()
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


class Served:
    """A server with these bounds."""

    def __init__(self, server: uvicorn.Server) -> None:
        self.server = server
        self.host, self.port = server.servers[0].sockets[0].getsockname()

    async def connect(self, data: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(self.host, self.port, limit=1024)
        writer.write(data)
        return reader, writer

    async def exchange(self, data: bytes) -> bytes:
        """All that the server says until it closes the connection."""
        reader, writer = await self.connect(data)
        said = b""
        with suppress(ConnectionError):
            while piece := await soon(reader.read(65_536)):
                said += piece
        writer.close()
        return said


@asynccontextmanager
async def serving(bounds: Bounds = SHORT) -> AsyncIterator[Served]:
    config = uvicorn.Config(
        echo,
        host="127.0.0.1",
        port=0,
        http=BoundedProtocol.bounded(bounds),
        log_level="critical",
        lifespan="off",
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    try:
        yield Served(server)
    finally:
        server.should_exit = True
        await soon(task)


@pytest.mark.parametrize(
    "data",
    [
        HEAD + b"X-A: " + b"y" * 1_000_000,
        b"GET /" + b"y" * 1_000_000,
        HEAD + b"X-A: 1\r\n" * 150 + b"\r\n",
        HEAD + (b"X-" + b"a" * 500 + b": 1\r\n") * 90 + b"\r\n",
        POST % 2 + b"ab" + HEAD + b"X-A: " + b"y" * 1_000_000,
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: "
        + b"y" * 1_000_000,
    ],
    ids=["field", "line", "fields", "together", "second request", "trailer"],
)
async def test_a_head_has_bounds(data: bytes) -> None:
    """It is told so, unless a request before it is answered: then that, and nothing more."""
    async with serving(Bounds()) as served:
        said = await served.exchange(data)
        wanted = b"200" if data.startswith(POST % 2) else b"431"
        assert said.startswith(b"HTTP/1.1 " + wanted)
        assert said.count(b"HTTP/1.1 ") == 1
        await until(lambda: not served.server.server_state.connections)


async def test_a_head_without_an_end_takes_no_memory() -> None:
    """Whatever is sent behind the bound is not read."""
    async with serving(Bounds()) as served:
        _, writer = await served.connect(HEAD + b"X-A: ")

        async def flood() -> None:
            while True:
                writer.write(b"y" * 65_536)
                await writer.drain()

        with pytest.raises(ConnectionError):
            await soon(flood())
        writer.close()


@pytest.mark.parametrize("said", [b"", b"\r\n", b"GET / HT", HEAD, POST % 9, POST % 9 + b"abc"])
async def test_who_does_not_go_on_is_cut_off(said: bytes) -> None:
    """Silence, half a head, half a body; 408 tells who has begun."""
    async with serving() as served:
        answer = await served.exchange(said)
        assert answer.startswith(b"HTTP/1.1 408 ") == (said != b"")
        await until(lambda: not served.server.server_state.connections)


async def test_a_body_that_drips_is_cut_off_and_one_that_flows_is_not() -> None:
    """By what came on average, however it is cut."""
    async with serving(Bounds(body_within=0.1, body_rate=1_000)) as served:
        reader, writer = await served.connect(POST % 2_000_000)
        answered = asyncio.create_task(reader.readline())
        for _ in range(20):
            writer.write(b"x" * 100_000)
            await asyncio.wait([answered], timeout=0.02)
        assert (await soon(answered)).startswith(b"HTTP/1.1 200")
        writer.close()
        dripping, writer = await served.connect(POST % 2_000_000)
        answered = asyncio.create_task(dripping.readline())
        while not answered.done():
            writer.write(b"x")
            await asyncio.wait([answered], timeout=0.02)
        assert answered.result().startswith(b"HTTP/1.1 408")
        writer.close()


async def test_who_takes_nothing_of_an_answer_is_cut_off() -> None:
    """Seven megabytes to somebody who reads none of them."""
    async with serving() as served:
        _, writer = await served.connect(b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
        await until(lambda: bool(served.server.server_state.connections))
        await until(lambda: not served.server.server_state.connections)
        writer.close()


async def test_what_is_answered_before_it_came_is_not_waited_for() -> None:
    """A body that nobody wants any more, and a connection that goes on to say nothing."""
    early = b"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"
    async with serving() as served:
        for rest in (b"abc", b"abcdefghi"):
            said = await served.exchange(early + rest)
            assert said.count(b"HTTP/1.1") == 1
            await until(lambda: not served.server.server_state.connections)


@pytest.mark.parametrize("bounds", [Bounds(connections=3), Bounds(per_address=3)])
async def test_connections_have_a_bound_and_come_free_again(bounds: Bounds) -> None:
    """Of all, and of one address; who is turned away hears 503, or nothing if there are many."""
    request = HEAD + b"Connection: close\r\n\r\n"
    async with serving(bounds) as served:
        held = [await served.connect() for _ in range(3)]
        await until(lambda: len(served.server.server_state.connections) == 3)
        for _ in range(2):
            said = await served.exchange(request)
            assert said.startswith(b"HTTP/1.1 503 ")
            assert b"retry-after: 1\r\n" in said
        held[0][1].close()
        await until(lambda: len(served.server.server_state.connections) == 2)
        assert (await served.exchange(request)).startswith(b"HTTP/1.1 200 ")
        for _, writer in held:
            writer.close()


async def test_who_is_turned_away_takes_no_memory_either() -> None:
    """Of one address twice as many are told so; the rest is closed at once."""
    async with serving(Bounds(per_address=2)) as served:
        many = [await served.connect() for _ in range(40)]
        await until(lambda: len(served.server.server_state.connections) <= 4)
        for _, writer in many:
            writer.close()
        await until(lambda: not served.server.server_state.connections)


async def test_behind_a_proxy_one_address_may_have_all_connections() -> None:
    async with serving(Bounds(connections=100, per_address=None)) as served:
        many = [await served.connect(HEAD + b"\r\n") for _ in range(80)]
        for reader, writer in many:
            assert (await soon(reader.readline())).startswith(b"HTTP/1.1 200")
            writer.close()


async def test_what_keeps_to_the_bounds_is_served() -> None:
    """A hundred fields, a long body, requests one after another and at once, in any pieces."""
    fields = b"X-A: 1\r\n" * 98
    requests = HEAD + fields + b"\r\n" + POST % 200_000 + b"x" * 200_000 + HEAD + b"\r\n"
    async with serving(Bounds()) as served:
        reader, writer = await served.connect()
        for begin in range(0, len(requests), 9_999):
            writer.write(requests[begin : begin + 9_999])
            await writer.drain()
        for length in (b"0", b"200000", b"0"):
            head = await soon(reader.readuntil(b"\r\n\r\n"))
            assert head.startswith(b"HTTP/1.1 200")
            assert await soon(reader.readexactly(len(length))) == length
        writer.close()
