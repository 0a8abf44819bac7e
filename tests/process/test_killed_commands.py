"""What takes away or rewrites what is stored, killed at each of its commits and begun again."""

import asyncio
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from sayso import AesGcm, Retention, Sayso, ServerOptions, Turn, approval
from sayso.base.audit import AuditRow, first_unchained
from sayso.base.records import PageRequest
from sayso.cli.main import app as commands
from sayso.stores import open_store
from sayso.stores.aesgcm import add_key, keys_of
from sayso.stores.base import Store
from sayso.testing import FakeClock
from sayso.testing.store_suite._make import SCOPE as TENANT
from tests.contract.dump import dump
from tests.contract.server import Client, approve
from tests.patience import PATIENCE
from tests.process.deaths import FEWEST, FORKS, Where, at_each_commit, killed_at, until_it_ends
from tests.stores.backends import SHARED, opened
from tests.stores.full_threads import SECRET, fill, read

DAY = 86_400
SCOPE = "default"
THREADS = ("t-1", "t-2")
on_every_store = pytest.mark.parametrize("kind", SHARED)


def command(number: int, where: Where, arguments: list[str]) -> None:
    """Run a command in a process that dies."""
    killed_at(number, where)
    commands(arguments)


def sweep(number: int, where: Where, url: str, now: int) -> None:
    """Sweep until nothing is too old, as a server does, in a process that dies."""
    killed_at(number, where)
    asyncio.run(_swept(url, now))


async def _swept(url: str, now: int) -> None:
    clock = FakeClock(now=now)
    app = Sayso(
        store=open_store(url, clock=clock),
        retention=Retention(threads=30, approvals=30, trail=30),
        server=ServerOptions(console=False, clock=clock),
    )
    async with app.lifespan():
        while await is_left(app.store):
            await clock.advance(61)


async def is_left(store: Store) -> bool:
    """True while there is a thread, an approval or a content of the trail that is too old."""
    rows = [row.kind for row in (await store.audit(SCOPE)).items if row.content is not None]
    left = (await store.threads(SCOPE)).items or (await store.approvals(SCOPE, None)).items
    return bool(left) or not {*rows} <= {"deleted", "erased"}


def says(text: str, dumped: str, folder: Path) -> bool:
    """True if what a store holds has a text, in words or bytes, or a file of that folder has it."""
    data = text.encode()
    return (
        text in dumped
        or data.hex() in dumped.lower()
        or any(data in path.read_bytes() for path in folder.iterdir())
    )


async def rows_of(store: Store, thread: str) -> list[AuditRow]:
    page = await store.audit(SCOPE, PageRequest(limit=200), thread_id=thread)
    assert first_unchained(SCOPE, page.items) is None
    return list(page.items)


async def begun(url: str, clock: FakeClock) -> None:
    """Have two threads come to their end, in which an approval was remembered."""
    store = open_store(url, clock=clock)
    app = Sayso(store=store, server=ServerOptions(console=False, clock=clock))

    @app.tool(approval=approval.always(remember=True))
    async def look(what: str) -> str:
        return what

    @app.agent("talk")
    async def talk(turn: Turn) -> None:
        await turn.call(look, what="wilhelmina")

    async with app.lifespan():
        clients = [Client(app, "talk", thread=thread) for thread in THREADS]
        await clients[0].say("wilhelmina")
        await clients[0].resume(approve(remember=True))
        assert (await clients[1].say("wilhelmina")).outcome == "success"


