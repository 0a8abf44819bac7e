"""The audit trail as lines of JSON, each row once: over HTTP, and in a file that grows."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from sayso import Limits, Principal, Quota, Sayso, Turn, approval
from sayso.cli.admin.export import Follower
from sayso.ops.binding import CannotStart
from sayso.testing import FakeClock
from tests.contract.replicas import replica
from tests.contract.server import Client, Server, approve, served
from tests.contract.test_approvers import PEOPLE, authenticate, company, paying, rest
from tests.contract.wire import Exchange
from tests.stores.backends import BACKENDS

__all__ = ("company",)


@pytest.fixture(autouse=True)
def auditor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who may read all rows of the company."""
    monkeypatch.setitem(PEOPLE, "aud", Principal(subject="aud", roles=("auditor",)))


async def decided(company: Server, threads: int = 1) -> Client:
    """Let threads of ann's end."""
    client = paying(company, approval.always)
    for _ in range(threads):
        own = client.again(headers=client.headers)
        await own.say()
        await own.resume(approve())
    return client


def read(lines: Sequence[str | bytes]) -> tuple[list[Any], str | None]:
    """The rows and the last place."""
    told = [json.loads(line) for line in lines]
    return [row for row in told if "cursor" not in row], told[-1]["cursor"]


def named(rows: list[Any]) -> list[tuple[str, int]]:
    return [(row["threadId"], row["number"]) for row in rows]


async def export(company: Server, query: str = "", who: str = "aud") -> tuple[list[Any], Any]:
    run = await rest(company, who, "GET", f"/audit/export{query}")
    assert run.status == 200
    return read(run.body.splitlines())


async def listed(company: Server) -> list[Any]:
    rows: list[Any] = (await rest(company, "aud", "GET", "/audit?limit=500")).json["items"]
    return rows


@asynccontextmanager
async def following(app: Any, query: str) -> AsyncIterator[Exchange]:
    """A reader who follows; it goes away at the end."""
    headers = {"authorization": "Bearer aud"}
    exchange = Exchange(app, "GET", f"/audit/export?{query}", b"", headers)
    yield exchange
    if not exchange.ended:
        await exchange.disconnect()


async def has_sent(exchange: Exchange, text: bytes, times: int = 1) -> None:
    """Wait until a text has come so often."""
    while b"".join(exchange.sent).count(text) < times:
        await exchange.next_bytes()


def lines_of(exchange: Exchange) -> list[bytes]:
    return b"".join(exchange.sent).splitlines()


async def test_an_export_has_each_row_once_and_goes_on_where_it_ended(company: Server) -> None:
    """With names, digests and contents; the newest at once, nobody's twice."""
    client = await decided(company)
    before = await listed(company)
    first, place = await export(company)
    assert first == before
    assert {row["owner"] for row in first} == {"ann"}
    (noted,) = (await listed(company))[len(before) :]
    assert (noted["threadId"], noted["kind"]) == ("", "exported")
    content = {"by": "aud", "channel": "http", "since": None, "until": place}
    assert noted["content"] == content
    await client.say()
    again, last = await export(company, f"?since={place}")
    assert [noted, *again[1:]] == again
    assert [*first, *again] == (await listed(company))[:-1]
    assert last != place
    assert (await listed(company))[-1]["content"]["since"] == place


async def test_exports_that_find_only_exports_come_to_an_end(company: Server) -> None:
    """However often somebody comes by, and however many they are."""
    await decided(company)
    _, place = await export(company)
    for kinds in (["exported"], [], []):
        rows, place = await export(company, f"?since={place}")
        assert [row["kind"] for row in rows] == kinds
    assert await export(company, f"?since={place}") == ([], place)


async def test_an_empty_trail_has_nothing_and_notes_nothing(company: Server) -> None:
    """Who goes on from nowhere begins at the beginning."""
    assert await export(company) == ([], None)
    assert await listed(company) == []


async def test_what_cannot_be_noted_does_not_leave(company: Server) -> None:
    """Who takes rows out is written down first."""
    await decided(company)
    before = await listed(company)
    company.store.fail("note", times=9)
    run = await rest(company, "aud", "GET", "/audit/export")
    assert run.status == 503
    assert b"executed" not in run.body
    company.store.restore()
    company.store.fail("note", when="after")
    assert (await rest(company, "aud", "GET", "/audit/export")).status == 503
    rows, _ = await export(company)
    assert [row["kind"] for row in rows[len(before) :]] == ["exported"]


