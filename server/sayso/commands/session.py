"""A store, opened for one command: with the agents of an app, or without any."""

import asyncio
import getpass
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sayso.app import Sayso
from sayso.binding import CannotStart
from sayso.commands.target import app_at, store_at
from sayso.errors import Code, Problem
from sayso.records import Principal, ThreadView
from sayso.stores.memory.store import MemoryStore

__all__ = ["Session", "operator", "within"]

T = TypeVar("T")
CHANNEL = "terminal"


class Session:
    """What a command does to threads, as somebody who may see all of a scope."""

    def __init__(self, app: Sayso, scope: str) -> None:
        self.app = app
        self.store = app.store
        self.scope = scope

    async def view(self, thread_id: str) -> ThreadView:
        """A thread of the scope, whoever owns it; `unknown_thread` if there is none."""
        view = await self.store.load(self.scope, thread_id)
        if view is None:
            raise Problem(
                Code.UNKNOWN_THREAD,
                f"there is no thread {thread_id!r} in scope {self.scope!r}: `sayso threads` lists "
                "them, and --scope names that of another tenant",
            )
        return view

    async def owner(self, thread_id: str) -> Principal:
        """Who owns a thread, for what only owners may do."""
        view = await self.view(thread_id)
        return Principal(subject=view.thread.owner, scope=self.scope)


def operator() -> str:
    """Who sits at the terminal."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return CHANNEL


def within(
    work: Callable[[Session], Awaitable[T]], *, app: str | None, store: str | None, scope: str
) -> T:
    """Open what was named, do the work, close it. Nothing else in the store is touched."""

    async def run() -> T:
        if app is None:
            served = Sayso(store=store_at(store), console=False)
        else:
            served = app_at(app, store=store)
            if isinstance(served.store, MemoryStore):
                raise CannotStart(
                    f"{app} keeps its threads in memory, which only its own process can see; name "
                    "a store with --store"
                )
        await served.engine.start(sweep=False)
        try:
            return await work(Session(served, scope))
        finally:
            await served.engine.stop()

    return asyncio.run(run())
