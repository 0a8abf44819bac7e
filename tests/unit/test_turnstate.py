"""The shared state of a turn, as a pure thing (design 3, rule 8; rules section 6)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.turns.journal.state import TurnState, view


def add(path: str, value: Any) -> list[dict[str, Any]]:
    return [{"op": "add", "path": path, "value": value}]


def patched(start: Any, *operations: dict[str, Any]) -> Any:
    state = TurnState(start)
    state.patch("", list(operations))
    return state.value


DOCUMENT = {"a": {"b": [1, 2, 3]}, "~/": 0, "": 5}


@pytest.mark.parametrize(
    ("operation", "value"),
    [
        ({"op": "add", "path": "/c", "value": 1}, {**DOCUMENT, "c": 1}),
        ({"op": "add", "path": "/a/b/1", "value": 9}, {**DOCUMENT, "a": {"b": [1, 9, 2, 3]}}),
        ({"op": "add", "path": "/a/b/-", "value": 9}, {**DOCUMENT, "a": {"b": [1, 2, 3, 9]}}),
        ({"op": "add", "path": "/a/b/3", "value": 9}, {**DOCUMENT, "a": {"b": [1, 2, 3, 9]}}),
        ({"op": "add", "path": "", "value": [1]}, [1]),
        ({"op": "replace", "path": "", "value": None}, None),
        ({"op": "replace", "path": "/a/b/0", "value": 9}, {**DOCUMENT, "a": {"b": [9, 2, 3]}}),
        ({"op": "replace", "path": "/~0~1", "value": 1}, {**DOCUMENT, "~/": 1}),
        ({"op": "replace", "path": "/", "value": 6}, {**DOCUMENT, "": 6}),
        ({"op": "remove", "path": "/a/b/2"}, {**DOCUMENT, "a": {"b": [1, 2]}}),
        ({"op": "remove", "path": "/a"}, {"~/": 0, "": 5}),
        ({"op": "move", "from": "/a/b", "path": "/m"}, {**DOCUMENT, "a": {}, "m": [1, 2, 3]}),
        ({"op": "copy", "from": "/a/b/0", "path": "/m"}, {**DOCUMENT, "m": 1}),
        ({"op": "test", "path": "/a/b/0", "value": 1.0}, DOCUMENT),
        ({"op": "move", "from": "/a", "path": "/a"}, DOCUMENT),
    ],
)
def test_a_patch_does_what_rfc_6902_says(operation: dict[str, Any], value: Any) -> None:
    """SS-02, SS-03: pointers, list positions, the whole document."""
    assert patched(DOCUMENT, operation) == value


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/x/y", "value": 1},
        {"op": "add", "path": "/a/b/4", "value": 1},
        {"op": "add", "path": "/a/b/01", "value": 1},
        {"op": "add", "path": "/a/b/-1", "value": 1},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add", "path": "/a/b/0/c", "value": 1},
        {"op": "replace", "path": "/x", "value": 1},
        {"op": "replace", "path": "/a/b/-", "value": 1},
        {"op": "remove", "path": "/x"},
        {"op": "remove", "path": ""},
        {"op": "move", "from": "/a", "path": "/a/b"},
        {"op": "copy", "from": "/x", "path": "/y"},
        {"op": "test", "path": "/a/b/0", "value": True},
        {"op": "add", "path": "/~2", "value": 1},
        {"op": "spin", "path": "/a"},
        {"op": "add"},
        {"path": "/a"},
        {"op": "add", "path": 5, "value": 1},
    ],
)
def test_a_patch_that_does_not_apply_changes_nothing(operation: dict[str, Any]) -> None:
    """SS-04: all of it or nothing; ValueError says which operation."""
    state = TurnState(DOCUMENT)
    with pytest.raises(ValueError, match="operation 1"):
        state.patch("", [{"op": "add", "path": "/new", "value": 1}, operation])
    assert state.value == DOCUMENT
    assert state.writes == {}


def test_the_given_values_are_copied_in_and_out() -> None:
    """Nobody changes the state behind its back."""
    start: dict[str, Any] = {"list": []}
    given_value: list[int] = [1]
    state = TurnState(start)
    state.patch("", add("/list", given_value))
    given_value.append(2)
    start["other"] = 1
    assert state.value == {"list": [1]}


def test_a_write_that_changes_nothing_is_counted_and_not_sent() -> None:
    """Replay has to find it; a client has not."""
    state = TurnState({"a": 1})
    assert state.patch("", add("/a", 1)) == []
    assert state.writes == {"": 1}


def pause(state: TurnState, resume: Any = None) -> dict[str, Any]:
    """The record of a pause now, resumed with another state or with the same."""
    return {
        "writes": state.writes,
        "state": state.visible,
        "resume": state.visible if resume is None else resume,
    }


def test_replay_is_silent_and_reads_what_was_read_then() -> None:
    """Writes of the past are executed, not sent; the shown state is never the past."""
    first = TurnState({})
    first.patch("", add("/a", 1))
    first.patch("", add("/a", 2))
    again = TurnState({}, [pause(first)])
    assert again.patch("", add("/a", 1)) == []
    assert again.value == {"a": 1}
    assert again.visible == {"a": 2}
    assert again.patch("", add("/a", 2)) == []
    again.resume(0)
    assert again.difference is None
    assert again.patch("", add("/a", 3)) == add("/a", 3)
    assert again.visible == {"a": 3}


def test_each_resume_brings_the_state_that_it_was_given() -> None:
    """SB-04: a change by the person at the first pause is still there at the second replay."""
    first = TurnState({})
    first.patch("", add("/log", ["one"]))
    one = pause(first, {"log": ["mine"]})
    second = TurnState({}, [one])
    second.patch("", add("/log", ["one"]))
    second.resume(0)
    second.patch("", add("/log/-", "two"))
    assert second.value == {"log": ["mine", "two"]}
    third = TurnState({}, [one, pause(second)])
    third.patch("", add("/log", ["one"]))
    third.resume(0)
    assert third.value == {"log": ["mine"]}
    assert third.patch("", add("/log/-", "two")) == []
    third.resume(1)
    assert third.difference is None
    assert third.patch("", add("/log/-", "three")) == add("/log/-", "three")
    assert third.value == {"log": ["mine", "two", "three"]}


def test_only_what_somebody_changed_is_put_over_the_past() -> None:
    """Code in front of its own writes reads what it read then, but for what was changed."""
    first = TurnState({"n": 0, "plan": {"city": "Rome", "nights": 3}, "gone": 1})
    first.patch("", add("/n", 1))
    changed = {"n": 1, "plan": {"city": "Oslo", "nights": 3}, "new": None}
    again = TurnState({"n": 0, "plan": {"city": "Rome", "nights": 3}, "gone": 1}, [pause(first)])
    assert not again.was_changed(0)
    assert again.as_changed(0, 0) == again.value
    again = TurnState(again.value, [pause(first, changed)])
    assert again.was_changed(0)
    assert again.as_changed(0, 0) == {**changed, "n": 0}
    again.patch("", add("/n", 1))
    assert again.as_changed(0, 0) == changed


def test_writes_that_are_left_out_stand_for_no_later_ones() -> None:
    """Code that is evaluated anew may write less; what comes behind the pause is new."""
    first = TurnState({})
    first.patch("", add("/a", 1))
    again = TurnState({}, [pause(first, {"a": 2})])
    again.resume(0)
    again.catch_up("", 0)
    assert again.patch("", add("/b", 1)) == add("/b", 1)
    assert again.value == {"a": 2, "b": 1}


def test_a_write_that_was_made_of_a_changed_state_is_not_held_against_the_code() -> None:
    """It is in what the turn was resumed with, whether or not it applies to the past."""
    first = TurnState({"list": []})
    first.patch("", add("/list/0", "a"))
    again = TurnState({"list": []}, [pause(first, {"list": ["a", "b", "c"]})])
    assert again.patch("", add("/list/3", "a"), again=True) == []
    again.resume(0)
    assert (again.difference, again.value) == (None, {"list": ["a", "b", "c"]})


def test_another_state_than_the_recorded_one_is_found_out() -> None:
    """Rule 8: compared at each pause, once all writes before it are there."""
    first = TurnState({})
    first.patch("", add("/a", 1))
    again = TurnState({}, [pause(first)])
    again.patch("", add("/a", 2))
    again.resume(0)
    assert again.difference is not None


def test_branches_that_are_late_change_nothing_that_is_past() -> None:
    """A sibling's old write after the resume is in the state already."""
    first = TurnState({"log": []})
    first.patch("a", add("/log/-", "a"))
    first.patch("b", add("/log/-", "b"))
    again = TurnState({"log": []}, [pause(first)])
    again.patch("a", add("/log/-", "a"))
    again.resume(0)
    assert again.difference is None, "not compared: a write is missing still"
    assert again.patch("b", add("/log/-", "b")) == []
    assert again.value == {"log": ["a", "b"]}
    assert again.patch("b", add("/log/-", "c")) == add("/log/-", "c")
    assert again.writes == {"a": 1, "b": 2}


