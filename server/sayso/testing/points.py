"""The points where a store can break in a test, and the faults there."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Point = Literal[
    "load",
    "journal",
    "threads",
    "interrupts",
    "interrupt",
    "runs",
    "changes",
    "approvals",
    "approval",
    "approval_uses",
    "valid_approvals",
    "revoke",
    "note",
    "audit",
    "audit_end",
    "claim",
    "commit",
    "update_idle",
    "amend",
    "usage",
    "delete",
    "erase_trail",
    "erase_person",
    "purge_files",
    "delete_approval",
    "next_scope",
    "take_duty",
    "set_hold",
    "request_stop",
    "mark_delivered",
    "due_threads",
    "count_all_open",
    "add_session",
    "use_session",
    "sessions",
    "end_sessions",
    "add_service_token",
    "service_token",
    "service_tokens",
    "secrets",
    "secret_key",
    "revoke_service_token",
    "renew",
]
When = Literal["before", "after"]


@dataclass(frozen=True, slots=True)
class StoreCall:
    """One call that reached the store: its point and its subject.

    `subject` is the `Claim`, the `Commit`, the `Update`, the `Amendment`, the leases to renew, the
    id or key of the one thing that is read, deleted, stopped or marked delivered (of `runs` and
    `audit` the thread's), the events to note, the scope of a list, the mark that changes are read
    from, the time of a look at what is due, the limit to which open interrupts are counted, a
    `Session`, the digest or name of some, the name of a person, a `ServiceToken`, or its digest or
    id.
    """

    point: Point
    subject: Any


@dataclass(slots=True)
class Fault:
    """An armed fault; `fired` says how often it struck, `left` how often it still will."""

    point: Point
    n: int
    when: When
    error: BaseException | None
    hook: Callable[[], Awaitable[object] | object] | None
    match: Callable[[Any], bool] | None
    left: int
    fired: int = 0
    seen: int = field(default=0, repr=False)

    def strikes(self, call: StoreCall) -> bool:
        """Count a call; True if the fault strikes at it."""
        if call.point != self.point or (self.match and not self.match(call.subject)):
            return False
        self.seen += 1
        return self.seen >= self.n and self.left > 0


class Barrier:
    """Stops calls at a fault point until the test releases them; at most ten real seconds."""

    def __init__(self) -> None:
        self._reached = asyncio.Event()
        self._released = asyncio.Event()

    async def reached(self) -> None:
        """Wait until a call stands at the point."""
        await asyncio.wait_for(self._reached.wait(), 10)

    def release(self) -> None:
        """Let the call continue, and those that follow."""
        self._released.set()

    async def stop_here(self) -> None:
        """The hook that the fault calls."""
        self._reached.set()
        await asyncio.wait_for(self._released.wait(), 10)
