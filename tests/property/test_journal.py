"""The journal over every order of writes and commits (design 3, rules 3, 9 and 10)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso import ReplayMismatch
from sayso.base.records import Entry
from sayso.turns.journal.journal import Journal, ended, fingerprint, numbered, without_last_failures

PLACES = st.sampled_from(["0", "1", "10", "a#0/0", "a#0/1", "a#0/b#0/0"])
STATUS = st.sampled_from(["asked", "started", "done"])
KINDS = st.sampled_from(["step", "stream", "call", "value", "interrupt"])
DATA = st.sampled_from([b"{}", b'{"end":1,"again":true}', b'{"end":2,"value":1}'])
ENTRIES = st.builds(
    Entry,
    place=PLACES,
    kind=KINDS,
    name=st.just("f"),
    fingerprint=st.sampled_from(["step f", "step g"]),
    status=STATUS,
    data=DATA,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(moves=st.lists(ENTRIES | st.sampled_from([True, False]), max_size=30))
def test_a_store_that_takes_what_rides_ends_with_the_newest_of_each_place(
    moves: list[Any],
) -> None:
    """Nothing is lost between commits; questions reach the store with a suspension only."""
    journal = Journal()
    store: dict[str, Entry] = {}
    newest: dict[str, Entry] = {}
    for move in moves:
        if isinstance(move, Entry):
            assert journal.write(move) == move
            newest[move.place] = move
            continue
        taken = journal.take(asked=move)
        assert move or all(entry.status != "asked" for entry in taken)
        store.update((entry.place, entry) for entry in taken)
        for place, entry in newest.items():
            assert journal.find(place, entry.fingerprint) == entry
            assert store.get(place) == entry or entry.status == "asked"
    store.update((entry.place, entry) for entry in journal.take(asked=True))
    assert store == newest
    assert journal.take(asked=True) == ()
    assert journal.forgotten() is None


@given(entries=st.lists(ENTRIES, unique_by=lambda entry: entry.place), wanted=PLACES)
def test_a_place_gives_its_entry_or_names_the_difference(entries: list[Entry], wanted: str) -> None:
    """Never the entry of another place, never one of another call."""
    journal = Journal(entries)
    recorded = {entry.place: entry for entry in entries}.get(wanted)
    if recorded is not None and recorded.fingerprint != "step f":
        with pytest.raises(ReplayMismatch, match=wanted):
            journal.find(wanted, "step f")
    else:
        assert journal.find(wanted, "step f") == recorded


@given(entries=st.lists(ENTRIES, unique_by=lambda entry: entry.place))
def test_what_is_forgotten_is_unanswered_or_unsure_and_was_not_asked_for(
    entries: list[Entry],
) -> None:
    """Asking for everything leaves nothing forgotten."""
    journal = Journal(entries)
    found = journal.forgotten()
    assert (found is None) == all(entry.status == "done" for entry in entries)
    for entry in entries:
        journal.find(entry.place, entry.fingerprint)
    assert journal.forgotten() is None


@given(entries=st.lists(ENTRIES, unique_by=lambda entry: entry.place))
def test_a_retry_drops_nothing_but_repeatable_failures(entries: list[Entry]) -> None:
    """In order, at most one per branch, and dropping again drops no success."""
    kept = without_last_failures(entries)
    dropped = [entry for entry in entries if entry not in kept]
    assert kept == [entry for entry in entries if entry not in dropped]
    assert all(b'"again":true' in entry.data for entry in dropped)
    assert all(entry.kind in ("step", "stream") for entry in dropped)
    branches = [entry.place.rpartition("/")[0] for entry in dropped]
    assert len(branches) == len(set(branches))


@given(end=st.integers(0, 10**9), value=st.binary(max_size=20))
def test_a_number_comes_back_from_the_data_it_was_put_before(end: int, value: bytes) -> None:
    """Whatever the members are."""
    data = numbered(end, b'"value":"' + value.hex().encode() + b'"')
    entry = Entry(place="0", kind="step", name="f", fingerprint="f", status="done", data=data)
    assert ended(entry) == end
    assert Journal([entry]).ends() == [end]


@given(left=JSON, right=JSON)
def test_fingerprints_are_equal_for_equal_arguments_alone(left: Any, right: Any) -> None:
    """As JSON values; arguments that were not given are not null."""
    same = fingerprint("step", "f", left) == fingerprint("step", "f", right)
    assert same == (repr_of(left) == repr_of(right))
    assert fingerprint("step", "f", left) == fingerprint("step", "f", left)


def repr_of(value: Any) -> Any:
    """A JSON value such that Python's equality is JSON's."""
    if isinstance(value, bool) or value is None:
        return ("constant", value)
    if isinstance(value, int | float):
        return ("number", float(value))
    if isinstance(value, list):
        return ("list", [repr_of(item) for item in value])
    if isinstance(value, dict):
        return ("object", sorted((key, repr_of(item)) for key, item in value.items()))
    return ("text", value)
