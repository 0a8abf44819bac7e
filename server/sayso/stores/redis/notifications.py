"""Changes of other processes, which they publish: one connection of a process that listens.

Told after the step and not in its script: a user who may not publish would fail a script in the
middle of what it does. What happens within a few milliseconds is told at once.
"""

import asyncio
import logging
from typing import Any
from uuid import uuid4

import redis
from redis.asyncio import Redis

from sayso.base.errors import StoreUnavailable
from sayso.stores.base import ChangeListener
from sayso.stores.notification_messages import (
    ANYTHING,
    CHANNEL,
    COALESCE_S,
    MAX_QUEUED,
    RETRY_PAUSES_S,
    Changed,
    from_message,
    to_messages,
)
from sayso.stores.redis.client import RedisClient
from sayso.stores.redis.server import TIMEOUT_S, explain, options

_log = logging.getLogger("sayso.stores.redis")

_LISTENING: dict[str, Any] = {"socket_timeout": None, "health_check_interval": TIMEOUT_S}


class RedisNotifications:
    """Tells other processes of changed threads, and hears of theirs; of one event loop."""

    def __init__(self, url: str, link: RedisClient) -> None:
        """Nothing listens before somebody hears; what is told goes over the link."""
        self._url = url
        self._link = link
        self._name = uuid4().hex
        # What is published is published to all databases of a server.
        given: dict[str, Any] = redis.ConnectionPool.from_url(url).connection_kwargs
        self._channel = f"{CHANNEL}:{given.get('db', 0)}"
        self._to_tell: set[Changed] = set()
        self._hearers: list[ChangeListener] = []
        self._telling: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self.hears: bool = False
        """Whether what is told arrives here: known once it has."""

    def subscribe(self, hear: ChangeListener) -> None:
        """Have `hear` called; see `Store.subscribe`."""
        self._hearers.append(hear)
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen(), name="redis hints")

    def notify(self, scope: str, thread_id: str) -> None:
        """Let other processes know, soon."""
        self._to_tell.add((scope, thread_id))
        if len(self._to_tell) > MAX_QUEUED:
            self._to_tell = {ANYTHING}
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell(), name="redis hints to tell")

    async def stop(self) -> None:
        """Tell what is left to tell, and hear nothing more; before the link is closed."""
        self._hearers.clear()
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        if self._telling is not None:
            await asyncio.gather(self._telling, return_exceptions=True)
        self.hears = False

    async def _tell(self) -> None:
        while self._to_tell:
            changed, self._to_tell = self._to_tell, set()
            try:
                for message in to_messages(self._name, changed):
                    await self._link.one("PUBLISH", self._channel, message)
            except StoreUnavailable as error:
                # They look for themselves; the next step meets what is wrong, and says so.
                _log.debug("others were not told of %d threads: %s", len(changed), error)
            await asyncio.sleep(COALESCE_S)

    async def _listen(self) -> None:
        failures = 0
        while True:
            try:
                await self._connected(again=failures > 0)
            except (redis.RedisError, OSError, StoreUnavailable) as error:
                if self.hears or not failures:
                    why = error if isinstance(error, StoreUnavailable) else explain(error)
                    _log.warning("nothing is heard of what other processes change: %s", why)
                failures = 1 if self.hears else failures + 1
                self.hears = False
            await asyncio.sleep(RETRY_PAUSES_S[min(failures, len(RETRY_PAUSES_S)) - 1])

    async def _connected(self, *, again: bool) -> None:
        """Listen until the connection is lost, which raises."""
        client: Any = Redis.from_url(self._url, **(options(self._url) | _LISTENING))
        pubsub = client.pubsub()
        try:
            await pubsub.subscribe(self._channel)
            while True:
                # In between it asks whether the other side is still there.
                message = await pubsub.get_message(timeout=TIMEOUT_S)
                kind = None if message is None else message["type"]
                if kind == "subscribe":
                    if again:
                        self._pass_on(None)
                    # Heard from itself, it knows that it hears: not before it is subscribed.
                    await self._link.one("PUBLISH", self._channel, f'["{self._name}"]')
                elif kind == "message":
                    self._take(message["data"])
        finally:
            await pubsub.aclose()
            await client.aclose()

    def _take(self, message: bytes) -> None:
        teller, changed = from_message(message)
        if teller == self._name:
            self.hears = True
        elif changed is None or changed:
            self._pass_on(changed)

    def _pass_on(self, changed: list[Changed] | None) -> None:
        for scope, thread_id in changed if changed is not None else [(None, None)]:
            for hear in list(self._hearers):
                hear(scope, thread_id)
