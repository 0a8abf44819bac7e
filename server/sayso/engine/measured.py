"""A store whose calls are counted and timed, on their way through."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any, cast

from sayso.clock import Clock
from sayso.errors import Conflict, LeaseLost, StoreUnavailable
from sayso.metrics import Metrics
from sayso.protocol.ending import outcome_type
from sayso.records import Claim, Commit, Interrupt, Lease, Renewed, Run
from sayso.stores.base import Hear, Store

__all__ = ["measured"]


def measured(store: Store, metrics: Metrics, clock: Clock) -> Store:
    """The store, with what goes through it counted; what it holds and promises stays the same."""
    return cast("Store", _Measured(store, metrics, clock))


class _Measured:
    """Passes every call on as it is, whatever the contract has: only three are looked into."""

    def __init__(self, store: Store, metrics: Metrics, clock: Clock) -> None:
        self._store = store
        self._metrics = metrics
        self._clock = clock

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        """A call that has no method here; made on first use."""
        call = partial(self._call, name)
        setattr(self, name, call)
        return call

    @property
    def hears(self) -> bool:
        return self._store.hears

    def follow(self, hear: Hear) -> None:
        self._store.follow(hear)

    async def claim(self, claim: Claim) -> Lease:
        lease: Lease = await self._call("claim", claim)
        if claim.revision:  # a thread that begins with settled questions is a copy
            self._settled(claim.interrupts)
            self._ended(claim.run)
        return lease

    async def commit(self, lease: Lease, commit: Commit) -> bool:
        stopping: bool = await self._call("commit", lease, commit)
        self._settled(commit.interrupts)
        self._ended(commit.run)
        return stopping

    async def settle(
        self,
        scope: str,
        thread_id: str,
        revision: int,
        interrupts: Sequence[Interrupt],
        now: int,
        **more: Any,
    ) -> None:
        await self._call("settle", scope, thread_id, revision, interrupts, now, **more)
        # What was settled before only gets a note: of a refusal that came too late.
        self._settled(item for item in interrupts if item.decided_at == now)

    def renew(self, leases: Sequence[Lease], lease_ms: int) -> Renewed:
        began = self._clock.monotonic()
        try:
            return self._store.renew(leases, lease_ms)
        except Exception as error:
            self._failed("renew", error)
            raise
        finally:
            self._metrics.calls.add(self._clock.monotonic() - began, "renew")

    async def _call(self, name: str, *values: Any, **named: Any) -> Any:
        began = self._clock.monotonic()
        try:
            return await getattr(self._store, name)(*values, **named)
        except Exception as error:
            self._failed(name, error)
            raise
        finally:
            self._metrics.calls.add(self._clock.monotonic() - began, name)

    def _failed(self, name: str, error: Exception) -> None:
        if isinstance(error, Conflict):
            self._metrics.conflicts.add(name)
        elif isinstance(error, LeaseLost):
            self._metrics.lost.add(name)
        elif isinstance(error, StoreUnavailable):
            self._metrics.failures.add(name)

    def _settled(self, items: Iterable[Interrupt]) -> None:
        for item in items:
            if item.status == "open":
                continue
            self._metrics.settled.add(item.status)
            if item.decided_by is not None and item.decided_at is not None:
                taken = (item.decided_at - item.created_at) / 1000
                self._metrics.decisions.add(taken, item.status)

    def _ended(self, run: Run | None) -> None:
        if run is None or run.ended_at is None or run.outcome is None:
            return
        outcome = outcome_type(run.outcome) or "error"
        self._metrics.runs.add((run.ended_at - run.started_at) / 1000, outcome)
