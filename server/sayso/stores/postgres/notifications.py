"""Changes of other processes, told by NOTIFY: one connection of a process that listens and tells.

Told after the commit and not in it: transactions that notify wait for each other until they are on
disk, over all scopes of a database, and a hint is not worth that. What happens within a few
milliseconds is told at once, so the cost of telling falls with the load.
"""

import asyncio
import contextlib
import logging
import os
import select
import threading
import time
from collections.abc import Callable, Iterable
from typing import Final
from uuid import uuid4

import psycopg

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
from sayso.stores.postgres.pipeline import Connection
from sayso.stores.postgres.server import connect, explain

_log = logging.getLogger("sayso.stores.postgres")

_NOTIFY: Final = "SELECT pg_notify(%s, told) FROM unnest(%s::text[]) AS told"


class PostgresNotifications:
    """Tells other processes of changed threads, and hears of theirs."""

    def __init__(self, url: str) -> None:
        """Nothing is connected before there is something to tell, or somebody who hears."""
        self._url = url
        self._name = uuid4().hex
        self._lock = threading.Lock()
        self._to_tell: set[Changed] = set()
        self._hearers: list[Callable[[list[Changed] | None], None]] = []
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self.hears: bool = False
        """Whether what is told arrives here: known once it has."""

    def subscribe(self, hear: ChangeListener) -> None:
        """Have `hear` called in the running event loop; see `Store.subscribe`."""
        loop = asyncio.get_running_loop()

        def pass_on(changed: list[Changed] | None) -> None:
            for scope, thread_id in changed if changed is not None else [(None, None)]:
                hear(scope, thread_id)

        def later(changed: list[Changed] | None) -> None:
            with contextlib.suppress(RuntimeError):  # that loop is closed: nobody hears any more
                loop.call_soon_threadsafe(pass_on, changed)

        with self._lock:
            self._hearers.append(later)
            self._poke()

    def notify(self, changed: Iterable[Changed]) -> None:
        """Let other processes know, soon; from any thread."""
        with self._lock:
            idle = not self._to_tell
            self._to_tell.update(changed)
            if len(self._to_tell) > MAX_QUEUED:
                self._to_tell = {ANYTHING}
            if idle and self._to_tell:
                self._poke()

    async def stop(self) -> None:
        """Tell what is left to tell, and hear nothing more; to be called once, at the end."""
        with self._lock:
            self._hearers.clear()
            self._stopping = True
        if self._thread is not None:
            self._wake_up()
            await asyncio.to_thread(self._thread.join)
        os.close(self._woken)
        os.close(self._wake)

    def _poke(self) -> None:
        """Have the thread look, which begins with the first need of it; under the lock."""
        if self._stopping:
            return
        if self._thread is None:
            name = "sayso postgres hints"
            self._thread = threading.Thread(target=self._main, name=name, daemon=True)
            self._thread.start()
        self._wake_up()

    def _wake_up(self) -> None:
        with contextlib.suppress(BlockingIOError):  # full: it will look
            os.write(self._wake, b"!")

    def _main(self) -> None:
        failures = 0
        while True:
            try:
                self._connected(again=failures > 0)
                return
            except (psycopg.Error, StoreUnavailable) as error:
                if self.hears or not failures:
                    why = explain(error) if isinstance(error, psycopg.Error) else error
                    _log.warning("nothing is heard of what other processes change: %s", why)
                failures = 1 if self.hears else failures + 1
                self.hears = False
            if self._rest(RETRY_PAUSES_S[min(failures, len(RETRY_PAUSES_S)) - 1]):
                return

    def _connected(self, *, again: bool) -> None:
        """Listen and tell until this is to stop; raises when the connection is lost."""
        db = connect(self._url)
        try:
            db.add_notify_handler(lambda note: self._take(note.payload.encode()))
            db.execute("SET synchronous_commit = off")
            db.execute(f"LISTEN {CHANNEL}")
            if again:
                self._pass_on(None)
            # Heard from itself, it knows that it hears: some poolers lose what listens.
            db.execute(_NOTIFY, (CHANNEL, [f'["{self._name}"]']))
            self._serve(db)
        finally:
            db.close()

    def _rest(self, seconds: float) -> bool:
        """Wait that long; whether this is to stop."""
        end = time.monotonic() + seconds
        while not self._stopping and (left := end - time.monotonic()) > 0:
            if select.select([self._woken], [], [], left)[0]:
                os.read(self._woken, 4096)
        return self._stopping

    def _serve(self, db: Connection) -> None:
        poll = select.poll()
        poll.register(db.pgconn.socket, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        told = 0.0
        while True:
            due = told + COALESCE_S - time.monotonic()
            if self._to_tell and (due <= 0 or self._stopping):
                self._tell(db)
                told = time.monotonic()
                continue
            if self._stopping:
                return
            for descriptor, _ in poll.poll(max(1, due * 1_000) if self._to_tell else None):
                if descriptor == self._woken:
                    os.read(self._woken, 4096)
                else:
                    self._hear(db)

    def _hear(self, db: Connection) -> None:
        db.pgconn.consume_input()
        while (note := db.pgconn.notifies()) is not None:
            self._take(note.extra)

    def _tell(self, db: Connection) -> None:
        with self._lock:
            changed, self._to_tell = self._to_tell, set()
        try:
            db.execute(_NOTIFY, (CHANNEL, to_messages(self._name, changed)))
        except psycopg.Error:
            with self._lock:
                self._to_tell |= changed
            raise

    def _take(self, payload: bytes) -> None:
        """Pass on what somebody told; what cannot be read may mean anything."""
        teller, changed = from_message(payload)
        if teller == self._name:
            self.hears = True
        elif changed is None or changed:
            self._pass_on(changed)

    def _pass_on(self, changed: list[Changed] | None) -> None:
        with self._lock:
            hearers = list(self._hearers)
        for later in hearers:
            later(changed)
