"""What is done for many at once gives what doing it for each would give."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sayso.base import jsonvalue
from sayso.base.fastrecords import from_columns
from sayso.base.records import Entry, Message
from tests.contract.requirements import requirement

HARD = st.sampled_from(['},{"', '"},{"', "},{", "\\", '"', "\n", "é", "\U0001f600", ""])
TEXT = st.lists(HARD | st.text(max_size=4), max_size=4).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)


@requirement("EN-07")
@given(st.lists(JSON, max_size=6))
@example(["\n", ",\n,", ["\n"], {"\n": "},{"}])
def test_values_are_encoded_together_as_each_is_alone(values: list[Any]) -> None:
    """Whatever their text looks like, also like the space between two of them."""
    assert jsonvalue.encode_all(values) == [jsonvalue.encode(value) for value in values]


def depth(value: Any) -> int:
    """How many levels of arrays and objects there are."""
    inside = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(depth, inside), default=0)


@given(JSON, st.integers(0, 6))
@example([], 0)
@example([[], 1], 1)
def test_a_value_is_too_deep_by_its_levels_alone(value: Any, limit: int) -> None:
    """The limit of design 4 counts the levels, whatever else is on them."""
    assert jsonvalue.exceeds_depth(value, limit) == (depth(value) > limit)


@given(st.lists(st.tuples(TEXT, TEXT, st.binary(max_size=3), st.sampled_from(["visible"]))))
def test_records_of_columns_are_those_of_their_rows(
    rows: list[tuple[str, str, bytes, Any]],
) -> None:
    """As if each had been made by its own kind; none of no rows."""
    each = [Message(id=i, role=role, body=body, visibility=shown) for i, role, body, shown in rows]
    assert from_columns(Message, zip(*rows, strict=True)) == each


def test_columns_that_are_not_those_of_the_kind_make_no_records() -> None:
    """A query and a record that have grown apart are found out at once."""
    for columns in (3, 7):
        with pytest.raises(ValueError):
            from_columns(Entry, [["x"]] * columns)
