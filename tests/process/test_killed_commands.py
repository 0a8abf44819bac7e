"""What takes away or rewrites what is stored, killed at each of its commits and begun again.

Each is a process of its own, forked from one that has Sayso loaded: `kill -9` between what it has
written and the commit, and right behind that.
"""

import asyncio
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import pytest

from sayso import AesGcm, Retention, Sayso, ServerOptions, Turn
from sayso.base.audit import AuditRow, first_unchained
from sayso.base.records import PageRequest
from sayso.cli.main import app as commands
from sayso.stores.aesgcm import add_key, keys_of
from sayso.stores.base import Store
from sayso.stores.sql.store import SqlStore
from sayso.stores.sqlite.store import SqliteStore
from sayso.testing import FakeClock
from sayso.testing.store_suite._make import SCOPE as TENANT
from tests.contract.server import Client
from tests.patience import PATIENCE
from tests.stores.backends import opened
from tests.stores.full_threads import SECRET, fill, read

Where = Literal["inside", "behind"]
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([__name__])
DAY = 86_400
SCOPE = "default"
THREADS = ("t-1", "t-2")


def killed_at(number: int, where: Where) -> None:
    """Let this process die at its commit of that number, before or behind it."""
    commits, write = count(1), SqlStore._write

    async def counted(self: Any, key: str, work: Callable[[Any], Any]) -> Any:
        is_last = next(commits) == number

        def inside(db: Any) -> Any:
            done = work(db)
            if is_last and where == "inside":
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        done = await write(self, key, inside)
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    patch.object(SqlStore, "_write", counted).start()


def command(number: int, where: Where, arguments: list[str]) -> None:
    """Run a command in a process that dies."""
    killed_at(number, where)
    commands(arguments)


def sweep(number: int, where: Where, file: str, now: int) -> None:
    """Sweep once, as a server does, in a process that dies."""
    killed_at(number, where)
    asyncio.run(_swept(file, now))


async def _swept(file: str, now: int) -> None:
    clock = FakeClock(now=now)
    app = Sayso(
        store=SqliteStore(file, clock=clock),
        retention=Retention(threads=30),
        server=ServerOptions(console=False, clock=clock),
    )
    async with app.lifespan():
        while (await app.store.threads(SCOPE)).items:
            await clock.advance(61)


def until_it_ends(target: Callable[..., None], *arguments: Any, each: Any = None) -> int:
    """Let it die at its first commit, at its second, …, until it ends by itself; how often it did.

    `each` is called in between.
    """
    for deaths in count():
        number, where = deaths // 2 + 1, ("inside", "behind")[deaths % 2]
        given = [argument() if callable(argument) else argument for argument in arguments]
        process = FORKS.Process(target=target, args=(number, where, *given))
        process.start()
        process.join(PATIENCE)
        if process.exitcode == 0:
            return deaths
        assert process.exitcode == -signal.SIGKILL
        if each is not None:
            each()
    raise AssertionError


async def rows_of(store: Store, thread: str) -> list[AuditRow]:
    page = await store.audit(SCOPE, PageRequest(limit=200), thread_id=thread)
    assert first_unchained(SCOPE, page.items) is None
    return list(page.items)


async def begun(file: Path, clock: FakeClock) -> None:
    """Have two threads come to their end."""
    store = SqliteStore(file, clock=clock)
    app = Sayso(store=store, server=ServerOptions(console=False, clock=clock))

    @app.tool()
    async def look(what: str) -> str:
        return what

    @app.agent("talk")
    async def talk(turn: Turn) -> None:
        await turn.call(look, what="wilhelmina")

    async with app.lifespan():
        for thread in THREADS:
            await Client(app, "talk", thread=thread).say("wilhelmina")


def test_an_erasure_that_is_killed_at_each_commit_ends_like_one_that_was_not(
    tmp_path: Path,
) -> None:
    """Nothing is left of the person but rows that verify, and the tenant is told once."""
    file = tmp_path / "desk.db"
    asyncio.run(begun(file, FakeClock(now=int(time.time() * 1000))))
    store = f"sqlite:///{file}"
    assert until_it_ends(command, ["erase", "local", "--by", "kay", "--store", store]) > 4

    async def check() -> None:
        async with opened(SqliteStore(file)) as store:
            assert (await store.threads(SCOPE)).items == ()
            for thread in THREADS:
                rows = await rows_of(store, thread)
                left = [row.kind for row in rows if row.content is not None]
                assert ({*left} - {"deleted"}, left[-1]) == ({"erased"}, "erased")
            tenants = [row.kind for row in await rows_of(store, "")]
            assert tenants.count("erased") == 1

    asyncio.run(check())
    assert b"wilhelmina" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_a_store_that_is_rekeyed_by_a_process_that_dies_is_served_meanwhile(
    tmp_path: Path,
) -> None:
    """A server with both keys reads and writes between the deaths; the new key opens it all."""
    file, keys = tmp_path / "desk.db", tmp_path / "sayso.key"
    add_key(keys)
    old = AesGcm.from_file(keys)

    async def first() -> list[Any]:
        async with opened(SqliteStore(file, codec=old)) as store:
            await fill(store)
            return await read(store)

    before = asyncio.run(first())
    add_key(keys)
    lines = keys.read_text().splitlines()
    keys.write_text("\n".join([lines[-1], *lines[:-1]]) + "\n")
    both = AesGcm.from_file(keys)
    with asyncio.Runner() as server:
        store = SqliteStore(file, codec=both)
        server.run(store.open())
        names = count()

        def serves() -> None:
            server.run(fill(store, f"later-{next(names)}"))

        arguments = ["rekey", "--key-file", str(keys), "--store", f"sqlite:///{file}"]
        assert until_it_ends(command, arguments, each=serves) > 4
        server.run(store.close())
    newest = AesGcm({both.ids[0]: keys_of(keys)[both.ids[0]]})

    async def check() -> None:
        async with opened(SqliteStore(file, codec=newest)) as store:
            after = await read(store)
            assert after[:3] == before[:3]
            assert len((await store.threads(TENANT)).items) == 1 + next(names)

    asyncio.run(check())
    assert SECRET.encode() not in file.read_bytes()


@pytest.mark.parametrize("together", [1, 2])
def test_a_sweep_that_is_killed_at_each_commit_is_taken_up_by_another(
    tmp_path: Path, together: int
) -> None:
    """After three minutes; each thread goes once, however many sweep at once."""
    file, clock = tmp_path / "desk.db", FakeClock(now=int(time.time() * 1000))

    asyncio.run(begun(file, clock))
    moments = count(clock.now() + 31 * DAY * 1000, 200_000)
    if together == 1:
        assert until_it_ends(sweep, str(file), lambda: next(moments)) >= 4
    else:
        now = next(moments)
        both = [FORKS.Process(target=sweep, args=(0, "behind", str(file), now)) for _ in range(2)]
        for process in both:
            process.start()
        for process in both:
            process.join(PATIENCE)
        assert [process.exitcode for process in both] == [0, 0]

    async def check() -> None:
        async with opened(SqliteStore(file)) as store:
            assert (await store.threads(SCOPE)).items == ()
            for thread in THREADS:
                kinds = [row.kind for row in await rows_of(store, thread)]
                assert kinds.count("deleted") == 1

    asyncio.run(check())
