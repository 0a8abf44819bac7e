"""CPU of our response path against a floor, through real uvicorn on loopback, in one run.

    python bench/stream.py [--deltas 2000] [--streams 60] [--rounds 3]

The floor is Starlette's StreamingResponse over frames that were encoded beforehand: no guard, no
journal, no readers, one chunk per event. Ours takes a delta as text, encodes it, keeps it for late
readers and hands it to whoever reads. W1: all deltas are ready at once. W1p: one delta per turn of
the event loop. Only the ratio within one run means anything. The targets are W1 <= 0.25 and
W1p <= 1.3 of the floor's CPU.
"""

import argparse
import asyncio
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import orjson
import uvicorn
from starlette.requests import Request
from starlette.responses import StreamingResponse

from sayso.agents.registry import Agent, Agents
from sayso.base.clock import SystemClock
from sayso.base.limits import Limits
from sayso.base.metrics import Metrics
from sayso.base.records import Principal
from sayso.engine.dialect import Dialect
from sayso.engine.engine import Engine
from sayso.engine.quotas import Quotas
from sayso.http.app import Edge
from sayso.http.asgi import Receive, Scope, Send
from sayso.http.options import ServerOptions
from sayso.protocol import frames
from sayso.protocol.client_profile import ClientProfile
from sayso.protocol.runinput import RunInput
from sayso.stores.sqlite.memory import MemoryStore
from sayso.streams.ending import Ending
from sayso.streams.reader import Reader
from sayso.streams.stream import RunStream

WORDS = "the quick brown fox jumps over a lazy dog while seven wizards vex "
MARK = b'"TEXT_MESSAGE_CONTENT"'
TARGETS = {"W1": 0.25, "W1p": 1.3}


def deltas(count: int) -> list[str]:
    """Texts of twelve characters, as a model would send them."""
    return [(WORDS[i * 7 % len(WORDS) :] + WORDS)[:12] for i in range(count)]


class Health:
    """Of an engine that is always ready, and counts nothing."""

    def __init__(self) -> None:
        self.metrics = Metrics()

    async def ready(self) -> None:
        """It is."""

    async def lines(self) -> Iterator[str]:
        """Nothing."""
        return iter(())


class Product:
    """The least engine: it streams, and nothing else, so that the wire alone is measured."""

    def __init__(self, count: int, *, paced: bool) -> None:
        self.requests = self
        self._deltas = deltas(count)
        self._paced = paced
        self.health = Health()
        self.quotas = Quotas(Limits(), MemoryStore(), SystemClock(), shared=True)
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Nothing to start."""

    async def stop(self) -> None:
        """Nothing to stop."""

    async def delivered(self, reader: Reader, principal: Principal) -> None:
        """Nothing to note."""

    async def connect(
        self, agent: str, request: RunInput, principal: Principal, dialect: Dialect | None = None
    ) -> Reader:
        """Not measured."""
        raise NotImplementedError

    async def run(
        self, agent: str, request: RunInput, principal: Principal, dialect: Dialect | None = None
    ) -> Reader:
        """Start a run that writes all deltas."""
        stream = RunStream(request.thread_id, "run_1", unread=1024 * 1024)
        reader = stream.attach(request.run_id, ClientProfile(), messages=None, state=None)
        task = asyncio.create_task(self._write(stream))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return reader

    async def _pieces(self) -> AsyncIterator[str]:
        for delta in self._deltas:
            if self._paced:
                await asyncio.sleep(0)
            yield delta

    async def _write(self, stream: RunStream) -> None:
        text = stream.text("msg-1")
        await text.pour(self._pieces(), 1 << 30)
        text.end()
        stream.finish(Ending(type="success"))


class Floor:
    """The same bytes from Starlette's StreamingResponse."""

    def __init__(self, count: int, *, paced: bool) -> None:
        prefix = frames.text_prefix("msg-1")
        self._frames = [prefix + orjson.dumps(d) + frames.TEXT_TAIL for d in deltas(count)]
        self._paced = paced

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a run."""
        request = Request(scope, receive)
        asked = orjson.loads(await request.body())
        response = StreamingResponse(
            self._body(asked["threadId"], asked["runId"]), media_type="text/event-stream"
        )
        await response(scope, receive, send)

    async def _body(self, thread_id: str, run_id: str) -> AsyncIterator[bytes]:
        yield frames.run_started(thread_id, run_id)
        yield frames.frame(
            {"type": "TEXT_MESSAGE_START", "messageId": "msg-1", "role": "assistant"}
        )
        for data in self._frames:
            if self._paced:
                await asyncio.sleep(0)
            yield data
        yield frames.frame({"type": "TEXT_MESSAGE_END", "messageId": "msg-1"})
        yield frames.run_finished(thread_id, run_id, b'{"type":"success"}', None)


async def _unused(_: Any) -> None:
    """The agent's function: `Product` answers instead."""


