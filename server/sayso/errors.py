"""Every error of Sayso, its stable code and its HTTP status.

Exception
├── SaysoError
│   ├── Problem              a request that gets an HTTP error and no stream (RFC 9457)
│   ├── DeclarationError     an agent, tool or schema that cannot work, found when it is declared
│   ├── TurnError            the author's code used a turn wrongly, or its turn cannot go on
│   │   ├── StepFailed       a recorded step raised; the same live and on replay
│   │   ├── ToolFailed       a tool raised where that fails the turn
│   │   ├── NotRecordable    a value that the journal cannot keep
│   │   ├── OpenMessage      a recorded call while a text message is open
│   │   ├── NestedCall       a recorded call inside a recorded step
│   │   ├── CancelledCall    author code cancelled a recorded call
│   │   ├── NotOffered       a front-end tool that the client did not offer
│   │   ├── InvalidAnswer    a stored answer that the author's own type refuses
│   │   └── ReplayMismatch   the code no longer asks for what the journal holds
│   │       └── JournalMissing   the journal does not hold what the turn has asked
│   └── StoreError
│       ├── Conflict         the thread changed between reading and claiming
│       ├── LeaseLost        another holder took the thread
│       └── StoreUnavailable the store cannot be reached or cannot write
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

__all__ = [
    "CancelledCall",
    "Code",
    "Conflict",
    "DeclarationError",
    "InterruptsDisabled",
    "InvalidAnswer",
    "JournalMissing",
    "LeaseLost",
    "NestedCall",
    "NotOffered",
    "NotRecordable",
    "OpenMessage",
    "Problem",
    "ReplayMismatch",
    "SaysoError",
    "StepFailed",
    "StoreError",
    "StoreUnavailable",
    "ThreadTooLarge",
    "TooManyInterrupts",
    "ToolFailed",
    "TurnError",
]


class Code(StrEnum):
    """The stable names of everything that can go wrong on the wire (rules.md TR-33, OC-11)."""

    # before the stream: HTTP problems
    MALFORMED_JSON = "malformed_json"
    INVALID_QUERY = "invalid_query"
    INVALID_INPUT = "invalid_input"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    UNSUPPORTED_VERSION = "unsupported_version"
    BODY_TOO_LARGE = "body_too_large"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    NOT_FOUND = "not_found"
    UNKNOWN_AGENT = "unknown_agent"
    UNKNOWN_THREAD = "unknown_thread"
    UNKNOWN_APPROVAL = "unknown_approval"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN_HOST = "forbidden_host"
    FORBIDDEN_ORIGIN = "forbidden_origin"
    STORE_UNAVAILABLE = "store_unavailable"
    AUTH_UNAVAILABLE = "auth_unavailable"
    INTERNAL_ERROR = "internal_error"
    # refusals of the gate: RUN_STARTED, RUN_ERROR
    INTERRUPTS_PENDING = "interrupts_pending"
    PARTIAL_RESUME = "partial_resume"
    UNKNOWN_INTERRUPT = "unknown_interrupt"
    DUPLICATE_ENTRY = "duplicate_entry"
    INVALID_PAYLOAD = "invalid_payload"
    INTERRUPT_EXPIRED = "interrupt_expired"
    ALREADY_RESOLVED = "already_resolved"
    THREAD_BUSY = "thread_busy"
    THREAD_TOO_LARGE = "thread_too_large"
    NOT_WAITING = "not_waiting"
    JOURNAL_GONE = "journal_gone"
    WRONG_AGENT = "wrong_agent"
    NOT_AN_APPROVER = "not_an_approver"
    AGENT_VERSION_MISSING = "agent_version_missing"
    BREAKPOINTS_REFUSED = "breakpoints_refused"
    # endings of a run
    AGENT_ERROR = "agent_error"
    AGENT_RESULT_INVALID = "agent_result_invalid"
    CANCELLED_CALL = "cancelled_call"
    REPLAY_MISMATCH = "replay_mismatch"
    TOO_MANY_INTERRUPTS = "too_many_interrupts"
    INTERRUPTS_DISABLED = "interrupts_disabled"
    LEASE_LOST = "lease_lost"
    READER_TOO_SLOW = "reader_too_slow"
    SHUTTING_DOWN = "shutting_down"
    ABORT = "abort"


STATUS: dict[Code, int] = {
    Code.MALFORMED_JSON: 400,
    Code.INVALID_QUERY: 400,
    Code.INVALID_INPUT: 422,
    Code.UNSUPPORTED_MEDIA_TYPE: 415,
    Code.UNSUPPORTED_VERSION: 422,
    Code.BODY_TOO_LARGE: 413,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.NOT_FOUND: 404,
    Code.UNKNOWN_AGENT: 404,
    Code.UNKNOWN_THREAD: 404,
    Code.UNKNOWN_APPROVAL: 404,
    Code.UNAUTHENTICATED: 401,
    Code.FORBIDDEN_HOST: 421,
    Code.FORBIDDEN_ORIGIN: 403,
    Code.STORE_UNAVAILABLE: 503,
    Code.AUTH_UNAVAILABLE: 503,
    Code.SHUTTING_DOWN: 503,
    Code.INTERNAL_ERROR: 500,
    Code.UNKNOWN_INTERRUPT: 404,
    Code.DUPLICATE_ENTRY: 422,
    Code.INVALID_PAYLOAD: 422,
    Code.INTERRUPT_EXPIRED: 410,
    Code.ALREADY_RESOLVED: 409,
    Code.NOT_AN_APPROVER: 403,
    Code.THREAD_BUSY: 409,
    Code.NOT_WAITING: 409,
    Code.JOURNAL_GONE: 410,
    Code.AGENT_VERSION_MISSING: 409,
    Code.INTERRUPTS_PENDING: 409,
    Code.PARTIAL_RESUME: 422,
    Code.THREAD_TOO_LARGE: 413,
    Code.WRONG_AGENT: 409,
}
"""HTTP status of each code that is answered without a stream."""


class SaysoError(Exception):
    """Root of what Sayso raises."""


class Problem(SaysoError):
    """A request that is answered with an HTTP error and no stream (ER-01).

    `code` picks the status; `detail` says what went wrong, where, and what to do, without
    echoing the request; `errors` are `{"pointer", "message"}` objects for its members; `more` are
    further members of the problem, such as who decided before.
    """

    def __init__(
        self,
        code: Code,
        detail: str,
        *,
        errors: tuple[dict[str, str], ...] = (),
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.errors = errors
        self.more = dict(more or {})

    @property
    def status(self) -> int:
        """The HTTP status of this problem."""
        return STATUS[self.code]


class DeclarationError(SaysoError):
    """An agent, tool, policy or schema that cannot work; raised where it is declared."""


class TurnError(SaysoError):
    """Author code and its turn disagree; the message says what to change."""


class StepFailed(TurnError):
    """A recorded step raised. Carries the type's name and message, live and on replay alike."""

    def __init__(self, step: str, error_type: str, message: str) -> None:
        super().__init__(f"step {step!r} failed with {error_type}: {message}")
        self.step = step
        self.error_type = error_type
        self.message = message


