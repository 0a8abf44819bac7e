"""All that a store holds, as text: equal before and after what changes nothing."""

import sqlite3
from contextlib import closing
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from sayso.stores.base import Store
from sayso.stores.memory.store import MemoryStore
from sayso.stores.sqlite.store import SqliteStore

__all__ = ["dump"]


def dump(store: Store, folder: Path) -> str:
    """The contents of a store of the backends table, whose files are in `folder`."""
    if isinstance(store, MemoryStore):
        return _told(vars(store), set())
    assert isinstance(store, SqliteStore), f"teach this module to read {type(store).__name__}"
    with closing(sqlite3.connect(folder / "sayso.db")) as file:
        return "\n".join(file.iterdump())


def _told(value: Any, above: set[int]) -> str:
    """A value with everything below it; what is not the store's own (a lock, a clock) by type."""
    if value is None or isinstance(value, str | bytes | int | float):
        return repr(value)
    if id(value) in above:
        return "…"
    within = above | {id(value)}
    if isinstance(value, dict):
        parts = [f"{_told(k, within)}: {_told(v, within)}" for k, v in value.items()]
    elif isinstance(value, list | tuple):
        parts = [_told(item, within) for item in value]
    elif isinstance(value, set | frozenset):
        parts = sorted(_told(item, within) for item in value)
    elif is_dataclass(value):
        parts = [f"{f.name}={_told(getattr(value, f.name), within)}" for f in fields(value)]
    elif type(value).__module__.startswith("sayso.stores."):
        parts = [_told(vars(value), within)]
    else:
        return type(value).__name__
    return f"{type(value).__name__}({', '.join(parts)})"
