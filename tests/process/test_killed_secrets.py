"""Secrets of a tool's arguments, and a server that is killed at any commit of their call."""

import asyncio
import time
from itertools import count
from pathlib import Path
from secrets import token_hex

from sayso import Sayso, Secret, ServerOptions, Turn, approval
from sayso.stores import open_store
from sayso.testing import FakeClock
from tests.contract.dump import dump
from tests.contract.server import Client, answer, approve
from tests.process.deaths import FEWEST, Where, at_each_commit, killed_at, until_it_ends
from tests.stores.backends import SHARED, codec
from tests.stores.servers import files_of

SCOPE, THREAD = "default", "t-1"


def serve(number: int, where: Where, url: str, door: str, password: str, now: int) -> None:
    """Have one call made, however far it has come by now, in a process that dies."""
    killed_at(number, where)
    asyncio.run(_served(url, Path(door), password, now))


async def _served(url: str, door: Path, password: str, now: int) -> None:
    clock = FakeClock(now=now)
    store = open_store(url, clock=clock, codec=codec())
    app = Sayso(store=store, server=ServerOptions(console=False, clock=clock))

    @app.tool(approval=approval.always)
    async def let_in(user: str, password: Secret[str]) -> str:
        with door.open("a") as file:
            file.write(f"{user} {password.reveal()}\n")
        return "in"

    @app.agent("desk")
    async def desk(turn: Turn) -> None:
        await turn.call(let_in, {"user": "ann", "password": password})

    async with app.lifespan():
        client = Client(app, "desk", thread=THREAD)
        if await store.load(SCOPE, THREAD) is None:
            run = await client.say()
        else:
            while (view := await store.load(SCOPE, THREAD)) and view.thread.holder is not None:
                await clock.advance(1)
            run = await client.connect()
        while run.outcome == "interrupt":
            (asked,) = run.interrupts
            is_unclear = asked["reason"] == "sayso:indeterminate"
            run = await client.resume(unclear(door) if is_unclear else approve())
        assert run.outcome == "success"


def unclear(door: Path) -> dict[str, object]:
    """What a person answers who looks whether it has happened."""
    has_happened = door.read_text() != ""
    return answer({"action": "skip", "result": "in"} if has_happened else {"action": "run_again"})


@at_each_commit
def test_a_server_that_is_killed_at_a_commit_hands_a_secret_over_once_and_keeps_it_from_all_else(
    kind: str, first: int | None, tmp_path: Path
) -> None:
    """In no table, key, file and log of the database, whenever one looks."""
    url, door, password = SHARED[kind](tmp_path), tmp_path / "door", token_hex(12)
    door.touch()
    moments = count(int(time.time() * 1000), 60_000)

    def is_secret() -> None:
        assert password not in dump(open_store(url), tmp_path)
        assert not files_with(password, url, tmp_path)

    arguments = (url, str(door), password, lambda: next(moments))
    assert until_it_ends(first, serve, *arguments, each=is_secret) >= FEWEST or first
    is_secret()
    assert door.read_text() == f"ann {password}\n"


def files_with(text: str, url: str, folder: Path) -> list[str]:
    """The files of a database that have a text; of Redis in tests there are none."""
    folders = files_of(url) if url.startswith("postgresql:") else (folder,)
    files = [path for each in folders for path in each.rglob("*") if path.is_file()]
    return [p.name for p in files if p.name != "door" and text.encode() in p.read_bytes()]
