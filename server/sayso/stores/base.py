"""The store: what every backend promises. The docstrings are the contract (design 6).

All calls carry the scope; nothing of another scope is ever read or written. Records come back
equal to what was written. A call that raises has changed nothing. No call blocks the event loop.
A cancelled waiter does not cancel its write. Text that has no UTF-8 form (a lone surrogate) is
refused with `ValueError`; every call may raise `StoreUnavailable`, whose message names the remedy.

Messages are in the order of their first writing, those that wait after all others. Revisions grow
with `claim`, `commit`, `update_idle`, `amend` and `set_hold`, not with `mark_delivered`, `renew`
and `request_stop`.
What is written stays, answers included, until its thread is deleted; journals end with their turn.

Lists come in pages. Of a `PageRequest`, `limit` is at least 1 and `after` the `next` of the page
before; anything else is a `ValueError`. What does not change meanwhile is listed exactly once. A
page costs what its items cost, however much is stored: no page looks at more than a few thousand
rows.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sayso.base.amendment import Amendment
from sayso.base.audit import AuditPerson, AuditRow, Event
from sayso.base.errors import DeclarationError
from sayso.base.records import (
    Approval,
    ApprovalUse,
    Changes,
    Claim,
    Commit,
    Due,
    Entry,
    Hold,
    Interrupt,
    InterruptFilter,
    Lease,
    ListedInterrupt,
    ListedThread,
    OpenCount,
    Page,
    PageRequest,
    Renewed,
    Run,
    Thread,
    ThreadFilter,
    ThreadView,
    Update,
)
from sayso.base.secretvalues import SecretValue
from sayso.base.service_tokens import ServiceToken
from sayso.base.sessions import Session
from sayso.stores.aesgcm import AesGcm
from sayso.stores.pagination import position_of
from sayso.stores.rekeying import Rekeyed

T = TypeVar("T")

FIRST_PAGE = PageRequest()
ALL_THREADS = ThreadFilter()
ALL_INTERRUPTS = InterruptFilter()

WRITES = frozenset({"claim", "commit", "update_idle"})
"""The calls whose last argument is a step: a `Claim`, a `Commit`, an `Update`."""

KEPT_CHANGES = 10_000
"""How many changes of a scope are known at least."""


def lies_behind(place: str | None, other: str) -> bool:
    """True if one place of the audit trail lies behind another; ValueError for what is none."""
    return position_of("ledger", place) > position_of("ledger", other)


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
    secrets: tuple[SecretValue, ...] = (),
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
        secrets=secrets,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreUsage:
    """Numbers of what is stored: threads, their open interrupts, bytes."""

    threads: int = 0
    open_questions: int = 0
    bytes: int = 0


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
    async def secrets(self, scope: str, thread_id: str) -> tuple[SecretValue, ...]:
        """The values that are kept apart for a thread's newest turn, in the order of their ids.

        They come with a `claim`, a `commit` or an `update_idle`, each id once, and end as the
        turn's journal does: with the turn, with what forgets its journal, with the thread.
        """

    @abstractmethod
    async def secret_key(self, scope: str) -> bytes:
        """A random key of the scope, 32 bytes, the same for ever; made when it is first asked for.

        Of any number who ask at once all get one. Only a store with a codec has some: a
        `DeclarationError` in any other.
        """

    @abstractmethod
    async def threads(
        self, scope: str, wanted: ThreadFilter = ALL_THREADS, page: PageRequest = FIRST_PAGE
    ) -> Page[ListedThread]:
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
        `assigned`, `reminded`, `lapsed`, `agreed` (`withdrawn` if votes only went),
        `result` (of its call); other members are not noted. `run_ended`: a run was written that has
        ended. `deleted`: the thread is gone, with its interrupts. At most `limit` (at least 1):
        fewer means that there is no more. The
        newest 10,000 of a scope are kept; `gap` tells a reader that comes too late, or with a mark
        that this store never gave.
        """

    @abstractmethod
    async def approvals(
        self,
        scope: str,
        at: int | None,
        page: PageRequest = FIRST_PAGE,
        *,
        party: str | None = None,
    ) -> Page[Approval]:
        """Approvals that are valid at that time (not revoked, not expired), oldest first.

        None lists those too that are not valid any more. `party` is the one whose calls they
        concern, or who gave them.
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
        """Revoke an approval, and note it among what belongs to no thread, in the same step.

        Raises `Conflict` if it is unknown or revoked already.
        """

    @abstractmethod
    async def note(self, scope: str, events: Sequence[Event], now: int) -> None:
        """Add rows that belong to no thread to the audit trail of a scope, in one durable step.

        An event is a kind, such as `"exported"`, and its content: a JSON object, `{"by": "ann"}`.
        People stand under `by`, `to`, `for` and in the list `approvers`, by their names, which the
        rows have ids for; a name anywhere else stays as it is, whoever is forgotten. `now` is the
        time of the rows, in milliseconds since the epoch.

        They are one chain, of the thread `NO_THREAD` and of nobody, however many processes note at
        once: salted, sealed, listed and exported like all rows. What a step of a thread does is not
        noted here: it has its row in that step.
        """

    @abstractmethod
    async def delete_approval(self, scope: str, approval_id: str) -> None:
        """Remove an approval with all that is known of its uses; nothing if it is unknown."""

    @abstractmethod
    async def next_scope(self, after: str | None = None) -> str | None:
        """The first scope behind another one that has, or had, anything; None behind the last."""

    @abstractmethod
    async def take_duty(self, duty: str, holder: str, lease_ms: int) -> bool:
        """Take what one process of all does for so long, or keep it; False if another has it."""

    @abstractmethod
    async def audit(
        self,
        scope: str,
        page: PageRequest = FIRST_PAGE,
        *,
        thread_id: str | None = None,
        owner: str | None = None,
        until: str | None = None,
    ) -> Page[AuditRow]:
        """The rows of the audit trail, in order; those of one thread by their numbers.

        Of all of a scope, none behind the place `until` (`audit_end`). Of a thread, those of an
        `owner` are looked for among all: whoever has none there learns of none.

        Each `claim`, `commit` and `update_idle` adds what its entries, then its interrupts and new
        approvals come to (`sayso.base.audit`), in the same step, and each `delete` that the thread
        is gone. Those that belong to no thread (`note`) have the thread `NO_THREAD`, and no owner.
        Nothing ever changes a row or takes it away; contents go by `erase_trail` alone. Rows have
        ids of people where a step has names, `owner` here is a name.
        """

    @abstractmethod
    async def audit_end(self, scope: str) -> str:
        """The place behind the newest row of a scope before which no row comes in any more.

        A cursor of `audit`: whoever reads up to here, and later on from here, has each row once. It
        is a matter of what was written before what, by whatever clocks. Where several write at a
        time this waits for those who are writing now; raises `StoreUnavailable` if one goes on.
        """

    @abstractmethod
    async def last_decision(self, scope: str, thread_id: str) -> AuditRow | None:
        """The newest row of a thread that tells of a person's word (`signatures.DECISIONS`)."""

    @abstractmethod
    async def person(self, scope: str, name: str) -> str:
        """The id that rows of the trail have for a name; it gets one if it has none yet."""

    @abstractmethod
    async def erase_trail(self, scope: str, thread: str, through: int, now: int, by: str) -> None:
        """Take away the contents of a thread's rows up to that number; one more says so: `erased`.

        Raises `Conflict` for a thread that is on hold, and for a number that no row has.
        """

    @abstractmethod
    async def erase_person(self, scope: str, name: str, now: int, by: str) -> None:
        """Take away whom the rows of a scope call by an id; a row `erased` of no thread says so.

        Changes of threads of that owner are nobody's (`NOBODY`) from then on. The next row about
        the name has another id. A store object that others write through may use the old one for a
        minute. Nothing is noted of a name that no row has.
        """

    @abstractmethod
    async def purge_files(self) -> None:
        """Have what was deleted leave the store's own files, as far as a store can do that."""

    @abstractmethod
    async def people(self, scope: str, ids: Sequence[str]) -> Mapping[str, AuditPerson]:
        """Who people are that rows of the trail tell of, by their ids; unknown ids are left out.

        A name that a step tells of for the first time gets its id in that step, or right before.
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
        one wins. Raises `ValueError` for the thread `NO_THREAD`.
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
    async def amend(self, amendment: Amendment) -> None:
        """Write what is stored of an idle thread in other words; its trail and `changes` stay.

        All that it names is stored already. It counts as no activity. Raises `Conflict` as
        `update_idle` does, and for a thread that is on hold.
        """

    @abstractmethod
    async def delete(
        self, scope: str, thread_id: str, revision: int, now: int, *, by: str | None = None
    ) -> None:
        """Remove a thread with everything but its audit trail, which says in the same step by whom.

        `changes` keeps the ids that it noted.
        Approvals for this thread alone go with it, and of others the uses that it made.

        Raises `Conflict` as `claim` does: another revision, unknown, or held; and for a thread that
        is on hold. A thread that is
        created later in that scope, under whatever id, begins with a revision and a fence above
        all that were deleted: nothing that was read of a deleted thread, and no lease on it, fits
        its successor.
        """

    @abstractmethod
    async def set_hold(
        self, scope: str, thread_id: str, revision: int, hold: Hold, *, lifted: bool = False
    ) -> None:
        """Put a thread on hold, or lift that, whoever runs it; its audit trail says so, by whom.

        Raises `Conflict` for another revision, and for what is so already.
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
    async def count_all_open(self, limit: int) -> OpenCount:
        """Count the open interrupts of all scopes, up to `limit`, and find the oldest.

        For probes and metrics: what one caller has open is listed by `interrupts`, and filtered.
        It costs what `limit` costs (at least 1) and the number of scopes that have any, however
        many are stored or open; of more than `limit` scopes the oldest is that of some of them.
        """

    @abstractmethod
    async def usage(self, scope: str, owner: str | None = None) -> StoreUsage:
        """Count what is stored in the threads of an owner, or of all of a scope.

        `bytes` are those of messages, states, journals, questions, requests and outcomes, about;
        without the audit trail, which outlives its thread. What a thread holds is added up in the
        step that lets it go or changes it idle: of one that is held it may be what it was before.
        """

    @abstractmethod
    async def add_session(self, session: Session) -> None:
        """Keep a session from now on; one whose digest is known stays as it is.

        Sessions are of no scope: whoever comes with an id does not say which. Their times are the
        store's. What has ended may be forgotten at any time.
        """

    @abstractmethod
    async def use_session(self, digest: str, *, look: bool = False) -> Session | None:
        """Read a session that has not ended, and note that it was used; None for any other.

        It ends at the end of its lifetime, and once it was not used for its idle time. A use is
        noted if the last one that was is a twentieth of that ago; a `look` is no use.
        """

    @abstractmethod
    async def sessions(self, name: str) -> tuple[Session, ...]:
        """Read the sessions of a name (`Session.names`) that have not ended; that is no use."""

    @abstractmethod
    async def end_sessions(self, name: str) -> tuple[Session, ...]:
        """End all sessions of a name (`Session.names`); returns those that had not ended before."""

    @abstractmethod
    async def add_service_token(self, token: ServiceToken) -> None:
        """Keep a service's token, and note it among what belongs to no thread, in the same step.

        Raises `Conflict` if its digest, or its id in its scope, is known.
        """

    @abstractmethod
    async def service_token(self, digest: str) -> ServiceToken | None:
        """Find a token of any scope by its digest, also one that counts no more."""

    @abstractmethod
    async def service_tokens(self, scope: str) -> tuple[ServiceToken, ...]:
        """All tokens of a scope, the oldest first; they are never deleted."""

    @abstractmethod
    async def revoke_service_token(self, scope: str, token_id: str, by: str, now: int) -> None:
        """Revoke a token, and note it among what belongs to no thread, in the same step.

        Raises `Conflict` if it is unknown or revoked already.
        """

    @abstractmethod
    def renew(self, leases: Sequence[Lease], lease_ms: int) -> Renewed:
        """Prolong leases by the store's clock; tells which are lost and which shall stop.

        A lease that ran out is prolonged too unless somebody claimed the thread. Synchronous, with
        a bound on its wait, and safe from any thread but the event loop's: a loop that is blocked
        by author code must not lose its leases.
        """

    @property
    def codec(self) -> AesGcm | None:
        """The keys under which it encrypts what it keeps; None if it does not."""
        return None

    async def rekey(
        self, after: str | None = None, *, accept_plain: bool = False, look: bool = False
    ) -> Rekeyed:
        """Bring a batch of texts under the first key of its codec, beside whoever uses the store.

        `after` is `Rekeyed.next` of the batch before, None for the first one. A batch is whole or
        did not happen; done again, it finds nothing to do. `accept_plain`: clear texts are
        encrypted, else they are told of as broken. `look`: nothing is written, all is counted.
        Raises `DeclarationError` for a store without a codec.
        """
        raise DeclarationError(f"{type(self).__name__} does not encrypt what it keeps")

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
