"""Commits of one execution, under its lease: what is asked for in one turn of the loop is one.

So a hundred calls that begin or end together are one step for the store and not a hundred.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sayso.base.clock import Clock
from sayso.base.errors import LeaseLost, StoreError
from sayso.base.records import Approval, ApprovalUse, Commit, Entry, Lease, Message
from sayso.stores.base import Store
from sayso.streams.ending import STOPPED
from sayso.turns.denials import Heard, read_denials
from sayso.turns.replay.effects import Effects


@dataclass(frozen=True, slots=True)
class LeasedStore:
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

    async def valid_approvals(self, owner: str, tool: str, now: int) -> tuple[Approval, ...]:
        """Valid approvals for calls of a tool in an owner's turns."""
        return await self.store.valid_approvals(self.lease.scope, owner, tool, now)

    async def heard(self, owner: str, marks: Sequence[Entry]) -> Heard:
        """Denials of approvers in the thread and in its copies (`turns.denials`)."""
        return await read_denials(self.store, self.lease.scope, owner, self.lease.thread_id, marks)

    def check(self) -> None:
        """Raise `LeaseLost` when another holder may have the thread by now; from any thread."""
        if not self.alive():
            raise LeaseLost(f"the lease of thread {self.lease.thread_id!r} has run out")


class ApprovalWrites:
    """Writes of the next commit: approvals to keep, and what ran on those that stand."""

    def __init__(self) -> None:
        self._given: list[Approval] = []
        self._used: list[ApprovalUse] = []
        self.chosen: set[str] = set()
        """Decisions that calls run on since the turn was entered: each permits one."""

    def give(self, approval: Approval) -> None:
        """Keep an approval for later calls."""
        self._given.append(approval)

    def use(self, use: ApprovalUse) -> None:
        """Note that a call runs on an approval."""
        self._used.append(use)

    def take(self) -> Mapping[str, Any]:
        """The members of the commit that is being made now."""
        taken = {"approvals": tuple(self._given), "uses": tuple(self._used)}
        self._given, self._used = [], []
        return taken


class Recording(Protocol):
    """An execution, as far as commits know it."""

    leased: LeasedStore
    clock: Clock
    effects: Effects
    approval_writes: ApprovalWrites

    def take_pending(self) -> tuple[tuple[Entry, ...], tuple[Message, ...]]:
        """Take the entries and messages that the commit of now carries."""

    def abort(self, error: StoreError) -> None:
        """The store has failed."""

    def stop(self, reason: str) -> None:
        """The store has said that the turn shall stop."""


class Commits:
    """Writes what an execution records. It does not hold the execution, which holds it."""

    def __init__(self) -> None:
        self._sharing: list[asyncio.Future[None]] | None = None
        """Who shares the commit that begins in the next turn of the loop; None while none does."""

    async def durable(self, execution: Recording) -> None:
        """Return once what is recorded now has been written, or the execution was aborted."""
        if self._sharing is not None:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._sharing.append(waiter)
            await waiter
            return
        sharing: list[asyncio.Future[None]] = []
        self._sharing = sharing
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self._begin(execution, sharing)
            raise
        if sharing:
            # First, as it was the first to ask: what is told afterwards is told in that order.
            waiter = asyncio.get_running_loop().create_future()
            sharing.insert(0, waiter)
            self._begin(execution, sharing)
            await waiter
        else:
            self._sharing = None
            await _write(execution)
            # As many turns of the loop as those take who share one: what is told in consequence
            # is told in the order in which it was recorded.
            await asyncio.sleep(0)

    def _begin(self, execution: Recording, sharing: list[asyncio.Future[None]]) -> None:
        """Write for several, whoever of them is cancelled meanwhile."""
        self._sharing = None
        if sharing:
            execution.effects.track(_write_for(execution, sharing))


async def _write_for(execution: Recording, sharing: Sequence[asyncio.Future[None]]) -> None:
    failed: BaseException | None = None
    try:
        await _write(execution)
    except BaseException as error:
        failed = error
        raise
    finally:
        for waiter in sharing:
            if waiter.done():
                continue
            if failed is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(failed)


async def _write(execution: Recording) -> None:
    entries, messages = execution.take_pending()
    now, permits = execution.clock.now(), execution.approval_writes.take()
    try:
        stopping = await execution.leased.commit(
            Commit(now=now, entries=entries, messages=messages, **permits)
        )
    except StoreError as error:
        execution.abort(error)
    else:
        if stopping:
            execution.stop(STOPPED)
