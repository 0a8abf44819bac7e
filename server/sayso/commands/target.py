"""What a command is about: an app by import path, a file of agents, or a store by URL."""

import os
from pathlib import Path
from typing import Any

from sayso.agentfile import app_of
from sayso.app import Sayso
from sayso.binding import CannotStart
from sayso.errors import DeclarationError
from sayso.importing import imported
from sayso.stores import open_store
from sayso.stores.base import Store

__all__ = ["DEFAULT_STORE", "app_at", "store_at"]

DEFAULT_STORE = "sqlite:///sayso.db"
_YAML = (".yaml", ".yml")


def app_at(target: str, *, store: str | None = None, **settings: Any) -> Sayso:
    """The app of `module:app`, `module` (then its `app`), or of a YAML file.

    `store` and `settings` go before its own. Raises `ImportPathError`, `YamlFileError`,
    `CannotStart`, `DeclarationError`.
    """
    if target.lower().endswith(_YAML):
        return app_of(Path(target), store=store, **settings)
    found = imported(target, default="app")
    if not isinstance(found, Sayso):
        raise CannotStart(
            f"{target!r} is of type {type(found).__name__}; name a Sayso, as in shop.agents:app"
        )
    changes = {"store": store, **settings} if store is not None else settings
    return found.again(**changes) if changes else found


def store_at(url: str | None) -> Store:
    """The store of a URL; else of the variable SAYSO_STORE, or the default one if it is there.

    Raises `CannotStart` for one that does not exist: a look at it must not make it.
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
