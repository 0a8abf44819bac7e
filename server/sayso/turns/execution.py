"""One execution of a turn: from the first call of the agent function to its end, or its pause.

The pause is a state (`asked`) before it is a signal (`Pause`); see design 3 for the ten rules. This
module knows places, refusals and the end of a turn; what is recorded at a place is told by its
neighbours `messages`, `steps`, `calls` and `questions`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from sayso.agents.registry import Agents
from sayso.agents.tools import Tool
from sayso.agents.turninput import TurnInput
from sayso.breakpoints import Breakpoints
from sayso.clock import Clock
from sayso.errors import (
    NestedCall,
    OpenMessage,
    ReplayMismatch,
    StoreError,
    ThreadTooLarge,
    TooManyInterrupts,
    TurnError,
)
from sayso.limits import Limits
from sayso.options import Options
from sayso.protocol.interrupts import interrupt_body
from sayso.protocol.usage import Usage
from sayso.records import Entry, Interrupt, Message, Principal, Turn
from sayso.streams.stream import RunStream
from sayso.turns.branch import Branch, Branches, Forsaken, Pause
from sayso.turns.commits import Commits
from sayso.turns.effects import Effects, contained, current_effect
from sayso.turns.invocation import OwnedStream, around
from sayso.turns.journal import Journal, fingerprint, identify
from sayso.turns.leased import Leased
from sayso.turns.permits import Permits
from sayso.turns.stillness import Bell, until_still, unwound
from sayso.turns.timeline import Timeline
from sayso.turns.transcript import Transcript
from sayso.turns.turnstate import TurnState

__all__ = ["Execution", "Place"]

PATIENCE = 100
"""Refused calls after which a branch is parked instead of being told again."""


@dataclass(slots=True, eq=False)
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
        transcript: Transcript,
        given: TurnInput,
        resumed_with: Sequence[TurnInput | None],
        pauses: Sequence[int],
        usage: Usage,
        clock: Clock,
        effects: Effects,
        limits: Limits,
        options: Options,
        agents: Agents,
        tools: Mapping[str, Tool],
        breakpoints: tuple[Breakpoints, Breakpoints],
    ) -> None:
        self.turn = turn
        self.leased = leased
        self.journal = journal
        self.interrupts = {interrupt.id: interrupt for interrupt in interrupts}
        self.state = state
        self.transcript = transcript
        self.given = given
        self.resumed_with = resumed_with
        self.pauses = pauses
        self.usage = usage
        self.clock = clock
        self.limits = limits
        self.agents, self.tools = agents, tools
        self._breakpoints = breakpoints
        self.breaks = any(breakpoints) or journal.holds("breakpoint")
        self.bell = Bell()
        self.branches = Branches(self.bell.ring)
        self.stream = OwnedStream(stream, self.branches)
        self._options = options
        self.permits = Permits()
        self.effects = effects
        effects.landed = self.bell.ring
        self.timeline = Timeline(turn.key, journal.ends(), again=bool(journal.entries()))
        self.timeline.skip(journal.ends_behind())
        self.asked: dict[str, Interrupt] = {}
        self.bodies: dict[str, bytes] = {}
        """What is asked, as clients get it."""
        self.broken: TurnError | None = None
        self.stopped: str | None = None
        self.aborted: StoreError | None = None
        self.closed = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.writing: dict[str, Callable[[], Message]] = {}
        """For each message that is open, what closes it and gives its stored form."""
        self._asked_bytes = 0
        self._commits = Commits()
        self.calls = 0
        self._refused = 0
        self._main: asyncio.Task[Any] | None = None

    # Places

    async def enter(
        self, kind: str, name: str, arguments: Any = None, *, beside_text: bool = False
    ) -> Place:
        """Take the next place of the running branch, if the turn may go on there.

        `beside_text`: what is recorded there never pauses, so a message may be open meanwhile.
        """
        if self.branches.root.destroyed:
            await Forsaken()
        self.calls += 1
        wanted = fingerprint(kind, name, arguments)
        if current_effect() is not None and self.inside_effect():
            raise NestedCall(
                f"{wanted!r} inside a recorded step or tool: ask, call and record from the agent "
                "function itself, and keep steps free of them"
            )
        branch = self.branches.here(wanted)
        if self.halted(branch):
            await self.refuse(branch)
        if branch.open_message is not None and not beside_text:
            raise OpenMessage(
                f"{wanted!r} while a text message is open: leave the `async with turn.message()` "
                "block first"
            )
        key = branch.place()
        return Place(branch, key, wanted, self.look(key, wanted))

    def look(self, key: str, wanted: str) -> Entry | None:
        """What is recorded at a place; what the code does not ask for any more fails the turn."""
        try:
            return self.journal.find(key, wanted)
        except ReplayMismatch as mismatch:
            self.break_off(mismatch)
            raise

    def inside_effect(self) -> bool:
        """Whether the running code is an effect of this turn."""
        scope = current_effect()
        return scope is not None and scope.execution is self and not scope.opens

    async def refuse(self, branch: Branch) -> NoReturn:
        """Unwind a branch that may not go on; park it when it does not take the hint."""
        self._refused += 1
        if self._refused >= PATIENCE:
            for one in branch.around():
                one.parked = True
            self.bell.ring()
            await branch.park()
        await asyncio.sleep(0)
        raise self.pause()

    def pause(self) -> Pause:
        """The signal that unwinds the running branch, whose `finally` records nothing more."""
        self.branches.unwind()
        return Pause("this turn waits for a person, or has ended")

    def identify(self, prefix: str, place: str) -> str:
        """An id that this place has in every execution of the turn."""
        return identify(self.journal.origins.get(place, self.turn.key), prefix, place)

    def call_key(self, place: str) -> str:
        """What the outside world may know the effect at this place by, in every execution."""
        return identify(self.journal.key_origins.get(place, self.turn.key), "key", place)

    def message_id(self, place: str) -> str:
        """The id of the text sent at a place; another one where a retry sends it anew."""
        attempt = 0
        while (message_id := self.identify("msg", f"{place}+{attempt}")) in self.transcript.said:
            attempt += 1
        return message_id

    def live(self, branch: Branch) -> None:
        """Announce the phases around live code, which a boundary may have closed (rule 7)."""
        for phase in branch.phases:
            phase.announce()

    # Records

    def record(self, place: Place, kind: str, name: str, status: Any, data: bytes = b"{}") -> Entry:
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

        It is an inner agent's if that one's code says so. One that is not `settled` claims a
        durable fact: readers are not shown it before its commit.
        Raises `ThreadTooLarge`, and ends the turn, for one that does not fit; a result always does.
        """
        message = self.stream.owned(message)
        if settled:
            self.make_room(len(message.body))
        else:
            self.transcript.unsettled.add(message.id)
        self.transcript.add(message)

    def make_room(self, size: int) -> None:
        """Raise `ThreadTooLarge`, and end the turn, if the thread has no room for so many bytes."""
        if not self.transcript.fits(size):
            error = ThreadTooLarge(
                f"the thread would hold more than {self.limits.history} bytes of messages: "
                "say less, or begin a new thread"
            )
            self.break_off(error)
            raise error

    def riding(self, *, asked: bool = False) -> tuple[tuple[Entry, ...], tuple[Message, ...]]:
        """What the commit that is being made now must carry; questions only if it suspends."""
        return self.journal.take(asked=asked), self.transcript.take()

    async def commit(self) -> None:
        """Make all that is recorded so far durable; a store that fails ends the execution."""
        await self._commits.durable(self)
        if self.aborted is not None:
            raise self.pause()

    async def before_repeatable(self) -> None:
        """Make recorded values durable before an effect that has no record of its beginning.

        It may run again after a crash, and then with the same ids and the same hour.
        """
        if self.journal.rides("value"):
            await self.commit()

    def halted(self, branch: Branch) -> bool:
        """Whether this branch may do nothing more in this execution."""
        return bool(self.closed or self.broken or self.stopped or branch.blocked)

    def ask(self, branch: Branch, interrupt: Interrupt) -> None:
        """Make the turn wait for a person; the question leaves with the suspension."""
        if interrupt.id in self.asked:
            branch.block()
            return
        body = self.bodies[interrupt.id] = interrupt_body(interrupt)
        self._asked_bytes += len(body)
        if len(self.asked) >= self.limits.open_interrupts:
            allowed = f"{self.limits.open_interrupts} questions"
        elif self._asked_bytes > self.limits.history:
            allowed = f"{self.limits.history} bytes of questions"
        else:
            branch.block()
            self.asked[interrupt.id] = interrupt
            self.bell.ring()
            return
        self.break_off(TooManyInterrupts(f"more than {allowed} are open in this turn"))

    def check_state(self, place: str) -> None:
        """Fail the turn when replay has not built the state that was recorded at a pause."""
        if self.state.difference is not None:
            mismatch = ReplayMismatch(place, "another state", self.state.difference)
            self.break_off(mismatch)
            raise mismatch

    def all_came(self, path: str = "") -> bool:
        """Whether the code below a path, at its end, came for all it had; if not, it has changed.

        That fails the turn.
        """
        forgotten = self.journal.forgotten(path)
        if forgotten is not None:
            place, recorded = forgotten.place, forgotten.fingerprint
            self.break_off(ReplayMismatch(place, recorded, "nothing any more"))
        return forgotten is None

    # Endings

    def break_off(self, error: TurnError) -> None:
        """Fail the turn; the first reason stands."""
        self.broken = self.broken or error
        self.bell.ring()

    def stop(self, reason: str) -> None:
        """End the turn as cancelled: a person said so.

        What may run again, or only streams, is cut off; other effects are finished and recorded.
        """
        self.stopped = self.stopped or reason
        self.timeline.disorder()
        self.effects.cut_off()
        self.bell.ring()

    def abort(self, error: StoreError) -> None:
        """Give the turn up without writing anything more."""
        self.aborted = self.aborted or error
        self.closed = True
        self.bell.ring()

    async def run(self, function: Callable[[], Awaitable[Any]]) -> None:
        """Run the function until the turn has ended or waits; nothing is written afterwards.

        Afterwards `aborted`, `broken`, `stopped`, `asked`, `error` and `result` say how it ended,
        in this order. Call `unwind` once the ending is stored.
        """

        async def main() -> Any:
            self.branches.begin()
            return await contained(function())

        self._main = asyncio.create_task(main())
        self._main.add_done_callback(lambda main: main.cancelled() or main.exception())  # is seen
        self._main.add_done_callback(self.bell.ring)
        try:
            await until_still(self, self._main)
        finally:
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
            if not self.asked:
                self.all_came()

    async def unwind(self, seconds: float) -> int:
        """Cancel what author code still runs; returns how many tasks are left after that time."""
        self.closed = True
        tasks = set(self.branches.unfinished())
        if self._main is not None and not self._main.done():
            tasks.add(self._main)
        left = await unwound(tasks, seconds)
        if not left:
            # What unwound holds the frames that it came through, and those hold this execution.
            self._main = None
            self.branches.let_go()
        return left

    @property
    def options(self) -> Options:
        """The options of the agent whose code is running, be it an inner one."""
        owner = self.stream.owner
        return self._options if owner is None else owner.options

    @property
    def breakpoints(self) -> Sequence[Breakpoints]:
        """Those that hold for the running code; a request's not inside an agent that takes none."""
        inner = (one.options.run_breakpoints for one in around(self.stream.owner))
        return self._breakpoints[:1] if "refuse" in inner else self._breakpoints

    @property
    def may_ask(self) -> bool:
        """Whether the running code may ask a person: its agent may, and all that it is inside."""
        owner = self.stream.owner
        inner = owner is None or all(one.options.may_ask for one in around(owner))
        return inner and self._options.may_ask

    @property
    def principal(self) -> Principal:
        """Who began the turn."""
        return self.turn.principal
