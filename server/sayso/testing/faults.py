"""A store that breaks where a test wants it to."""

import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NoReturn, TypeVar, get_args

from sayso.approvals import Approval, ApprovalUse
from sayso.audit import AuditRow
from sayso.errors import StoreUnavailable
from sayso.records import (
    Changes,
    Claim,
    Commit,
    Due,
    Entry,
    Interrupt,
    InterruptStatus,
    Lease,
    ListedInterrupt,
    Page,
    Renewed,
    Run,
    ThreadSummary,
    ThreadView,
    TurnStatus,
    Waiting,
)
from sayso.stores.base import Hear, Store
from sayso.testing.points import Call, Fault, Hold, Point, When

__all__ = ["Call", "Fault", "FaultyStore", "Hold", "Point", "kill_process"]

T = TypeVar("T")

_POINTS = frozenset(get_args(Point))


class FaultyStore(Store):
    """Wraps a store; `fail`, `hold` and `cut` decide what goes wrong, `calls` tells what came.

    `before` a point nothing has been written, `after` it everything has and only the answer is
    lost: the two cases that every caller of a store has to get right.

        store = FaultyStore(MemoryStore(clock=clock))
        store.fail("commit", n=3, when="after")                     # the third from now
        store.fail("commit", match=lambda c: c.release, hook=store.cut)
        store.fail("claim", when="after", hook=kill_process)
    """

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.calls: list[Call] = []
        self._faults: list[Fault] = []
        self._cut = False

    def fail(
        self,
        point: Point,
        *,
        n: int = 1,
        when: When = "before",
        error: BaseException | None = None,
        hook: Callable[[], Awaitable[object] | object] | None = None,
        match: Callable[[Any], bool] | None = None,
        times: int = 1,
    ) -> Fault:
        """Arm a fault at the n-th call from now and at the `times - 1` calls after it.

        `match` picks calls by their subject (see `Call`); only those count. The fault calls `hook`
        (an awaitable that it returns is awaited, except in `renew`) and raises `error`. With
        neither it raises `StoreUnavailable`; with a hook alone the call goes on.
        """
        if point not in _POINTS:
            raise ValueError(f"no fault point {point!r}; there are {', '.join(sorted(_POINTS))}")
        if n < 1 or times < 1:
            raise ValueError("n and times count from 1")
        if error is None and hook is None:
            error = StoreUnavailable(f"fault {when} {point}")
        fault = Fault(point, n, when, error, hook, match, times)
        self._faults.append(fault)
        return fault

    def hold(
        self,
        point: Point,
        *,
        n: int = 1,
        when: When = "before",
        match: Callable[[Any], bool] | None = None,
    ) -> Hold:
        """Stop the n-th call from now at the point until the `Hold` is released."""
        hold = Hold()
        self.fail(point, n=n, when=when, hook=hold.stop_here, match=match)
        return hold

    def cut(self) -> None:
        """From now on every call fails and every answer under way is lost, as in a dead process."""
        self._cut = True

    def mend(self) -> None:
        """Undo `cut` and disarm all faults."""
        self._cut = False
        self._faults.clear()

    async def open(self) -> None:
        """Open the wrapped store."""
        await self.inner.open()

    async def close(self) -> None:
        """Close the wrapped store."""
        await self.inner.close()

    async def load(
        self,
        scope: str,
        thread_id: str,
        *,
        run_id: str | None = None,
        interrupt_ids: Sequence[str] = (),
    ) -> ThreadView | None:
        """Point `load`."""
        return await self._pass(
            Call("load", thread_id),
            lambda: self.inner.load(scope, thread_id, run_id=run_id, interrupt_ids=interrupt_ids),
        )

    async def journal(self, scope: str, turn_key: str) -> tuple[Entry, ...]:
        """Point `journal`."""
        return await self._pass(
            Call("journal", turn_key), lambda: self.inner.journal(scope, turn_key)
        )

    async def threads(
        self,
        scope: str,
        *,
        owner: str | None = None,
        status: TurnStatus | None = None,
        agent: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[ThreadSummary]:
        """Point `threads`."""
        return await self._pass(
            Call("threads", scope),
            lambda: self.inner.threads(
                scope, owner=owner, status=status, agent=agent, after=after, limit=limit
            ),
        )

    async def interrupts(
        self,
        scope: str,
        *,
        owner: str | None = None,
        status: InterruptStatus | None = None,
        agent: str | None = None,
        reason: str | None = None,
        thread_id: str | None = None,
        assigned_to: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[ListedInterrupt]:
        """Point `interrupts`."""
        return await self._pass(
            Call("interrupts", scope),
            lambda: self.inner.interrupts(
                scope,
                owner=owner,
                status=status,
                agent=agent,
                reason=reason,
                thread_id=thread_id,
                assigned_to=assigned_to,
                after=after,
                limit=limit,
            ),
        )

    async def interrupt(self, scope: str, interrupt_id: str) -> ListedInterrupt | None:
        """Point `interrupt`."""
        return await self._pass(
            Call("interrupt", interrupt_id), lambda: self.inner.interrupt(scope, interrupt_id)
        )

    async def runs(
        self, scope: str, thread_id: str, *, after: str | None = None, limit: int = 100
    ) -> Page[Run]:
        """Point `runs`."""
        return await self._pass(
            Call("runs", thread_id),
            lambda: self.inner.runs(scope, thread_id, after=after, limit=limit),
        )

    async def changes(self, scope: str, since: int | None, limit: int = 1_000) -> Changes:
        """Point `changes`."""
        return await self._pass(
            Call("changes", since), lambda: self.inner.changes(scope, since, limit)
        )

    async def approvals(
        self,
        scope: str,
        at: int,
        *,
        party: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[Approval]:
        """Point `approvals`."""
        return await self._pass(
            Call("approvals", scope),
            lambda: self.inner.approvals(scope, at, party=party, after=after, limit=limit),
        )

    async def approval(self, scope: str, approval_id: str) -> Approval | None:
        """Point `approval`."""
        return await self._pass(
            Call("approval", approval_id), lambda: self.inner.approval(scope, approval_id)
        )

    async def approval_uses(
        self, scope: str, approval_id: str, limit: int = 100
    ) -> tuple[ApprovalUse, ...]:
        """Point `approval_uses`."""
        return await self._pass(
            Call("approval_uses", approval_id),
            lambda: self.inner.approval_uses(scope, approval_id, limit),
        )

    async def standing_approvals(
        self, scope: str, owner: str, tool: str, at: int
    ) -> tuple[Approval, ...]:
        """Point `standing_approvals`."""
        return await self._pass(
            Call("standing_approvals", tool),
            lambda: self.inner.standing_approvals(scope, owner, tool, at),
        )

    async def revoke(self, scope: str, approval_id: str, by: str, now: int) -> None:
        """Point `revoke`."""
        await self._pass(
            Call("revoke", approval_id), lambda: self.inner.revoke(scope, approval_id, by, now)
        )

    async def audit(
        self,
        scope: str,
        *,
        thread_id: str | None = None,
        owner: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[AuditRow]:
        """Point `audit`."""
        return await self._pass(
            Call("audit", thread_id),
            lambda: self.inner.audit(
                scope, thread_id=thread_id, owner=owner, after=after, limit=limit
            ),
        )

    async def claim(self, claim: Claim) -> Lease:
        """Point `claim`."""
        return await self._pass(Call("claim", claim), lambda: self.inner.claim(claim))

    async def commit(self, lease: Lease, commit: Commit) -> bool:
        """Point `commit`."""
        return await self._pass(Call("commit", commit), lambda: self.inner.commit(lease, commit))

    async def settle(
        self,
        scope: str,
        thread_id: str,
        revision: int,
        interrupts: Sequence[Interrupt],
        now: int,
        *,
        state: bytes | None = None,
        entries: Sequence[Entry] = (),
        by: str | None = None,
    ) -> None:
        """Point `settle`."""
        await self._pass(
            Call("settle", tuple(interrupts)),
            lambda: self.inner.settle(
                scope, thread_id, revision, interrupts, now, state=state, entries=entries, by=by
            ),
        )

    async def delete(self, scope: str, thread_id: str, revision: int, now: int) -> None:
        """Point `delete`."""
        await self._pass(
            Call("delete", thread_id), lambda: self.inner.delete(scope, thread_id, revision, now)
        )

    async def request_stop(
        self,
        scope: str,
        thread_id: str,
        fence: int,
        *,
        by: str | None = None,
        channel: str | None = None,
    ) -> None:
        """Point `request_stop`."""
        await self._pass(
            Call("request_stop", thread_id),
            lambda: self.inner.request_stop(scope, thread_id, fence, by=by, channel=channel),
        )

    async def delivered(self, scope: str, run_key: str) -> None:
        """Point `delivered`."""
        await self._pass(Call("delivered", run_key), lambda: self.inner.delivered(scope, run_key))

    async def due(self, now: int, limit: int, after: str | None = None) -> Page[Due]:
        """Point `due`."""
        return await self._pass(Call("due", now), lambda: self.inner.due(now, limit, after))

    async def waiting(self, limit: int) -> Waiting:
        """Point `waiting`."""
        return await self._pass(Call("waiting", limit), lambda: self.inner.waiting(limit))

    def renew(self, leases: Sequence[Lease], lease_ms: int) -> Renewed:
        """Point `renew`; its hooks are plain functions, called in the thread that renews."""
        striking = self._arrived(Call("renew", tuple(leases)))
        self._strike_blocking(striking, "before")
        renewed = self.inner.renew(leases, lease_ms)
        self._strike_blocking(striking, "after")
        return renewed

    @property
    def hears(self) -> bool:
        """Whether the wrapped store's hints come, and this process is not cut off."""
        return self.inner.hears and not self._cut

    def follow(self, hear: Hear) -> None:
        """Follow the wrapped store."""
        self.inner.follow(hear)

    async def _pass(self, call: Call, work: Callable[[], Awaitable[T]]) -> T:
        striking = self._arrived(call)
        await self._strike(striking, "before")
        outcome = await work()
        await self._strike(striking, "after")
        return outcome

    def _arrived(self, call: Call) -> list[Fault]:
        """Note a call; the faults that strike at it, now or when it is done."""
        self.calls.append(call)
        striking = [fault for fault in self._faults if fault.strikes(call)]
        for fault in striking:
            fault.left -= 1
        return striking

    async def _strike(self, faults: list[Fault], when: When) -> None:
        for fault in faults:
            if fault.when == when:
                fault.fired += 1
                answer = fault.hook() if fault.hook else None
                if isinstance(answer, Awaitable):
                    await answer
                self._raise(fault.error)
        self._raise(None)

    def _strike_blocking(self, faults: list[Fault], when: When) -> None:
        for fault in faults:
            if fault.when == when:
                fault.fired += 1
                if fault.hook:
                    fault.hook()
                self._raise(fault.error)
        self._raise(None)

    def _raise(self, error: BaseException | None) -> None:
        if error is not None:
            raise error
        if self._cut:
            raise StoreUnavailable("the store was cut off by a test")


def kill_process() -> NoReturn:
    """A hook that ends this process as a power cut would: at once, with nothing tidied up."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a killed process went on")
