"""One text for each statement of the SQL stores, and what a dialect says otherwise."""

import re
from importlib.resources import files

import pytest

from sayso.stores.sql import ops
from sayso.stores.sql.queries import DIALECTS, overrides, queries, shared

OVERRIDES = {
    "sqlite": {
        "close_audit": "triggers are made",
        "last_decision": "its text may be stored where bytes are meant",
        "next_audit": "its text may be stored where bytes are meant",
        "open_audit": "triggers are dropped",
        "read_audit": "its text may be stored where bytes are meant",
        "walk_audit_of_thread": "its text may be stored where bytes are meant",
    },
    "postgres": {
        "close_audit": "triggers are enabled",
        "dequeue_messages": "positions come from a sequence, not from replaced rows",
        "due_threads": "each reason has a limit of its own, and null is least",
        "find_thread": "several writers: the row is locked",
        "known_marks": "marks are counted in a table",
        "next_marks": "several writers: marks are taken first",
        "note_change": "marks are counted in a table",
        "open_audit": "triggers are disabled",
        "prune_changes": "marks are counted in a table",
        "read_lease": "several writers: the row is locked",
        "writing_audit": "several writers: whoever reads up to the end waits for them",
        "walk_runs": "a walk in a subquery would read the whole table",
    },
}
"""Why a dialect cannot run the shared text."""


def plain(sql: str) -> str:
    return re.sub(r"\s+", " ", sql)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dialect_overrides_only_what_it_must_say_otherwise(dialect: str) -> None:
    """A new override is named here with its reason; one that is equal to the shared text goes."""
    told = overrides(dialect)
    assert set(told) == set(OVERRIDES[dialect])
    as_shared = {name: plain(sql) for name, sql in shared().items()}
    assert [name for name, sql in told.items() if plain(sql) == as_shared.get(name)] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_statement_is_used_and_every_used_one_exists(dialect: str) -> None:
    """No dead SQL, no name that fails at the first call."""
    folders = files("sayso.stores.sql"), files(f"sayso.stores.{dialect}")
    sources = [f for folder in folders for f in folder.iterdir() if f.is_file()]
    source = "".join(f.read_text("utf-8") for f in sources)
    verbs = re.findall(r'db\.\w+\(f"(\w+)_\{table\}"', source)
    named = {f"{verb}_{table}" for verb in verbs for table, *_ in ops._TEXTS}
    named |= set(re.findall(r'db\.(?:one|all|do|each)\(\s*"(\w+)"', source))
    quoted = set(re.findall(r'"(\w+)"', source))
    assert named <= set(queries(dialect)) <= named | quoted


def test_all_dialects_have_the_same_statements() -> None:
    """But for what several writers need: marks that are taken first, and a look at each other."""
    assert set(queries("postgres")) - set(queries("sqlite")) == {"next_marks", "writing_audit"}
    assert set(queries("sqlite")) <= set(queries("postgres"))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_values_go_by_the_names_of_the_shared_text(dialect: str) -> None:
    """Who runs a statement gives the same values in the same order, whatever the dialect."""
    statements = queries(dialect)
    common = {name: queries("sqlite")[name].names for name in shared()}
    takes_marks = {"note_change", "prune_changes", "due_threads"}
    assert {name: statements[name].names for name in common if name not in takes_marks} == {
        name: names for name, names in common.items() if name not in takes_marks
    }


def test_a_value_that_stands_twice_has_one_place() -> None:
    """Casts are no values."""
    due = queries("postgres")["due_threads"]
    assert due.names == ("store_now", "moment", "position", "limit", "now")
    assert "$2::bigint" in due.text
    assert due.values({"now": 5, "limit": 4, "position": 3, "moment": 2, "store_now": 1}) == [
        *(1, 2, 3, 4, 5)
    ]
