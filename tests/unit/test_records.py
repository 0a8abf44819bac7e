"""Copies of records."""

from dataclasses import replace
from typing import Any

import pytest

from sayso.base.fastrecords import copy_with
from sayso.base.records import Interrupt, Principal


def test_a_changed_record_is_a_copy_with_other_members() -> None:
    """As `dataclasses.replace` makes it, and the record itself stays as it is."""
    asked = Interrupt(id="i", turn_key="t", place="0", reason="tool_call", created_at=1)
    answered = copy_with(asked, status="resolved", payload=b"1")
    assert answered == replace(asked, status="resolved", payload=b"1")
    assert asked.status == "open"


def test_a_record_gets_no_member_that_its_kind_has_not() -> None:
    """A slip of the pen is an error, not a member that nobody reads."""
    asked = Interrupt(id="i", turn_key="t", place="0", reason="tool_call", created_at=1)
    with pytest.raises(AttributeError):
        copy_with(asked, state="resolved")


@pytest.mark.parametrize("roles", [frozenset({"lead", "clerk"}), ["lead", "clerk", "lead"]])
def test_roles_are_any_texts_in_one_order(roles: Any) -> None:
    """A set is as good as a tuple, and what is kept is the same each time."""
    assert Principal(roles=roles).roles == ("clerk", "lead")
    assert Principal(roles=iter(roles)) == Principal(roles=("clerk", "lead"))


@pytest.mark.parametrize(
    "members", [{"roles": "lead"}, {"roles": [1]}, {"roles": None}, {"subject": 7}]
)
def test_a_caller_that_cannot_be_kept_is_refused_where_it_is_made(members: Any) -> None:
    """And not by the store, in the middle of a request."""
    with pytest.raises(TypeError, match="of a Principal"):
        Principal(**members)
