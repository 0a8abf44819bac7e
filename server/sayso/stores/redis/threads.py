"""Steps on threads of Redis, one after the other for each thread.

A step is planned on what is known of a thread and done by one script if that is still true. What a
holder knows stays here for as long as it holds the thread, so that a commit is one round trip.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from sayso.base.clock import Clock
from sayso.base.errors import StoreUnavailable
from sayso.base.records import Claim, Commit, Lease, Update
from sayso.stores.redis import checkpoints, steps
from sayso.stores.redis.batch import ScriptBatch
from sayso.stores.redis.client import RedisClient, Script
from sayso.stores.redis.facts import ThreadFacts, read_arguments
from sayso.stores.redis.keys import SCOPES, THREADS, ScopeKeys, ThreadKeys
from sayso.stores.step import (
    conflict_on,
    lease_lost,
    plan_claim,
    plan_commit,
    plan_deletion,
    plan_update,
)

T = TypeVar("T")

_log = logging.getLogger("sayso.store")

_APPLY = Script("apply")
_READ = Script("read")
_MAX_ATTEMPTS = 20
"""Times that a step is planned anew because something changed since it was read."""
_REMEMBERED = 10_000
"""Leases whose threads are known at most; of an older one its thread is read again."""


class RedisThreads:
    """The operations on threads over one link."""

    def __init__(
        self,
        link: RedisClient,
        clock: Clock | None,
        tell: Callable[[str, str], None],
        *,
        checkpoints: bool,
    ) -> None:
        """`clock` is the store's time; the server's own when there is none.

        `tell` is given scope and id of each thread that changed in a way that others wait for.
        `checkpoints`: what begins to wait is shown to others.
        """
        self._link = link
        self.tell = tell
        self._clock = clock
        self._checkpoints = checkpoints
        self._known: dict[Lease, ThreadFacts] = {}
        self._scopes: set[str] = set()
        self._last: dict[tuple[str, str], asyncio.Task[Any]] = {}
        self._under_way: set[asyncio.Task[Any]] = set()

    async def in_turn(self, scope: str, name: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do work behind what was given before for that name, whether or not anybody waits."""
        key = (scope, name)
        before = self._last.get(key)

        async def behind() -> T:
            if before is not None:
                await asyncio.wait((before,))
            return await work()

        task = asyncio.ensure_future(behind())
        self._last[key] = task
        self._under_way.add(task)

        def ended(done: asyncio.Task[Any]) -> None:
            self._under_way.discard(done)
            if self._last.get(key) is done:
                del self._last[key]
            if not done.cancelled():
                done.exception()  # whoever waited knows it; nobody else has to

        task.add_done_callback(ended)
        return await asyncio.shield(task)

    async def finish(self) -> None:
        """Wait for all that was given."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def claim(self, wanted: Claim) -> Lease:
        """Take a thread and write; see `Store.claim`."""
        keys = ScopeKeys(wanted.scope).thread(wanted.thread_id)
        ids = [interrupt.id for interrupt in wanted.interrupts]
        for _ in range(_MAX_ATTEMPTS):
            facts = await self._read(keys, [wanted.turn.key], ids)
            writes = plan_claim(facts.of_step(keys, ids), wanted)
            if not facts.exists:
                facts.number = await self._begin(wanted.scope)
            batch = ScriptBatch(keys, facts, writes.mode, lease_ms=wanted.lease_ms)
            steps.write(batch, writes)
            checkpoints.remove(batch)
            outcome = await self._apply(batch, wanted.holder)
            if isinstance(outcome, ThreadFacts):
                lease = Lease(
                    scope=wanted.scope,
                    thread_id=wanted.thread_id,
                    holder=wanted.holder,
                    fence=outcome.fence,
                )
                self._remember(lease, outcome)
                return lease
            if outcome != "changed":
                raise conflict_on(wanted.thread_id)
        raise _restless(wanted.thread_id)

    async def commit(self, lease: Lease, step: Commit) -> bool:
        """Write one step under a lease; see `Store.commit`."""
        keys = ScopeKeys(lease.scope).thread(lease.thread_id)
        ids = [interrupt.id for interrupt in step.interrupts]
        for _ in range(_MAX_ATTEMPTS):
            facts = self._known.pop(lease, None)
            if facts is None or not facts.whole.issuperset(steps.turns_of(step, facts.turn)):
                facts = await self._read(keys, steps.turns_of(step, None), ids)
            writes = plan_commit(facts.of_step(keys, ids), lease, step)
            batch = ScriptBatch(keys, facts, writes.mode)
            steps.write(batch, writes)
            if self._checkpoints and step.release:
                checkpoints.show(batch, step.now)
            outcome = await self._apply(batch, lease.holder)
            if isinstance(outcome, ThreadFacts):
                if not step.release:
                    self._remember(lease, outcome)
                return batch.stop_requested
            if outcome != "changed":
                raise lease_lost(lease)
        raise _restless(lease.thread_id)

    async def update_idle(self, update: Update) -> None:
        """Change an idle thread; see `Store.update_idle`."""
        keys = ScopeKeys(update.scope).thread(update.thread_id)
        ids = [interrupt.id for interrupt in update.interrupts]
        facts = await self._read(keys, [], ids)
        writes = plan_update(facts.of_step(keys, ids), update)
        batch = ScriptBatch(keys, facts, writes.mode)
        steps.write(batch, writes)
        if self._checkpoints or facts.checkpoint:
            checkpoints.show(batch, update.now)
        if not isinstance(await self._apply(batch), ThreadFacts):
            raise conflict_on(update.thread_id)

    async def delete(
        self, scope: str, thread_id: str, revision: int, now: int, by: str | None
    ) -> None:
        """Remove a thread; see `Store.delete`."""
        keys = ScopeKeys(scope).thread(thread_id)
        facts = await self._read(keys, [], [])
        writes = plan_deletion(facts.of_step(keys, []), revision, now, by)
        read = await self._link.all(steps.deletion_reads(keys))
        own: dict[str, bytes] = {}
        names = [name.decode() for name in read[3]]
        if names:
            values = await self._link.one("HMGET", keys.scope.of("approvals"), *names)
            own = {name: value for name, value in zip(names, values, strict=True) if value}
        batch = ScriptBatch(keys, facts, writes.mode)
        steps.delete(batch, writes, read, own)
        checkpoints.remove(batch)
        if not isinstance(await self._apply(batch), ThreadFacts):
            raise conflict_on(thread_id)

    async def _begin(self, scope: str) -> int:
        """The number of a thread that is about to be created."""
        commands: list[tuple[Any, ...]] = [("INCR", THREADS)]
        if scope not in self._scopes:
            commands.append(("ZADD", SCOPES, 0, scope))
        answers = await self._link.all(commands)
        self._scopes.add(scope)
        return int(answers[0])

    async def _read(
        self, keys: ThreadKeys, turns: Sequence[str], ids: Sequence[str]
    ) -> ThreadFacts:
        reply = await self._link.run(_READ, *read_arguments(keys, turns, ids))
        return ThreadFacts.read(reply, turns)

    async def _apply(self, batch: ScriptBatch, holder: str = "") -> ThreadFacts | str:
        """The thread after a step; or why nothing happened."""
        token = batch.keys.scope.one("step", secrets.token_hex(12))
        now = None if self._clock is None else self._clock.now()
        names, arguments = batch.call(token, now, holder)
        outcome: str = (await self._link.run(_APPLY, names, arguments)).decode()
        if not outcome.startswith("done "):
            return outcome
        _, revision, fence, base, stopping, _ = outcome.split(" ")
        batch.stop_requested = stopping == "1"
        if batch.said is not None:
            _log.info("%s", batch.said)
        if batch.is_told:
            self.tell(batch.keys.scope.scope, batch.keys.id)
        return batch.done(int(revision), int(fence), int(base))

    def _remember(self, lease: Lease, known: ThreadFacts) -> None:
        self._known[lease] = known
        if len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]


def _restless(thread_id: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"thread {thread_id!r} changed {_MAX_ATTEMPTS} times while a step of it was planned; look "
        f"for "
        "something else that writes to keys of Sayso"
    )
