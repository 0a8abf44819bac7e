"""How much of anything a request, a thread or a turn may hold (design 4, 7)."""

from dataclasses import dataclass, fields
from typing import Final

from sayso.errors import DeclarationError

__all__ = ["Limits"]

_LONGEST_HISTORY: Final = 9_000_000
"""Bytes that one frame has room for, beside what may always join a history (EN-09)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits in bytes and counts; the defaults are the documented ones.

    Raises `DeclarationError` for what is no whole number from 1, with which nothing would get
    through, and for a `history` that no client could be shown.
    """

    body: int = 4 * 1024 * 1024
    """Bytes of a request body; more is `body_too_large`."""
    depth: int = 64
    """Nesting of JSON in a request body."""
    messages: int = 5_000
    """Messages in one request."""
    payload: int = 256 * 1024
    """Bytes of one answer's payload, as canonical JSON."""
    open_interrupts: int = 1_000
    """Questions that one turn may have open at once."""
    history: int = 8 * 1024 * 1024
    """Bytes of a thread's messages; more is `thread_too_large`. Results, and what was answered to
    questions, always join, so that an open question can be answered whatever the thread holds."""
    unread: int = 1024 * 1024
    """Bytes that a reader may leave unread before it is cut off (`reader_too_slow`)."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is not int or value < 1:
                raise DeclarationError(
                    f"{field.name} of Limits is a whole number from 1, not {value!r}"
                )
        if self.history > _LONGEST_HISTORY:
            raise DeclarationError(
                f"history of Limits is at most {_LONGEST_HISTORY} bytes, not {self.history}: a "
                "thread is shown in one frame, and clients take none of more than ten megabytes"
            )
