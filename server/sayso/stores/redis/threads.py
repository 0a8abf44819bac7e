"""Steps on threads of Redis, one after the other for each thread.

A step is planned on what is known of a thread and done by one script if that is still true. What a
holder knows stays here for as long as it holds the thread, so that a commit is one round trip.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Container, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from sayso.base.amendment import Amendment
from sayso.base.audit import NO_THREAD, Event, Rename, rows_of_revocation, rows_of_service
from sayso.base.clock import Clock
from sayso.base.errors import Conflict, StoreUnavailable
from sayso.base.records import Claim, Commit, Hold, Lease, Update
from sayso.base.service_tokens import ServiceToken
from sayso.stores.codec import hold_to_json
from sayso.stores.people import PeopleCache
from sayso.stores.redis import approvals, audit, checkpoints, sessions, steps
from sayso.stores.redis.batch import Argument, ScriptBatch
from sayso.stores.redis.client import RedisClient, Script
from sayso.stores.redis.facts import ThreadFacts, read_arguments
from sayso.stores.redis.keys import SCOPES, THREADS, ScopeKeys, ThreadKeys
from sayso.stores.redis.rows import audit_operations
from sayso.stores.step import (
    Mode,
    StepFacts,
    Writes,
    conflict_on,
    lease_lost,
    plan_amendment,
    plan_claim,
    plan_commit,
    plan_deletion,
    plan_erasure,
    plan_forgotten,
    plan_hold,
    plan_notes,
    plan_update,
)

T = TypeVar("T")

_log = logging.getLogger("sayso.store")

_APPLY = Script("apply")
_READ = Script("read")
_NOTE = Script("note", head="trail_head")
_ERASE = Script("erase", head="trail_head")
_FORGET = Script("forget", head="trail_head")
_MAX_ATTEMPTS = 20
"""Times that a step is planned anew because something changed since it was read."""
_REMEMBERED = 10_000
"""Leases whose threads are known at most; of older ones they are read again."""


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
        self._people = PeopleCache()
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
            writes = await self._planned(keys, facts, ids, lambda facts: plan_claim(facts, wanted))
            if not facts.exists:
                facts.number = await self._begin(wanted.scope)
            batch = self._batch(keys, facts, writes.mode, lease_ms=wanted.lease_ms)
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
            stored = await approvals.stored(self._link, keys.scope, step.approvals)
            writes = await self._planned(
                keys, facts, ids, lambda facts: plan_commit(facts, lease, step), stored
            )
            batch = self._batch(keys, facts, writes.mode)
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
        writes = await self._planned(keys, facts, ids, lambda facts: plan_update(facts, update))
        batch = self._batch(keys, facts, writes.mode)
        steps.write(batch, writes)
        if self._checkpoints or facts.checkpoint:
            checkpoints.show(batch, update.now)
        if not isinstance(await self._apply(batch), ThreadFacts):
            raise conflict_on(update.thread_id)

    async def amend(self, amendment: Amendment) -> None:
        """Write what is stored in other words; see `Store.amend`."""
        keys = ScopeKeys(amendment.scope).thread(amendment.thread_id)
        ids = [interrupt.id for interrupt in amendment.interrupts]
        facts = await self._read(keys, [], ids)
        writes = plan_amendment(facts.of_step(keys, ids, str), amendment)
        batch = self._batch(keys, facts, writes.mode)
        steps.write(batch, writes)
        if self._checkpoints or facts.checkpoint:
            checkpoints.show(batch, amendment.now)
        if not isinstance(await self._apply(batch), ThreadFacts):
            raise conflict_on(amendment.thread_id)

    async def delete(
        self, scope: str, thread_id: str, revision: int, now: int, by: str | None
    ) -> None:
        """Remove a thread; see `Store.delete`."""
        keys = ScopeKeys(scope).thread(thread_id)
        facts = await self._read(keys, [], [])
        writes = await self._planned(
            keys, facts, [], lambda facts: plan_deletion(facts, revision, now, by)
        )
        read = await self._link.all(steps.deletion_reads(keys))
        own: dict[str, bytes] = {}
        names = [name.decode() for name in read[3]]
        if names:
            values = await self._link.one("HMGET", keys.scope.of("approvals"), *names)
            own = {name: value for name, value in zip(names, values, strict=True) if value}
        batch = self._batch(keys, facts, writes.mode)
        way = self._link.seals.out_of(scope, thread_id)
        steps.delete(batch, writes, read, own, way)
        checkpoints.remove(batch)
        if not isinstance(await self._apply(batch), ThreadFacts):
            raise conflict_on(thread_id)

    async def hold(
        self, scope: str, thread_id: str, revision: int, hold: Hold, *, lifted: bool
    ) -> None:
        """Put a thread on hold, or lift that; see `Store.hold`."""
        keys = ScopeKeys(scope).thread(thread_id)
        facts = await self._read(keys, [], [])
        writes = await self._planned(
            keys, facts, [], lambda facts: plan_hold(facts, revision, hold, lifted=lifted)
        )
        batch = self._batch(keys, facts, writes.mode)
        steps.hold(batch, writes, None if lifted else hold_to_json(hold))
        if not isinstance(await self._apply(batch), ThreadFacts):
            raise conflict_on(thread_id)

    async def note(self, scope: str, events: Sequence[Event], now: int) -> None:
        """Add rows that belong to no thread; see `Store.note`."""
        await self._note(ScopeKeys(scope), events, now)

    async def revoke(self, scope: str, approval_id: str, by: str, now: int) -> None:
        """Revoke an approval; see `Store.revoke`."""
        keys = ScopeKeys(scope)
        while True:
            approval, change = await approvals.revoked(self._link, keys, approval_id, by, now)
            if await self._note(keys, [rows_of_revocation(approval, by)], now, change):
                return

    async def add_service_token(self, token: ServiceToken) -> None:
        """Keep a token; see `Store.add_service_token`."""
        keys, change = ScopeKeys(token.scope), await sessions.added_token(self._link, token)
        event = rows_of_service(token)
        if not await self._note(keys, [event], token.added_at, change, table="service_tokens"):
            raise Conflict(f"service token {token.id!r} is there already")

    async def revoke_service_token(self, scope: str, token_id: str, by: str, now: int) -> None:
        """Revoke a token; see `Store.revoke_service_token`."""
        keys, link = ScopeKeys(scope), self._link
        while True:
            token, change = await sessions.revoked_token(link, keys, token_id, by, now)
            event = rows_of_service(token)
            if await self._note(keys, [event], now, change, table="service_tokens"):
                return

    async def _note(
        self,
        keys: ScopeKeys,
        events: Sequence[Event],
        now: int,
        change: Sequence[Argument] = ("", "", ""),
        *,
        table: str = "approvals",
    ) -> bool:
        """Add rows with the change of a table; False if that is not what was read.

        Whoever has to plan again knows that another process got on, so some process always does.
        """
        chain, token = keys.thread(NO_THREAD), keys.one("step", secrets.token_hex(12))
        names = [token, chain.trail("audit"), chain.trail("said"), keys.trail("ledger")]
        names += [keys.of("counters"), keys.of(table)]
        while True:
            newest = await audit.newest(self._link, chain)
            plan = partial(plan_notes, keys.scope, newest, now=now, events=events)
            lines = await self._with_people(keys, plan)
            way = self._link.seals.into(keys.scope, NO_THREAD)
            rows = [part for line in lines for part in audit_operations(NO_THREAD, now, line, way)]
            outcome = await self._link.run(_NOTE, names, [newest[0], *change, *rows])
            if outcome != b"changed":
                return bool(outcome == b"done")

    async def erase(self, scope: str, thread_id: str, through: int, now: int, by: str) -> None:
        """Take contents of audit rows away; see `Store.erase_trail`."""
        keys = ScopeKeys(scope)
        chain, token = keys.thread(thread_id), keys.one("step", secrets.token_hex(12))
        names = [token, chain.trail("audit"), chain.trail("said"), keys.trail("ledger")]
        names += [keys.of("counters"), chain.of("thread")]
        while True:
            newest = await audit.newest(self._link, chain)
            owner = await audit.owner_of(self._link, chain, newest[0])
            whose = (scope, thread_id, owner)
            plan = partial(plan_erasure, whose, newest, now=now, event=(through, by))
            (line,) = await self._with_people(keys, plan)
            way = self._link.seals.into(scope, thread_id)
            row = audit_operations(thread_id, now, line, way)
            outcome = await self._link.run(_ERASE, names, [newest[0], through, *row])
            if outcome == b"held":
                raise conflict_on(thread_id)
            if outcome != b"changed":
                return

    async def erase_person(self, scope: str, name: str, now: int, by: str) -> None:
        """Take away whom rows tell of; see `Store.erase_person`."""
        keys = ScopeKeys(scope)
        chain, token = keys.thread(NO_THREAD), keys.one("step", secrets.token_hex(12))
        names = [token, chain.trail("audit"), chain.trail("said"), keys.trail("ledger")]
        names += [
            keys.of("counters"),
            keys.trail("people"),
            keys.trail("names"),
            keys.of("changes"),
        ]
        while True:
            person = await audit.known_person(self._link, keys, name)
            newest = await audit.newest(self._link, chain)
            row: Sequence[Argument] = ("", "", "", "")
            if person is not None:
                plan = partial(plan_forgotten, scope, newest, now=now, event=(person, by))
                (line,) = await self._with_people(keys, plan)
                way = self._link.seals.into(scope, NO_THREAD)
                row = audit_operations(NO_THREAD, now, line, way)
            arguments = [newest[0], name, person or "", *row]
            if await self._link.run(_FORGET, names, arguments) != b"changed":
                self._people.forget(scope, name)
                return

    def _batch(
        self, keys: ThreadKeys, facts: ThreadFacts, mode: Mode, *, lease_ms: int | None = None
    ) -> ScriptBatch:
        return ScriptBatch(keys, facts, mode, self._link.seals, lease_ms=lease_ms)

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
        return ThreadFacts.read(reply, turns, self._link.seals.out_of(keys.scope.scope, keys.id))

    async def _planned(
        self,
        keys: ThreadKeys,
        facts: ThreadFacts,
        ids: Sequence[str],
        plan: Callable[[StepFacts], Writes],
        stored: Container[str] = (),
    ) -> Writes:
        """Plan a step of a thread; `stored` are approvals that are."""
        return await self._with_people(
            keys.scope, lambda person: plan(facts.of_step(keys, ids, person, stored))
        )

    async def _with_people(self, keys: ScopeKeys, plan: Callable[[Rename], T]) -> T:
        """Plan rows; once more where they tell of people whose ids are not known here."""
        scope = keys.scope
        while True:
            unknown: dict[str, None] = {}

            def person(name: str, unknown: dict[str, None] = unknown) -> str:
                person_id = self._people.get(scope, name)
                if person_id is None:
                    unknown[name] = None
                return person_id or ""

            planned = plan(person)
            if not unknown:
                return planned
            for name in unknown:
                self._people.put(scope, name, await audit.person(self._link, keys, name))

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
