"""The records that are stored: frozen, and without behaviour.

Times are milliseconds since the epoch, UTC. `bytes` fields hold one JSON value each, kept as it
will go out again. Keys that begin with `turn_`, `run_`, `int_` are ours, random and opaque.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from sayso.base.approvers import Approvers
from sayso.base.fastrecords import fast
from sayso.base.options import OnExpire
from sayso.base.progress import NO_PROGRESS, NO_PROOF, Progress, Proof
from sayso.base.scrubbing import Scrubbing
from sayso.base.secretvalues import SecretValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A person's yes that is valid for later calls of one tool.

    It covers calls of `owner`'s turns, of one thread only if there is a `thread_id`, whose
    arguments fit `pattern` (JSON), and answers the questions of `rules` as these were then. `terms`
    is JSON, `{"rules": {name: digest}, "by", "of", "people"?, "notBy"?, "offered", "agent"?,
    "runOnly"?}`; without it the approval covers nothing. `given_by` gave it at `given_at`, with the
    answer to `interrupt_id`. Times are milliseconds since the epoch.
    """

    id: str
    owner: str
    tool: str
    pattern: bytes
    rules: tuple[str, ...]
    given_by: str
    given_at: int
    interrupt_id: str
    thread_id: str | None = None
    expires_at: int | None = None
    revoked_at: int | None = None
    revoked_by: str | None = None
    uses: int = 0
    """The number of known uses; `used_at` is the time of the last. A store counts both itself."""
    used_at: int | None = None
    terms: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalUse:
    """A call that ran on an approval without anybody being asked; noted once for each call."""

    approval_id: str
    call_id: str
    thread_id: str
    at: int


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
    "result",
    "run_ended",
    "deleted",
]


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Principal:
    """The authenticated caller: who, in which tenant partition, with which roles.

    `roles` may be given as any iterable of texts; they are kept in alphabetical order, each once.
    A `service` decides nothing, unless the app lets it (`services_may_decide`). `expires_at` is
    when the identity has to be checked again: streams that only follow end then (None: with the
    next request). `auth_time` is when the person signed in. Both are in ms since the epoch.
    `issuer`, `token_id` and `session` are those of the token. All but subject, scope and roles
    belong to one request, so they are neither stored nor compared.

    Raises:
        TypeError: a member of the wrong type, or one text in place of several roles.
    """

    subject: str = "local"
    scope: str = "default"
    roles: tuple[str, ...] = ()
    kind: Literal["person", "service"] = field(default="person", compare=False)
    expires_at: int | None = field(default=None, compare=False)
    auth_time: int | None = field(default=None, compare=False)
    issuer: str | None = field(default=None, compare=False)
    token_id: str | None = field(default=None, compare=False)
    session: str | None = field(default=None, compare=False)

    def __init__(
        self,
        *,
        subject: str = "local",
        scope: str = "default",
        roles: Iterable[str] = (),
        kind: Literal["person", "service"] = "person",
        expires_at: int | None = None,
        auth_time: int | None = None,
        issuer: str | None = None,
        token_id: str | None = None,
        session: str | None = None,
    ) -> None:
        if kind not in ("person", "service"):
            raise TypeError(f"kind of a Principal is 'person' or 'service', not {kind!r}")
        object.__setattr__(self, "kind", kind)
        for name, moment in (("expires_at", expires_at), ("auth_time", auth_time)):
            if not isinstance(moment, int | None):
                raise TypeError(f"{name} of a Principal is in whole ms, not {moment!r}")
            object.__setattr__(self, name, moment)
        for name, value in (("subject", subject), ("scope", scope)):
            if not isinstance(value, str):
                raise TypeError(f"{name} of a Principal is a text, not {value!r}")
            object.__setattr__(self, name, value)
        for name, text in (("issuer", issuer), ("token_id", token_id), ("session", session)):
            if not isinstance(text, str | None):
                raise TypeError(f"{name} of a Principal is a text or None, not {text!r}")
            object.__setattr__(self, name, text)
        object.__setattr__(self, "roles", _texts(roles))

    @property
    def proof(self) -> Proof:
        """How the caller was known, to be kept with what they decide."""
        return Proof(
            kind=self.kind,
            issuer=self.issuer,
            token_id=self.token_id,
            session=self.session,
            auth_time=self.auth_time,
        )


