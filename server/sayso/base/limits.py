"""The limits of requests, threads and turns, and the quotas of users and tenants (design 4, 7)."""

from dataclasses import dataclass, fields
from typing import Any, Final

from sayso.base.errors import DeclarationError

_MAX_HISTORY_BYTES: Final = 9_000_000
"""Bytes that one frame has room for, beside what may always join a history (EN-09)."""


def _check(value: Any, name: str, of: str, more: str = "") -> None:
    if type(value) is not int or value < 1:
        raise DeclarationError(f"{name} of {of} is a whole number from 1{more}, not {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """The share of one user, or of one tenant (a scope), in a server; None lifts a limit.

    Who is over it is told `too_many` (429) with the name of the limit.

    Raises:
        DeclarationError: a limit that is neither a whole number from 1 nor None.
    """

    runs: int | None = None
    """Runs that go on at the same time, in one process."""
    streams: int | None = None
    """Streams that follow an inbox or somebody's run, open at the same time, in one process."""
    threads: int | None = None
    """Threads that are stored."""
    open_questions: int | None = None
    """Questions that wait for an answer; who has as many begins no further turn."""
    forks_an_hour: int | None = None
    """Threads that are copied, in one process."""
    bytes: int | None = None
    """Bytes that the stored threads take, about."""
    requests_a_minute: int | None = None
    """Requests of any kind, in one process."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                _check(value, field.name, "Quota", " or None, for no limit")


PER_USER: Final = Quota(
    runs=20,
    streams=20,
    threads=10_000,
    open_questions=1_000,
    forks_an_hour=60,
    bytes=1 << 30,
    requests_a_minute=600,
)
PER_TENANT: Final = Quota(
    runs=200,
    streams=200,
    threads=1_000_000,
    open_questions=100_000,
    forks_an_hour=600,
    bytes=100 << 30,
    requests_a_minute=60_000,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits in bytes, counts and seconds; the defaults are the documented ones.

    Raises:
        DeclarationError: a limit that is not a whole number from 1, a `history` too large to be
            shown to a client, or a `body` too small for a client to send that history back.
    """

    per_user: Quota = PER_USER
    """The share of one user. The default counts where `authenticate=` tells users apart, any other
    always."""
    per_tenant: Quota = PER_TENANT
    """The share of all users of one scope, likewise."""

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
    errors: int = 100
    """Errors that a refusal names, however many there are."""
    state: int = 1024 * 1024
    """Bytes of a state that a request brings, as JSON, unless it is what the thread has."""
    context: int = 1024 * 1024
    """Bytes of a request's `context`, as JSON."""
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
            if not field.name.startswith("per_"):
                _check(value, field.name, "Limits")
            elif not isinstance(value, Quota):
                raise DeclarationError(f"{field.name} of Limits is Quota(runs=…, …), not {value!r}")
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
