"""One claimed run, from its lease to its terminal event.

Runs the turn, stores how it ended, and only then says so. A message that waited for the turn's end
begins the next turn in the same run. The run does not depend on anybody reading it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sayso.base import ids, jsonvalue
from sayso.base.codes import Code
from sayso.base.errors import JournalMissing, StoreError, TurnError
from sayso.base.fastrecords import copy_with
from sayso.base.records import Entry, Lease, TurnRecord
from sayso.engine.claims import Claimed
from sayso.engine.instrumented import log_questions
from sayso.engine.stop import StopRequest
from sayso.gate.history import paired
from sayso.protocol.usage import Usage
from sayso.streams.ending import STOPPED, Ending
from sayso.streams.stream import RunStream
from sayso.turns.input import TurnInput, text_of_messages
from sayso.turns.journal.journal import trace_mark, without_last_failures
from sayso.turns.output.usage import spent
from sayso.turns.replay.commits import LeasedStore
from sayso.turns.replay.conclusion import Conclusion, conclude
from sayso.turns.replay.effects import Effects, Share
from sayso.turns.replay.execution import Execution
from sayso.turns.replay.opened import OpenTurn
from sayso.turns.services import Services
from sayso.turns.turn import Turn as AuthorTurn

_log = logging.getLogger("sayso.engine.runner")

StopPaused = Callable[[str, str, StopRequest], Awaitable[tuple[dict[str, Any], ...] | None]]
"""Ends a turn of that scope and thread which waits; None if it no longer waits."""

LOOK_TIMEOUT_S = 5.0
"""Seconds that author code gets to come to what it waits for, where it is only looked at."""
GRACE_S = 0.1
"""Seconds that readers wait for author code to unwind."""
UNWIND_TIMEOUT_S = 5.0
"""Seconds that author code gets to unwind in all, once its turn is closed."""


class Runner:
    """The running half of a run; `stream` is what its readers see."""

    def __init__(
        self,
        claimed: Claimed,
        stream: RunStream,
        services: Services,
        pool: Share,
        stop_paused: StopPaused,
        *,
        looks: bool = False,
    ) -> None:
        self.stream = stream
        self.ending: Ending | None = None
        """The ending of the run, once it has ended."""
        self.over: asyncio.Event = asyncio.Event()
        """Set once every reader has been given its terminal event."""
        self.attended: asyncio.Event = asyncio.Event()
        """Unset while effects wait for a reader to come back."""
        self.attended.set()
        self.lease: Lease = claimed.lease
        self._claimed = claimed
        self._services = services
        self._leased = LeasedStore(services.store, claimed.lease, claimed.alive)
        self._pool, self._stop_paused, self._looks = pool, stop_paused, looks
        self._stopper: StopRequest | None = None
        self._history = [m for m in claimed.messages if m.visibility != "waiting"]
        self._waiting = [m for m in claimed.messages if m.visibility == "waiting"]
        entries = claimed.entries
        self._usage = spent(claimed.run.key, entries) if entries else Usage(claimed.run.key)
        self._executed: list[Execution] = []
        self._kept = claimed.kept
        self._execution = self._prepare(
            claimed.turn,
            without_last_failures(entries) if claimed.retry else entries,
            claimed.begun,
        )

    def shown(self) -> tuple[list[bytes], bytes]:
        """The messages and the state for a reader who comes now."""
        return self.bodies(), jsonvalue.encode(self.state())

    def bodies(self) -> list[bytes]:
        """The messages that are shown now."""
        transcript = self._execution.transcript
        return [
            message.body
            for message in (*paired(transcript.messages), *self._waiting)
            if message.visibility != "hidden" and message.id not in transcript.unsettled
        ]

    def state(self) -> Any:
        """The state that is shown now."""
        return self._execution.state.visible

    async def run(self) -> None:
        """Run to the end; returns once every reader has been given its terminal event."""
        ending = Ending(
            type="error",
            code=Code.INTERNAL_ERROR.value,
            message="The server failed; see its log. The turn continues from its last record.",
            details={"code": Code.INTERNAL_ERROR.value},
            continues_elsewhere=True,
        )
        try:
            ending = self.ending = await self._to_the_end()
            if not ending.continues_elsewhere and self._usage.sums:
                ending = replace(ending, usage=self._usage.entries())
        finally:
            self.stream.finish(ending)
            self._execution.closed = True
            self.over.set()

    async def look(self) -> TurnError | None:
        """Replay the journal up to where the code waits or ended; returns why it does not fit.

        The questions that it comes to leave their types. Nothing is written and no effect begins;
        code that does not come to rest in `LOOK_TIMEOUT_S` seconds is left where it is.
        """
        execution = self._execution
        try:
            async with asyncio.timeout(LOOK_TIMEOUT_S):
                if execution.broken is None:
                    await execution.run(
                        partial(self._claimed.agent.function, AuthorTurn(execution))
                    )
        except TimeoutError:
            _log.warning("a look at turn %s did not come to rest", execution.turn.key)
        finally:
            await execution.unwind(GRACE_S)
        return execution.broken

    def stop(self, stopper: StopRequest) -> None:
        """End the turn at its next record, as cancelled; the first request to stop counts."""
        self._stopper = self._stopper or stopper
        self._execution.stop(stopper.why or STOPPED)

    async def abandon(self) -> None:
        """After `run`: give author code that has not ended the rest of its time, then leave it."""
        for execution in self._executed:
            left = await execution.unwind(UNWIND_TIMEOUT_S)
            if left:
                _log.warning(
                    "turn %s of agent %r left %d task(s) that did not end within %g s of being "
                    "cancelled; they can record nothing more",
                    execution.turn.key,
                    execution.turn.agent,
                    left,
                    UNWIND_TIMEOUT_S,
                )

    async def cancel(self) -> None:
        """Cancel author code whose run was cut by a shutdown; another process continues it."""
        for execution in self._executed:
            await execution.unwind(GRACE_S)

    async def _to_the_end(self) -> Ending:
        answered = self._claimed.answered
        while True:
            execution = self._execution
            if execution.tracing is not None and (here := execution.tracing.here()) is not None:
                execution.journal.write(trace_mark(self._claimed.run.key, here))
            if execution.broken is None:
                await execution.run(partial(self._claimed.agent.function, AuthorTurn(execution)))
            await self._name_stopper(execution)
            concluded = conclude(execution, self._claimed.run, answered)
            following, begun = self._following(execution, concluded)
            concluded = await self._store(concluded, following)
            if self._stopper is not None and concluded.ending.suspends:
                concluded = await self._paused_too_late(concluded, self._stopper)
            # Code that unwinds in order has done so before readers are told; no other delays them.
            await execution.unwind(GRACE_S)
            self._announce(execution, concluded)
            if following is None or concluded.commit is None:
                return concluded.ending
            self._execution = self._prepare(following, (), begun)
            if self._stopper is not None:
                self.stop(self._stopper)
            answered = ()

    async def _name_stopper(self, execution: Execution) -> None:
        """Have a turn know who stopped it; where another process was asked, its store does."""
        stopper = self._stopper
        if stopper is None and execution.stopped == STOPPED:
            stopper = StopRequest(None)
        if stopper is None or execution.aborted is not None:
            return
        if stopper.by is None and stopper.why is None:
            lease = self._claimed.lease
            try:
                view = await self._services.store.load(lease.scope, lease.thread_id)
            except StoreError as error:
                execution.abort(error)
                return
            stopper = stopper if view is None else stopper.known_to(view.thread)
        execution.stopped_by, execution.stopped_through = stopper.by, stopper.channel

    async def _paused_too_late(self, concluded: Conclusion, stopper: StopRequest) -> Conclusion:
        """End a turn that was stopped while its questions went to the store."""
        lease = self._claimed.lease
        events = await self._stop_paused(lease.scope, lease.thread_id, stopper)
        if events is None:
            return concluded
        return replace(concluded, ending=stopper.ending, events=events)

    def _following(
        self, execution: Execution, concluded: Conclusion
    ) -> tuple[TurnRecord, TurnInput] | tuple[None, None]:
        """The turn that a waiting message begins once this one has succeeded, and its input."""
        ending = concluded.ending
        if not self._waiting or ending.type != "success" or ending.suspends:
            return None, None
        before = execution.turn
        history = [*execution.transcript.messages, *self._waiting]
        # Its message came with an answer, so that request's tools and context are its own.
        inputs = (execution.input, *execution.resume_inputs)
        newest = next(turn_input for turn_input in reversed(inputs) if turn_input is not None)
        state = execution.state.visible
        begun = replace(newest, text=text_of_messages(self._waiting), state=state)
        following = TurnRecord(
            key=ids.new("turn"),
            agent=before.agent,
            version=before.version,
            status="running",
            request=begun.to_json(jsonvalue.encode(state), len(history)),
            principal=before.principal,
            started_at=self._services.clock.now(),
        )
        return following, begun

    async def _store(self, concluded: Conclusion, following: TurnRecord | None) -> Conclusion:
        """Make the ending durable; a store that fails changes the ending."""
        commit = concluded.commit
        if commit is None:
            return concluded
        over = commit.turn is not None and commit.turn.status != "suspended"
        if over and self._waiting:
            commit = copy_with(commit, dequeue=True)
        if following is not None:
            before = self._execution.turn.key
            commit = copy_with(commit, next_turn=following, run=None, release=False, forget=before)
        try:
            if await self._leased.commit(commit):
                self._stopper = self._stopper or StopRequest(None)
        except StoreError as error:
            self._execution.abort(error)
            return conclude(self._execution, self._claimed.run, ())
        log_questions(self._claimed.lease.thread_id, commit.interrupts)
        self._kept = commit.kept or self._kept
        if over:
            self._history.extend(self._waiting)
            self._waiting = []
        return concluded

    def _announce(self, execution: Execution, concluded: Conclusion) -> None:
        """Send what is durable now: results, then the boundary of an interrupt."""
        self.stream.close_open(concluded.ending)
        execution.transcript.unsettled.clear()
        for event in concluded.events:
            self.stream.emit(event)
        too_large = concluded.ending.code == Code.THREAD_TOO_LARGE.value
        if concluded.ending.type == "interrupt" or too_large:
            # Readers may have seen text for which the thread has no room: a snapshot removes it.
            bodies, state = self.shown()
            self.stream.snapshot(messages=bodies, state=state, again=not too_large)

    def _prepare(
        self, turn: TurnRecord, entries: Sequence[Entry], begun: TurnInput | None
    ) -> Execution:
        claimed = self._claimed
        opened = OpenTurn.read(
            turn,
            entries,
            thread_id=claimed.lease.thread_id,
            history=self._history,
            waiting=self._waiting,
            interrupts=[*claimed.interrupts, *claimed.settled],
            options=claimed.agent.options,
            limits=self._services.limits,
            begun=begun,
            looks=self._looks,
            kept=self._kept,
            secrets={secret.id: secret.body for secret in claimed.secrets},
        )
        effects = Effects(self._pool, self._leased.check, self.attended)
        execution = Execution(
            self._services, opened, self._leased, self.stream, effects, self._usage
        )
        if (lost := opened.lost()) is not None:
            execution.fail(JournalMissing(lost))
        self._executed.append(execution)
        return execution
