"""Copies of a database file that are taken while it is served (docs/deployment.md: backups)."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from sayso import Sayso, ServerOptions, Turn
from tests.asgi import JSON, call
from tests.server import run_input
from tests.stream_checker import events_of

Copy = Callable[[Path, Path], None]


def backup(path: Path, copy: Path) -> None:
    """What `.backup` of the shell does."""
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)


def vacuum(path: Path, copy: Path) -> None:
    """By a statement."""
    with closing(sqlite3.connect(path, isolation_level=None)) as source:
        source.execute("VACUUM INTO ?", (str(copy),))


class Server:
    """An app over a file, whose agent does a thing, asks, and does another."""

    def __init__(self, path: Path) -> None:
        self.app = Sayso(store=f"sqlite:///{path}", server=ServerOptions(console=False))
        self.effects: list[Any] = []
        self.app.agent("asker")(self.ask)

    async def ask(self, turn: Turn) -> None:
        """Asks twice."""
        await turn.step(self.begin)
        first = await turn.interrupt("input_required", "Well?", schema=str)
        second = await turn.interrupt("input_required", "And?", schema=str)
        self.effects.append((first.value, second.value))

    def begin(self) -> None:
        """What is done before it asks, once."""
        self.effects.append("begun")

    async def run(self, thread_id: str, **parts: Any) -> dict[str, Any]:
        """The last event of a run."""
        body = orjson.dumps(run_input(thread_id, **parts))
        answer = await call(self.app, "POST", "/agents/asker", headers=JSON, body=body)
        last: dict[str, Any] = events_of(answer.body)[-1]
        return last

    async def answer(self, thread_id: str, interrupt: str, payload: str) -> dict[str, Any]:
        """The last event of the run that answers."""
        given = {"interruptId": interrupt, "status": "resolved", "payload": payload}
        return await self.run(thread_id, resume=[given])


def asked(last: dict[str, Any]) -> str:
    """The id of the question that a run ended in."""
    found: str = last["outcome"]["interrupts"][0]["id"]
    return found


@pytest.mark.parametrize("take", [backup, vacuum])
async def test_questions_in_a_backup_are_answered_where_it_is_restored(
    tmp_path: Path, take: Copy
) -> None:
    """Taken while turns run: what was done is not done again, what was open goes on."""
    old, restored = Server(tmp_path / "sayso.db"), tmp_path / "copy.db"
    await old.app._engine.start()
    try:
        fresh = asked(await old.run("fresh"))
        half = asked(await old.answer("half", asked(await old.run("half")), "one"))
        busy = [asyncio.ensure_future(old.run(f"busy-{n}")) for n in range(4)]
        await asyncio.to_thread(take, tmp_path / "sayso.db", restored)
        await asyncio.gather(*busy)
        assert asked(await old.answer("fresh", fresh, "gone")) != fresh
    finally:
        await old.app._engine.stop(5)

    new = Server(restored)
    await new.app._engine.start()
    try:
        done = await new.answer("half", half, "two")
        assert done["outcome"] == {"type": "success"}, done
        assert new.effects == [("one", "two")]
        after = asked(await new.answer("fresh", fresh, "x"))
        await new.answer("fresh", after, "y")
        assert new.effects == [("one", "two"), ("x", "y")]
    finally:
        await new.app._engine.stop(5)
    with closing(sqlite3.connect(restored)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