def serve(which: str, port: int, count: int) -> None:
    """Serve one contender; `GET /cpu` tells the seconds of CPU that it has used."""
    name, _, load = which.partition(":")
    paced = load == "W1p"
    floor = Floor(count, paced=paced)
    agents = Agents()
    agents.add(Agent(name="bench", version="1", function=_unused))
    product = Edge(
        cast(Engine, Product(count, paced=paced)),
        ServerOptions(),
        authenticate=None,
        console=None,
        agents=agents,
        tools={},
    )

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/cpu":
            body = str(time.process_time()).encode()
            fields = [(b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": 200, "headers": fields})
            await send({"type": "http.response.body", "body": body, "more_body": False})
        elif scope["type"] == "http" and name == "floor":
            await floor(scope, receive, send)
        else:
            await product(scope, receive, send)

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False)


def exchange(port: int, head: str, body: bytes = b"") -> bytes:
    """One request on a connection of its own; the whole answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(head.encode() + b"\r\n\r\n" + body)
        answer = bytearray()
        while piece := connection.recv(1 << 18):
            answer += piece
    return bytes(answer)


def cpu(port: int) -> float:
    """Seconds of CPU that the server has used."""
    answer = exchange(port, "GET /cpu HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close")
    return float(answer.rpartition(b"\r\n\r\n")[2])


def stream_once(port: int, count: int) -> None:
    """One run, checked: every delta arrived and the run ended well."""
    body = orjson.dumps(
        {
            "threadId": "t",
            "runId": "r",
            "messages": [{"id": "u", "role": "user", "content": "go"}],
        }
    )
    answer = exchange(
        port,
        "POST /agents/bench HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}",
        body,
    )
    if answer.count(MARK) != count or b'"RUN_FINISHED"' not in answer:
        raise SystemExit(f"a broken answer: {answer[:300]!r}")


def measure(which: str, count: int, streams: int) -> float:
    """Milliseconds of server CPU per 1000 deltas."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, __file__, "--serve", which, "--port", str(port)]
    with subprocess.Popen([*command, "--deltas", str(count)], env=os.environ) as server:  # noqa: S603
        try:
            deadline = time.monotonic() + 15
            while True:
                try:
                    cpu(port)
                    break
                except OSError:
                    if time.monotonic() > deadline or server.poll() is not None:
                        raise SystemExit(f"{which} does not start") from None
                    time.sleep(0.05)
            for _ in range(5):
                stream_once(port, count)
            before = cpu(port)
            for _ in range(streams):
                stream_once(port, count)
            return (cpu(port) - before) * 1e6 / (streams * count)
        finally:
            server.terminate()


def write(line: str) -> None:
    """One line of the report."""
    sys.stdout.write(line + "\n")


def main() -> None:
    """Measure floor and product in turns and print both with their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--deltas", type=int, default=2000)
    parser.add_argument("--streams", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.port, options.deltas)
        return
    write("load  floor ms/1000  sayso ms/1000  ratio  target")
    for load, target in TARGETS.items():
        found: dict[str, list[float]] = {"floor": [], "sayso": []}
        for _ in range(options.rounds):
            for name, values in found.items():
                values.append(measure(f"{name}:{load}", options.deltas, options.streams))
        floor, ours = (statistics.median(values) for values in found.values())
        write(f"{load:4}  {floor:13.2f}  {ours:13.2f}  {ours / floor:5.2f}  {target}")


if __name__ == "__main__":
    main()
