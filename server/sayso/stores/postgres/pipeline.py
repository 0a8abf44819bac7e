"""Statements to PostgreSQL by libpq's pipeline mode: sent at once, waited for where needed.

psycopg's connection, loaders and errors, without its cursors: those look at every statement's text
and at the types of its values anew, which is most of what a short statement costs
(`bench/drivers.py`). Each statement is prepared once per connection, and the server infers the
types of its parameters, so one that is null now and a number next time needs no second plan.
"""

import select
from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol, cast

import psycopg
from psycopg import pq
from psycopg.adapt import Buffer, Transformer
from psycopg.types.string import TextBinaryLoader

Connection = psycopg.Connection[tuple[Any, ...]]

_FAILED = (pq.ExecStatus.FATAL_ERROR, pq.ExecStatus.BAD_RESPONSE)

_LEAD = "\ufdd0"
"""A character of no text that stands before one that PostgreSQL's text cannot hold, or itself."""
_NO_TEXT = str.maketrans({"\0": f"{_LEAD}0", _LEAD: f"{_LEAD}1"})


class _Loader(TextBinaryLoader):
    def load(self, data: Buffer) -> str:
        text = cast(str, super().load(data))
        if _LEAD not in text:
            return text
        return text.replace(f"{_LEAD}0", "\0").replace(f"{_LEAD}1", _LEAD)


class Wire(Protocol):
    """A connection for one thread, on which statements are sent and waited for."""

    @property
    def lost(self) -> bool:
        """True if the connection is of no use any more."""

    def close(self) -> None:
        """Close the connection."""

    def send(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Send a statement with parameters `$1`, `$2` and so on; what `rows` takes."""

    def rows(self, sent: Any) -> list[tuple[Any, ...]]:
        """The rows of a statement, once they are here."""

    def sync(self) -> None:
        """Wait until all that was sent is done."""

    def flush(self) -> None:
        """Send all, and wait for nothing: what comes of it is told with the next answer."""

    def rollback(self) -> None:
        """End a transaction, whether it failed or not; what it had under way is forgotten."""


class DriverWire(Wire):
    """psycopg's own cursors: each statement is waited for when it is sent."""

    def __init__(self, db: Connection) -> None:
        """Take over a connection that has nothing under way."""
        db.adapters.register_loader("text", _Loader)
        self.db = db

    @property
    def lost(self) -> bool:
        """True if the connection is of no use any more."""
        return self.db.closed or self.db.broken

    def close(self) -> None:
        """Close the connection."""
        self.db.close()

    def send(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]] | None:
        """Run a statement; its rows, None if it gives none."""
        cursor = psycopg.RawCursor(self.db)
        cursor.execute(sql.encode(), [_text(value) for value in values], prepare=True, binary=True)
        return cursor.fetchall() if cursor.description else None

    def rows(self, sent: list[tuple[Any, ...]] | None) -> list[tuple[Any, ...]]:
        """The rows that `send` has read."""
        if sent is None:
            raise psycopg.InterfaceError("a statement gave no rows: it writes, or was given up")
        return sent

    def sync(self) -> None:
        """Do nothing: nothing is under way."""

    def flush(self) -> None:
        """Do nothing: nothing is under way."""

    def rollback(self) -> None:
        """End the transaction, if there is one."""
        self.send("ROLLBACK")


class Sent:
    """A statement on its way; its result is there once it was waited for."""

    __slots__ = ("prepares", "result")

    def __init__(self, prepares: str | None = None) -> None:
        self.prepares: str | None = prepares
        self.result: pq.abc.PGresult | None = None


