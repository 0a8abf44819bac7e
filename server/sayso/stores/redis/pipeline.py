"""One connection to Redis that many use at once: what is sent is answered in its order.

The client makes it (address, TLS, user, database). `PipelinedConnection` then leaves the client
out: it has a task, a time limit and a lock around each exchange, which together cost more than the
exchange. `DriverConnection` is the client's own way, by its public methods alone.
"""

import asyncio
from collections import deque
from typing import Any, Protocol

import hiredis
import redis
from redis.asyncio.connection import DefaultParser

from sayso.stores.redis.server import TIMEOUT_S


class _Batch:
    """Commands that were sent together, and the answers so far."""

    __slots__ = ("answers", "count", "since", "waiter")

    def __init__(self, count: int, waiter: "asyncio.Future[list[Any]]", since: float) -> None:
        self.count = count
        self.waiter = waiter
        self.since = since
        self.answers: list[Any] = []


class Connection(Protocol):
    """A connection of the running event loop, in use until it is lost."""

    @property
    def lost(self) -> bool:
        """True if nothing can be sent any more."""

    @property
    def load(self) -> int:
        """How many wait for their answers."""

    def send(self, packed: bytes, count: int) -> "asyncio.Future[list[Any]]":
        """Send so many commands; their answers, errors among them.

        What was sent is done, also if the waiter is cancelled.

        Raises:
            redis.ConnectionError: The connection is lost before the answers have come.
            redis.TimeoutError: They do not come in time.
        """

    async def end(self) -> None:
        """Close it; who still waits for an answer is told that it was lost."""


class DriverConnection(Connection):
    """One exchange at a time, by the client's own methods."""

    def __init__(self, made: Any) -> None:
        """`made` is a connection of the client's that has nothing under way."""
        self._made = made
        self._turn = asyncio.Lock()
        self._exchanges: set[asyncio.Task[None]] = set()
        self._lost = False

    @property
    def lost(self) -> bool:
        """True after an exchange that failed."""
        return self._lost

    @property
    def load(self) -> int:
        """How many wait for their answers."""
        return len(self._exchanges)

    def send(self, packed: bytes, count: int) -> "asyncio.Future[list[Any]]":
        """Send so many commands, once those before are answered."""
        waiter: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        exchange = asyncio.create_task(self._exchange(packed, count, waiter))
        self._exchanges.add(exchange)
        exchange.add_done_callback(self._exchanges.discard)
        return waiter

    async def end(self) -> None:
        """Close it; exchanges under way fail."""
        self._lost = True
        await self._made.disconnect(nowait=True)
        if self._exchanges:
            await asyncio.wait(self._exchanges)

    async def _exchange(
        self, packed: bytes, count: int, waiter: "asyncio.Future[list[Any]]"
    ) -> None:
        answers: list[Any] = []
        failure: Exception | None = None
        async with self._turn:
            try:
                if self._lost:
                    raise redis.ConnectionError("the connection was lost")
                await self._made.send_packed_command([packed], check_health=False)
                for _ in range(count):
                    answers.append(await self._answer())  # noqa: PERF401 - in their order
            except (redis.RedisError, OSError) as error:
                self._lost, failure = True, error
                await self._made.disconnect(nowait=True)
        if waiter.done():  # who was cancelled has nobody who waits
            return
        if failure is None:
            waiter.set_result(answers)
        else:
            waiter.set_exception(failure)

    async def _answer(self) -> Any:
        try:
            return await self._made.read_response(disable_decoding=True, timeout=TIMEOUT_S)
        except redis.ResponseError as error:
            return error


class PipelinedConnection(asyncio.Protocol, Connection):
    """Many exchanges under way, on the client's socket."""

    def __init__(self, made: Any) -> None:
        """`made` is a connection of the client's that has nothing under way."""
        self._made = made
        self._loop = asyncio.get_running_loop()
        # There is no public way to it; the client has read all that came before.
        self._transport: Any = made._writer.transport
        self._before = self._transport.get_protocol()
        self._reader = hiredis.Reader(
            protocolError=redis.InvalidResponse, replyError=DefaultParser.parse_error
        )
        self._asked: deque[_Batch] = deque()
        self._watch: asyncio.TimerHandle | None = None
        self._gone = self._loop.create_future()
        self._transport.set_protocol(self)
        if self._transport.is_closing():  # lost between: nobody else will be told
            self._gone.set_result(None)

    @property
    def lost(self) -> bool:
        """True once nothing can be sent."""
        return self._gone.done() or bool(self._transport.is_closing())

    @property
    def load(self) -> int:
        """How many wait for their answers."""
        return len(self._asked)

    def send(self, packed: bytes, count: int) -> "asyncio.Future[list[Any]]":
        """Send so many commands; their answers, errors among them.

        Raises `redis.ConnectionError` when it is lost before they have come, and
        `redis.TimeoutError` when they do not come in time.
        """
        waiter: asyncio.Future[list[Any]] = self._loop.create_future()
        if self.lost:
            waiter.set_exception(redis.ConnectionError("the connection was lost"))
            return waiter
        self._asked.append(_Batch(count, waiter, self._loop.time()))
        self._transport.write(packed)
        if self._watch is None:
            self._watch = self._loop.call_later(TIMEOUT_S, self._look)
        return waiter

    async def end(self) -> None:
        """Let go of it; who still waits for an answer is told that it was lost."""
        self._transport.abort()
        await self._gone
        await self._made.disconnect(nowait=True)

    def data_received(self, data: bytes) -> None:
        """Hand out answers."""
        reader = self._reader
        try:
            reader.feed(data)
            while self._asked:
                asked = self._asked[0]
                while len(asked.answers) < asked.count:
                    answer = reader.gets()
                    # Not here yet: this version of the protocol has no such value.
                    if answer is False:
                        return
                    asked.answers.append(answer)
                self._asked.popleft()
                if not asked.waiter.done():  # who was cancelled has nobody who waits
                    asked.waiter.set_result(asked.answers)
        except redis.InvalidResponse as error:
            self._fail(error)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell who waits."""
        self._before.connection_lost(exc)
        self._fail(redis.ConnectionError(str(exc or "the server closed the connection")))
        if not self._gone.done():
            self._gone.set_result(None)

    def _fail(self, error: Exception) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        while self._asked:
            waiter = self._asked.popleft().waiter
            if not waiter.done():
                waiter.set_exception(error)
        self._transport.abort()

    def _look(self) -> None:
        """One timer for all: whether the oldest has waited for too long."""
        self._watch = None
        if not self._asked:
            return
        left = self._asked[0].since + TIMEOUT_S - self._loop.time()
        if left <= 0:
            self._fail(redis.TimeoutError("no answer came in time"))
        else:
            self._watch = self._loop.call_later(left, self._look)
