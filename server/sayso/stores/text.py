"""Text that no durable backend could keep, found before anything is written."""

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any, Literal, get_origin

from sayso.base.amendment import Amendment
from sayso.base.progress import Progress
from sayso.base.records import (
    AnswerRecord,
    Approval,
    ApprovalUse,
    Claim,
    Commit,
    Entry,
    Hold,
    Interrupt,
    Message,
    Principal,
    Run,
    Terms,
    TurnRecord,
    Update,
)
from sayso.base.scrubbing import Scrubbing
from sayso.base.secretvalues import SecretValue

_NO_TEXT = {
    int,
    bytes,
    bool,
    int | None,
    bytes | None,
    Terms,
    Progress,
    AnswerRecord | None,
    Scrubbing | None,
}
"""Kinds of members without text of their own: terms, progress and answers are written as JSON, made
fit; what texts pass is not written."""


def _may_hold_text(record: type) -> Callable[[Any], tuple[Any, ...]]:
    return attrgetter(*(f.name for f in fields(record) if f.type not in _NO_TEXT))


_RECORDS: tuple[type, ...] = (
    Amendment,
    Approval,
    ApprovalUse,
    Claim,
    Commit,
    Entry,
    Hold,
    Interrupt,
    Message,
    Principal,
    Run,
    SecretValue,
    TurnRecord,
    Update,
)
_MEMBERS: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    record: _may_hold_text(record) for record in _RECORDS
}
_COLUMNS: dict[type, list[Callable[[Any], str]]] = {
    record: [attrgetter(f.name) for f in fields(record) if f.type not in _NO_TEXT]
    for record in _RECORDS
    if all(f.type in {*_NO_TEXT, str} or get_origin(f.type) is Literal for f in fields(record))
}
"""Of records whose members are text or none: what reads each of those that are."""


def reject_unstorable_text(value: object) -> None:
    """Raise ValueError if a record, or what is in it, has text without a UTF-8 form."""
    if not isinstance(value, tuple):
        value = _MEMBERS[type(value)](value)
    elif len(kinds := set(map(type, value))) == 1 and (columns := _COLUMNS.get(kinds.pop())):
        # Histories and journals come by the thousand: a member of all of them in one look.
        for column in columns:
            _check("".join(map(column, value)))
        return
    for member in value:
        if isinstance(member, str):
            _check(member)
        elif member:  # neither None nor an empty tuple
            reject_unstorable_text(member)


def _check(text: str) -> None:
    if not text.isascii():
        text.encode()  # UnicodeEncodeError is a ValueError that shows the place
