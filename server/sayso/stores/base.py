"""The store: what every backend promises. The docstrings are the contract (design 6).

All calls carry the scope; nothing of another scope is ever read or written. Records come back
equal to what was written. A call that raises has changed nothing. No call blocks the event loop.
A cancelled waiter does not cancel its write. Text that has no UTF-8 form (a lone surrogate) is
refused with `ValueError`; every call may raise `StoreUnavailable`, whose message names the remedy.

Messages are in the order of their first writing, those that wait after all others. Revisions grow
with `claim`, `commit` and `settle`, not with `delivered` and `renew`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from sayso.records import Claim, Commit, Due, Entry, Interrupt, Lease, ThreadView

__all__ = ["Store"]


class Store(ABC):
    """Threads with their turns, runs, messages, interrupts and journals, in one place."""

    @abstractmethod
    async def open(self) -> None:
        """Connect and migrate; idempotent. Raises `StoreUnavailable` with what to do next."""

    @abstractmethod
    async def close(self) -> None:
        """Finish what was accepted, then let go of everything; idempotent."""

    @abstractmethod
    async def load(
        self,
        scope: str,
        thread_id: str,
        *,
        run_id: str | None = None,
        interrupt_ids: Sequence[str] = (),
    ) -> ThreadView | None:
        """Read a thread at one instant, or None. Ids of other threads are not found (CR-1)."""

    @abstractmethod
    async def journal(self, scope: str, turn_key: str) -> tuple[Entry, ...]:
        """The entries of a turn, in the order in which their places were first written."""

    @abstractmethod
    async def claim(self, claim: Claim) -> Lease:
        """Take the thread and write all that the claim holds, in one durable step.

        Succeeds only if the revision is still the one given, and the thread has no holder or its
        lease has run out on the store's clock (`lease_until` at or before it); raises `Conflict`
        otherwise. The fence grows by one. `owner` counts when the thread is created, `agent`
        always. `turn` and `run` are written as given (an existing key is replaced and keeps its
        age). First `hide` turns visible messages into hidden ones; then `messages` are appended
        (an id that is stored stays as it is, but becomes visible again if it was hidden).
        `interrupts` replace what has their id. `entries` belong to `turn` and replace what has
        their place. When the turn is new, journals of earlier turns of the thread are dropped. Of
        any number of concurrent claims on one revision one wins.
        """

    @abstractmethod
    async def commit(self, lease: Lease, commit: Commit) -> None:
        """Write one durable step under a lease.

        Raises `LeaseLost` if the fence is not the newest or the lease was released. A lease that
        ran out still writes as long as nobody claimed the thread. A message id that is stored
        already is replaced in place, a new one is appended before the waiting ones. `entries`
        belong to `turn` if it is given, else to the newest turn of the thread; a turn that is new
        drops journals as in `claim`. `release` clears the holder. Commits of one lease take effect
        in the order of the calls, awaited or not.
        """

    @abstractmethod
    async def settle(
        self, scope: str, thread_id: str, revision: int, interrupts: Sequence[Interrupt], now: int
    ) -> None:
        """Replace interrupts of an idle thread without running it.

        Raises `Conflict` if the revision is another, the thread is unknown, or anybody holds it,
        also on a lease that ran out: that thread has to be claimed.
        """

    @abstractmethod
    async def delivered(self, scope: str, run_key: str) -> None:
        """Note that a run's body reached its reader whole. Unknown keys are ignored."""

    @abstractmethod
    async def due(self, now: int, limit: int) -> tuple[Due, ...]:
        """Threads of all scopes that need the server, oldest first, at most `limit`.

        `abandoned`: held, and the lease ran out on the store's clock. `expired`: idle, newest turn
        suspended, with an open interrupt of that turn whose `expires_at` is at or before `now`.
        `ready`: idle, newest turn suspended, with no open interrupt of it left. A thread is named
        once. Age counts from the lease's end, the earliest expiry, or the last write.
        """

    @abstractmethod
    def renew(self, leases: Sequence[Lease], lease_ms: int) -> tuple[Lease, ...]:
        """Prolong leases by the store's clock; returns those that are lost or released.

        A lease that ran out is prolonged too unless somebody claimed the thread. Synchronous, with
        a bound on its wait, and safe from any thread but the event loop's: a loop that is blocked
        by author code must not lose its leases.
        """
