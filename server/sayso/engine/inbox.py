"""The inbox: interrupts of one caller's threads, listed, and followed while they change.

Changes come from the store, so that those of other processes are seen too. One reader per scope
looks for all listeners: at once when this process has changed something or another has notified it,
and from time to time besides.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from sayso.base.approvers import names_of
from sayso.base.codes import Code
from sayso.base.errors import Problem, StoreError
from sayso.base.records import (
    Change,
    ChangeKind,
    InterruptFilter,
    InterruptStatus,
    ListedInterrupt,
    Page,
    PageRequest,
    Principal,
)
from sayso.gate.client_tools import is_call
from sayso.gate.quorum import may_see
from sayso.stores.pieces import questions_within, size_of_question
from sayso.turns.replay.wakeup import Wakeup
from sayso.turns.services import Services

_log = logging.getLogger("sayso.engine.inbox")

POLL_S: Final = 1.0
"""Seconds between looks for what other processes have changed, if the store does not tell."""
MAX_UNREAD: Final = 1_000
"""Notices that a listener may leave unread; then it is told to read its lists again."""
TAKEN_BYTES: Final = 256 * 1024
"""Bytes of questions after which a listener leaves the others for the next time."""
PAGE_SIZE: Final = 1_000
"""Changes that are read in one go."""


@dataclass(frozen=True, slots=True)
class InboxEvent:
    """Something that happened in the inbox.

    `gap`: notices are missing, so lists must be read again. `deleted` has no interrupt: all of its
    thread are gone. Otherwise `interrupt` is its present state, which may be a later one.
    """

    kind: ChangeKind | Literal["gap"]
    thread_id: str = ""
    at: int | None = None
    interrupt: ListedInterrupt | None = None


class InboxSubscription:
    """A follower of an inbox; `wake` is called when there is something to take, or the end."""

    def __init__(self, principal: Principal, wake: Callable[[], None]) -> None:
        self.principal = principal
        self.ended: bool = False
        self._wake = wake
        self._unread: list[InboxEvent] = []

    @property
    def ready(self) -> bool:
        """True if there is something to take, or nothing will come."""
        return self.ended or self.has_more

    @property
    def has_more(self) -> bool:
        """True if there is something to take."""
        return bool(self._unread)

    def take(self) -> list[InboxEvent]:
        """Take what has come since the last time; after some hundred kilobytes the rest is left."""
        taken: list[InboxEvent] = []
        size = 0
        while self._unread and size < TAKEN_BYTES:
            event = self._unread.pop(0)
            size += 0 if event.interrupt is None else size_of_question(event.interrupt)
            taken.append(event)
        return taken

    def add(self, notice: InboxEvent) -> None:
        """Keep a notice until it is taken."""
        if len(self._unread) >= MAX_UNREAD:
            self._unread = [InboxEvent("gap")]
        elif notice.kind != "gap" or notice not in self._unread:
            self._unread.append(notice)
        self._wake()

    def end(self) -> None:
        """Say that no notice will follow."""
        self.ended = True
        self._wake()


@dataclass(slots=True)
class _Hub:
    """The listeners of one scope, and the mark up to which its changes have been read."""

    mark: int
    listeners: list[InboxSubscription]
    wakeup: Wakeup


class Inbox:
    """Interrupts across threads. Other owners' threads are invisible."""

    def __init__(self, services: Services) -> None:
        self._store, self._clock = services.store, services.clock
        self._sleep = services.sleep_between_looks
        self._watchers = services.watchers
        self._hubs: dict[str, _Hub] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def now(self) -> int:
        """The server's time, in milliseconds since the epoch."""
        return self._clock.now()

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
        """A page of the caller's interrupts, oldest first.

        Those that wait for one of its roles are the caller's as well. Calls of the client's own
        tools are not among them: no person answers those. Of a thread of others with nothing for
        the caller there is one empty page, however many questions it has.

        Raises:
            ValueError: an invalid cursor.
        """
        which = InterruptFilter(
            owner=principal.subject,
            names=names_of(principal.subject, principal.roles),
            status=status,
            agent=agent,
            reason=reason,
            thread_id=thread_id,
            assigned_to=assigned_to,
        )
        while True:
            read = partial(self._store.interrupts, principal.scope, which)
            page = await questions_within(read, PageRequest(after, limit))
            items = tuple(item for item in page.items if _concerns(item, principal))
            if items or page.next is None or thread_id is None:
                return Page(items=items, next=page.next)
            after = page.next

    async def interrupt(self, principal: Principal, interrupt_id: str) -> ListedInterrupt:
        """One of the caller's interrupts.

        Raises:
            Problem: `unknown_interrupt`, also for another owner's.
        """
        listed = await self._store.interrupt(principal.scope, interrupt_id)
        if listed is None or not _concerns(listed, principal):
            raise Problem(
                Code.UNKNOWN_INTERRUPT,
                "There is no such interrupt: GET /interrupts lists those that are open.",
            )
        return listed

    async def listen(self, principal: Principal, wake: Callable[[], None]) -> InboxSubscription:
        """Follow the caller's inbox from now on, until `leave`."""
        listener = InboxSubscription(principal, wake)
        hub = self._hubs.get(principal.scope)
        if hub is None:
            mark = (await self._store.changes(principal.scope, None)).mark
            hub = self._hubs.get(principal.scope)
        if hub is None:
            hub = self._hubs[principal.scope] = _Hub(mark, [], Wakeup())
            self._watchers.add(self._notify)
            task = asyncio.create_task(self._follow(principal.scope, hub), name="inbox")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        hub.listeners.append(listener)
        return listener

    def leave(self, listener: InboxSubscription) -> None:
        """Stop following; idempotent."""
        hub = self._hubs.get(listener.principal.scope)
        if hub is not None and listener in hub.listeners:
            hub.listeners.remove(listener)
            if not hub.listeners:
                del self._hubs[listener.principal.scope]
                hub.wakeup.notify()
                if not self._hubs:
                    self._watchers.discard(self._notify)

    def _notify(self, scope: str | None) -> None:
        """Look at once, because something has changed in a scope (None: in any)."""
        for each in self._hubs if scope is None else (scope,):
            hub = self._hubs.get(each)
            if hub is not None:
                hub.wakeup.notify()

    async def close(self) -> None:
        """End all listeners."""
        for hub in self._hubs.values():
            for listener in hub.listeners:
                listener.end()
        self._hubs.clear()
        self._watchers.discard(self._notify)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, scope: str, hub: _Hub) -> None:
        while self._hubs.get(scope) is hub:
            await hub.wakeup.within(POLL_S, self._sleep)
            try:
                await self._look(scope, hub)
            except StoreError as error:
                _log.warning("the inbox of scope %r could not be read: %s", scope, error)
            except Exception:
                _log.exception("the inbox of scope %r failed; looking again", scope)

    async def _look(self, scope: str, hub: _Hub) -> None:
        more = True
        while more and self._hubs.get(scope) is hub:
            changes = await self._store.changes(scope, hub.mark, PAGE_SIZE)
            hub.mark = changes.mark
            more = len(changes.items) == PAGE_SIZE
            if changes.gap:
                for listener in list(hub.listeners):
                    listener.add(InboxEvent("gap"))
            for change in changes.items:
                await self._tell(scope, hub, change)

    async def _tell(self, scope: str, hub: _Hub, change: Change) -> None:
        if not hub.listeners or change.kind == "run_ended":
            return
        item = None
        if change.interrupt_id is not None:
            item = await self._store.interrupt(scope, change.interrupt_id)
            if item is None or item.thread_id != change.thread_id:
                return  # deleted meanwhile, which is told in its turn
            if is_call(item.interrupt):
                return
        for listener in list(hub.listeners):
            principal = listener.principal
            if principal.subject == change.owner or (item and _concerns(item, principal)):
                listener.add(InboxEvent(change.kind, change.thread_id, change.at, item))


def _concerns(listed: ListedInterrupt, principal: Principal) -> bool:
    """True if a question is the caller's: of its thread, or for one of its roles."""
    interrupt = listed.interrupt
    return not is_call(interrupt) and may_see(interrupt, listed.owner, principal)
