"""Connections to Redis, and what is sent over them until it is answered.

Whatever is sent here may be sent again: reads change nothing, and a step has a token that the
script keeps beside its outcome for half a minute, so that the same step is never done twice. After
a lost connection it is asked anew, until the answer is there or patience ends.

As a store opens, the server is asked whether it can keep decisions.
"""

import asyncio
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import redis
from redis.asyncio import ConnectionPool
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from sayso.base.errors import StoreUnavailable
from sayso.stores.redis.keys import LAYOUT
from sayso.stores.redis.pipeline import Connection, DriverConnection, PipelinedConnection
from sayso.stores.redis.server import REMEDIES, TIMEOUT_S, explain, options
from sayso.stores.sealing import NO_SEALS, Seals

Command = tuple[Any, ...]
_LOST = (redis.ConnectionError, redis.TimeoutError, OSError)
_UNKNOWN = redis.exceptions.NoScriptError
_PAUSE = 0.05
"""Seconds between two attempts to reach a server that went away."""


def _packed(commands: Sequence[Command]) -> bytes:
    """Commands as they are sent; the client's own way to do it is several times slower."""
    parts: list[bytes] = []
    for command in commands:
        parts.append(b"*%d\r\n" % len(command))
        for argument in command:
            data = argument if isinstance(argument, bytes) else str(argument).encode()
            parts.append(b"$%d\r\n" % len(data))
            parts += (data, b"\r\n")
    return b"".join(parts)


class Script:
    """A script of `lua/`, by its name; `head` is what it begins with, which others share."""

    def __init__(self, name: str, head: str | None = None) -> None:
        parts = (name,) if head is None else (head, name)
        body = b"\n".join((files(__package__) / "lua" / f"{p}.lua").read_bytes() for p in parts)
        self._body = body
        self._digest = hashlib.sha1(body).hexdigest()  # noqa: S324 - the server names it so

    def call(self, keys: Sequence[str], arguments: Sequence[Any]) -> Command:
        """The command that runs it, if the server knows it by now."""
        return ("EVALSHA", self._digest, len(keys), *keys, *arguments)

    def anew(self, command: Command) -> Command:
        """The same call for a server that does not know it."""
        return ("EVAL", self._body, *command[2:])


class _Attempts:
    """How long something that may have arrived is asked for."""

    def __init__(self) -> None:
        self._until: float | None = None

    def failed(self, error: Exception, *, sent: bool) -> None:
        """Note a failure; raises `StoreUnavailable` when there is no point in another attempt."""
        if sent and self._until is None:
            self._until = time.monotonic() + TIMEOUT_S
        if self._until is None:
            raise StoreUnavailable(explain(error)) from error
        if time.monotonic() >= self._until:
            raise StoreUnavailable(
                f"{explain(error)}; what was under way then shows once Redis can be reached again"
            ) from error


