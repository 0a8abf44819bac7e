"""The store as the holder of a lease may use it."""

from collections.abc import Callable
from dataclasses import dataclass

from sayso.approvals import Approval
from sayso.errors import LeaseLost
from sayso.records import Commit, Lease
from sayso.stores.base import Store

__all__ = ["Leased"]


@dataclass(frozen=True, slots=True)
class Leased:
    """A store seen through a lease; `alive` is the local deadline, checked before each effect."""

    store: Store
    lease: Lease
    alive: Callable[[], bool]

    async def commit(self, commit: Commit) -> bool:
        """Write under the lease; returns whether the holder was asked to stop.

        Raises `LeaseLost` at once when its local deadline has passed.
        """
        self.check()
        return await self.store.commit(self.lease, commit)

    async def standing_approvals(self, owner: str, tool: str, at: int) -> tuple[Approval, ...]:
        """What stands for calls of a tool in an owner's turns, as it is now."""
        return await self.store.standing_approvals(self.lease.scope, owner, tool, at)

    def check(self) -> None:
        """Raise `LeaseLost` when another holder may have the thread by now; from any thread."""
        if not self.alive():
            raise LeaseLost(f"the lease of thread {self.lease.thread_id!r} has run out")
