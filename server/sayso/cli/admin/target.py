"""The target of a command: an app by import path, a file of agents, or a store by URL."""

import os
from pathlib import Path

from sayso.app import Sayso
from sayso.base.errors import DeclarationError
from sayso.ops.agentfile import app_of
from sayso.ops.binding import CannotStart
from sayso.ops.importing import load_object
from sayso.stores import open_store
from sayso.stores.base import Store

DEFAULT_STORE = "sqlite:///sayso.db"
_YAML = (".yaml", ".yml")


def app_at(target: str, *, store: str | None = None) -> Sayso:
    """Load the app of `module:app`, `module` (then its `app`), or of a YAML file.

    `store` counts instead of its own.

    Raises:
        ImportPathError: for a path that leads nowhere.
        YamlFileError: for a file that cannot be used.
        CannotStart: for an object that is no `Sayso`.
        DeclarationError: for a URL of no known store.
    """
    if target.lower().endswith(_YAML):
        return app_of(Path(target), store=store)
    app = load_object(target, default="app")
    if not isinstance(app, Sayso):
        raise CannotStart(
            f"{target!r} is of type {type(app).__name__}; name a Sayso, as in shop.agents:app"
        )
    return app if store is None else app.replace(store=store)


def store_at(url: str | None) -> Store:
    """The store of a URL; else of the variable SAYSO_STORE, or the default one if it is there.

    Raises:
        CannotStart: it does not exist: a look at it must not make it.
    """
    chosen = url or os.environ.get("SAYSO_STORE") or DEFAULT_STORE
    try:
        store = open_store(chosen)
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
