"""The target of a command: an app by import path, a file of agents, or a store by URL."""

import asyncio
import getpass
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from sayso.app import Sayso
from sayso.base.codes import Code
from sayso.base.errors import DeclarationError, Problem
from sayso.base.records import Principal, ThreadView
from sayso.cli.keys import codec_at
from sayso.http.options import ServerOptions
from sayso.ops.agentfile import app_of
from sayso.ops.binding import CannotStart
from sayso.ops.importing import load_object
from sayso.stores import open_store
from sayso.stores.aesgcm import AesGcm
from sayso.stores.base import Store
from sayso.stores.sqlite.memory import MemoryStore

DEFAULT_STORE = "sqlite:///sayso.db"
_YAML = (".yaml", ".yml")


def app_at(target: str, *, store: str | None = None, codec: AesGcm | None = None) -> Sayso:
    """Load the app of `module:app`, `module` (then its `app`), or of a YAML file.

    `store` and `codec` count instead of its own.

    Raises:
        ImportPathError: for a path that leads nowhere.
        YamlFileError: for a file that cannot be used.
        CannotStart: for an object that is no `Sayso`.
        DeclarationError: for a URL of no known store.
    """
    if target.lower().endswith(_YAML):
        return app_of(Path(target), store=store, codec=codec)
    app = load_object(target, default="app")
    if not isinstance(app, Sayso):
        raise CannotStart(
            f"{target!r} is of type {type(app).__name__}; name a Sayso, as in shop.agents:app"
        )
    if codec is not None:
        app = app.replace(codec=codec)
    return app if store is None else app.replace(store=store)


def store_at(url: str | None, key_file: Path | None = None) -> Store:
    """The store of a URL; else of the variable SAYSO_STORE, or the default one if it is there.

    Its keys are in `key_file`, or in the file that SAYSO_KEY_FILE names, if it has any.

    Raises:
        CannotStart: it does not exist: a look at it must not make it.
    """
    chosen = url or os.environ.get("SAYSO_STORE") or DEFAULT_STORE
    codec = codec_at(key_file)
    try:
        store = open_store(chosen, codec=codec)
    except DeclarationError as error:
        raise CannotStart(f"--store: {error}") from None
    if chosen.startswith("memory"):
        raise CannotStart("--store: what a server keeps in memory cannot be seen from outside")
    if chosen.startswith("sqlite:///"):
        path = Path(chosen.removeprefix("sqlite:///"))
        if not path.exists():
            raise CannotStart(
                f"there is no store {str(path)!r}; name another one with --store or SAYSO_STORE"
            )
    return store


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
            served = app_at(app, store=store, codec=codec_at())
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
