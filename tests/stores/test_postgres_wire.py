"""The wire to PostgreSQL: what is sent ahead of its answers, and errors in between (design 6)."""

from collections.abc import Iterator

import psycopg
import pytest

from sayso.stores.postgres.pipeline import Pipeline
from sayso.stores.postgres.server import connect
from tests.stores.servers import database_to_alter


@pytest.fixture
def wire() -> Iterator[Pipeline]:
    """A connection of the test's own."""
    one = Pipeline(connect(database_to_alter()))
    yield one
    one.close()


def test_values_come_back_as_they_were(wire: Pipeline) -> None:
    """Also text that PostgreSQL's own cannot hold, and one statement with null and without."""
    sent = "SELECT $1::text, $2::bigint, $3::bytea, $4::boolean"
    for values in (
        ("a\0b\ufdd0", 2**62, b"\0\xff", True),
        ("", -1, b"", False),
        (None, None, None, None),
    ):
        assert wire.rows(wire.send(sent, values)) == [values]
    wire.sync()


def test_a_long_way_ahead_of_its_answers_nothing_stands_still(wire: Pipeline) -> None:
    """What neither side's buffers hold: the server stops reading until somebody reads from it."""
    big = "x" * 100_000
    sent = [wire.send("SELECT $1::text, $2::bigint", (big, n)) for n in range(300)]
    assert [wire.rows(one)[0][1] for one in sent] == list(range(300))
    wire.sync()


def test_after_an_error_the_wire_goes_on(wire: Pipeline) -> None:
    """A statement that could not be prepared is prepared anew once it can be."""
    wire.send("BEGIN")
    early = wire.send("SELECT 1::bigint")
    wire.send("SELECT n FROM later")
    late = wire.send("SELECT 2::bigint")
    assert wire.rows(early) == [(1,)]
    with pytest.raises(psycopg.errors.UndefinedTable):
        wire.rows(late)
    wire.rollback()
    wire.send("CREATE TABLE later AS SELECT 3::bigint AS n")
    assert wire.rows(wire.send("SELECT n FROM later")) == [(3,)]
    assert wire.rows(wire.send("SELECT 2::bigint")) == [(2,)]
    wire.sync()
    assert not wire.lost


def test_a_connection_that_ends_is_lost(wire: Pipeline) -> None:
    """Whoever waits is told, and nothing waits for ever."""
    wire.send("SELECT pg_terminate_backend(pg_backend_pid())")
    with pytest.raises(psycopg.errors.AdminShutdown):
        wire.sync()
    with pytest.raises(psycopg.OperationalError):
        wire.rollback()
    assert wire.lost