class RedisClient:
    """A few connections of one event loop, each used by many at once."""

    def __init__(
        self, url: str, connections: int, *, seals: Seals = NO_SEALS, pipelined: bool = True
    ) -> None:
        """Nothing is connected before the first call; `pipelined` as of `RedisStore`.

        `seals` is how texts are kept behind it.
        """
        self.seals = seals
        self._drive: Callable[[Any], Connection] = (
            PipelinedConnection if pipelined else DriverConnection
        )
        # Of the client's pool only what a URL means is used: a cancelled waiter costs it a place.
        self._made: Any = ConnectionPool.from_url(
            url, retry=AsyncRetry(NoBackoff(), 0), **options(url)
        )
        self._most = connections
        self._ways: list[Connection] = []
        self._opening: asyncio.Task[Connection] | None = None
        self._under_way = 0
        self._rest: asyncio.Event | None = None
        self._closed = False

    async def one(self, *command: Any) -> Any:
        """The answer to one command."""
        (answer,) = await self.all([command])
        return answer

    async def run(self, script: Script, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        """The answer of a script."""
        (answer,) = await self.all([script.call(keys, arguments)], script)
        return answer

    async def at_once(self, commands: Sequence[Command]) -> list[Any]:
        """The answers to commands that read at one instant."""
        answers = await self.all([("MULTI",), *commands, ("EXEC",)])
        found: list[Any] = answers[-1]
        return found

    async def all(self, commands: Sequence[Command], script: Script | None = None) -> list[Any]:
        """The answers to commands; `script` is what the last one runs.

        What was sent is done, also if whoever waits is cancelled; sent again after a lost
        connection it is only for who still waits.
        """
        if self._closed:
            raise StoreUnavailable("the store is closed; await its open() first")
        self._under_way += 1
        try:
            return await self._all(_packed(commands), commands, script)
        finally:
            self._under_way -= 1
            if self._rest is not None and not self._under_way:
                self._rest.set()

    async def close(self) -> None:
        """Let go of all connections once what was asked is answered."""
        self._closed = True
        if self._under_way:
            self._rest = asyncio.Event()
            await self._rest.wait()
        if self._opening is not None:
            await asyncio.wait((self._opening,))
        await self._let_go(lambda way: True)

    async def _all(
        self, packed: bytes, commands: Sequence[Command], script: Script | None
    ) -> list[Any]:
        attempts = _Attempts()
        while True:
            sent = False
            try:
                way = await self._way()
                sent = True
                answers = await way.send(packed, len(commands))
                if script is not None and isinstance(answers[-1], _UNKNOWN):
                    anew = _packed([script.anew(commands[-1])])
                    answers[-1:] = await way.send(anew, 1)
            except _LOST as error:
                # Those that nobody waits at are probably as dead.
                await self._let_go(lambda way: way.lost or not way.load)
                attempts.failed(error, sent=sent)
            except redis.RedisError as error:
                raise StoreUnavailable(explain(error)) from error
            else:
                for answer in answers:
                    if isinstance(answer, redis.RedisError):
                        raise StoreUnavailable(explain(answer)) from answer
                return answers
            if not sent:
                await asyncio.sleep(_PAUSE)

    async def _way(self) -> Connection:
        """The connection that has the least to do; one more if all have something."""
        best = min((way for way in self._ways if not way.lost), key=_load, default=None)
        full = len(self._ways) >= self._most or self._opening is not None
        if best is not None and (full or not best.load):
            return best
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
            self._opening.add_done_callback(self._opened)
        return await asyncio.shield(self._opening)

    async def _open(self) -> Connection:
        await self._let_go(lambda way: way.lost)
        made = self._made.make_connection()
        try:
            await made.connect()
            way = self._drive(made)
        except BaseException:
            await made.disconnect(nowait=True)
            raise
        self._ways.append(way)
        return way

    def _opened(self, task: "asyncio.Task[Connection]") -> None:
        self._opening = None
        if not task.cancelled():
            task.exception()  # whoever waited knows it; nobody else has to

    async def _let_go(self, which: Callable[[Connection], bool]) -> None:
        gone = [way for way in self._ways if which(way)]
        self._ways = [way for way in self._ways if way not in gone]
        for way in gone:
            await way.end()


def _load(way: Connection) -> int:
    return way.load


class BlockingRedisClient:
    """A connection for threads; one caller at a time."""

    def __init__(self, url: str) -> None:
        """Nothing is connected before the first call."""
        half = {"socket_timeout": TIMEOUT_S / 2, "socket_connect_timeout": TIMEOUT_S / 2}
        self._pool = redis.ConnectionPool.from_url(
            url, max_connections=1, retry=Retry(NoBackoff(), 0), **(options(url) | half)
        )
        self._lock = threading.Lock()

    def run(
        self, script: Script, calls: Sequence[tuple[Sequence[str], Sequence[Any]]]
    ) -> list[Any]:
        """The answers of a script to several calls."""
        if not calls:
            return []
        with self._lock:
            attempts = _Attempts()
            while True:
                sent = False
                try:
                    connection = self._pool.get_connection()
                    try:
                        sent = True
                        return self._exchange(connection, script, calls)
                    finally:
                        self._pool.release(connection)
                except _LOST as error:
                    attempts.failed(error, sent=sent)
                    if not sent:
                        time.sleep(_PAUSE)
                except redis.RedisError as error:
                    raise StoreUnavailable(explain(error)) from error

    def _exchange(
        self,
        connection: Any,
        script: Script,
        calls: Sequence[tuple[Sequence[str], Sequence[Any]]],
    ) -> list[Any]:
        commands = [script.call(*call) for call in calls]
        answers = self._answers(connection, commands)
        if any(isinstance(answer, _UNKNOWN) for answer in answers):
            answers = self._answers(connection, [script.anew(command) for command in commands])
        for answer in answers:
            if isinstance(answer, redis.RedisError):
                raise answer
        return answers

    def _answers(self, connection: Any, commands: Sequence[Command]) -> list[Any]:
        connection.send_packed_command([_packed(commands)], check_health=False)
        answers: list[Any] = []
        for _ in commands:
            try:
                answers.append(connection.read_response(disable_decoding=True))
            except redis.ResponseError as error:
                answers.append(error)
        return answers

    def close(self) -> None:
        """Let go of the connection."""
        self._pool.disconnect()


_log = logging.getLogger("sayso.store")

VERSION = 4
"""The newest layout of keys that this code knows."""
_READER = 4
"""The oldest layout whose code still works beside what this one writes."""
_OLDEST = (6, 2)

_REFUSED = "; or accept that loss with ?durability=relaxed at the end of the store's URL"


async def prepare(link: RedisClient, *, relaxed: bool, checkpoints: bool) -> None:
    """Raise `StoreUnavailable` for a server that cannot keep what it acknowledges.

    `relaxed`: one that may lose the newest of it in a crash is only warned of.
    """
    info = _members(await link.one("INFO"))
    _check(info, "?" if info.get("aof_enabled") == "0" else await _appends(link), relaxed)
    if info.get("cluster_enabled") == "1":
        if checkpoints:
            raise StoreUnavailable(
                "Redis is a cluster, which cannot write checkpoint:{session_id} in one step with "
                "its thread; leave checkpoints out of the store's URL, or use a server without "
                "cluster-enabled"
            )
        nodes = _members(await link.one("CLUSTER", "INFO"))
        if int(nodes.get("cluster_size", "1")) > 1:
            raise StoreUnavailable(f"Redis {REMEDIES['MOVED']}")
    await link.one("SET", LAYOUT, f"{VERSION} {_READER}", "NX")
    version, _, reader = (await link.one("GET", LAYOUT)).decode().partition(" ")
    if int(version) < _READER:
        raise StoreUnavailable(
            f"the Redis database has layout {version}, of a sayso of before the first "
            "release, which this one does not read; empty it (FLUSHDB), or name another database"
        )
    if int(reader or version) > VERSION:
        raise StoreUnavailable(
            f"the Redis database has layout {version}, which needs a newer version of sayso "
            f"(this one knows layout {VERSION}); upgrade sayso or name another database"
        )


def _members(text: bytes) -> dict[str, str]:
    lines = (line.partition(":") for line in text.decode().splitlines())
    return {name: value for name, colon, value in lines if colon}


async def _appends(link: RedisClient) -> str | None:
    """When the server writes its file to the disk; None if it does not tell, as hosted ones."""
    try:
        found: list[Any] = await link.one("CONFIG", "GET", "appendfsync")
    except StoreUnavailable:
        return None
    return found[1].decode() if len(found) > 1 else None


def _check(info: Mapping[str, str], appends: str | None, relaxed: bool) -> None:
    version = info.get("redis_version", "0.0")
    known = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if known < _OLDEST:
        raise StoreUnavailable(f"Redis {version} is too old; use 6.2 or newer, or Valkey")
    if info.get("role") in ("slave", "replica"):
        raise StoreUnavailable(f"Redis {REMEDIES['READONLY']}")
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        raise StoreUnavailable(
            f"Redis drops keys when its memory is full (maxmemory-policy {policy}), and decisions "
            "with them; run CONFIG SET maxmemory-policy noeviction, keep it with CONFIG REWRITE, "
            "and give caches a server of their own"
        )
    loss = _loss(info, appends)
    if loss is None:
        return
    if relaxed:
        _log.warning("%s", loss)
    elif appends is None:
        _log.warning("Redis does not tell its settings: %s", loss)
    else:
        raise StoreUnavailable(loss + _REFUSED)


def _loss(info: Mapping[str, str], appends: str | None) -> str | None:
    """Say what may be lost after it was acknowledged, and the mend; None if nothing may."""
    if info.get("aof_enabled") == "0":
        return (
            "Redis keeps no append-only file, so a restart loses decisions that people have made; "
            "run CONFIG SET appendonly yes and CONFIG SET appendfsync always, and keep both with "
            "CONFIG REWRITE"
        )
    if appends != "always":
        return (
            f"Redis writes its file to the disk with appendfsync {appends or 'unknown'}, so a "
            "crash of the machine may lose the newest decisions; run CONFIG SET appendfsync "
            "always, and keep it with CONFIG REWRITE"
        )
    return None
