"""One execution of a turn: from the first call of the agent function to its end, or its pause.

The pause is a state (`asked`) before it is a signal (`Pause`); see design 3 for the ten rules. This
module knows places, refusals and the end of a turn; what is recorded at a place is told by its
neighbours `messages`, `steps`, `calls` and `questions`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from sayso.agents.registry import Agents
from sayso.base import jsonvalue
from sayso.base.clock import Clock
from sayso.base.errors import (
    NestedCall,
    OpenMessage,
    Problem,
    ReplayMismatch,
    StoreError,
    ThreadTooLarge,
    TooManyInterrupts,
    TurnError,
)
from sayso.base.fastrecords import copy_with
from sayso.base.ids import identify
from sayso.base.limits import Limits
from sayso.base.metrics import Metrics
from sayso.base.records import Entry, EntryStatus, Interrupt, Message, Principal, TurnRecord
from sayso.base.scrubbing import BUILT_IN, Scrubbing, as_it_is
from sayso.base.service_tokens import has_tool_limit
from sayso.protocol.interrupts import to_wire
from sayso.protocol.usage import Usage
from sayso.streams.stream import RunStream
from sayso.turns.authorization import Authorization
from sayso.turns.calls.question_results import QuestionResults
from sayso.turns.calls.results import WITHDRAWN, result_event, tool_message
from sayso.turns.denials import Heard
from sayso.turns.input import TurnInput
from sayso.turns.journal import places
from sayso.turns.journal.journal import Journal, copied_from, fingerprint
from sayso.turns.journal.kept import Kept
from sayso.turns.journal.notes import Notes
from sayso.turns.journal.state import TurnState
from sayso.turns.output.transcript import Transcript
from sayso.turns.people import People
from sayso.turns.replay.branch import Abandoned, Branch, Branches, Pause
from sayso.turns.replay.commits import ApprovalWrites, Commits, KeptApart, LeasedStore, Pending
from sayso.turns.replay.effects import Effects, current_effect
from sayso.turns.replay.mistakes import Making, Unawaited, Unmade, author_line, differs, short
from sayso.turns.replay.opened import OpenTurn
from sayso.turns.replay.quiescence import MainTask
from sayso.turns.replay.reevaluation import Reevaluation, Waited
from sayso.turns.replay.replay_order import ReplayOrder
from sayso.turns.replay.running_agent import RunningAgent
from sayso.turns.replay.stream import OwnedStream
from sayso.turns.replay.wakeup import Wakeup
from sayso.turns.services import Responses, Services

if TYPE_CHECKING:
    from sayso.base.tracing import Tracing

_STOPS = {"call": "tool", "client_tool": "tool", "delegate": "agent"}
"""What breakpoints call what is recorded as these kinds."""

MAX_YIELDS = 100
"""Refused calls after which a branch is parked instead of being told again."""


@dataclass(slots=True, eq=False)
class Place:
    """Where a call stands: its branch, its place in the journal, and what is recorded there."""

    execution: "Execution"
    branch: Branch
    kind: str
    name: str
    key: str
    fingerprint: str
    entry: Entry | None
    waits_for_other: bool = False
    """The turn waited here before something else, and the state was changed meanwhile."""
    moved: bool = False
    """The turn waited here before the same with other arguments, as it was then."""
    call: str | None = None
    """The id of the tool call here, if it is no other than the place's own."""

    def id(self, prefix: str, key: str | None = None) -> str:
        """An id of this place, the same in every execution of the turn; `key` has words behind."""
        return self.execution.identify(prefix, self.key if key is None else key)

    def record(self, status: EntryStatus, data: bytes = b"{}") -> Entry:
        """Write what is recorded here; it goes out with the next commit."""
        return self.execution.record(self, status, data)

    def emit(self, event: dict[str, Any]) -> None:
        """Send an event of live code, after the start of what that code is in (rule 7)."""
        self.execution.announce_phases(self.branch)
        self.execution.stream.emit(event)


