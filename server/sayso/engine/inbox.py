"""The inbox: interrupts of one caller's threads, listed, and followed while they change.

Changes come from the store, so that those of other processes are seen too; one reader per scope
looks for all who listen: at once when this process has changed something or another has told of it,
and from time to time besides.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from sayso.clock import Clock
from sayso.engine.bell import Bell
from sayso.errors import Code, Problem, StoreError
from sayso.gate.approvers import may_see
from sayso.gate.frontend import is_call
from sayso.records import (
    Change,
    ChangeKind,
    InterruptStatus,
    ListedInterrupt,
    Page,
    Principal,
)
from sayso.stores.base import Store

__all__ = ["Inbox", "Listener", "Notice"]

_log = logging.getLogger("sayso.engine.inbox")

POLL: Final = 1.0
"""Seconds between looks for what other processes have changed, if the store does not tell."""
UNREAD: Final = 1_000
"""Notices that a listener may leave unread; then it is told to read its lists anew."""
LOOKS: Final = 10
"""Pages of a scope that are looked through for what waits for a role, for one page of the inbox."""
AT_ONCE: Final = 1_000
"""Changes that are read in one go."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that happened in the inbox.

    `gap`: notices are missing, so that lists must be read anew. `deleted` has no interrupt: all of
    its thread are gone. Otherwise `interrupt` is as it stands now, which may be later.
    """

    kind: ChangeKind | Literal["gap"]
    thread_id: str = ""
    at: int | None = None
    interrupt: ListedInterrupt | None = None


class Listener:
    """One who follows an inbox; `wake` is called when there is something to take, or the end."""

    def __init__(self, principal: Principal, wake: Callable[[], None]) -> None:
        self.principal = principal
        self.ended = False
        self._wake = wake
        self._unread: list[Notice] = []

    @property
    def ready(self) -> bool:
        """Whether there is something to take, or nothing will come any more."""
        return self.ended or bool(self._unread)

    def take(self) -> list[Notice]:
        """All that has come since the last time."""
        taken, self._unread = self._unread, []
        return taken

    def add(self, notice: Notice) -> None:
        """Keep a notice until it is taken."""
        if len(self._unread) >= UNREAD:
            self._unread = [Notice("gap")]
        elif notice.kind != "gap" or notice not in self._unread:
            self._unread.append(notice)
        self._wake()

    def end(self) -> None:
        """There will be no more notices."""
        self.ended = True
        self._wake()


@dataclass(slots=True)
class _Hub:
    """Those who listen in one scope, and how far its changes have been read."""

    mark: int
    listeners: list[Listener]
    bell: Bell


class Inbox:
    """Interrupts across threads. Of others' threads nothing is listed or told."""

    def __init__(
        self, store: Store, clock: Clock, roles: Callable[[], frozenset[str]] = frozenset
    ) -> None:
        """`roles` are those that questions of this server may wait for."""
        self._roles = roles
        self._store = store
        self._clock = clock
        self._hubs: dict[str, _Hub] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def interrupts(
        self,
        principal: Principal,
        *,
        status: InterruptStatus | None,
        agent: str | None = None,
        reason: str | None = None,
        thread_id: str | None = None,
        assigned_to: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[ListedInterrupt]:
        """A page of the caller's interrupts, oldest first; ValueError for a cursor of no list.

        Those that wait for one of its roles are the caller's as well. Calls of the client's own
        tools are none of them: no person answers those.
        """
        items: list[ListedInterrupt] = []
        approves = self._approves(principal)
        for _ in range(LOOKS if approves else 1):
            page = await self._store.interrupts(
                principal.scope,
                owner=None if approves else principal.subject,
                status=status,
                agent=agent,
                reason=reason,
                thread_id=thread_id,
                assigned_to=assigned_to,
                after=after,
                limit=limit - len(items),
            )
            items += [one for one in page.items if _concerns(one, principal)]
            after = page.next
            if after is None or len(items) == limit:
                break
        return Page(items=tuple(items), next=after)

    async def interrupt(self, principal: Principal, interrupt_id: str) -> ListedInterrupt:
        """One of the caller's interrupts; Problem `unknown_interrupt`, also for a foreign one."""
        found = await self._store.interrupt(principal.scope, interrupt_id)
        if found is None or not _concerns(found, principal):
            raise Problem(
                Code.UNKNOWN_INTERRUPT,
                "There is no such interrupt: GET /interrupts lists those that are open.",
            )
        return found

    def _approves(self, principal: Principal) -> bool:
        """Whether questions of others may wait for this caller."""
        return bool(principal.roles) and not self._roles().isdisjoint(principal.roles)

    async def listen(self, principal: Principal, wake: Callable[[], None]) -> Listener:
        """Follow the caller's inbox from now on, until `leave`."""
        listener = Listener(principal, wake)
        hub = self._hubs.get(principal.scope)
        if hub is None:
            mark = (await self._store.changes(principal.scope, None)).mark
            hub = self._hubs.get(principal.scope)
        if hub is None:
            hub = self._hubs[principal.scope] = _Hub(mark, [], Bell(self._store, self._clock))
            task = asyncio.create_task(self._follow(principal.scope, hub), name="inbox")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        hub.listeners.append(listener)
        return listener

    def leave(self, listener: Listener) -> None:
        """Follow no more; idempotent."""
        hub = self._hubs.get(listener.principal.scope)
        if hub is not None and listener in hub.listeners:
            hub.listeners.remove(listener)
            if not hub.listeners:
                del self._hubs[listener.principal.scope]
                hub.bell.ring()

    def ring(self, scope: str | None) -> None:
        """Something has changed in a scope (None: in any): look at once."""
        for one in self._hubs if scope is None else (scope,):
            hub = self._hubs.get(one)
            if hub is not None:
                hub.bell.ring()

    async def close(self) -> None:
        """End all listeners."""
        for hub in self._hubs.values():
            for listener in hub.listeners:
                listener.end()
        self._hubs.clear()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, scope: str, hub: _Hub) -> None:
        while self._hubs.get(scope) is hub:
            await hub.bell.rest(POLL)
            try:
                await self._look(scope, hub)
            except StoreError as error:
                _log.warning("the inbox of scope %r could not be read: %s", scope, error)
            except Exception:
                _log.exception("the inbox of scope %r failed; looking again", scope)

    async def _look(self, scope: str, hub: _Hub) -> None:
        more = True
        while more and self._hubs.get(scope) is hub:
            found = await self._store.changes(scope, hub.mark, AT_ONCE)
            hub.mark = found.mark
            more = len(found.items) == AT_ONCE
            if found.gap:
                for listener in list(hub.listeners):
                    listener.add(Notice("gap"))
            for change in found.items:
                await self._tell(scope, hub, change)

    async def _tell(self, scope: str, hub: _Hub, change: Change) -> None:
        def concerned() -> list[Listener]:
            return [
                one
                for one in hub.listeners
                if one.principal.subject == change.owner or self._approves(one.principal)
            ]

        if not concerned() or change.kind == "run_ended":
            return
        item = None
        if change.interrupt_id is not None:
            item = await self._store.interrupt(scope, change.interrupt_id)
            if item is None or item.thread_id != change.thread_id:
                return  # deleted meanwhile, which is told in its turn
            if is_call(item.interrupt):
                return
        for listener in concerned():
            principal = listener.principal
            if principal.subject == change.owner or (item and _concerns(item, principal)):
                listener.add(Notice(change.kind, change.thread_id, change.at, item))


def _concerns(listed: ListedInterrupt, principal: Principal) -> bool:
    """Whether a question is the caller's: of its thread, or for one of its roles."""
    asked = listed.interrupt
    return not is_call(asked) and may_see(asked, listed.owner, principal)