async def test_only_auditors_export_and_only_from_places_that_were_given(company: Server) -> None:
    """Whoever else asks is told which role it takes."""
    await decided(company)
    for path in ("/audit/export", "/audit/export?follow=60"):
        run = await rest(company, "ann", "GET", path)
        assert (run.status, run.problem["code"]) == (403, "not_allowed")
    for query in (
        *(
            f"since={place}"
            for place in ("", "x", "t1.1", "l1.1%2B3", "l-1.1", "l0.%C2%B2", "l0.1e3")
        ),
        f"since=l0.{'9' * 19}",
        *(f"follow={text}" for text in ("", "-1", "1.5", "3601", "99999999", "%C2%B2", "forever")),
    ):
        run = await rest(company, "aud", "GET", f"/audit/export?{query}")
        assert (run.status, run.problem["code"]) == (422, "invalid_input"), query
    assert [row["kind"] for row in await listed(company) if row["kind"] == "exported"] == []


async def test_a_reader_follows_for_as_long_as_it_asked(company: Server) -> None:
    """Each row as it comes, with the place behind it; who follows is noted once."""
    client = await decided(company)
    async with following(company.app, "follow=60") as exchange:
        await has_sent(exchange, b"cursor")
        await company.clock.advance(3)
        await has_sent(exchange, b'"exported"')
        assert exchange.headers["content-type"] == "application/jsonl"
        await client.again(thread="another").say()
        await has_sent(exchange, b'"asked"', 2)
        for _ in range(12):
            await company.clock.advance(5)
        await exchange.end()
        rows, place = read(lines_of(exchange))
    assert named(rows) == named(await listed(company))
    noted = [row["content"] for row in rows if row["kind"] == "exported"]
    assert [(row["by"], row["follows"]) for row in noted] == [("aud", True)]
    assert await export(company, f"?since={place}") == ([], place)
    silent = sum(line.startswith(b'{"cursor"') for line in lines_of(exchange))
    assert silent >= 3, "whoever hears nothing sees every now and then that it is not cut off"


