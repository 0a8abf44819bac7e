"""The store: what every backend promises. The docstrings are the contract (design 6).

All calls carry the scope; nothing of another scope is ever read or written. Records come back
equal to what was written. A call that raises has changed nothing. No call blocks the event loop.
A cancelled waiter does not cancel its write. Text that has no UTF-8 form (a lone surrogate) is
refused with `ValueError`; every call may raise `StoreUnavailable`, whose message names the remedy.

Messages are in the order of their first writing, those that wait after all others. Revisions grow
with `claim`, `commit` and `update_idle`, not with `mark_delivered`, `renew` and `request_stop`.
What is written stays, answers included, until its thread is deleted; journals end with their turn.

Lists come in pages. Of a `PageRequest`, `limit` is at least 1 and `after` the `next` of the page
before; anything else is a `ValueError`. What does not change meanwhile is listed exactly once. A
page costs what its items cost, however much is stored: no page looks at more than a few thousand
rows.
"""

from abc import ABC, abstractmethod, update_abstractmethods
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sayso.base.audit import AuditRow
from sayso.base.records import (
    Approval,
    ApprovalUse,
    Changes,
    Claim,
    Commit,
    Due,
    Entry,
    Interrupt,
    InterruptFilter,
    Lease,
    ListedInterrupt,
    OpenCount,
    Page,
    PageRequest,
    Renewed,
    Run,
    Thread,
    ThreadFilter,
    ThreadSummary,
    ThreadView,
    Update,
)

T = TypeVar("T")

FIRST_PAGE = PageRequest()
ALL_THREADS = ThreadFilter()
ALL_INTERRUPTS = InterruptFilter()

KEPT_CHANGES = 10_000
"""How many changes of a scope are known at least."""


async def every(read: Callable[[str | None], Awaitable[Page[T]]]) -> AsyncIterator[T]:
    """All items of a list, page after page: `read` takes where one begins, None at the beginning.

    async for row in every(lambda after: store.audit(scope, PageRequest(after, 500))): ...
    """
    after: str | None = None
    while True:
        page = await read(after)
        for item in page.items:
            yield item
        after = page.next
        if after is None:
            return


def update_of(
    thread: Thread,
    now: int,
    *,
    interrupts: Iterable[Interrupt] = (),
    state: bytes | None = None,
    entries: Iterable[Entry] = (),
    by: str | None = None,
) -> Update:
    """Make the update of a thread as it was read: the store refuses it if that has changed."""
    return Update(
        scope=thread.scope,
        thread_id=thread.id,
        revision=thread.revision,
        now=now,
        interrupts=tuple(interrupts),
        state=state,
        entries=tuple(entries),
        by=by,
    )