@fast
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


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of a question: kept with it, so that no later change of options affects it.

    `approvers` may answer, None for the owner of the thread; `requesters` want the thing done, and
    are listed if they may not approve it. `subagent` is the id of the inner agent that asked.
    `typed`: answers have to fit a type of the author's besides the schema. `services`: no person is
    needed to answer it. `granted`: its owner has let others answer it, by assigning it. `origin` is
    the first of the threads that the question's thread was copied from. `left_to_app`: the app says
    whether who wants it is barred, and says so again for a copy. `apart`: what its schema marks as
    secret is kept apart from its answers.
    """

    on_expire: OnExpire = "expire"
    approvers: Approvers | None = None
    requesters: tuple[str, ...] = ()
    subagent: str | None = None
    typed: bool = False
    services: bool = False
    granted: bool = False
    origin: str | None = None
    left_to_app: bool = False
    apart: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names under which it waits for others than the owner of the thread."""
        return self.approvers.names if self.approvers else ()


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRecord:
    """An answer from being given to being settled: what, by whom, when, on which channel.

    `payload` and `metadata` are JSON. `roles` are those of the person who gave it, None if nobody
    but the owner was asked; `proof` is how that person was known.
    """

    status: Literal["resolved", "cancelled"]
    by: str
    at: int
    channel: str
    payload: bytes | None = None
    metadata: bytes | None = None
    roles: tuple[str, ...] | None = None
    proof: Proof = NO_PROOF


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupt:
    """One question to a person and, once settled, its answer.

    `place` is the journal place that asked. `terms` and `progress` are for the server alone and
    never leave it.
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
    terms: Terms = Terms()
    progress: Progress = NO_PROGRESS
    expires_at: int | None = None
    status: InterruptStatus = "open"
    payload: bytes | None = None
    answer_metadata: bytes | None = None
    decided_by: str | None = None
    decided_at: int | None = None
    channel: str | None = None
    run_key: str | None = None
    """The run that the settled set started."""
    held: AnswerRecord | None = None
    """An answer that is kept while others of the set are open; it may be withdrawn."""
    assigned_to: str | None = None
    remind_at: int | None = None
    reminded_at: int | None = None
    lapsed_at: int | None = None
    """The time of an expiry that left it open: only a cancellation is accepted now."""


@fast
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


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """One invocation of an agent function; `request` is the RunInput that began it, as JSON."""

    key: str
    agent: str
    version: str
    status: TurnStatus
    request: bytes
    principal: Principal
    started_at: int
    ended_at: int | None = None


@fast
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """The word of a keeper that nothing of a thread may be deleted: whose, why, since when."""

    by: str
    reason: str
    said_at: int


@fast
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
    kept: bytes | None = None
    """Private values of its agents, as JSON: nobody is sent them."""
    hold: Hold | None = None


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadView:
    """One consistent read of a thread.

    `turn` and `run` are the newest; `named_run` is the newest with the run id that was asked for.
    `interrupts`: all of the newest turn, in order of asking, then those asked for by id that
    belong to earlier turns of this thread, likewise in order. `messages`: all, in order, hidden
    and waiting included.
    """

    thread: Thread
    turn: TurnRecord | None
    run: Run | None
    named_run: Run | None
    interrupts: tuple[Interrupt, ...]
    messages: tuple[Message, ...]


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to write to a thread; every write carries its fence."""

    scope: str
    thread_id: str
    holder: str
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewed:
    """The outcome of a renewal of leases; one neither lost nor stopping simply continues."""

    lost: tuple[Lease, ...] = ()
    """Taken over, released, or of a thread that was deleted."""
    stop_requested: tuple[Lease, ...] = ()
    """Prolonged, but somebody asked their holder to stop."""


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One atomic step: take an idle (or abandoned) thread and begin, resume or take over a turn.

    `revision` is the one that was read; 0 means that the thread must not exist yet. `secrets` are
    values of its turn that are kept apart. `scrub` is what texts pass that the step writes into the
    audit trail.
    """

    scope: str
    thread_id: str
    owner: str
    agent: str
    revision: int
    holder: str
    lease_ms: int
    now: int
    turn: TurnRecord
    run: Run
    state: bytes | None = None
    messages: tuple[Message, ...] = ()
    hide: tuple[str, ...] = ()
    interrupts: tuple[Interrupt, ...] = ()
    entries: tuple[Entry, ...] = ()
    kept: bytes | None = None
    secrets: tuple[SecretValue, ...] = ()
    scrub: Scrubbing | None = None


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One atomic step of the holder of a lease; absent members change nothing.

    Order inside: turn, entries, messages, `dequeue` (waiting messages become visible, at the end),
    interrupts, state, kept, `next_turn` (the one that a waiting message begins; the newest from now
    on), run, `forget` (journal of that turn is dropped), approvals, uses, release of the lease.
    `secrets` and `scrub` are as in a `Claim`.
    """

    now: int
    entries: tuple[Entry, ...] = ()
    messages: tuple[Message, ...] = ()
    dequeue: bool = False
    interrupts: tuple[Interrupt, ...] = ()
    state: bytes | None = None
    turn: TurnRecord | None = None
    next_turn: TurnRecord | None = None
    run: Run | None = None
    forget: str | None = None
    approvals: tuple[Approval, ...] = ()
    uses: tuple[ApprovalUse, ...] = ()
    release: bool = False
    kept: bytes | None = None
    secrets: tuple[SecretValue, ...] = ()
    scrub: Scrubbing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """One atomic step on an idle thread, without running it.

    `interrupts` replace what has their id, `state` replaces the thread's if it is given, and
    `entries` of the newest turn replace what has their place. `by` is who did it, for the audit
    trail; `secrets` and `scrub` are as in a `Claim`.
    """

    scope: str
    thread_id: str
    revision: int
    now: int
    interrupts: tuple[Interrupt, ...] = ()
    state: bytes | None = None
    entries: tuple[Entry, ...] = ()
    by: str | None = None
    secrets: tuple[SecretValue, ...] = ()
    scrub: Scrubbing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A thread that needs the server itself: why is one of the four."""

    scope: str
    thread_id: str
    why: Literal["abandoned", "expired", "remind", "ready"]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which part of a list to read: at most `limit` items (at least 1) behind the place `after`.

    `after` is `Page.next` of the page before, None for the first page.
    """

    after: str | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadFilter:
    """Members of a thread that a list is restricted to; None restricts nothing.

    `status` is that of the newest turn, `agent` the one of the newest claim, `idle_since` leaves
    out what was active at that time or later.
    """

    owner: str | None = None
    status: TurnStatus | None = None
    agent: str | None = None
    idle_since: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptFilter:
    """Members of an interrupt that a list is restricted to; None restricts nothing.

    `owner` is the thread's, `agent` the one that it had when the interrupt was first written; with
    `names` (`approvers.names_of`) what waits for these is listed as well as the owner's.
    """

    owner: str | None = None
    names: tuple[str, ...] = ()
    status: InterruptStatus | None = None
    agent: str | None = None
    reason: str | None = None
    thread_id: str | None = None
    assigned_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T_co]):
    """Part of a list; `next` is what to pass as `after` for the part that follows, None at the end.

    A page may hold fewer items than asked for, even none, although more follow: a rare filter is
    tried on a bounded number of rows at a time.
    """

    items: tuple[T_co, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedThread:
    """A thread in a list.

    `active_at`: when it was last claimed or released, or its interrupts were settled or changed;
    lists are in this order. `turn_status` is that of the newest turn, `outcome` the type of the
    newest run's outcome (None while it runs), `open_interrupts` a number, of the newest turn.
    `on_hold`: nothing of it may be deleted.
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
    on_hold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedInterrupt:
    """An interrupt with where it belongs; `agent` is the one that asked."""

    thread_id: str
    owner: str
    agent: str
    interrupt: Interrupt


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCount:
    """The number of open interrupts of all scopes, and the time of the oldest of them."""

    count: int
    oldest: int | None = None


@fast
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
    """The changes since a mark, oldest first; pass `mark` the next time.

    `gap`: some of it is no longer known, so lists have to be read again.
    """

    mark: int
    items: tuple[Change, ...] = ()
    gap: bool = False


def _texts(roles: object) -> tuple[str, ...]:
    if type(roles) is tuple and not roles:
        return ()
    if isinstance(roles, Iterable) and not isinstance(roles, str | bytes):
        listed = [*roles]
        if all(isinstance(role, str) for role in listed):
            return tuple(sorted({*listed}))
    like = "('lead',) or {'lead', 'finance'}"
    raise TypeError(f"roles of a Principal are texts, such as {like}, not {roles!r}")
