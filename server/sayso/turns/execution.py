"""One execution of a turn: from the first call of the agent function to its end, or its pause.

The pause is a state (`asked`) before it is a signal (`Pause`); see design 3 for the ten rules. This
module knows places, refusals and the end of a turn; what is recorded at a place is told by its
neighbours `messages`, `steps`, `calls` and `questions`.
"""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NoReturn

from sayso.clock import Clock
from sayso.errors import (
    CancelledCall,
    LeaseLost,
    NestedCall,
    OpenMessage,
    ReplayMismatch,
    StoreError,
    TooManyInterrupts,
    TurnError,
)
from sayso.journal import Journal, fingerprint
from sayso.limits import Limits
from sayso.records import Commit, Entry, Interrupt, Lease, Message, Principal, Turn
from sayso.stores.base import Store
from sayso.stream import RunStream
from sayso.turninput import TurnInput
from sayso.turns.branch import Branch, Branches, Pause
from sayso.turns.effects import Effects, current_effect
from sayso.turnstate import TurnState

__all__ = ["Execution", "Leased", "Place"]

_log = logging.getLogger("sayso.turn")

PATIENCE = 100
"""Refused calls after which a branch is parked instead of being told again."""
SETTLING = 5
"""Turns of the event loop in which tasks that were just made may begin."""
IDLE = 0.2
"""Seconds without any call after which a branch that waits for something else is left behind."""
UNWINDING = 5.0
"""Seconds that author code gets to unwind once its turn is closed."""


