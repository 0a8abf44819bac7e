"""A store, opened for one command: with the agents of an app, or without any."""

import asyncio
import getpass
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sayso.app import Sayso
from sayso.base.codes import Code
from sayso.base.errors import Problem
from sayso.base.records import Principal, ThreadView
from sayso.cli.admin.target import app_at, store_at
from sayso.http.options import ServerOptions
from sayso.ops.binding import CannotStart
from sayso.stores.base import Store
from sayso.stores.sqlite.memory import MemoryStore

T = TypeVar("T")
CHANNEL = "terminal"


class OpenedStore:
    """Access to threads for a command, as somebody who may see all of a scope."""

    def __init__(self, app: Sayso, scope: str) -> None:
        self.app = app
        self.store: Store = app.store
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
        """Return the owner of a thread, for actions that only owners may take."""
        view = await self.view(thread_id)
        return Principal(subject=view.thread.owner, scope=self.scope)


def operator() -> str:
    """Name the person at the terminal."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return CHANNEL


def within(
    work: Callable[[OpenedStore], Awaitable[T]], *, app: str | None, store: str | None, scope: str
) -> T:
    """Open what was named, do the work, close it. Nothing else in the store is touched."""

    async def run() -> T:
        if app is None:
            served = Sayso(store=store_at(store), server=ServerOptions(console=False))
        else:
            served = app_at(app, store=store)
            if isinstance(served.store, MemoryStore):
                raise CannotStart(
                    f"{app} keeps its threads in memory, which only its own process can see; name "
                    "a store with --store"
                )
        await served._engine.start(sweep=False)
        try:
            return await work(OpenedStore(served, scope))
        finally:
            await served._engine.stop()

    return asyncio.run(run())