def test_a_live_write_resumes_by_itself() -> None:
    """A branch that asked nothing goes on with the state that the client has."""
    first = TurnState({})
    again = TurnState({}, [pause(first, {"given": 1})])
    assert again.patch("b", add("/x", 1)) == add("/x", 1)
    assert again.value == {"given": 1, "x": 1}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@given(values=st.lists(JSON, min_size=1, max_size=6), cut=st.integers(0, 6))
def test_whatever_is_written_replay_ends_where_life_did(values: list[Any], cut: int) -> None:
    """Rule 4 for state: any values, a pause anywhere."""
    life = TurnState({})
    pauses = []
    for number, value in enumerate(values):
        if number == cut:
            pauses = [pause(life)]
        life.patch("", add(f"/v{number % 3}", value))
    again = TurnState({}, pauses)
    for number, value in enumerate(values):
        if number == cut:
            again.resume(0)
        again.patch("", add(f"/v{number % 3}", value))
    assert again.difference is None
    assert again.value == life.value


@given(value=JSON)
def test_a_view_reads_like_the_value_and_cannot_be_written(value: Any) -> None:
    """Deep: objects as read-only mappings, lists as tuples."""

    def plain(seen: Any) -> Any:
        if isinstance(seen, tuple):
            return [plain(item) for item in seen]
        return {key: plain(seen[key]) for key in seen} if hasattr(seen, "keys") else seen

    seen = view(value)
    assert plain(seen) == value
    assert not isinstance(seen, dict | list)
