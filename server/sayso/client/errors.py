"""The errors of a client: what it cannot continue with, and why.

SaysoError
└── ClientError
    ├── Unreachable        no answer came: it is not known whether the request arrived
    ├── RefusedByServer    an HTTP error and no stream, with the problem's members (RFC 9457)
    │   └── TooMany        a limit is reached (429): it can be tried again after a while
    ├── ProtocolViolation  a stream, or a message, that breaks the protocol
    ├── Truncated          a body that ended, or broke, before its run did
    │   └── SignInEnded    the sign-in ended, or was revoked, before the run did
    ├── Busy               the client is following another run
    ├── PartialAnswers     open interrupts without an answer, or answers to none (CR-3)
    ├── Expired            an answer to an interrupt whose time is over (EX-02)
    └── InvalidPayload     an answer that its `responseSchema` does not take (CL-05)
"""

from collections.abc import Sequence
from typing import Any

from sayso.base.errors import SaysoError


class ClientError(SaysoError):
    """Root of what a client raises; interrupts that were pending still are (CL-07)."""


class Unreachable(ClientError):
    """No answer came. The request may or may not have arrived; a resume can be sent again."""


class RefusedByServer(ClientError):
    """An HTTP error and no stream (ER-01): `status`, `code`, `detail`, `errors`, the `problem`."""

    def __init__(self, status: int, problem: dict[str, Any], fallback: str) -> None:
        detail, code = problem.get("detail"), problem.get("code")
        self.status = status
        self.code: str | None = code if isinstance(code, str) else None
        self.detail: str = detail if isinstance(detail, str) else fallback
        errors = problem.get("errors")
        self.errors: list[Any] = errors if isinstance(errors, list) else []
        self.problem = problem
        super().__init__(f"{status}{f' {self.code}' if self.code else ''}: {self.detail}")


class TooMany(RefusedByServer):
    """A limit is reached (429). `limit` names it, `max` is how much there may be.

    `retry_after`: seconds after which it can be tried again, by `Retry-After`; None if that header
    says no number.
    """

    def __init__(self, problem: dict[str, Any], fallback: str, retry_after: str | None) -> None:
        super().__init__(429, problem, fallback)
        said = retry_after or ""
        limit, most = problem.get("limit"), problem.get("max")
        self.retry_after: int | None = int(said) if said.isascii() and said.isdigit() else None
        self.limit: str | None = limit if isinstance(limit, str) else None
        self.max: int | None = most if type(most) is int else None


class ProtocolViolation(ClientError):
    """A stream that a consumer must reject (LC-13); what came before it is kept."""


class Truncated(ClientError):
    """The body ended before its run did (LC-16): how the run stands is not known."""


class SignInEnded(Truncated):
    """The sign-in ended, or was revoked, before the run did: `Client.sign_in`, then connect."""


class Busy(ClientError):
    """The client follows a run already; end or close that one first (CL-13)."""


class PartialAnswers(ClientError):
    """`missing` interrupts lack an answer; `unknown` ids are not open. Nothing was sent."""

    def __init__(self, missing: Sequence[str], unknown: Sequence[str]) -> None:
        self.missing: tuple[str, ...] = tuple(missing)
        self.unknown: tuple[str, ...] = tuple(unknown)
        parts = []
        if missing:
            parts.append(f"open and unanswered: {', '.join(missing)}; answer or cancel them all")
        if unknown:
            parts.append(f"not open on this thread: {', '.join(unknown)}")
        super().__init__("; ".join(parts))


class Expired(ClientError):
    """Interrupts whose `expiresAt` has come can be cancelled, no longer answered."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids: tuple[str, ...] = tuple(ids)
        super().__init__(f"expired, so cancel instead of answering: {', '.join(ids)}")


class InvalidPayload(ClientError):
    """An answer that does not fit; `errors` are (JSON pointer, message) pairs."""

    def __init__(self, interrupt_id: str, errors: Sequence[tuple[str, str]]) -> None:
        self.interrupt_id: str = interrupt_id
        self.errors: tuple[tuple[str, str], ...] = tuple(errors)
        details = "; ".join(f"{pointer or 'the answer'}: {message}" for pointer, message in errors)
        super().__init__(f"the answer to {interrupt_id} does not fit: {details}")
