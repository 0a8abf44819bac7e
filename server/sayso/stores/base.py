"""The store: what every backend promises. The docstrings are the contract (design 6).

All calls carry the scope; nothing of another scope is ever read or written. Records come back
equal to what was written. A call that raises has changed nothing. No call blocks the event loop.
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
        lease has run out on the store's clock; raises `Conflict` otherwise. The fence grows by
        one. `turn` and `run` are written as given (an existing key is replaced); `messages` are
        appended (an id that is stored stays as it is), `hide` turns visible messages into hidden
        ones, and hidden ids named in `messages` become visible again; `interrupts` and `entries`
        replace what has their id or place. When the turn is new, journals of earlier turns of the
        thread are dropped. Of any number of concurrent claims on one revision one wins.
        """

    @abstractmethod
    async def commit(self, lease: Lease, commit: Commit) -> None:
        """Write one durable step under a lease; raises `LeaseLost` if its fence is not the newest.

        A message id that is stored already is replaced in place, a new one is appended before
        the waiting ones. `release` clears the holder. Commits of one lease take effect in order.
        """

    @abstractmethod
    async def settle(
        self, scope: str, thread_id: str, revision: int, interrupts: Sequence[Interrupt], now: int
    ) -> None:
        """Replace interrupts of an idle thread without running it; `Conflict` as in `claim`."""

    @abstractmethod
    async def delivered(self, scope: str, run_key: str) -> None:
        """Note that a run's body reached its reader whole. Unknown keys are ignored."""

    @abstractmethod
    async def due(self, now: int, limit: int) -> tuple[Due, ...]:
        """Threads of all scopes that need the server, oldest first, at most `limit`.

        `abandoned`: held, and the lease ran out on the store's clock. `expired`: idle, newest turn
        suspended, with an open interrupt whose `expires_at` is at or before `now`. `ready`: idle,
        newest turn suspended, with no open interrupt left. A thread is named once.
        """

    @abstractmethod
    def renew(self, leases: Sequence[Lease], lease_ms: int) -> tuple[Lease, ...]:
        """Prolong leases by the store's clock; returns those that are lost.

        Synchronous and safe from any thread but the event loop's: a loop that is blocked by author
        code must not lose its leases.
        """
