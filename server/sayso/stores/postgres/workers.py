"""The threads that own connections to PostgreSQL: one job, one transaction.

A thread of Sayso always goes to the same connection, so its writes keep their order, and locks
nothing of another thread: transactions cannot wait for each other in a circle. Jobs that block an
event loop's helper (`renew`) have a connection of their own.

Statements are run by name, as few round trips as answers are needed.
"""

import asyncio
import concurrent.futures
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, TypeVar

import psycopg

from sayso.base.clock import Clock
from sayso.base.errors import StoreUnavailable
from sayso.stores.people import PeopleCache
from sayso.stores.postgres.pipeline import Wire
from sayso.stores.postgres.server import explain
from sayso.stores.sealing import NO_SEALS, Seals
from sayso.stores.sql.audit import add_person
from sayso.stores.sql.queries import queries
from sayso.stores.sql.session import Answer, Row, Transaction, Values
from sayso.stores.sql.worker import Job, Outcome, StoreRunner, deliver

SQL = queries("postgres")

_FEW = 128
"""Rows that a walk begins with: a page of the usual length, and some that do not fit."""

_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = "BEGIN"
_BEGUN_READING = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
_BEGUN = f"{_BEGUN_READING}, pg_current_xact_id()::text"
_APART = "SELECT pg_advisory_xact_lock(hashtextextended('sayso ' || $1, 0))"
_CHAINING = "SELECT pg_advisory_xact_lock(hashtextextended('sayso-chain ' || $1, 0))"
_NAMING = "SELECT pg_advisory_xact_lock(hashtextextended('sayso-people ' || $1, 0))"
_TOGETHER = "SELECT pg_advisory_xact_lock_shared(hashtextextended('sayso ' || $1, 0))"


class PostgresTransaction(Transaction):
    """A connection in a transaction.

    What only writes is sent and not waited for; its error comes with the next answer, or with the
    commit.
    """

    def __init__(
        self,
        wire: Wire,
        clock: Clock | None,
        people: PeopleCache,
        seals: Seals,
        *,
        writes: bool,
    ) -> None:
        """Begin; `clock` is the store's time, the database's own when there is none.

        `people` are ids that other transactions have read, `seals` how texts are kept.
        """
        self.seals = seals
        self._wire = wire
        self._people = people
        wire.send(_WRITE if writes else _READ)
        self._begun = wire.send(_BEGUN) if writes else None
        self._clock = clock
        self.changed: set[tuple[str, str]] = set()

    def one(self, name: str, values: Values) -> Row | None:
        """The first row, or None; see `Transaction.one`."""
        rows = self._wire.rows(self._sent(name, values))
        return rows[0] if rows else None

    def all(self, name: str, values: Values) -> Sequence[Row]:
        """All rows; see `Transaction.all`."""
        return self._wire.rows(self._sent(name, values))

    def prefetch(self, name: str, values: Values) -> Answer:
        """All rows, asked for now and waited for when needed; see `Transaction.prefetch`."""
        return partial(self._wire.rows, self._sent(name, values))

    def many(self, name: str, rows: Sequence[Values]) -> Sequence[Row]:
        """The row of each, all asked for before the first is waited for; see `Transaction.many`."""
        sent = [self._sent(name, values) for values in rows]
        return [self._wire.rows(one)[0] for one in sent]

    def scan(self, name: str, values: Values) -> AbstractContextManager[Iterator[Row]]:
        """Some rows at a time, more of them each time; see `Transaction.scan`."""
        return nullcontext(self._walked(name, dict(values)))

    def _walked(self, name: str, values: dict[str, Any]) -> Iterator[Row]:
        left, some = values["walk"], _FEW
        while left > 0:
            values["walk"] = min(some, left)
            rows = self._wire.rows(self._sent(name, values))
            yield from rows
            if len(rows) < values["walk"]:
                return
            values["moment"], values["position"] = rows[-1][:2]
            left, some = left - len(rows), some * 4

    def do(self, name: str, values: Values) -> None:
        """Write; see `Transaction.do`."""
        self._sent(name, values)

    def insert_many(self, name: str, rows: Sequence[Values]) -> None:
        """Write for each row; see `Transaction.insert_many`."""
        for values in rows:
            self._sent(name, values)

    def append_changes(self, scope: str, rows: Sequence[dict[str, Any]]) -> None:
        """Write notes under marks that nobody waits for; see `Transaction.append_changes`."""
        self._sent("next_marks", (scope, len(rows)))
        for before, row in zip(range(len(rows) - 1, -1, -1), rows, strict=True):
            self._sent("note_change", row | {"before": before})

    def now(self) -> int:
        """The store's time; see `Transaction.now`."""
        if self._clock is not None:
            return self._clock.now()
        # Of a write, that when it began: no lease is taken for over, or for longer, than it is.
        begun = self._begun or self._wire.send(_BEGUN_READING)
        moment: int = self._wire.rows(begun)[0][0]
        return moment

    def number(self) -> str:
        """The number of a transaction that writes, by which its end can be looked up."""
        if self._begun is None:
            raise RuntimeError("what only reads has no number")
        number: str = self._wire.rows(self._begun)[0][1]
        return number

    def lock_scope(self, scope: str, *, deletes: bool) -> None:
        """By an advisory lock of the scope; see `Transaction.lock_scope`."""
        self._wire.send(_APART if deletes else _TOGETHER, (scope,))

    def lock_chain(self, scope: str) -> None:
        """By an advisory lock of the scope; see `Transaction.lock_chain`."""
        self._wire.send(_CHAINING, (scope,))

    def person(self, scope: str, name: str) -> str:
        """Look once, or add; see `Transaction.person`."""
        person_id = self._people.get(scope, name)
        if person_id is not None:
            return person_id
        row = self.one("find_person", (scope, name))
        if row is None:
            # Two that add several would wait for each other in a circle; so does nobody else.
            self._wire.send(_NAMING, (scope,))
            row = self.one("find_person", (scope, name))
            return str(row[0]) if row else add_person(self, scope, name)
        person_id = str(row[0])
        self._people.put(scope, name, person_id)
        return person_id

    def erase_person(self, scope: str, name: str) -> None:
        """Forget the id of a name; see `Transaction.erase_person`."""
        self.do("erase_person", (scope, name))
        self._people.forget(scope, name)

    def notify(self, scope: str, thread_id: str) -> None:
        """Keep it in `changed`; see `Transaction.notify`."""
        self.changed.add((scope, thread_id))

    def _sent(self, name: str, values: Values) -> Any:
        statement = SQL[name]
        return self._wire.send(statement.text, statement.values(values))