class ChangeListener(Protocol):
    """Called with each change; both None: some may be missing, so look at all."""

    def __call__(self, scope: str | None, thread_id: str | None, /) -> object:
        """Look at that thread again."""


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
    async def threads(
        self, scope: str, wanted: ThreadFilter = ALL_THREADS, page: PageRequest = FIRST_PAGE
    ) -> Page[ThreadSummary]:
        """Threads, those that were active last first."""

    @abstractmethod
    async def interrupts(
        self, scope: str, wanted: InterruptFilter = ALL_INTERRUPTS, page: PageRequest = FIRST_PAGE
    ) -> Page[ListedInterrupt]:
        """Interrupts of all threads and turns, oldest first by `created_at`.

        Equal ones are in the order of their first writing.
        """

    @abstractmethod
    async def interrupt(self, scope: str, interrupt_id: str) -> ListedInterrupt | None:
        """One interrupt by its id, or None; the first that was written if several have it."""

    @abstractmethod
    async def runs(self, scope: str, thread_id: str, page: PageRequest = FIRST_PAGE) -> Page[Run]:
        """All runs of a thread, oldest first; none if it is unknown."""

    @abstractmethod
    async def changes(self, scope: str, since: int | None, limit: int = 1_000) -> Changes:
        """The changes in a scope since a mark; with None only the current mark.

        Notes are written in the step that makes the change: no mark comes up later below one that
        was seen. An interrupt that a `claim`, `commit` or `update_idle` writes is noted once, by
        what counts most: `opened`, `settled` (status), `held` or `withdrawn`, `extended` (expiry),
        `assigned`, `reminded`, `lapsed`, `agreed` (`withdrawn` if votes only went); other members
        are not noted. `run_ended`: a run was written that has ended. `deleted`: the thread is gone,
        with its interrupts. At most `limit` (at least 1): fewer means that there is no more. The
        newest 10,000 of a scope are kept; `gap` tells a reader that comes too late, or with a mark
        that this store never gave.
        """

    @abstractmethod
    async def approvals(
        self, scope: str, at: int, page: PageRequest = FIRST_PAGE, *, party: str | None = None
    ) -> Page[Approval]:
        """Approvals that are valid at that time (not revoked, not expired), oldest first.

        `party` is the one whose calls they concern, or who gave them.
        """

    @abstractmethod
    async def approval(self, scope: str, approval_id: str) -> Approval | None:
        """One approval by its id, or None; also one that is no longer valid."""

    @abstractmethod
    async def approval_uses(
        self, scope: str, approval_id: str, limit: int = 100
    ) -> tuple[ApprovalUse, ...]:
        """The newest uses of an approval, newest first; none if it is unknown."""

    @abstractmethod
    async def valid_approvals(
        self, scope: str, owner: str, tool: str, at: int
    ) -> tuple[Approval, ...]:
        """All approvals for calls of a tool in an owner's turns that are valid at that time."""

    @abstractmethod
    async def revoke(self, scope: str, approval_id: str, by: str, now: int) -> None:
        """Revoke an approval. Raises `Conflict` if it is unknown or revoked already."""

    @abstractmethod
    async def audit(
        self,
        scope: str,
        page: PageRequest = FIRST_PAGE,
        *,
        thread_id: str | None = None,
        owner: str | None = None,
    ) -> Page[AuditRow]:
        """The rows of the audit trail, in order; those of one thread by their numbers.

        Each `claim`, `commit` and `update_idle` adds what its entries and then its interrupts come
        to (`sayso.base.audit`), in the same step, and each `delete` that the thread is gone.
        Nothing ever changes a row or takes it away.
        """

    @abstractmethod
    async def claim(self, claim: Claim) -> Lease:
        """Take the thread and write all that the claim holds, in one durable step.

        Succeeds only if the revision is still the one given, and the thread has no holder or its
        lease has run out on the store's clock (`lease_until` at or before it); raises `Conflict`
        otherwise. The fence grows by one, and a request to stop the holder before is forgotten.
        `owner` counts when the thread is created, `agent` always. `turn` and `run` are written as
        given (an existing key is replaced and keeps its age). First `hide` turns visible messages
        into hidden ones; then `messages` are appended (an id that is stored stays as it is, but
        becomes visible again if it was hidden). `interrupts` replace what has their id. `entries`
        belong to `turn` and replace what has their place. When the turn is new, journals of
        earlier turns of the thread are dropped. Of any number of concurrent claims on one revision
        one wins.
        """

    @abstractmethod
    async def commit(self, lease: Lease, commit: Commit) -> bool:
        """Write one durable step under a lease; returns whether the holder was asked to stop.

        Raises `LeaseLost` if the fence is not the newest or the lease was released. A lease that
        ran out still writes as long as nobody claimed the thread. A message id that is stored
        already is replaced in place, a new one is appended before the waiting ones. `entries`
        belong to `turn` if it is given, else to the newest turn of the thread; a turn that is new
        drops journals as in `claim`. An approval whose id is stored stays as it is, revoked or not;
        a use of a call that is noted for an approval is the same use. `release` clears the holder.
        Commits of one lease take effect in the order of the calls, awaited or not.
        """

    @abstractmethod
    async def update_idle(self, update: Update) -> None:
        """Change an idle thread without running it: settle, hold, extend, assign, edit its state.

        Raises `Conflict` if the revision is another, the thread is unknown, or anybody holds it,
        also on a lease that ran out: that thread has to be claimed.
        """

    @abstractmethod
    async def delete(
        self, scope: str, thread_id: str, revision: int, now: int, *, by: str | None = None
    ) -> None:
        """Remove a thread with everything but its audit trail, which says in the same step by whom.

        `changes` keeps the ids that it noted.
        Approvals for this thread alone go with it, and of others the uses that it made.

        Raises `Conflict` as `claim` does: another revision, unknown, or held. A thread that is
        created later in that scope, under whatever id, begins with a revision and a fence above
        all that were deleted: nothing that was read of a deleted thread, and no lease on it, fits
        its successor.
        """

    @abstractmethod
    async def request_stop(
        self,
        scope: str,
        thread_id: str,
        fence: int,
        *,
        by: str | None = None,
        channel: str | None = None,
    ) -> None:
        """Ask the holder with that fence to stop; its next `commit` and `renew` tell it.

        `by` and `channel` of the first who asks that holder stay with the thread until the next
        claim; asking again changes nothing. Raises `Conflict` if that holder has the thread no
        longer.
        """

    @abstractmethod
    async def mark_delivered(self, scope: str, run_key: str) -> None:
        """Note that a run's body reached its reader whole. Unknown keys are ignored."""

    @abstractmethod
    async def due_threads(self, now: int, page: PageRequest = FIRST_PAGE) -> Page[Due]:
        """Threads of all scopes that need the server, oldest first.

        `abandoned`: held, and the lease ran out on the store's clock. The others are idle, their
        newest turn is suspended, and interrupts count that are open, of that turn and without a
        held answer. `expired`: one has an `expires_at` at or before `now` and no `lapsed_at`.
        `remind`: not expired, but one has a `remind_at` at or before `now` and no `reminded_at`.
        `ready`: there is none. A thread is named once. Age counts from the lease's end, the
        earliest expiry or reminder, or the last write.
        """

    @abstractmethod
    async def count_open(self, limit: int) -> OpenCount:
        """Count the open interrupts of all scopes, up to `limit`, and find the oldest.

        For probes and metrics: what one caller has open is listed by `interrupts`, and filtered.
        It costs what `limit` costs (at least 1) and the number of scopes that have any, however
        many are stored or open; of more than `limit` scopes the oldest is that of some of them.
        """

    @abstractmethod
    def renew(self, leases: Sequence[Lease], lease_ms: int) -> Renewed:
        """Prolong leases by the store's clock; tells which are lost and which shall stop.

        A lease that ran out is prolonged too unless somebody claimed the thread. Synchronous, with
        a bound on its wait, and safe from any thread but the event loop's: a loop that is blocked
        by author code must not lose its leases.
        """

    @property
    def has_notifications(self) -> bool:
        """True while notifications come: who waits for a change may look less often by itself."""
        return False

    def subscribe(self, hear: ChangeListener) -> None:  # noqa: B027 - a store may have none
        """Have `hear` called in the running event loop when others change a thread, until `close`.

        Others are whoever writes through another store object, mostly in another process. They tell
        of each change that `changes` has, of a holder that is asked to stop and of a thread that is
        let go, once it is durable. A notification can be lost, come twice, or for nothing, and is
        never more than a reason to look. A store that has none calls nobody.
        """


