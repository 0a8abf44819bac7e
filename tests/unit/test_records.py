"""Copies of records."""

from dataclasses import replace

import pytest

from sayso.making import changed
from sayso.records import Interrupt


def test_a_changed_record_is_a_copy_with_other_members() -> None:
    """As `dataclasses.replace` makes it, and the record itself stays as it is."""
    asked = Interrupt(id="i", turn_key="t", place="0", reason="tool_call", created_at=1)
    answered = changed(asked, status="resolved", payload=b"1")
    assert answered == replace(asked, status="resolved", payload=b"1")
    assert asked.status == "open"


def test_a_record_gets_no_member_that_its_kind_has_not() -> None:
    """A slip of the pen is an error, not a member that nobody reads."""
    asked = Interrupt(id="i", turn_key="t", place="0", reason="tool_call", created_at=1)
    with pytest.raises(AttributeError):
        changed(asked, state="resolved")
