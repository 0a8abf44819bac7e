"""Approvals that stand for later calls, as they are stored: frozen records without behaviour."""

from dataclasses import dataclass

__all__ = ["Approval", "ApprovalUse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A person's yes that stands for calls to come of one tool.

    It concerns calls of `owner`'s turns, of one thread only if there is a `thread_id`, whose
    arguments fit `pattern` (JSON), and answers the questions of `rules`. `given_by` said so at
    `given_at`, beside the answer to `interrupt_id`. Times are milliseconds since the epoch.
    """

    id: str
    owner: str
    tool: str
    pattern: bytes
    rules: tuple[str, ...]
    given_by: str
    given_at: int
    interrupt_id: str
    thread_id: str | None = None
    expires_at: int | None = None
    revoked_at: int | None = None
    revoked_by: str | None = None
    uses: int = 0
    """How many uses are known; `used_at` is the time of the last. A store counts both itself."""
    used_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalUse:
    """A call that ran on an approval without anybody being asked; noted once for each call."""

    approval_id: str
    call_id: str
    thread_id: str
    at: int