T = TypeVar("T")
Notify = Callable[[set[tuple[str, str]]], None]

_BECAME = "SELECT pg_xact_status($1::text::xid8)"
_LIFE = (
    "SELECT concat(stats_reset, ' ', left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))"
    " FROM pg_stat_wal"
)
"""Differs after a crash, which resets statistics, and after a fail-over, which begins a timeline.

Both forget numbers of transactions that were under way, and give them to others.
"""
_TIMEOUT_S = 5.0
"""Seconds that the outcome of a commit is looked for after a lost connection."""


class PostgresWorkers(StoreRunner):
    """Runs jobs on a number of connections, each in a thread of its own."""

    def __init__(
        self,
        wired: Callable[[], Wire],
        clock: Clock | None,
        connections: int,
        tell: Notify,
        seals: Seals = NO_SEALS,
    ) -> None:
        """Start the threads; each connects, by `wired`, when it gets its first job.

        `tell` is called in one of them with the threads of Sayso that a job changed; `seals` is how
        texts are kept.
        """
        names = [*(f"sayso postgres {n}" for n in range(connections)), "sayso postgres leases"]
        *self._workers, self._own = [_Worker(wired, clock, name, tell, seals) for name in names]

    async def run(self, work: Callable[[Transaction], T], *, writes: bool, key: str = "") -> T:
        """Have a job done and committed; see `Runner.run`."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[T] = loop.create_future()
        worker = self._workers[hash(key) % len(self._workers)]
        worker.submit(Job(work, writes, waiter, loop))
        return await waiter

    def run_blocking(self, work: Callable[[Transaction], T], timeout: float) -> T:
        """Have a writing job done and committed; see `Runner.run_blocking`."""
        waiter: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._own.submit(Job(work, True, waiter, None))
        try:
            return waiter.result(timeout)
        except TimeoutError:
            raise StoreUnavailable(
                f"PostgreSQL did not answer within {timeout} s; look at its load and at the network"
            ) from None

    async def stop(self) -> None:
        """Finish what was submitted and close all connections; see `Runner.stop`."""
        workers = [*self._workers, self._own]
        for worker in workers:
            worker.stop()
        await asyncio.shield(
            asyncio.gather(*(asyncio.wrap_future(worker.ended) for worker in workers))
        )


class _Worker:
    """One thread, one connection, jobs in their order."""

    def __init__(
        self,
        wired: Callable[[], Wire],
        clock: Clock | None,
        name: str,
        tell: Notify,
        seals: Seals,
    ) -> None:
        self._wired = wired
        self._seals = seals
        self._clock = clock
        self._tell = tell
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._stopping = False
        self._wire: Wire | None = None
        self._life = ""
        self._people = PeopleCache()
        self.ended: concurrent.futures.Future[None] = concurrent.futures.Future()
        threading.Thread(target=self._main, name=name, daemon=True).start()

    def submit(self, job: Job) -> None:
        with self._lock:
            if self._stopping:
                raise StoreUnavailable("the store is closed; await its open() first")
            self._queue.put(job)

    def stop(self) -> None:
        with self._lock:
            if not self._stopping:
                self._stopping = True
                self._queue.put(None)

    def _main(self) -> None:
        while (job := self._queue.get()) is not None:
            deliver([job], [self._outcome(job)])
        if self._wire is not None:
            self._wire.close()
        self.ended.set_result(None)

    def _outcome(self, job: Job) -> Outcome:
        fresh = self._wire is None
        try:
            return self._attempt(job), None
        except _NothingDone as lost:
            if fresh:
                return None, lost.told
        except Exception as error:
            return None, error
        # The connection had died of old age before anything was sent on it: a new one may do.
        try:
            return self._attempt(job), None
        except _NothingDone as lost:
            return None, lost.told
        except Exception as error:
            return None, error

    def _attempt(self, job: Job) -> object:
        """Do a job in a transaction of its own; its result, once that is committed."""
        wire = self._connected()
        life = self._life
        number: str | None = None
        value: object = None
        sent = False
        changed: set[tuple[str, str]] = set()
        try:
            session = PostgresTransaction(
                wire, self._clock, self._people, self._seals, writes=job.writes
            )
            value = job.work(session)
            if job.writes:
                number, changed = session.number(), session.changed
            sent = True  # from here on it may have been committed
            wire.send("COMMIT")
            if job.writes:
                wire.sync()
            else:  # all that was read is here; how its transaction ends is told with the next one
                wire.flush()
        except psycopg.Error as error:
            lost = self._tidy(wire)
            told = StoreUnavailable(explain(error))
            told.__cause__ = error
            if not lost:
                raise told from error
            if not sent:
                raise _NothingDone(told) from error
            if number is not None and not self._became(number, life):
                raise told from error
        except BaseException:
            self._tidy(wire)
            raise
        if changed:
            self._tell(changed)
        return value

    def _connected(self) -> Wire:
        if self._wire is None:
            wire = self._wired()
            try:
                self._life = wire.rows(wire.send(_LIFE))[0][0]
                wire.sync()
            except psycopg.Error as error:
                wire.close()
                raise StoreUnavailable(explain(error)) from error
            self._wire = wire
        return self._wire

    def _tidy(self, wire: Wire) -> bool:
        """End a failed transaction; whether the connection was lost."""
        if not wire.lost:
            try:
                wire.rollback()
            except psycopg.Error:
                wire.close()
        if wire.lost:
            wire.close()
            self._wire = None
            return True
        return False

    def _became(self, xid: str, life: str) -> bool:
        """True if a transaction was committed although its connection was lost meanwhile.

        `life` is that of the server which gave it its number. Raises `StoreUnavailable` if nobody
        can tell within a few seconds, or the number may be another's by now.
        """
        deadline = time.monotonic() + _TIMEOUT_S
        while True:
            try:
                wire = self._connected()
                known = self._life == life
                status = wire.rows(wire.send(_BECAME, (xid,)))[0][0] if known else None
                wire.sync()
            except (psycopg.Error, StoreUnavailable) as error:
                if self._wire is not None:
                    self._tidy(self._wire)
                if time.monotonic() >= deadline:
                    raise StoreUnavailable(
                        "the connection to PostgreSQL was lost while a commit was on its way; "
                        "whether it was done shows once PostgreSQL can be reached again"
                    ) from error
            else:
                if not known:
                    raise StoreUnavailable(
                        "PostgreSQL has crashed, or another server took over, while a commit was "
                        "on its way; whether it was done shows when the thread is read"
                    )
                if status == "committed":
                    return True
                if status != "in progress" or time.monotonic() >= deadline:
                    return False
            time.sleep(0.05)


class _NothingDone(Exception):
    """The connection was lost before the commit was sent."""

    def __init__(self, told: StoreUnavailable) -> None:
        super().__init__(str(told))
        self.told = told