class Pipeline(Wire):
    """A connection in pipeline mode, for one thread.

    What is sent is answered in its order. An error comes with the next answer that is waited for,
    as a `psycopg.Error`; the transaction has then failed, and `rollback` is due.
    """

    def __init__(self, db: Connection) -> None:
        """Take over a connection that has nothing under way; nobody else may use it any more."""
        db.adapters.register_loader("text", _Loader)
        self.db = db
        self._pg = db.pgconn
        self._loads = Transformer(db)
        self._prepared: dict[str, bytes] = {}
        self._names = 0
        self._under_way: deque[Sent] = deque()
        self._poll = select.poll()
        self._poll.register(self._pg.socket, select.POLLIN)
        self._pg.enter_pipeline_mode()

    @property
    def lost(self) -> bool:
        """True once the connection is of no use."""
        return self.db.closed or self._pg.status != pq.ConnStatus.OK

    def close(self) -> None:
        """Let go of the connection."""
        self.db.close()

    def send(self, sql: str, values: Sequence[Any] = ()) -> Sent:
        """Send a statement with parameters `$1`, `$2` and so on; nothing is waited for."""
        params: list[bytes | None] = []
        formats: list[int] = []
        for value in values:
            param, form = _parameter(value)
            params.append(param)
            formats.append(form)
        name = self._prepared.get(sql) or self._prepare(sql)
        self._pg.send_query_prepared(name, params, formats, pq.Format.BINARY)
        sent = Sent()
        self._under_way.append(sent)
        return sent

    def rows(self, sent: Sent) -> list[tuple[Any, ...]]:
        """The rows of a statement, once they are here."""
        if sent.result is None:
            # A mere request to answer would leave the server within a message, where it does not
            # mind for how long a transaction is idle.
            self._end()
            self._exchange(sent)
        result = sent.result
        if result is None or result.status != pq.ExecStatus.TUPLES_OK:
            raise psycopg.InterfaceError("a statement gave no rows: it writes, or was given up")
        self._loads.set_pgresult(result)
        return self._loads.load_rows(0, result.ntuples, tuple)

    def sync(self) -> None:
        """Wait until all that was sent is done."""
        self._exchange(self._end())

    def flush(self) -> None:
        """Send all, and wait for nothing: what comes of it is told with the next answer."""
        end = self._end()
        if self._pg.flush():
            self._exchange(end)

    def rollback(self) -> None:
        """End a transaction, whether it failed or not; what it had under way is forgotten."""
        end = self._end()
        while self._under_way:
            try:
                self._exchange(end)
            except psycopg.Error:
                if self.lost:
                    raise
        self.send("ROLLBACK")
        self.sync()

    def _end(self) -> Sent:
        """The end of what belongs together: behind it errors before it do no harm."""
        self._pg.pipeline_sync()
        end = Sent()
        self._under_way.append(end)
        return end

    def _prepare(self, sql: str) -> bytes:
        self._names += 1
        name = self._prepared[sql] = b"s%d" % self._names
        self._pg.send_prepare(name, sql.encode())
        self._under_way.append(Sent(prepares=sql))
        return name

    def _exchange(self, until: Sent) -> None:
        """Read results up to one."""
        pg = self._pg
        while pg.flush():
            # The server may have to get rid of answers before it takes more.
            self._poll.modify(pg.socket, select.POLLIN | select.POLLOUT)
            ((_, ready),) = self._poll.poll()
            self._poll.modify(pg.socket, select.POLLIN)
            if ready & ~select.POLLOUT:
                pg.consume_input()
        while self._under_way:
            while pg.is_busy():
                self._poll.poll()
                pg.consume_input()
            result = pg.get_result()
            if result is None:  # the end of a statement's results
                if self.lost:
                    raise psycopg.OperationalError("the connection was lost")
                continue
            sent = self._under_way.popleft()
            if result.status != pq.ExecStatus.PIPELINE_SYNC:
                self._note(sent, result)
            if sent is until:
                return

    def _note(self, sent: Sent, result: pq.abc.PGresult) -> None:
        status = result.status
        sent.result = result
        if status in _FAILED or status == pq.ExecStatus.PIPELINE_ABORTED:
            if sent.prepares is not None:
                self._prepared.pop(sent.prepares, None)
            if status in _FAILED:
                raise psycopg.errors.error_from_result(result)
            raise psycopg.errors.InFailedSqlTransaction("an earlier statement failed")


def _parameter(value: Any) -> tuple[bytes | None, int]:
    """A value in one of PostgreSQL's formats: text, but bytes as they are."""
    if value is None:
        return None, pq.Format.TEXT
    if isinstance(value, str):
        return (value if value.isprintable() else value.translate(_NO_TEXT)).encode(), 0
    if isinstance(value, bytes):
        return value, pq.Format.BINARY
    if isinstance(value, bool):
        return b"t" if value else b"f", pq.Format.TEXT
    return b"%d" % value, pq.Format.TEXT


def _text(value: Any) -> Any:
    """A value as the server can infer its type: all but bytes as text."""
    param, form = _parameter(value)
    return param if param is None or form == pq.Format.BINARY else param.decode()
