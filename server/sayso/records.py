"""What is stored, as frozen records without behaviour.

Times are milliseconds since the epoch, UTC. `bytes` fields hold one JSON value each, kept as it
will go out again. Keys that begin with `turn_`, `run_`, `int_` are ours, random and opaque.
"""

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from sayso.approvals import Approval, ApprovalUse
from sayso.making import quick

__all__ = [
    "Change",
    "ChangeKind",
    "Changes",
    "Claim",
    "Commit",
    "Due",
    "Entry",
    "Interrupt",
    "InterruptStatus",
    "Lease",
    "ListedInterrupt",
    "Message",
    "Page",
    "Principal",
    "Renewed",
    "Run",
    "Thread",
    "ThreadSummary",
    "ThreadView",
    "Turn",
    "TurnStatus",
    "Waiting",
]

T_co = TypeVar("T_co", covariant=True)

InterruptStatus = Literal["open", "resolved", "cancelled", "expired"]
TurnStatus = Literal["running", "suspended", "finished", "failed", "cancelled"]
EntryStatus = Literal["asked", "started", "done"]
Visibility = Literal["visible", "hidden", "waiting"]
ChangeKind = Literal[
    "opened",
    "settled",
    "held",
    "withdrawn",
    "agreed",
    "extended",
    "assigned",
    "reminded",
    "lapsed",
    "run_ended",
    "deleted",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The authenticated caller: who, in which tenant partition, with which roles."""

    subject: str = "local"
    scope: str = "default"
    roles: tuple[str, ...] = ()


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a thread; `body` is its JSON object as the wire shows it.

    `hidden`: the client left it out of a later list. `waiting`: came with a resume and joins the
    history when the turn has ended.
    """

    id: str
    role: str
    body: bytes
    visibility: Visibility = "visible"


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupt:
    """One question to a person and, once settled, its answer.

    `place` is the journal place that asked. `policy` is JSON of what the server itself needs
    (kind of question, what to do on expiry); it never leaves the server.
    """

    id: str
    turn_key: str
    place: str
    reason: str
    created_at: int
    message: str | None = None
    tool_call_id: str | None = None
    response_schema: bytes | None = None
    metadata: bytes | None = None
    policy: bytes | None = None
    expires_at: int | None = None
    status: InterruptStatus = "open"
    payload: bytes | None = None
    answer_metadata: bytes | None = None
    decided_by: str | None = None
    decided_at: int | None = None
    channel: str | None = None
    run_key: str | None = None
    """The run that the settled set started."""
    held: bytes | None = None
    """JSON of an answer that is kept while others of the set are open; it may be withdrawn."""
    assigned_to: str | None = None
    remind_at: int | None = None
    reminded_at: int | None = None
    lapsed_at: int | None = None
    """When its expiry passed and its policy left it open: only a cancellation is taken now."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One recorded thing of a turn, at one place; writing the same place again replaces it.

    `asked`: an open question stands behind it. `started`: an effect may have happened. `done`:
    `data` holds the outcome.
    """

    place: str
    kind: str
    name: str
    fingerprint: str
    status: EntryStatus
    data: bytes


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One invocation of an agent function; `request` is the RunInput that began it, as JSON."""

    key: str
    agent: str
    version: str
    status: TurnStatus
    request: bytes
    principal: Principal
    started_at: int
    ended_at: int | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One exchange on the wire; `run_id` is the client's and no key (TR-07).

    `outcome`, once ended, is JSON: `{"type": "success"|"interrupt"|"cancelled"|"error", ...}` with
    `result`, or `code` and `message` of an error. `delivered`: the body reached its reader whole.
    """

    key: str
    run_id: str
    turn_key: str
    started_at: int
    ended_at: int | None = None
    outcome: bytes | None = None
    delivered: bool = False


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A conversation. `revision` grows with every claim, commit and settle; `fence` with claims.

    `holder` and `lease_until` (store time) say which process runs it now; both are None when idle.
    `state` is also what the last snapshot told clients. `stopping`: its holder was asked to stop;
    by whom first, and by which channel, is kept until the next claim.
    """

    scope: str
    id: str
    owner: str
    agent: str
    revision: int
    fence: int
    created_at: int
    updated_at: int
    state: bytes = b"{}"
    holder: str | None = None
    lease_until: int | None = None
    stopping: bool = False
    stop_by: str | None = None
    stop_channel: str | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadView:
    """One consistent read of a thread.

    `turn` and `run` are the newest; `named_run` is the newest with the run id that was asked for.
    `interrupts`: all of the newest turn, in order of asking, then those asked for by id that
    belong to earlier turns of this thread, likewise in order. `messages`: all, in order, hidden
    and waiting included.
    """

    thread: Thread
    turn: Turn | None
    run: Run | None
    named_run: Run | None
    interrupts: tuple[Interrupt, ...]
    messages: tuple[Message, ...]


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to write to a thread; every write carries its fence."""

    scope: str
    thread_id: str
    holder: str
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewed:
    """What became of leases: neither lost nor stopping is a lease that simply goes on."""

    lost: tuple[Lease, ...] = ()
    """Taken over, released, or of a thread that was deleted."""
    stopping: tuple[Lease, ...] = ()
    """Prolonged, but somebody asked their holder to stop."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One atomic step: take an idle (or abandoned) thread and begin, resume or take over a turn.

    `revision` is the one that was read; 0 means that the thread must not exist yet.
    """

    scope: str
    thread_id: str
    owner: str
    agent: str
    revision: int
    holder: str
    lease_ms: int
    now: int
    turn: Turn
    run: Run
    state: bytes | None = None
    messages: tuple[Message, ...] = ()
    hide: tuple[str, ...] = ()
    interrupts: tuple[Interrupt, ...] = ()
    entries: tuple[Entry, ...] = ()


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One atomic step of the holder of a lease; absent members change nothing.

    Order inside: turn, entries, messages, `dequeue` (waiting messages become visible, at the end),
    interrupts, state, `next_turn` (the one that a waiting message begins; the newest from now on),
    run, `forget` (journal of that turn is dropped), approvals, uses, release of the lease.
    """

    now: int
    entries: tuple[Entry, ...] = ()
    messages: tuple[Message, ...] = ()
    dequeue: bool = False
    interrupts: tuple[Interrupt, ...] = ()
    state: bytes | None = None
    turn: Turn | None = None
    next_turn: Turn | None = None
    run: Run | None = None
    forget: str | None = None
    approvals: tuple[Approval, ...] = ()
    uses: tuple[ApprovalUse, ...] = ()
    release: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A thread that needs the server itself: why is one of the four."""

    scope: str
    thread_id: str
    why: Literal["abandoned", "expired", "remind", "ready"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T_co]):
    """Part of a list; `next` is what to pass as `after` for the part that follows, None at the end.

    A page may hold fewer items than asked for, even none, although more follow: a rare filter is
    tried on a bounded number of rows at a time.
    """

    items: tuple[T_co, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSummary:
    """A thread in a list.

    `active_at`: when it was last claimed or released, or its interrupts were settled or changed;
    lists are in this order. `turn_status` is that of the newest turn, `outcome` the type of the
    newest run's outcome (None while it goes on), `open_interrupts` a number, of the newest turn.
    """

    scope: str
    id: str
    owner: str
    agent: str
    revision: int
    created_at: int
    active_at: int
    running: bool
    turn_status: TurnStatus
    outcome: str | None
    open_interrupts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedInterrupt:
    """An interrupt with where it belongs; `agent` is the one that asked."""

    thread_id: str
    owner: str
    agent: str
    interrupt: Interrupt


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How many interrupts of all scopes are open, and when the oldest of them was asked."""

    count: int
    oldest: int | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something that happened to an interrupt, a run or a thread of a scope; `mark` is its place.

    `interrupt_id` is None for `run_ended`, which has the `run_key`, and for `deleted`.
    """

    mark: int
    kind: ChangeKind
    thread_id: str
    owner: str
    at: int
    interrupt_id: str | None = None
    run_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What happened since a mark, oldest first; pass `mark` the next time.

    `gap`: some of it is no longer known, so that lists have to be read anew.
    """

    mark: int
    items: tuple[Change, ...] = ()
    gap: bool = False
