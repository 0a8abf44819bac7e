"""Stores by URL: the only way to a backend."""

import re

from sayso.clock import Clock
from sayso.errors import DeclarationError
from sayso.stores.base import Store
from sayso.stores.memory import MemoryStore

__all__ = ["open_store"]

_FORMS = "memory:, sqlite:///relative/path.db, sqlite:////absolute/path.db"
_LATER = frozenset({"postgres", "postgresql", "redis", "rediss", "valkey"})


def open_store(url: str, *, clock: Clock | None = None) -> Store:
    """The store that a URL names; nothing is connected before its `open()`.

    `memory:` keeps everything in this process. `sqlite:///rel.db` is a file relative to the
    working directory of now, `sqlite:////abs.db` one by its absolute path. `clock` decides when
    leases run out. Raises `DeclarationError` with the URL to write instead.
    """
    url = str(url or "")  # an unset variable and a path are the usual mistakes
    if not url.strip():
        raise DeclarationError(f"a store needs a URL; write one of {_FORMS}")
    if url != url.strip():
        raise DeclarationError("the store's URL has blanks or a line end around it; remove them")
    scheme, colon, rest = url.partition(":")
    kind = scheme.lower().partition("+")[0]
    if colon and kind == "memory":
        if rest.strip("/"):
            raise DeclarationError("memory: takes no name and no options; write memory:")
        return MemoryStore(clock=clock)
    raise DeclarationError(_wrong_scheme(url, kind if colon else ""))


def _wrong_scheme(url: str, kind: str) -> str:
    """What to write instead; quotes no more than the scheme, since URLs carry passwords."""
    if kind in _LATER:
        return f"{kind} is not in this build yet; write one of {_FORMS}"
    if kind == "file":
        return f"a file is named by its engine: write one of {_FORMS}"
    if re.fullmatch(r"[a-z][a-z0-9.-]+", kind):
        return f"there is no store for {kind}:; write one of {_FORMS}"
    return f"the store's URL has no scheme; write one of {_FORMS}"
