"""SQL that lives in `.sql` files: named queries and numbered migrations."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any

from sayso.stores.sql.session import Values

_NAME = re.compile(r"^-- name: (\w+)\n-- (.+)\n", re.MULTILINE)
_VALUE = re.compile(r"(?<![\w:]):(\w+)")  # neither a cast nor a word with a colon in it
_INDEX = re.compile(r" INDEXED BY \w+")
_READER = re.compile(r"^-- min_reader: (\d+)$", re.MULTILINE)

DIALECTS: dict[str, tuple[str, Callable[[str], str]]] = {
    "sqlite": ("?", str),
    "postgres": ("$", partial(_INDEX.sub, "")),  # it has no such words, and plans by itself
}
"""What stands before the number of a value, and what becomes of a text."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One append-only file; `min_reader` is the oldest schema whose code still works after it."""

    version: int
    name: str
    min_reader: int
    sql: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with a driver's own places for values, and the names of these in their order.

    A name that stands in the text twice has one place.
    """

    text: str
    names: tuple[str, ...]

    def values(self, given: Values) -> Sequence[Any]:
        """The values in the order of the places: a sequence as it is, a mapping by its names."""
        return [given[name] for name in self.names] if isinstance(given, dict) else given


def queries(dialect: str) -> dict[str, Statement]:
    """The statements of a dialect by name: those of all, but for what it says otherwise."""
    place, text = DIALECTS[dialect]
    return {
        name: _statement(text(sql), place) for name, sql in (shared() | overrides(dialect)).items()
    }


def shared() -> dict[str, str]:
    """The texts of all dialects by name, with `:name` for each value."""
    folder = files("sayso.stores.sql") / "queries"
    names = (
        "threads",
        "lists",
        "approvals",
        "audit",
        "sessions",
        "retention",
        "rekeying",
        "service_tokens",
        "secrets",
    )
    return _named("".join((folder / f"{name}.sql").read_text("utf-8") for name in names))


def overrides(dialect: str) -> dict[str, str]:
    """The texts that a dialect has in place of the shared ones, or has alone."""
    return _named((files("sayso.stores") / dialect / "sql" / "overrides.sql").read_text("utf-8"))


def _named(text: str) -> dict[str, str]:
    parts = _NAME.split(text)[1:]
    return {
        name: sql.strip().rstrip(";") for name, sql in zip(parts[0::3], parts[2::3], strict=True)
    }


def _statement(sql: str, place: str) -> Statement:
    names = tuple(dict.fromkeys(_VALUE.findall(sql)))
    numbers = {name: str(number) for number, name in enumerate(names, 1)}
    return Statement(_VALUE.sub(lambda found: place + numbers[found[1]], sql), names)


def migrations(dialect: str) -> tuple[Migration, ...]:
    """The files `<dialect>/sql/NNNN_name.sql` in the order of their numbers."""
    folder = files("sayso.stores") / dialect / "sql"
    names = sorted(f.name for f in folder.iterdir() if re.match(r"\d{4}_\w+\.sql$", f.name))
    return tuple(_migration(name, (folder / name).read_text("utf-8")) for name in names)


def _migration(file_name: str, sql: str) -> Migration:
    number, _, name = file_name.removesuffix(".sql").partition("_")
    reader = _READER.search(sql)
    if reader is None:
        raise ValueError(f"{file_name} has no line '-- min_reader: N'")
    return Migration(int(number), name, int(reader[1]), sql)
