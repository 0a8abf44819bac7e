"""One text for each statement of the SQL stores, and what a dialect says otherwise."""

import re

import pytest

from sayso.stores.sql.queries import DIALECTS, overrides, queries, shared

OVERRIDES = {
    "sqlite": {
        "read_audit": "its text may be stored where bytes are meant",
        "walk_audit_of_thread": "its text may be stored where bytes are meant",
    },
    "postgres": {
        "dequeue_messages": "positions come from a sequence, not from replaced rows",
        "due_threads": "each reason has a limit of its own, and null is least",
        "find_thread": "several writers: the row is locked",
        "known_marks": "marks are counted in a table",
        "next_marks": "several writers: marks are taken first",
        "note_change": "marks are counted in a table",
        "prune_changes": "marks are counted in a table",
        "read_lease": "several writers: the row is locked",
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