class StoreProxy(Store):
    """A store that passes every call on to another; subclasses act around the calls."""

    if TYPE_CHECKING:  # made below, in a loop that type checkers do not follow
        approval: Any
        approval_uses: Any
        approvals: Any
        audit: Any
        changes: Any
        claim: Any
        close: Any
        commit: Any
        count_open: Any
        delete: Any
        due_threads: Any
        interrupt: Any
        interrupts: Any
        journal: Any
        load: Any
        mark_delivered: Any
        open: Any
        renew: Any
        request_stop: Any
        revoke: Any
        runs: Any
        threads: Any
        update_idle: Any
        valid_approvals: Any

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    async def _around(self, name: str, call: partial[Awaitable[Any]]) -> Any:
        """Do one call; `call.args` and `call.keywords` are the caller's."""
        return await call()

    def _around_blocking(self, name: str, call: partial[Any]) -> Any:
        """Do one call that is no coroutine, outside the event loop's thread."""
        return call()

    @property
    def has_notifications(self) -> bool:
        """True while the inner store's notifications come."""
        return self.inner.has_notifications

    def subscribe(self, hear: ChangeListener) -> None:
        """Subscribe to the inner store."""
        self.inner.subscribe(hear)


def _passing_on(name: str) -> Callable[..., Any]:
    """Make the method of a proxy; name, signature and docstring are those of `Store`."""
    promise = getattr(Store, name)

    @wraps(promise, updated=())
    def pass_on(self: StoreProxy, *args: Any, **kwargs: Any) -> Awaitable[Any]:
        # The coroutine of `_around` itself: one more around it would cost as much as a small step.
        return self._around(name, partial(getattr(self.inner, name), *args, **kwargs))

    @wraps(promise, updated=())
    def pass_on_blocking(self: StoreProxy, *args: Any, **kwargs: Any) -> Any:
        return self._around_blocking(name, partial(getattr(self.inner, name), *args, **kwargs))

    return pass_on if iscoroutinefunction(promise) else pass_on_blocking


for _name in Store.__abstractmethods__:
    setattr(StoreProxy, _name, _passing_on(_name))
update_abstractmethods(StoreProxy)
