"""The limits of requests, threads and turns (design 4, 7)."""

from dataclasses import dataclass, fields
from typing import Final

from sayso.base.errors import DeclarationError

_MAX_HISTORY_BYTES: Final = 9_000_000
"""Bytes that one frame has room for, beside what may always join a history (EN-09)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits in bytes, counts and seconds; the defaults are the documented ones.

    Raises:
        DeclarationError: a limit that is not a whole number from 1, a `history` too large to be
            shown to a client, or a `body` too small for a client to send that history back.
    """

    body: int = 32 * 1024 * 1024
    """Bytes of a request body; more is `body_too_large`. At least `2 * history + payload`: clients
    send the thread back with each request, escaped in their own way, and its state."""
    depth: int = 64
    """Nesting of JSON in a request body."""
    messages: int = 5_000
    """New messages in one request; those that the thread has do not count."""
    payload: int = 256 * 1024
    """Bytes of one answer's payload, as canonical JSON."""
    metadata: int = 16 * 1024
    """Bytes of one answer's metadata, as canonical JSON, beside the digits that it spells out."""
    answers: int = 1_000
    """Answers in one request; a resume may have as many as may be open at once, if that is more."""
    open_interrupts: int = 1_000
    """Questions that one turn may have open at once."""
    history: int = 8 * 1024 * 1024
    """Bytes of a thread's messages; more is `thread_too_large`. Results, and what was answered to
    questions, always join, so that an open question can be answered whatever the thread holds."""
    lifetime: int = 31_622_400
    """Seconds that an extended question may stay open, counted from when it is extended."""
    unread: int = 1024 * 1024
    """Bytes that a reader may leave unread before it is cut off (`reader_too_slow`)."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is not int or value < 1:
                raise DeclarationError(
                    f"{field.name} of Limits is a whole number from 1, not {value!r}"
                )
        needed = 2 * self.history + self.payload
        if self.body < needed:
            raise DeclarationError(
                f"body of Limits is at least 2 * history + payload, {needed} bytes here, not "
                f"{self.body}: clients send back the whole thread with their answers"
            )
        if self.history > _MAX_HISTORY_BYTES:
            raise DeclarationError(
                f"history of Limits is at most {_MAX_HISTORY_BYTES} bytes, not {self.history}: a "
                "thread is shown in one frame, and clients take none of more than ten megabytes"
            )


MAX_STATE_BYTES: Final = 8 * 1024 * 1024
"""Bytes of a state, and of a patch, as JSON: one frame has to hold either (EN-09)."""