@at_each_commit
def test_an_erasure_that_is_killed_at_each_commit_ends_like_one_that_was_not(
    kind: str, first: int | None, tmp_path: Path
) -> None:
    """Nothing is left of the person but rows that verify, and the tenant is told once."""
    url = SHARED[kind](tmp_path)
    asyncio.run(begun(url, FakeClock(now=int(time.time() * 1000))))
    arguments = ["erase", "local", "--by", "kay", "--store", url]
    assert until_it_ends(first, command, arguments) >= FEWEST or first

    async def check() -> None:
        async with opened(open_store(url)) as store:
            assert (await store.threads(SCOPE)).items == ()
            assert (await store.approvals(SCOPE, None)).items == ()
            for thread in THREADS:
                rows = await rows_of(store, thread)
                left = [row.kind for row in rows if row.content is not None]
                assert ({*left} - {"deleted"}, left[-1]) == ({"erased"}, "erased")
            tenants = [row.kind for row in await rows_of(store, "")]
            assert tenants.count("erased") == 1
            assert not says("wilhelmina", dump(store, tmp_path), tmp_path)

    asyncio.run(check())


@at_each_commit
def test_a_store_that_is_rekeyed_by_a_process_that_dies_is_served_meanwhile(
    kind: str, first: int | None, tmp_path: Path
) -> None:
    """A server with both keys reads and writes between the deaths; the new key opens it all."""
    url, keys = SHARED[kind](tmp_path), tmp_path / "sayso.key"
    add_key(keys)
    old = AesGcm.from_file(keys)

    async def filled() -> list[Any]:
        async with opened(open_store(url, codec=old)) as store:
            await fill(store)
            return await read(store)

    before = asyncio.run(filled())
    add_key(keys)
    lines = keys.read_text().splitlines()
    keys.write_text("\n".join([lines[-1], *lines[:-1]]) + "\n")
    both = AesGcm.from_file(keys)
    with asyncio.Runner() as server:
        store = open_store(url, codec=both)
        server.run(store.open())
        names = count()

        def serves() -> None:
            server.run(fill(store, f"later-{next(names)}"))

        arguments = ["rekey", "--key-file", str(keys), "--store", url]
        assert until_it_ends(first, command, arguments, each=serves) >= FEWEST or first
        server.run(store.close())
    newest = AesGcm({both.ids[0]: keys_of(keys)[both.ids[0]]})

    async def check() -> None:
        async with opened(open_store(url, codec=newest)) as store:
            after = await read(store)
            assert after[:3] == before[:3]
            assert len((await store.threads(TENANT)).items) == 1 + next(names)
            assert not says(SECRET, dump(store, tmp_path), tmp_path)

    asyncio.run(check())


@at_each_commit
def test_a_sweep_that_is_killed_at_each_commit_is_taken_up_by_another(
    kind: str, first: int | None, tmp_path: Path
) -> None:
    """After three minutes; each thread goes once."""
    url, clock = SHARED[kind](tmp_path), FakeClock(now=int(time.time() * 1000))
    asyncio.run(begun(url, clock))
    moments = count(clock.now() + 31 * DAY * 1000, 200_000)
    assert until_it_ends(first, sweep, url, lambda: next(moments)) >= FEWEST or first
    asyncio.run(is_swept(url))


@on_every_store
def test_two_that_sweep_at_once_remove_each_thread_once(kind: str, tmp_path: Path) -> None:
    """One has the duty, or what it looked at is not there any more."""
    url, clock = SHARED[kind](tmp_path), FakeClock(now=int(time.time() * 1000))
    asyncio.run(begun(url, clock))
    now = clock.now() + 31 * DAY * 1000
    both = [FORKS.Process(target=sweep, args=(0, "behind", url, now)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(PATIENCE)
    assert [process.exitcode for process in both] == [0, 0]
    asyncio.run(is_swept(url))


async def is_swept(url: str) -> None:
    """Look that nothing is left but rows that verify: of each thread that it is gone, once.

    That an approval is gone may be told twice, and never not at all.
    """
    async with opened(open_store(url)) as store:
        assert not await is_left(store)
        for thread in THREADS:
            kinds = [row.kind for row in await rows_of(store, thread)]
            assert kinds.count("deleted") == 1
        assert "deleted" in {row.kind for row in await rows_of(store, "")}
