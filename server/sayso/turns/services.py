"""Services: what everything of one server works with, and the one way to change a thread.

They are made once and handed on whole. A thread is changed by a compare-and-set on its revision:
read it, decide, write, and read it again if another process wrote in between (`fresh`).
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

from sayso.agents.registry import Agents
from sayso.agents.toolset import Tools
from sayso.base.clock import Clock
from sayso.base.codes import Code
from sayso.base.errors import Conflict, Problem
from sayso.base.limits import Limits
from sayso.base.metrics import Metrics
from sayso.base.records import ThreadView
from sayso.base.scrubbing import Scrub
from sayso.base.secretvalues import Vault
from sayso.gate.answers import holds_apart
from sayso.schemas.responses import ResponseType
from sayso.stores.base import Store
from sayso.turns.authorization import Authorization
from sayso.turns.people import People
from sayso.turns.signing import Signing

if TYPE_CHECKING:
    from sayso.base.tracing import Tracing

MAX_ATTEMPTS: Final = 8
"""Times that a thread is read for one change that loses its compare-and-set."""
FALLBACK_POLL_S: Final = 5.0
"""Seconds between looks while the store tells of changes: one notification may have been lost."""
MAX_RESPONSES: Final = 10_000
"""Questions whose types are kept; those of others are found again by a look."""
TOO_FAST: Final = "This thread changes too fast: send this again."

V = TypeVar("V")
T = TypeVar("T")


class Responses:
    """The author's types of the questions that this process has met; the oldest go first.

    A schema does not say all that a type does (a validator, a date that has to come later). Whoever
    puts a question, or meets an open one on a replay, leaves its type here, so that an answer is
    read with it before anything changes.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, ResponseType] = OrderedDict()

    def keep(self, interrupt_id: str, response: ResponseType) -> None:
        """Leave the type of a question."""
        self._kept[interrupt_id] = response
        self._kept.move_to_end(interrupt_id)
        if len(self._kept) > MAX_RESPONSES:
            self._kept.popitem(last=False)

    def of(self, interrupt_id: str) -> ResponseType | None:
        """The type of a question, if it is known here."""
        return self._kept.get(interrupt_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The store, the clock, the limits, and what an app has declared.

    `services_may_decide`: questions that are asked from now on need no person. `watchers` are
    called with each scope in which this process has changed something; None stands for any.
    `responses` are the types of the questions that this process has met. `tracing` is None
    unless it was asked for. `scrub` is what texts of errors pass.
    """

    store: Store
    clock: Clock
    limits: Limits = field(default_factory=Limits)
    agents: Agents = field(default_factory=Agents)
    tools: Tools = field(default_factory=Tools)
    authorization: Authorization = field(default_factory=Authorization)
    people: People = field(default_factory=People)
    signing: Signing | None = None
    services_may_decide: bool = False
    metrics: Metrics = field(default_factory=Metrics)
    watchers: set[Callable[[str | None], None]] = field(default_factory=set)
    responses: Responses = field(default_factory=Responses)
    tracing: "Tracing | None" = None
    scrub: Scrub | None = None

    def changed(self, scope: str | None) -> None:
        """Tell the watchers of a change in a scope (None: in any)."""
        for tell in tuple(self.watchers):
            tell(scope)

    async def sleep_between_looks(self, seconds: float) -> None:
        """Sleep until it is time to look at the store again: later while it tells of changes."""
        await self.clock.sleep(FALLBACK_POLL_S if self.store.has_notifications else seconds)


async def vault_for(store: Store, scope: str, view: ThreadView | None) -> Vault | None:
    """Make the vault for the answers to a thread; None if no question keeps secrets apart."""
    if store.codec is None or view is None or not any(map(holds_apart, view.interrupts)):
        return None
    stored = await store.secrets(scope, view.thread.id)
    key, owner = await store.secret_key(scope), view.thread.owner
    return Vault(key, owner, {value.id: value.body for value in stored})


async def refuse_as_busy(_: object) -> NoReturn:
    """Raise Problem `thread_busy` for a thread that others change all the time."""
    raise Problem(Code.THREAD_BUSY, TOO_FAST)


async def fresh(
    read: Callable[[], Awaitable[V]],
    act: Callable[[V], Awaitable[T]],
    *,
    exhausted: Callable[[V], Awaitable[T]] = refuse_as_busy,
) -> T:
    """Read, decide and write; read again if the compare-and-set lost, `MAX_ATTEMPTS` times in all.

    `act` is given what was just read. It raises `Conflict`, or lets the store's pass, to be called
    again with what there is then. `exhausted` is the end when it still does at the last attempt.
    """
    for _ in range(MAX_ATTEMPTS):
        view = await read()
        try:
            return await act(view)
        except Conflict:
            continue
    return await exhausted(view)