class NotRecordable(TurnError):
    """A value that has no JSON form; nothing was stored and nothing ran."""


class ToolFailed(TurnError):
    """A tool raised, and its errors fail the turn."""


class OpenMessage(TurnError):
    """A recorded call was made while this branch has a text message open."""


class NestedCall(TurnError):
    """A recorded call or a question was made inside a recorded step."""


class CancelledCall(TurnError):
    """Author code cancelled a recorded call; the call was finished and recorded all the same."""


class NotOffered(TurnError):
    """A front-end tool was called that the client did not offer; nothing was sent."""


class TooManyInterrupts(TurnError):
    """The turn has more questions open at once than the server allows, or than a client takes."""


class InterruptsDisabled(TurnError):
    """The agent asked a person and is declared not to (`may_ask=False`, `enabled: false`)."""


class ThreadTooLarge(TurnError):
    """The thread's messages have outgrown what a client takes; the turn cannot say any more."""


class InvalidAnswer(TurnError):
    """A settled answer fits the published schema but not the author's own type."""


class ReplayMismatch(TurnError):
    """The code asks for something else than what the journal recorded at this place."""

    def __init__(self, place: str, recorded: str, asked: str) -> None:
        super().__init__(
            f"at {place!r} the journal holds {recorded} but the code asks for {asked}; "
            "deploy the version that began this turn, or stop or restart the turn"
        )
        self.place = place
        self.recorded = recorded
        self.asked = asked


class JournalMissing(ReplayMismatch):
    """The store no longer holds what the turn recorded at a place: it cannot go on from there."""

    def __init__(self, place: str) -> None:
        super().__init__(place, "nothing any more", "what it asked there")
        self.args = (
            f"the journal of this turn lacks what was asked at {place!r}: it was removed, has "
            "expired, or was not restored; nothing was run again. Restore it, or stop or restart "
            "the turn",
        )


class StoreError(SaysoError):
    """The store refused or failed; nothing of the failed operation was kept."""


class Conflict(StoreError):
    """The thread is not what the caller read; read it again and decide anew."""


class LeaseLost(StoreError):
    """The fence of this lease is no longer the thread's; the holder must stop silently."""


class StoreUnavailable(StoreError):
    """The store cannot be reached or cannot write now."""
