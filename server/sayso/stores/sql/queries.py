"""SQL that lives in `.sql` files: named queries and numbered migrations."""

import re
from dataclasses import dataclass
from importlib.resources import files

__all__ = ["Migration", "migrations", "queries"]

_NAME = re.compile(r"^-- name: (\w+)\n-- (.+)\n", re.MULTILINE)
_READER = re.compile(r"^-- min_reader: (\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Migration:
    """One append-only file; `min_reader` is the oldest schema whose code still works after it."""

    version: int
    name: str
    min_reader: int
    sql: str


def queries(dialect: str) -> dict[str, str]:
    """The statements of `<dialect>/sql/`, that are no migrations, by name."""
    folder = files("sayso.stores") / dialect / "sql"
    names = ("queries.sql", "lists.sql", "approvals.sql", "audit.sql")
    text = "".join((folder / name).read_text("utf-8") for name in names)
    parts = _NAME.split(text)[1:]
    return {
        name: sql.strip().rstrip(";") for name, sql in zip(parts[0::3], parts[2::3], strict=True)
    }


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
