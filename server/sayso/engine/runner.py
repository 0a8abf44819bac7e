"""One claimed run, from its lease to its terminal event.

Runs the turn, stores how it ended, and only then says so. A message that waited for the turn's end
begins the next turn in the same run. The run does not depend on anybody reading it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from secrets import token_hex
from typing import Any

from sayso import jsonvalue
from sayso.agents.registry import Agents
from sayso.agents.tools import Tool
from sayso.agents.turninput import request_of, text_of, turn_input
from sayso.breakpoints import in_force
from sayso.clock import Clock
from sayso.engine.claims import Claimed
from sayso.engine.stopping import Stopper
from sayso.errors import Code, JournalMissing, StoreError
from sayso.gate.history import paired
from sayso.limits import Limits
from sayso.making import changed
from sayso.protocol.ending import STOPPED, Ending
from sayso.records import Entry, Turn
from sayso.stores.base import Store
from sayso.streams.stream import RunStream
from sayso.turns.effects import Effects
from sayso.turns.endings import Conclusion, conclude
from sayso.turns.execution import Execution
from sayso.turns.journal import Journal, without_last_failures
from sayso.turns.leased import Leased
from sayso.turns.marks import is_mark, key_origins, origins, pauses
from sayso.turns.spending import spent
from sayso.turns.transcript import Transcript
from sayso.turns.turn import Turn as AuthorTurn
from sayso.turns.turnstate import TurnState

__all__ = ["Runner", "StopPaused"]

_log = logging.getLogger("sayso.engine.runner")

StopPaused = Callable[[str, str, Stopper], Awaitable[tuple[dict[str, Any], ...] | None]]
"""Ends a turn of that scope and thread which waits; None if it does so no more."""

GRACE = 0.1
"""Seconds that readers wait for author code to unwind."""
UNWINDING = 5.0
"""Seconds that author code gets to unwind in all, once its turn is closed."""


class Runner:
    """The running half of a run; `stream` is what its readers see."""

    def __init__(
        self,
        claimed: Claimed,
        stream: RunStream,
        *,
        store: Store,
        clock: Clock,
        pool: ThreadPoolExecutor,
        limits: Limits,
        agents: Agents,
        tools: Mapping[str, Tool],
        stop_paused: StopPaused,
    ) -> None:
        self.stream = stream
        self.ending: Ending | None = None
        """How the run ended, once it has."""
        self.over = asyncio.Event()
        """Set once every reader has been given its terminal event."""
        self.attended = asyncio.Event()
        """Unset while effects wait for a reader to come back."""
        self.attended.set()
        self.lease = claimed.lease
        self._claimed = claimed
        self._leased = Leased(store, claimed.lease, claimed.alive)
        self._clock = clock
        self._pool = pool
        self._limits = limits
        self._agents, self._tools = agents, tools
        self._stop_paused = stop_paused
        self._stopper: Stopper | None = None
        self._history = [m for m in claimed.messages if m.visibility != "waiting"]
        self._waiting = [m for m in claimed.messages if m.visibility == "waiting"]
        entries = claimed.entries
        self._usage = spent(claimed.run.key, entries)
        self._executed: list[Execution] = []
        self._execution = self._prepare(
            claimed.turn, without_last_failures(entries) if claimed.retry else entries
        )

    def shown(self) -> tuple[list[bytes], bytes]:
        """The messages and the state that a reader who comes now is given."""
        return self.bodies(), self.state()

    def bodies(self) -> list[bytes]:
        """The messages that are shown now."""
        transcript = self._execution.transcript
        return [
            message.body
            for message in (*paired(transcript.messages), *self._waiting)
            if message.visibility != "hidden" and message.id not in transcript.unsettled
        ]

    def state(self) -> bytes:
        """The state that is shown now."""
        return jsonvalue.encode(self._execution.state.shown)

    async def run(self) -> None:
        """Run to the end; returns once every reader has been given its terminal event."""
        ending = Ending(
            type="error",
            code=Code.INTERNAL_ERROR.value,
            message="The server failed; its log says where. The turn goes on from its last record.",
            details={"code": Code.INTERNAL_ERROR.value},
            goes_on=True,
        )
        try:
            ending = self.ending = await self._to_the_end()
            if not ending.goes_on and (usage := self._usage.entries()):
                ending = replace(ending, usage=usage)
        finally:
            self.stream.finish(ending)
            self._execution.closed = True
            self.over.set()

    def stop(self, stopper: Stopper) -> None:
        """End the turn at its next record, as cancelled; the first who says so counts."""
        self._stopper = self._stopper or stopper
        self._execution.stop(stopper.why or STOPPED)

    async def leave(self) -> None:
        """After `run`: give author code that has not ended the rest of its time, then leave it."""
        for execution in self._executed:
            left = await execution.unwind(UNWINDING)
            if left:
                _log.warning(
                    "turn %s of agent %r left %d task(s) that did not end within %g s of being "
                    "cancelled; they can record nothing more",
                    execution.turn.key,
                    execution.turn.agent,
                    left,
                    UNWINDING,
                )

    async def drop(self) -> None:
        """Cancel author code whose run was cut by a shutdown; another process goes on with it."""
        for execution in self._executed:
            await execution.unwind(GRACE)

    async def _to_the_end(self) -> Ending:
        settled = self._claimed.settled
        while True:
            execution = self._execution
            if execution.broken is None:
                await execution.run(partial(self._claimed.agent.function, AuthorTurn(execution)))
            concluded = conclude(execution, self._claimed.run, settled)
            following = self._following(execution, concluded)
            concluded = await self._store(concluded, following)
            if self._stopper is not None and concluded.ending.waits:
                concluded = await self._paused_too_late(concluded, self._stopper)
            # Code that unwinds in order has done so before anybody is told; no other holds them up.
            await execution.unwind(GRACE)
            self._announce(execution, concluded)
            if following is None or concluded.commit is None:
                return concluded.ending
            self._execution = self._prepare(following, ())
            if self._stopper is not None:
                self.stop(self._stopper)
            settled = ()

    async def _paused_too_late(self, concluded: Conclusion, stopper: Stopper) -> Conclusion:
        """A turn that was stopped while its questions went to the store is not left to wait."""
        lease = self._claimed.lease
        events = await self._stop_paused(lease.scope, lease.thread_id, stopper)
        if events is None:
            return concluded
        return replace(concluded, ending=stopper.ending, events=events)

    def _following(self, execution: Execution, concluded: Conclusion) -> Turn | None:
        """The turn that a waiting message begins once this one has succeeded."""
        ending = concluded.ending
        if not self._waiting or ending.type != "success" or ending.waits:
            return None
        before = execution.turn
        history = [*execution.transcript.messages, *self._waiting]
        # Its message came with an answer, so that request's tools and context are its own.
        asked = [one for one in (execution.given, *execution.resumed_with) if one is not None]
        given = replace(asked[-1], text=text_of(self._waiting), state=execution.state.shown)
        return Turn(
            key=f"turn_{token_hex(16)}",
            agent=before.agent,
            version=before.version,
            status="running",
            request=request_of(given, len(history)),
            principal=before.principal,
            started_at=self._clock.now(),
        )

    async def _store(self, concluded: Conclusion, following: Turn | None) -> Conclusion:
        """Make the ending durable; a store that fails makes it another ending."""
        commit = concluded.commit
        if commit is None:
            return concluded
        over = commit.turn is not None and commit.turn.status != "suspended"
        if over and self._waiting:
            commit = changed(commit, dequeue=True)
        if following is not None:
            before = self._execution.turn.key
            commit = changed(commit, next_turn=following, run=None, release=False, forget=before)
        try:
            if await self._leased.commit(commit):
                self._stopper = self._stopper or Stopper(None)
        except StoreError as error:
            self._execution.abort(error)
            return conclude(self._execution, self._claimed.run, ())
        if over:
            self._history.extend(self._waiting)
            self._waiting = []
        return concluded

    def _announce(self, execution: Execution, concluded: Conclusion) -> None:
        """Say what is durable now: results, then the boundary of an interrupt."""
        self.stream.close_open(concluded.ending)
        execution.transcript.unsettled.clear()
        for event in concluded.events:
            self.stream.emit(event)
        too_large = concluded.ending.code == Code.THREAD_TOO_LARGE.value
        if concluded.ending.type == "interrupt" or too_large:
            # Readers may have seen text for which the thread has no room: it goes, here and there.
            bodies, state = self.shown()
            self.stream.snapshot(messages=bodies, state=state)

    def _prepare(self, turn: Turn, entries: Sequence[Entry]) -> Execution:
        claimed, options = self._claimed, self._claimed.agent.options
        waited = [jsonvalue.decode(entry.data) for entry in pauses(entries)]
        begun = jsonvalue.decode(turn.request)
        given = turn_input(claimed.lease.thread_id, begun, self._history + self._waiting)
        resumed = [
            turn_input(claimed.lease.thread_id, pause["request"], ())
            if "request" in pause
            else None
            for pause in waited
        ]
        execution = Execution(
            turn=turn,
            leased=self._leased,
            stream=self.stream,
            journal=Journal(
                (e for e in entries if not is_mark(e)), origins(entries), key_origins(entries)
            ),
            interrupts=[*claimed.interrupts, *claimed.settled],
            state=TurnState(given.state, waited),
            transcript=Transcript(self._history, begun["history"], self._limits.history),
            given=given,
            resumed_with=resumed,
            pauses=[pause["ended"] for pause in waited],
            usage=self._usage,
            clock=self._clock,
            effects=Effects(self._pool, self._leased.check, self.attended),
            limits=self._limits,
            options=options,
            agents=self._agents,
            tools=self._tools,
            breakpoints=in_force(
                options.breakpoints,
                options.run_breakpoints == "allow",
                [one.forwarded_props for one in (given, *resumed) if one is not None],
            ),
        )
        for asked in execution.interrupts.values():
            if asked.turn_key == turn.key and execution.journal.lacks(asked.place):
                # Entered all the same, the code would do again what had been done before (L6).
                execution.break_off(JournalMissing(asked.place))
        self._executed.append(execution)
        return execution