class Execution:
    """The state of a turn while its function runs."""

    def __init__(
        self,
        services: Services,
        opened: OpenTurn,
        leased: LeasedStore,
        stream: RunStream,
        effects: Effects,
        usage: Usage,
    ) -> None:
        self.turn: TurnRecord = opened.record
        self.input: TurnInput = opened.input
        self.resume_inputs: Sequence[TurnInput | None] = opened.resume_inputs
        self.pauses: Sequence[int] = opened.pauses
        self.journal: Journal = opened.journal
        journal = self.journal
        self.marks: Sequence[Entry] = opened.marks
        self.interrupts: Mapping[str, Interrupt] = opened.interrupts
        self.state: TurnState = opened.state
        self.transcript: Transcript = opened.transcript
        self.kept: Kept = opened.kept
        self.sealed: bool = services.store.codec is not None
        owner = opened.record.principal.subject
        self.kept_apart: KeptApart = KeptApart(opened.secrets, owner, sealed=self.sealed)
        self.looks: bool = opened.looks
        self.clock: Clock = services.clock
        self.limits: Limits = services.limits
        self.agents: Agents = services.agents
        self.people: People = services.people
        self.metrics: Metrics = services.metrics
        self.services_may_decide: bool = services.services_may_decide
        self.authorization: Authorization = services.authorization
        roles = opened.record.principal.roles
        limited = bool(roles) and has_tool_limit(roles)
        self.asks_about_calls: bool = services.authorization.asks or limited
        self.responses: Responses = services.responses
        self.tracing: Tracing | None = services.tracing
        self.scrub: Scrubbing = services.scrub or as_it_is
        self.scrub_result: Scrubbing = services.scrub or BUILT_IN
        self.leased = leased
        self.usage = usage
        self.copied: str | None = copied_from(opened.marks)
        """The first of the threads that this one was copied from, as far as it is known."""
        self._heard: Heard | None = None
        self._looking = asyncio.Lock()
        self._passed: dict[str, Entry] = {}
        """For places of which nothing is recorded yet the breakpoints that were passed there."""
        self.reevaluation: Reevaluation | None = None
        """What of the code is evaluated again; None for a turn without breakpoints."""
        if any(opened.breakpoints) or journal.holds("breakpoint"):
            self.reevaluation = Reevaluation(journal, self.interrupts, self.state)
        self.has_breakpoints: bool = self.reevaluation is not None
        self.wakeup: Wakeup = Wakeup()
        self.branches: Branches = Branches(self.wakeup.notify)
        self._unmade = Unmade(journal, self.branches)
        self.stream: OwnedStream = OwnedStream(stream, self.branches)
        self.running: RunningAgent = RunningAgent(opened, self.stream, services.tools)
        self.approval_writes: ApprovalWrites = ApprovalWrites()
        self.results: QuestionResults = QuestionResults(self.interrupts)
        self.effects = effects
        effects.landed = self.wakeup.notify
        self.replay_order: ReplayOrder = ReplayOrder(
            self.turn.key, journal.ends(), again=bool(journal.entries())
        )
        self.replay_order.release(journal.ends_apart())
        self._notes: Notes | None = None
        self.unfilled: dict[bytes, str] = {}
        """What cards say of approvers, by their terms, of whom there are too few."""
        self.asked: dict[str, Interrupt] = {}
        self.bodies: dict[str, bytes] = {}
        """What is asked, as clients get it."""
        self.broken: TurnError | None = None
        self.stopped: str | None = None
        self.stopped_by: str | None = None
        self.stopped_through: str | None = None
        """Who has stopped it and by which channel, where a request did."""
        self.aborted: StoreError | Problem | None = None
        self.closed: bool = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.writing: dict[str, Callable[[], Message]] = {}
        """For each message that is open, what closes it and gives its stored form."""
        self._asked_bytes = 0
        self._commits = Commits()
        self.calls: int = 0
        self.unawaited: Unawaited = Unawaited()
        self._refused = 0
        self._main = MainTask(self.branches, self.wakeup)

    @property
    def ids(self) -> dict[str, str]:
        """The ids that a span of something in it has."""
        return {"agent": self.running.name, "thread": self.input.thread_id, "turn": self.turn.key}

    # Places

    async def enter(
        self, kind: str, name: str, arguments: Any = None, *, beside_text: bool = False
    ) -> Place:
        """Take the next place of the running branch, if the turn may go on there.

        `beside_text`: what is recorded there never pauses, so a message may be open meanwhile.
        """
        if self.branches.root.destroyed:
            await Abandoned()
        self.calls += 1
        requested = fingerprint(kind, name, arguments)
        if current_effect() is not None and self.inside_effect():
            raise NestedCall(
                f"{requested!r} inside a recorded step or tool: ask, call and record from the "
                "agent function itself, and keep steps free of them"
            )
        branch = self.branches.current_or_new(requested)
        if self.may_not_continue(branch):
            await self.refuse(branch)
        if branch.open_message is not None and not beside_text:
            raise OpenMessage(
                f"{requested!r} while a text message is open: leave the "
                "`async with turn.message()` block first"
            )
        key = branch.place()
        entry = self.find(key, requested, arguments)
        place = Place(self, branch, kind, name, key, requested, entry)
        if entry is None and self.reevaluation is not None:
            await self._comes(place, self.reevaluation, kind, name, arguments)
        if entry is None and self.looks and self.turn.status == "finished":
            self._fails(ReplayMismatch(key, "nothing", requested))
        return place

    async def go_on(self, what: str) -> None:
        """Return if the running code may go on with what takes no place in the journal.

        It is not looked for on replay, so it does not name the branch of a task either.
        """
        if self.branches.root.destroyed:
            await Abandoned()
        self.calls += 1
        if current_effect() is not None and self.inside_effect():
            raise NestedCall(
                f"{what} inside a recorded step or tool: write it from the agent function itself"
            )
        if self.halted:
            await self.refuse(self.branches.current_or_new(what))
        self.only_looks()

    async def _comes(
        self, place: Place, reevaluation: Reevaluation, kind: str, name: str, arguments: Any
    ) -> None:
        """Hold what would begin where the turn waited against what was shown there.

        Another thing fails the turn, unless somebody has changed the state meanwhile.
        """
        before, requested = self.journal.at(places.before(place.key)), place.fingerprint
        if before is None:
            return
        waited = reevaluation.waited(place.key)
        if waited is None:  # recorded by an older server
            if before.fingerprint != f"breakpoint before {_STOPS.get(kind, kind)} {name}":
                self._fails(ReplayMismatch(before.place, before.fingerprint, requested))
            return
        same = waited.stands_for(kind, name)
        if same:
            place.call = waited.call
        if same and (requested == waited.requested or not waited.goes_on):
            return
        if not (waited.changed and waited.reevaluated):
            shown = jsonvalue.encode({"id": waited.call})
            entry = copy_with(before, kind=waited.kind, fingerprint=waited.requested, data=shown)
            self._fails(
                differs(before.place, entry, requested, arguments, self.transcript.messages)
            )
        place.moved, place.waits_for_other = same, not same
        if not same:
            await self._leaves(place, waited)

    async def _leaves(self, place: Place, waited: Waited) -> None:
        """Go on past a breakpoint to something else than what waited there."""
        self.journal.find(waited.entry.place, waited.entry.fingerprint)
        await self.past_before(place.branch, waited.pause)
        self.state.resume(waited.pause)
        self.check_state(place.key)
        self.passes(place, waited)
        if waited.call is None:
            return
        place.call = self.identify("call", places.instead(place.key, waited.pause))
        message_id = self.identify("msg", places.withdrawn(place.key, waited.pause))
        if all(message.id != message_id for message in self.transcript.messages):
            self.announce_phases(place.branch)
            self.add_message(tool_message(message_id, waited.call, WITHDRAWN), settled=False)
            await self.commit()
            self.transcript.unsettled.discard(message_id)
            self.stream.emit(result_event(message_id, waited.call, WITHDRAWN))

    def passes(self, place: Place, waited: Waited) -> None:
        """Go on past a breakpoint; that is recorded with what begins there, and not before."""
        if waited.reevaluated:
            self.state.catch_up(place.branch.path, waited.pause)
        if place.entry is None:
            data = jsonvalue.encode({**waited.data, "anew": waited.reevaluated})
            self._passed[place.key] = copy_with(waited.entry, status="done", data=data)

    def _fails(self, mismatch: ReplayMismatch) -> NoReturn:
        """Fail the turn at the running line of the author's."""
        mismatch.where = author_line()
        self.fail(mismatch)
        raise mismatch

    def find(self, key: str, requested: str, arguments: Any = None) -> Entry | None:
        """The entry at a place; one that the code no longer asks for fails the turn."""
        entry = self.journal.at(key)
        if entry is None or entry.fingerprint == requested:
            return self.journal.find(key, requested)
        unmade = self._unmade.reason(key)
        mismatch = differs(key, entry, requested, arguments, self.transcript.messages, unmade)
        return self._fails(mismatch)

    def making(self, kind: str, name: str = "") -> Making:
        """A block around what is made to be asked for, which notes that it cannot be."""
        return Making(self._unmade, kind, name)

    def unfit(self, place: Place, requested: str, error: BaseException | str) -> NoReturn:
        """Fail the turn over what is recorded at a place and this code cannot read."""
        because = error if isinstance(error, str) else short(error)
        self._fails(ReplayMismatch(place.key, place.fingerprint, requested, because))

    async def begin_effect(self) -> None:
        """Return once an effect may begin: the past has come out, and the turn goes on.

        Not while the code has left out what the journal holds, because it could not ask for it.
        """
        if not self.branches.enclosing_branch().apart:
            await self.replay_order.wait_for_past()
        self.only_looks()
        may_begin = await self.effects.may_begin()
        if self._left_out() or isinstance(self.broken, ReplayMismatch) or not may_begin:
            raise self.pause()

    async def past_before(self, branch: Branch, pause: int) -> None:
        """Wait until all that had ended before a pause has come out; not in the code of a key."""
        if not branch.apart:
            await self.replay_order.wait_for_all_before(self.pauses[pause])

    def inside_effect(self) -> bool:
        """True if the running code is an effect of this turn."""
        scope = current_effect()
        return scope is not None and scope.execution is self and not scope.opens

    async def refuse(self, branch: Branch) -> NoReturn:
        """Unwind a branch that may not go on; park it when it does not take the hint."""
        self._refused += 1
        if self._refused >= MAX_YIELDS:
            for outer in branch.enclosing():
                outer.parked = True
            self.wakeup.notify()
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
        """The id of the effect at this place for the outside world, in every execution."""
        return identify(self.journal.key_origins.get(place, self.turn.key), "key", place)

    def message_id(self, place: str) -> str:
        """The id of the text sent at a place; another one where a retry sends it anew."""
        attempt = 0
        while (
            message_id := self.identify("msg", places.attempt(place, attempt))
        ) in self.transcript.said:
            attempt += 1
        return message_id

    def announce_phases(self, branch: Branch) -> None:
        """Announce the phases around live code, which a boundary may have closed (rule 7)."""
        for phase in branch.phases:
            phase.announce()

    # Records

    def record(self, place: Place, status: EntryStatus, data: bytes = b"{}") -> Entry:
        """Write an entry that goes out with the next commit."""
        if self._passed and (passed := self._passed.pop(place.key, None)) is not None:
            self.journal.write(passed)
        return self.journal.write(
            Entry(
                place=place.key,
                kind=place.kind,
                name=place.name,
                fingerprint=place.fingerprint,
                status=status,
                data=data,
            )
        )

    def add_message(self, message: Message, *, settled: bool = True) -> None:
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
            self.fail(error)
            raise error

    def take_pending(self, *, asked: bool = False) -> Pending:
        """Take what the commit of now carries; questions only if it suspends."""
        return self.journal.take(asked=asked), self.transcript.take(), self.kept_apart.take()

    async def heard(self) -> Heard:
        """Denials of approvers in the thread and its copies when somebody first looked."""
        async with self._looking:
            if self._heard is None:
                owner = self.principal.subject
                self._heard = await self.leased.heard(owner, self.marks)
                self.copied = self._heard.first
            return self._heard

    async def commit(self) -> None:
        """Make all that is recorded so far durable; a store that fails ends the execution."""
        self.only_looks()
        await self._commits.durable(self)
        if self.aborted is not None:
            raise self.pause()

    async def before_repeatable(self) -> None:
        """Make recorded values durable before an effect that has no record of its beginning.

        It may run again after a crash, and then with the same ids and the same hour.
        """
        if self.journal.rides("value"):
            await self.commit()

    def may_not_continue(self, branch: Branch) -> bool:
        """True if this branch may do nothing more in this execution."""
        return bool(self.closed or self.broken or self.stopped or branch.blocked)

    @property
    def halted(self) -> bool:
        """True if the running code may do nothing more in this execution."""
        return bool(self.closed or self.broken or self.stopped or self.branches.blocked())

    def ask(self, branch: Branch, interrupt: Interrupt) -> None:
        """Make the turn wait for a person; the question leaves with the suspension."""
        if interrupt.id in self.asked:
            branch.block()
            return
        body = self.bodies[interrupt.id] = to_wire(interrupt)
        self._asked_bytes += len(body)
        if len(self.asked) >= self.limits.open_interrupts:
            allowed = f"{self.limits.open_interrupts} questions"
        elif self._asked_bytes > self.limits.history:
            allowed = f"{self.limits.history} bytes of questions"
        else:
            branch.block()
            self.asked[interrupt.id] = interrupt
            self.wakeup.notify()
            return
        self.fail(TooManyInterrupts(f"more than {allowed} are open in this turn"))

    @property
    def state_here(self) -> Any:
        """The state as the running code reads it."""
        if self.reevaluation is None or not self.reevaluation.any or self.inside_effect():
            return self.state.value
        return self.reevaluation.read(self.branches.current())

    def check_state(self, place: str) -> None:
        """Fail the turn when replay has not built the state that was recorded at a pause."""
        if self.state.difference is not None:
            mismatch = ReplayMismatch(place, "another state", self.state.difference)
            self.fail(mismatch)
            raise mismatch

    def check_all_replayed(self, path: str = "", error: BaseException | None = None) -> bool:
        """True if the code below a path, at its end, came for all it had; if not, it has changed.

        That fails the turn. `error` is what the code ended with.
        """
        because = "" if error is None else f"it ended with {type(error).__name__} before"
        if self._left_out(path):
            return False
        forgotten = self.journal.forgotten(path)
        if forgotten is not None:
            place, recorded = forgotten.place, forgotten.fingerprint
            self.fail(ReplayMismatch(place, recorded, "nothing any more", because))
        return forgotten is None

    def only_looks(self) -> None:
        """Raise `Pause` in a look, for the running branch and those that wait for it."""
        if self.looks:
            self.branches.enclosing_branch().block()
            self.wakeup.notify()
            raise self.pause()

    def _left_out(self, path: str = "") -> bool:
        """True if the code went past something recorded that it could not ask for; fails it."""
        left = self._unmade.left_out(path)
        if left is not None:
            (entry, because), requested = left, "nothing of the kind"
            self.fail(ReplayMismatch(entry.place, entry.fingerprint, requested, because))
        return left is not None

    # Endings

    def fail(self, error: TurnError) -> None:
        """Fail the turn; the first reason stands."""
        self.broken = self.broken or error
        self.wakeup.notify()

    def stop(self, reason: str) -> None:
        """End the turn as cancelled: a person said so.

        What may run again, or only streams, is cut off; other effects are finished and recorded.
        """
        self.stopped = self.stopped or reason
        self.replay_order.give_up_order()
        self.effects.cut_off()
        self.wakeup.notify()

    def abort(self, error: StoreError | Problem) -> None:
        """Give the turn up without writing anything more; it continues from its last record."""
        self.aborted = self.aborted or error
        self.closed = True
        self.wakeup.notify()

    async def run(self, function: Callable[[], Awaitable[Any]]) -> None:
        """Run the function until the turn has ended or waits; nothing is written afterwards.

        Afterwards `aborted`, `broken`, `stopped`, `asked`, `error` and `result` say how it ended,
        in this order. Call `unwind` once the ending is stored.
        """
        try:
            main = await self._main.run(self, function)
        finally:
            self.closed = True
        if main is not None:
            self._conclude(main)

    def _conclude(self, main: asyncio.Task[Any]) -> None:
        if main.cancelled():
            self.error = RuntimeError("the agent function was cancelled")
        elif (error := main.exception()) is not None:
            self.error = error
        else:
            self.result = main.result()
        if not self.asked and not self.stopped:
            self.check_all_replayed(error=self.error)
            if self.error is None and (unawaited := self.unawaited.error()) is not None:
                self.fail(unawaited)

    async def unwind(self, seconds: float) -> int:
        """Cancel what author code still runs; returns how many tasks are left after that time."""
        self.closed = True
        self.unawaited.forget()
        return await self._main.unwind(seconds)

    @property
    def notes(self) -> Notes:
        """Those of the turn, read from the journal once its code asks for them."""
        if self._notes is None:
            self._notes = Notes(self.journal, self.limits.history)
        return self._notes

    @property
    def principal(self) -> Principal:
        """Who began the turn."""
        return self.turn.principal
