"""Commits of one execution, under its lease: what is asked for in one turn of the loop is one.

So a hundred calls that begin or end together are one step for the store and not a hundred.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from sayso.agents.tools import Tool
from sayso.base import jsonvalue
from sayso.base.clock import Clock
from sayso.base.errors import Conflict, LeaseLost, StoreError
from sayso.base.records import Approval, ApprovalUse, Commit, Entry, Lease, Message
from sayso.base.secretvalues import SecretValue, Vault
from sayso.stores.base import Store
from sayso.streams.ending import STOPPED
from sayso.turns.calls.question_results import QuestionResults
from sayso.turns.denials import Heard, read_denials
from sayso.turns.replay.effects import Effects

Pending = tuple[tuple[Entry, ...], tuple[Message, ...], tuple[SecretValue, ...]]
"""Entries, messages and secrets that wait for a commit."""


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

    async def revoke(self, approval: Approval, by: str, now: int) -> None:
        """Revoke an approval, unless somebody did meanwhile."""
        with suppress(Conflict):
            await self.store.revoke(self.lease.scope, approval.id, by, now)

    async def secret_key(self) -> bytes:
        """The key of the scope, under which ids of secrets are made."""
        return await self.store.secret_key(self.lease.scope)

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


class KeptApart:
    """The secrets of a turn: values that are kept apart from the answers and calls that have them.

    What is recorded, shown and compared has their ids. They go into the store with the commit that
    records the first of these, and back into the arguments right before code of the author has
    them. `values` were read with the turn, by id; `owner` is the thread's.
    """

    def __init__(self, values: Mapping[str, bytes], owner: str, *, sealed: bool) -> None:
        self.values = values
        self._owner = owner
        self.sealed = sealed
        self._vault: Vault | None = None
        self._stored: set[str] = set(values)

    async def prepare(self, leased: LeasedStore, tools: Iterable[Tool[..., Any]]) -> None:
        """Get what calls of these tools take: the key under which ids are made.

        Raises:
            DeclarationError: one of them takes a `Secret`, and the store has no codec.
        """
        hiding = [tool for tool in tools if tool.has_secrets]
        for tool in hiding:
            tool.check_kept(sealed=self.sealed)
        if not hiding or not self.sealed or self._vault is not None:
            return
        vault = Vault(await leased.secret_key(), self._owner, self.values)
        if self._vault is None:  # else another branch of the turn was first
            self._vault = vault

    def apart(self, tool: Tool[..., Any], arguments: bytes) -> bytes:
        """Effective arguments as they are recorded; the tool was prepared."""
        if self._vault is None or not tool.has_secrets:
            return arguments
        return tool.apart(arguments, self._vault)

    def whole(self, tool: Tool[..., Any], arguments: bytes) -> bytes:
        """Recorded arguments as code of the author gets them."""
        if self._vault is None or not tool.has_secrets:
            return arguments
        return jsonvalue.encode(tool.whole(jsonvalue.decode(arguments), self._vault))

    def take(self) -> tuple[SecretValue, ...]:
        """Take the values that the commit of now carries."""
        if self._vault is None:
            return ()
        new = tuple(value for value in self._vault.kept if value.id not in self._stored)
        self._stored.update(value.id for value in new)
        return new


class Recording(Protocol):
    """An execution, as far as commits know it."""

    leased: LeasedStore
    clock: Clock
    effects: Effects
    approval_writes: ApprovalWrites
    results: QuestionResults

    def take_pending(self) -> Pending:
        """Take the entries, messages and secrets that the commit of now carries."""

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
    entries, messages, secrets = execution.take_pending()
    now, permits = execution.clock.now(), execution.approval_writes.take()
    results = execution.results.take()
    try:
        stopping = await execution.leased.commit(
            Commit(
                now=now,
                entries=entries,
                messages=messages,
                interrupts=results,
                secrets=secrets,
                **permits,
            )
        )
    except StoreError as error:
        execution.abort(error)
    else:
        if stopping:
            execution.stop(STOPPED)