@dataclass(frozen=True, slots=True)
class Leased:
    """A store seen through a lease; `alive` is the local deadline, checked before each effect."""

    store: Store
    lease: Lease
    alive: Callable[[], bool]

    async def commit(self, commit: Commit) -> None:
        """Write under the lease; `LeaseLost` at once when its local deadline has passed."""
        self.check()
        await self.store.commit(self.lease, commit)

    def check(self) -> None:
        """Raise `LeaseLost` when another holder may have the thread by now."""
        if not self.alive():
            raise LeaseLost(f"the lease of thread {self.lease.thread_id!r} has run out")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call stands: its branch, its place in the journal, and what is recorded there."""

    branch: Branch
    key: str
    fingerprint: str
    entry: Entry | None


class Execution:
    """The state of a turn while its function runs."""

    def __init__(
        self,
        *,
        turn: Turn,
        leased: Leased,
        stream: RunStream,
        journal: Journal,
        interrupts: Sequence[Interrupt],
        state: TurnState,
        history: list[Message],
        given: TurnInput,
        resumed_with: Sequence[TurnInput | None],
        clock: Clock,
        pool: ThreadPoolExecutor,
        limits: Limits,
        expires_in: float | None,
    ) -> None:
        self.turn = turn
        self.leased = leased
        self.stream = stream
        self.journal = journal
        self.interrupts = {interrupt.id: interrupt for interrupt in interrupts}
        self.state = state
        self.history = history
        self.given = given
        self.resumed_with = resumed_with
        self.clock = clock
        self.limits = limits
        self.expires_in = expires_in
        self.branches = Branches()
        self.effects = Effects(pool)
        self.asked: list[Interrupt] = []
        self.broken: TurnError | None = None
        self.stopped: str | None = None
        self.aborted: StoreError | None = None
        self.closed = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.unsettled: set[str] = set()
        self._riding: list[Message] = []
        self._refused = 0
        self._calls = 0
        self._poke = asyncio.Event()
        self._main: asyncio.Task[Any] | None = None

    # Places

    async def enter(self, kind: str, name: str, arguments: Any = None) -> Place:
        """Take the next place of the running branch; refuses when the turn cannot go on there."""
        self._calls += 1
        wanted = fingerprint(kind, name, arguments)
        if self.inside_effect():
            raise NestedCall(
                f"{wanted!r} inside a recorded step or tool: ask, call and record from the agent "
                "function itself, and keep steps free of them"
            )
        branch = self.branches.here(wanted)
        if self.halted(branch):
            await self.refuse(branch)
        if branch.open_message is not None:
            raise OpenMessage(
                f"{wanted!r} while a text message is open: leave the `async with turn.message()` "
                "block first"
            )
        key = branch.place()
        try:
            return Place(branch, key, wanted, self.journal.find(key, wanted))
        except ReplayMismatch as mismatch:
            self.break_off(mismatch)
            raise

    def inside_effect(self) -> bool:
        """Whether the running code is an effect of this turn."""
        scope = current_effect()
        return scope is not None and scope.execution is self

    async def refuse(self, branch: Branch) -> NoReturn:
        """Unwind a branch that may not go on; park it when it does not take the hint."""
        self._refused += 1
        if self._refused >= PATIENCE:
            branch.parked = True
            self._poke.set()
            await asyncio.get_running_loop().create_future()
        await asyncio.sleep(0)
        raise Pause("this turn waits for a person, or has ended")

    def identify(self, prefix: str, place: str) -> str:
        """An id that this place has in every execution of the turn."""
        text = f"{self.turn.key}\n{place}".encode()
        return f"{prefix}_{hashlib.blake2b(text, digest_size=12).hexdigest()}"

    def message_id(self, place: str) -> str:
        """The id of the text sent at a place; another one where a retry sends it anew."""
        known = {message.id for message in self.history if message.role == "assistant"}
        attempt = 0
        while (message_id := self.identify("msg", f"{place}+{attempt}")) in known:
            attempt += 1
        return message_id

    def live(self, branch: Branch) -> None:
        """Announce the phases around live code, which a boundary may have closed (rule 7)."""
        for phase in branch.phases:
            phase.announce()

    # Records

    def record(
        self, place: Place, kind: str, name: str, status: Any, data: bytes = b"{}"
    ) -> Entry:
        """Write an entry that goes out with the next commit."""
        return self.journal.write(
            Entry(
                place=place.key,
                kind=kind,
                name=name,
                fingerprint=place.fingerprint,
                status=status,
                data=data,
            )
        )

    def remember(self, message: Message, *, settled: bool = True) -> None:
        """Add a message to the history; it is stored with the next commit.

        One that is not `settled` claims a durable fact: readers are not shown it before its commit.
        """
        if not settled:
            self.unsettled.add(message.id)
        self.history.append(message)
        self._riding.append(message)

    def riding(self) -> tuple[tuple[Entry, ...], tuple[Message, ...]]:
        """What the commit that is being made now must carry."""
        messages = tuple(self._riding)
        self._riding.clear()
        return self.journal.take(), messages

    async def commit(self) -> None:
        """Make all that is recorded so far durable; a store that fails ends the execution."""
        entries, messages = self.riding()
        try:
            await self.leased.commit(
                Commit(now=self.clock.now(), entries=entries, messages=messages)
            )
        except StoreError as error:
            self.abort(error)
            raise Pause("the store did not take the record") from None

    def halted(self, branch: Branch) -> bool:
        """Whether this branch may do nothing more in this execution."""
        return bool(self.closed or self.broken or self.stopped or branch.blocked)

    def hold(self) -> None:
        """Make sure, right before an effect, that the thread is still ours."""
        try:
            self.leased.check()
        except StoreError as error:
            self.abort(error)
            raise Pause("the lease of this thread has run out") from None

    def ask(self, branch: Branch, interrupt: Interrupt) -> None:
        """Make the turn wait for a person; the question leaves with the suspension."""
        if len(self.asked) >= self.limits.open_interrupts:
            self.break_off(
                TooManyInterrupts(
                    f"more than {self.limits.open_interrupts} questions are open in this turn"
                )
            )
            return
        branch.block()
        self.asked.append(interrupt)
        self._poke.set()

    # Endings

    def break_off(self, error: TurnError) -> None:
        """Fail the turn; the first reason stands."""
        self.broken = self.broken or error
        self._poke.set()

    def stop(self, reason: str) -> None:
        """End the turn as cancelled: a person said so."""
        self.stopped = self.stopped or reason
        self._poke.set()

    def abort(self, error: StoreError) -> None:
        """Give the turn up without writing anything more."""
        self.aborted = self.aborted or error
        self.closed = True
        self._poke.set()

    async def protect(self, what: str, *works: Awaitable[Any]) -> list[Any]:
        """Run recorded work to its end; if author code cancels the call, fail the turn (rule 2).

        Returns the results in order. Raises `Pause` if any of the work waits for a person, else
        the first error, once all have ended.
        """
        ended = asyncio.gather(*map(self.effects.keep, works), return_exceptions=True)
        try:
            outcomes = await asyncio.shield(ended)
        except asyncio.CancelledError:
            if not (self.asked or self.closed):
                self.break_off(
                    CancelledCall(
                        f"{what} was cancelled by the agent's own code (a timeout, or a task group "
                        "that failed); it was finished and recorded. Use timeout= instead"
                    )
                )
            raise
        errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if any(isinstance(error, asyncio.CancelledError) for error in errors):
            raise Pause("this turn waits for a person, or has ended")
        if errors:
            raise errors[0]
        return outcomes

    async def run(self, function: Callable[[], Awaitable[Any]]) -> None:
        """Run the function until the turn has ended or waits; nothing is written afterwards.

        Afterwards `aborted`, `broken`, `stopped`, `asked`, `error` and `result` say how it ended,
        in this order. Call `unwind` once the ending is stored.
        """

        async def main() -> Any:
            self.branches.begin()
            try:
                return await function()
            except (SystemExit, KeyboardInterrupt) as leaving:
                raise RuntimeError(f"the agent raised {type(leaving).__name__}") from leaving

        self._main = asyncio.create_task(main())
        await self._until_still(self._main)
        self.closed = True
        if self._main.done():
            self._conclude(self._main)

    def _conclude(self, main: asyncio.Task[Any]) -> None:
        if main.cancelled():
            self.error = RuntimeError("the agent function was cancelled")
        elif (error := main.exception()) is not None:
            self.error = error
        else:
            self.result = main.result()
            forgotten = self.journal.forgotten()
            if forgotten is not None and not self.asked:
                self.break_off(
                    ReplayMismatch(forgotten.place, forgotten.fingerprint, "nothing any more")
                )

    async def _until_still(self, main: asyncio.Task[Any]) -> None:
        settled = 0
        while self.aborted is None:
            over = main.done() or self.asked or self.broken or self.stopped
            if not over or self.effects.in_flight:
                await self._activity(main, None)
                settled = 0
            elif not self.asked:
                return
            elif settled < SETTLING:
                settled += 1
                await asyncio.sleep(0)
            elif not self.branches.busy() and (main.done() or self.branches.root.parked):
                return
            else:
                calls = self._calls
                moved = await self._activity(main, IDLE)
                if not moved and calls == self._calls and not self.effects.in_flight:
                    return

    async def _activity(self, main: asyncio.Task[Any], timeout: float | None) -> bool:
        poke = asyncio.ensure_future(self._poke.wait())
        tasks = {poke, *self.effects.in_flight, *self.branches.unfinished()}
        if not main.done():
            tasks.add(main)
        try:
            done, _ = await asyncio.wait(
                tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            poke.cancel()
        self._poke.clear()
        return bool(done)

    async def unwind(self) -> None:
        """Cancel what author code still runs, give it five seconds, then leave it behind."""
        self.closed = True
        tasks = set(self.branches.unfinished())
        if self._main is not None and not self._main.done():
            tasks.add(self._main)
        for task in tasks:
            task.cancel()
        if not tasks:
            return
        done, left = await asyncio.wait(tasks, timeout=UNWINDING)
        for task in done:
            if not task.cancelled() and (error := task.exception()) is not None:
                _log.debug("turn %s: %r while it unwound", self.turn.key, error)
        if left:
            _log.warning(
                "turn %s of agent %r left %d task(s) that did not end within %g s of being "
                "cancelled; they can record nothing more",
                self.turn.key,
                self.turn.agent,
                len(left),
                UNWINDING,
            )

    @property
    def principal(self) -> Principal:
        """Who began the turn."""
        return self.turn.principal

