"""Keys of places: what is printed is parsed again (design 3, rule 3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.turns.journal import places
from sayso.turns.journal.places import Key, Mark, PlaceKey, Task, parse
from tests.generated import check_part
from tests.sources import ROOT

NUMBERS = st.integers(0, 300)
FINGERPRINTS = st.text("ab ~/:#01é", max_size=8)
ID = st.text("abc_019", min_size=1, max_size=6)
TASKS = st.builds(Task, FINGERPRINTS, NUMBERS)
KEYED = st.builds(Key, st.text("ab ~/:#@01é", min_size=1, max_size=8))
NUMBERED = st.sampled_from(["attempt", "text", "holder", "instead", "withdrawn"])
WORDS = st.one_of(
    st.sampled_from([(word,) for word in ("before", "after", "result", "output", "input")]),
    st.tuples(NUMBERED, NUMBERS.map(str)),
    st.tuples(st.just("approval"), ID),
)
KEYS = st.builds(
    PlaceKey,
    path=st.lists(TASKS | KEYED | NUMBERS, max_size=4).map(tuple),
    number=NUMBERS,
    words=st.lists(WORDS, max_size=2).map(lambda words: sum(words, ())),
)
MARKS = st.one_of(
    st.builds(Mark, st.tuples(st.sampled_from(["pause", "fork", "note"]), NUMBERS.map(str))),
    st.builds(Mark, st.tuples(st.just("pause"), NUMBERS.map(str)), NUMBERS),
    st.builds(Mark, st.tuples(st.just("usage"), ID)),
    st.builds(Mark, st.tuples(st.just("viewed"), ID, NUMBERS.map(str))),
    st.builds(Mark, st.tuples(st.sampled_from(["refused", "revealed"]), ID, NUMBERS.map(str))),
    st.just(Mark(("again",))),
)


@given(key=KEYS | MARKS)
def test_a_key_that_is_printed_is_parsed_as_what_it_was(key: PlaceKey | Mark) -> None:
    """Whatever is in a fingerprint."""
    assert parse(str(key)) == key


@given(one=KEYS, other=KEYS)
def test_no_two_places_have_one_key(one: PlaceKey, other: PlaceKey) -> None:
    """Records are found by their keys alone."""
    assert (str(one) == str(other)) == (one == other)


@given(path=KEYS, task=TASKS, number=NUMBERS)
def test_what_is_asked_of_a_key_is_what_stands_in_it(
    path: PlaceKey, task: Task, number: int
) -> None:
    """Branch, number, calls around, the task below, and what the task is named by."""
    outer = places.inside(str(PlaceKey(path.path, path.number)))
    branch = places.task_path(outer, places.task(task.fingerprint, task.number))
    key = places.place(branch, number)
    assert parse(key) == PlaceKey((*path.path, path.number, task), number)
    assert places.split(key) == (branch, number)
    assert places.is_in(branch, outer)
    assert not places.is_in(outer, branch)
    assert places.task_below(key, outer) == places.task(task.fingerprint, task.number)
    assert places.first_call(key, outer) == (task.fingerprint if number == 0 else None)
    assert places.is_named_by(key, task.fingerprint) == (number == 0)
    around = list(places.calls_around(key))
    assert around[-1] == str(PlaceKey(path.path, path.number))
    assert len(around) == 1 + sum(isinstance(one, int) for one in path.path)


@given(path=KEYS, key=KEYED, task=TASKS, number=NUMBERS)
def test_what_is_in_the_code_of_a_key_is_told_from_what_is_not(
    path: PlaceKey, key: Key, task: Task, number: int
) -> None:
    """And a key is no task, however much it looks like one."""
    outer = places.inside(str(PlaceKey(path.path, path.number)))
    branch = places.keyed(outer, key.name)
    place = places.place(places.task_path(branch, places.task("f", 0)), number)
    assert parse(place) == PlaceKey((*path.path, path.number, key, Task("f", 0)), number)
    assert places.is_keyed(place)
    assert places.is_keyed(str(path)) == any(isinstance(one, Key) for one in path.path)
    assert places.task_below(places.place(branch, number), outer) is None
    assert places.is_in(branch, outer)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "a",
        "0:",
        "0:before:1",
        "0:attempt",
        "01",
        "a/0",
        "0/1",
        "a#/0",
        "0:within/1",
        "pause:",
        "again:1",
        "@/0",
        "@a",
        "note:",
    ],
)
def test_what_is_no_key_is_refused(key: str) -> None:
    """Nothing is read into it."""
    with pytest.raises(ValueError, match=r"is no key|segment that is none"):
        parse(key)


def test_the_design_shows_the_grammar_as_the_code_has_it() -> None:
    check_part(ROOT / "docs" / "design.md", "places", places.grammar())
