"""Text that no durable backend could keep, found before anything is written."""

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any

from sayso.approvals import Approval, ApprovalUse
from sayso.records import Claim, Commit, Entry, Interrupt, Message, Principal, Run, Turn

__all__ = ["check_text"]

_NO_TEXT = {int, bytes, bool, int | None, bytes | None}


def _may_hold_text(record: type) -> Callable[[Any], tuple[Any, ...]]:
    return attrgetter(*(f.name for f in fields(record) if f.type not in _NO_TEXT))


_MEMBERS: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    record: _may_hold_text(record)
    for record in (
        Approval,
        ApprovalUse,
        Claim,
        Commit,
        Entry,
        Interrupt,
        Message,
        Principal,
        Run,
        Turn,
    )
}


def check_text(value: object) -> None:
    """Raise ValueError if a record, or what is in it, has text without a UTF-8 form."""
    for member in value if isinstance(value, tuple) else _MEMBERS[type(value)](value):
        if isinstance(member, str):
            if not member.isascii():
                member.encode()  # UnicodeEncodeError is a ValueError that shows the place
        elif member:  # neither None nor an empty tuple
            check_text(member)