async def test_who_follows_is_ended_with_the_server_and_with_the_sign_in(
    company: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last line says why, and from where to go on."""
    await decided(company)
    ends = company.clock.now() + 5_000
    known = Principal(subject="aud", roles=("auditor",), expires_at=ends)
    monkeypatch.setitem(PEOPLE, "aud", known)
    async with following(company.app, "follow=60") as exchange:
        await has_sent(exchange, b"cursor")
        await company.clock.advance(6)
        await exchange.end()
        assert json.loads(lines_of(exchange)[-1])["closed"] == "token_expired"
    monkeypatch.setitem(PEOPLE, "aud", Principal(subject="aud", roles=("auditor",)))
    async with following(company.app, "follow=60") as exchange:
        await has_sent(exchange, b"cursor")
        company.app._engine.exports.close()
        await exchange.end()
        last = json.loads(lines_of(exchange)[-1])
    assert last["closed"] == "shutting_down"
    company.app._engine.exports.open()
    rows, _ = await export(company, f"?since={last['cursor']}")
    assert {row["kind"] for row in rows} <= {"exported"}


async def test_who_follows_has_a_stream_of_its_quota(tmp_path: Path) -> None:
    """One more is refused, and none is kept by who is gone."""
    limits = Limits(per_user=Quota(streams=1))
    async with served("memory", tmp_path, authenticate=authenticate, limits=limits) as server:
        for _ in range(2):
            async with following(server.app, "follow=60") as exchange:
                await has_sent(exchange, b"cursor")
                refused = await rest(server, "aud", "GET", "/audit/export?follow=60")
                assert (refused.status, refused.problem["code"]) == (429, "too_many")
        assert not server.app._engine.exports._followers


@pytest.mark.parametrize("kind", BACKENDS)
async def test_rows_of_a_clock_that_is_late_are_not_lost(kind: str, tmp_path: Path) -> None:
    """Two replicas, an hour apart: the order is that of writing, whatever their clocks say."""

    async def asks(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Go on?")

    async with served(kind, tmp_path, authenticate=authenticate) as server:
        server.app.agent("asks")(asks)
        client = server.client("asks")
        client.headers["authorization"] = "Bearer ann"
        late = FakeClock(now=server.clock.now() - 3_600_000)
        seen: list[Any] = []
        query = ""
        async with replica(server, ("asks", asks), clock=late) as other:
            for number, app in enumerate((server.app, other) * 3):
                await client.again(thread=f"t-{number}", app=app).say()
                rows, place = await export(server, query)
                seen, query = [*seen, *rows], f"?since={place}"
        missed = [row["kind"] for row in await listed(server) if row not in seen]
        assert missed == ["exported"]
        assert len(named(seen)) == len(set(named(seen)))
        assert [row["threadId"] for row in seen if row["kind"] == "asked"] == [
            f"t-{number}" for number in range(6)
        ]
        assert len({row["at"][:13] for row in seen if row["kind"] == "asked"}) == 2


def follower(app: Sayso, opened: Any, *, follows: bool = False) -> Follower:
    return Follower(app._engine.exports, "default", opened, follows=follows)


async def test_a_follower_that_is_killed_at_any_byte_has_each_row_once(
    company: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever its last write ended, three times; what it had told is not changed."""
    monkeypatch.setattr("sayso.engine.export._PAGE_SIZE", 3)
    file = tmp_path / "trail.jsonl"
    await decided(company, 2)
    with file.open("a+b") as opened:
        count = await follower(company.app, opened).look()
        assert await follower(company.app, opened).look() == 1, "that it was exported"
        assert await follower(company.app, opened).look() == 0
    whole = file.read_bytes()
    wanted = named(await listed(company))
    assert (named(read(whole.decode().splitlines())[0]), count + 1) == (wanted, len(wanted))
    for end in range(0, len(whole), 41):
        file.write_bytes(whole[:end])
        for _ in range(3):
            with file.open("a+b") as opened:
                await follower(company.app, opened).look()
        after = file.read_bytes()
        assert after.startswith(whole[:end].rpartition(b"\n")[0])
        assert named(read(after.decode().splitlines())[0]) == named(await listed(company)), end


async def test_a_trail_that_has_lost_its_end_is_told_to_whoever_goes_on(tmp_path: Path) -> None:
    """An older backup was put in place: its new rows would have numbers that were exported."""
    names = {"authenticate": authenticate}
    file, database = tmp_path / "trail.jsonl", tmp_path / "sayso.db"
    async with served("sqlite", tmp_path, **names) as server:
        await decided(server)
    backup = database.read_bytes()
    async with served("sqlite", tmp_path, **names) as server:
        await decided(server)
        _, place = await export(server)
        with file.open("a+b") as opened:
            await follower(server.app, opened).look()
    for log in ("sayso.db-wal", "sayso.db-shm"):
        (tmp_path / log).unlink(missing_ok=True)
    database.write_bytes(backup)
    before = file.read_bytes()
    async with served("sqlite", tmp_path, **names) as server:
        run = await rest(server, "aud", "GET", f"/audit/export?since={place}")
        assert (run.status, "lost rows" in run.problem["detail"]) == (422, True)
        with file.open("a+b") as opened, pytest.raises(CannotStart, match="lost rows"):
            await follower(server.app, opened).look()
        assert file.read_bytes() == before
        assert len((await export(server))[0]) > 0


async def test_a_follower_is_noted_once_however_often_it_looks(
    company: Server, tmp_path: Path
) -> None:
    """And once more when it is started again and finds something."""
    client = await decided(company)
    file = tmp_path / "trail.jsonl"
    for sessions in (1, 2):
        with file.open("a+b") as opened:
            keeper = follower(company.app, opened, follows=True)
            for _ in range(3):
                await client.again(thread=uuid4().hex).say()
                await keeper.look()
        rows, _ = read(file.read_bytes().splitlines())
        noted = [row["content"] for row in await listed(company) if row["kind"] == "exported"]
        told = [(row["by"], row["follows"]) for row in noted]
        assert told == [("sayso:command", True)] * sessions
    assert [row for row in named(await listed(company)) if row not in named(rows)] == []


async def test_a_file_of_something_else_is_left_alone(company: Server, tmp_path: Path) -> None:
    """No row is written behind it."""
    await decided(company)
    for text in ("a diary\n", "7\n", '{"cursor":"nowhere"}\n'):
        file = tmp_path / "diary"
        file.write_text(text)
        with file.open("a+b") as opened, pytest.raises(CannotStart, match="name another file"):
            await follower(company.app, opened).look()
        assert file.read_text() == text
