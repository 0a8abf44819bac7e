"""The engine: takes requests, has them judged by the gate, and makes the decision so.

Every answer is a `Reader`: of a live run, or of frames that say how the thread stands.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from sayso.agents.registry import Agent, Agents
from sayso.agents.tools import Tool
from sayso.clock import Clock
from sayso.engine.approvals import Approvals
from sayso.engine.audit import Audit
from sayso.engine.breakpoints import breakpoints_of, permitted
from sayso.engine.claims import Claimed, Claims
from sayso.engine.desk import Desk, problem_of
from sayso.engine.health import Health
from sayso.engine.inbox import Inbox
from sayso.engine.judge import approving_roles, tool_judge
from sayso.engine.leases import LeaseKeeper
from sayso.engine.live import LiveRuns
from sayso.engine.measured import measured
from sayso.engine.repairs import Repairs
from sayso.engine.runner import Runner
from sayso.engine.sessions import Sessions
from sayso.engine.standing import idle, present, recovered, refused, standing, told, unsent
from sayso.engine.stopping import Stopper, Stopping
from sayso.engine.sweeper import Sweeper
from sayso.engine.threads import Threads
from sayso.errors import Code, Conflict, Problem
from sayso.gate import ladder as gate
from sayso.gate import refusals, sessions
from sayso.limits import Limits
from sayso.logs import about
from sayso.metrics import Metrics
from sayso.protocol.ending import Ending
from sayso.protocol.peers import Manner, Peer, peer_of
from sayso.protocol.runinput import RunInput
from sayso.records import Principal, ThreadView, Turn
from sayso.stores.base import Store
from sayso.streams.stream import Reader

__all__ = ["Engine"]

_log = logging.getLogger("sayso.engine.engine")

AT_ONCE = 0.5
"""Seconds that a stop waits for the end of a run, so that the thread can be used right after."""
ATTEMPTS = 8
"""Times that a request is judged anew because the thread changed under it."""

AS_ASKED = Manner()
"""What a request says itself, and no more."""
_GOING = Ending(
    type="error",
    code=Code.SHUTTING_DOWN.value,
    message="This server is shutting down: connect again to see the run go on.",
    details={"code": Code.SHUTTING_DOWN.value},
    goes_on=True,
)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request, what its sender can take, and how its edge wants it answered."""

    request: RunInput
    peer: Peer
    manner: Manner


class Engine:
    """Runs agents over one store. Nothing here is per user; every call names its principal."""

    def __init__(
        self,
        *,
        agents: Agents,
        tools: dict[str, Tool],
        store: Store,
        clock: Clock,
        limits: Limits,
        tool_threads: int = 16,
        lease: float = 10.0,
        detached_at_once: int = 8,
    ) -> None:
        self._agents, self._tools = agents, tools
        self.store = store
        self._metrics = Metrics()
        store = measured(store, self._metrics, clock)
        self._clock, self._limits = clock, limits
        self._keeper = LeaseKeeper(store, clock, seconds=lease)
        self._claims = Claims(store, clock, self._keeper)
        self._stopping = Stopping(store, clock, self._claims)
        self.inbox = Inbox(store, clock, lambda: approving_roles(tools))
        self.approvals = Approvals(store, clock)
        self.audit = Audit(store)
        self.threads = Threads(store, clock, self.inbox.ring)
        self.sessions = Sessions(store, clock)
        self._live = LiveRuns(
            store,
            clock,
            self._keeper,
            limits,
            agents,
            tools,
            tool_threads,
            stop_paused=self._stopping.paused,
            changed=self.inbox.ring,
        )
        self.desk = Desk(
            agents=agents,
            store=store,
            clock=clock,
            limits=limits,
            tools=tools,
            claims=self._claims,
            live=self._live,
            inbox=self.inbox,
        )
        self.repairs = Repairs(
            self.threads, agents, store, clock, self._claims, self._live, self._stopping
        )
        self._sweeper = Sweeper(
            agents,
            store,
            clock,
            self._claims,
            self._live,
            self._stopping,
            at_once=detached_at_once,
            changed=self.inbox.ring,
        )
        self.health = Health(store, clock, self._metrics, self._live.running)
        self._open = False

    async def start(self, *, sweep: bool = True) -> None:
        """Open the store, keep leases, sweep; idempotent. Raises `StoreUnavailable`.

        Without `sweep` nothing is done that nobody asked for.
        """
        if not self._open:
            await self.store.open()
            self._keeper.start(self._live.told_to_stop)
            self._live.start(follow=sweep)
            if sweep:
                self._sweeper.start()
            self._open = True

    async def stop(self, grace: float = 10.0, answered: asyncio.Event | None = None) -> None:
        """Let turns end for `grace` seconds, the rest elsewhere; close once all is `answered`."""
        if not self._open:
            return
        self._open = False
        await self._sweeper.stop()
        await self.inbox.close()
        await self._live.close(grace, _GOING)
        self._keeper.stop()
        if answered is not None:
            await answered.wait()
        await self.store.close()

    async def run(
        self,
        agent_name: str,
        request: RunInput,
        principal: Principal,
        manner: Manner = AS_ASKED,
    ) -> Reader:
        """Start, resume, replay, follow or refuse. Raises `Problem` before there is a stream."""
        agent = self._agent(agent_name, manner)
        asked = _Asked(request, peer_of(request, manner, agent.options), manner)
        _warn(request, request.warnings)
        if request.command is not None and not agent.options.legacy_answers:
            _warn(request, ["forwardedProps.command answers nothing here: legacy_answers is off"])
        stops = breakpoints_of(request)
        for _ in range(ATTEMPTS):
            view = await self._load(request, principal)
            now = self._clock.now()
            decision = gate.check(
                request,
                view,
                agent=agent_name,
                principal=principal,
                channel=manner.channel,
                now=now,
                limits=self._limits,
                judge=tool_judge(self._tools, view),
                options=agent.options,
            )
            if stops and isinstance(decision, gate.Start | gate.Resume):
                decision = permitted(decision, agent)
            if manner.once and view is not None and isinstance(decision, gate.Replay | gate.Attach):
                decision = sessions.given(view, request.resume) or decision
            try:
                if gate.may_be_late(decision) and view is not None:
                    entries = gate.entries(request, view, agent_name, agent.options)
                    await self.desk.note_late(view, entries, principal, manner.channel, now)
                return await self._carry_out(decision, agent, asked, principal, view)
            except Conflict:
                continue
        busy = gate.Refuse(Code.THREAD_BUSY, "This thread changes too fast: send this again.")
        return self._refused(busy, agent, asked, await self._load(request, principal))

    async def connect(
        self,
        agent_name: str,
        request: RunInput,
        principal: Principal,
        manner: Manner = AS_ASKED,
    ) -> Reader:
        """The thread as one run of snapshots; then live, if a run is going on (A1)."""
        peer = peer_of(request, manner, self._agent(agent_name).options)
        view = await self._load(request, principal)
        if view is None:
            return standing(request, peer, None, Ending(type="success"))
        if view.turn is not None and view.turn.agent != agent_name:
            text = f"This thread belongs to agent {view.turn.agent!r}: connect there."
            return refused(request, peer, gate.Refuse(Code.WRONG_AGENT, text))
        if view.thread.holder is not None:
            return self._live.attach(view, request.run_id, peer)
        # A turn that is suspended with nothing open could not go on: its last run says why.
        stuck = view.turn is not None and view.turn.status == "suspended"
        ending = present(view) if stuck else idle(view)
        return standing(request, peer, view, ending)

    async def stop_thread(
        self,
        principal: Principal,
        thread_id: str,
        run_id: str | None = None,
        *,
        waiting: bool = True,
        stopper: Stopper | None = None,
    ) -> bool:
        """Stop what a thread is doing; False if that is nothing, or another run than `run_id`.

        A turn that waits is ended too, its questions cancelled, unless `waiting` is false.
        A run has the id that it was begun with, and that of each reader who follows it here.
        `stopper` is who stops it if not the caller. Returns once a run of this process has ended,
        or will at its next record. Raises `Problem` for a thread that is not the caller's.
        """
        if run_id is not None and self._live.follows(principal.scope, thread_id, run_id):
            run_id = None
        runner: Runner | None = None

        def running_here(stopper: Stopper) -> bool:
            nonlocal runner
            runner = self._live.stop(principal.scope, thread_id, stopper)
            return runner is not None

        stopped = await self._stopping.stop(
            principal,
            thread_id,
            run_id,
            waiting=waiting,
            running_here=running_here,
            stopper=stopper,
        )
        self.inbox.ring(principal.scope)
        if runner is None:
            return stopped
        with suppress(TimeoutError):
            async with asyncio.timeout(AT_ONCE):
                await runner.over.wait()
        return runner.ending is None or runner.ending.type == "cancelled"

    async def delivered(self, reader: Reader, principal: Principal) -> None:
        """Note that a body went out whole: it tells a retry from a regenerate."""
        if reader.run_key is not None:
            await self.store.delivered(principal.scope, reader.run_key)

    def _agent(self, name: str, manner: Manner = AS_ASKED) -> Agent:
        agent = self._agents.newest(name)
        if agent is None:
            raise Problem(Code.UNKNOWN_AGENT, "There is no agent of that name: see GET /agents.")
        return manner.serves(agent)

    async def _load(self, request: RunInput, principal: Principal) -> ThreadView | None:
        view = await self.store.load(
            principal.scope,
            request.thread_id,
            run_id=request.run_id,
            interrupt_ids=request.answered_ids,
        )
        if view is not None and view.thread.owner != principal.subject:
            raise Problem(Code.UNKNOWN_THREAD, "There is no such thread.")
        return view

    async def _carry_out(
        self,
        decision: gate.Decision,
        agent: Agent,
        asked: _Asked,
        principal: Principal,
        view: ThreadView | None,
    ) -> Reader:
        if isinstance(decision, gate.Refuse):
            return self._refused(decision, agent, asked, view)
        _warn(asked.request, decision.warnings)
        asked = replace(asked, peer=asked.peer.warned(decision.warnings))
        request, peer = asked.request, asked.peer
        match decision:
            case gate.Start():
                claimed = await self._claims.start(decision, agent, request, principal, view)
                return self._started(claimed, asked)
            case gate.Resume() if view is not None and view.turn is not None:
                return await self._resume(decision, agent, asked, view, view.turn)
            case gate.Hold() if view is not None:
                return await self._hold(decision, asked, view)
            case gate.Attach() if view is not None:
                return self._live.attach(view, request.run_id, peer)
            case gate.Replay() if view is not None:
                return standing(request, peer, view, present(view))
        raise AssertionError(f"the gate decided {decision!r} without a thread")

    def _refused(
        self, refusal: gate.Refuse, agent: Agent, asked: _Asked, view: ThreadView | None
    ) -> Reader:
        """Say no in the way that the agent's clients can go on from (OC-01, TR-03)."""
        request, peer = asked.request, asked.peer
        if asked.manner.refusals != "problem":  # those are counted where problems are answered
            self._metrics.refusals.add(refusal.code.value)
        strict = (asked.manner.refusals or agent.options.refusals) == "error"
        # A client of the older dialect has no other way back to the question (design 5).
        again = refusal.code is Code.INTERRUPTS_PENDING and peer.interrupts != "standard"
        if asked.manner.refusals == "problem":
            raise problem_of(refusal, {})
        if strict and not again:
            return refused(request, peer, refusal)
        held = view is not None and view.thread.holder is not None
        if view is not None and held and refusal.code is not Code.WRONG_AGENT:
            said = [*unsent(request, view), told(refusal)]
            return self._live.attach(view, request.run_id, peer, said)
        return recovered(request, peer, view, refusal)

    async def _hold(self, decision: gate.Hold, asked: _Asked, view: ThreadView) -> Reader:
        """Keep answers, and ask for the rest again."""
        kept = {item.id: item for item in decision.held}
        thread = view.thread
        if kept:
            await self.store.settle(
                thread.scope, thread.id, thread.revision, decision.held, self._clock.now()
            )
            self.inbox.ring(thread.scope)
        rest = replace(view, interrupts=tuple(kept.get(one.id, one) for one in view.interrupts))
        said = [message.body for message in decision.shown]
        return standing(asked.request, asked.peer, rest, present(rest), said)

    async def _resume(
        self,
        decision: gate.Resume,
        newest: Agent,
        asked: _Asked,
        view: ThreadView,
        turn: Turn,
    ) -> Reader:
        request = asked.request
        agent = self._agents.version(turn.agent, turn.version)
        if agent is None:
            return self._refused(refusals.missing_version(turn), newest, asked, view)
        agent = asked.manner.serves(agent)
        claimed = await self._claims.resume(
            view,
            turn,
            agent,
            settle=decision.settle,
            queue=decision.queue,
            retry=decision.retry,
            request=request,
        )
        runner = self._live.begin(claimed)
        messages, state = runner.shown()
        try:
            return runner.stream.attach(request.run_id, asked.peer, messages=messages, state=state)
        finally:
            self._live.go(claimed, runner)  # it has its answers, whether or not that can be shown

    def _started(self, claimed: Claimed, asked: _Asked) -> Reader:
        """A new turn's reader: it is told only what the client does not know already."""
        request = asked.request
        runner = self._live.begin(claimed)
        known = [message.id for message in request.messages]
        shown = [m.id for m in claimed.messages if m.visibility != "hidden"]
        messages = None if known == shown else runner.bodies()
        state = runner.state() if request.state is None else b"{}"
        given = None if state == b"{}" else state
        try:
            return runner.stream.attach(request.run_id, asked.peer, messages=messages, state=given)
        finally:
            self._live.go(claimed, runner)


def _warn(request: RunInput, warnings: Sequence[str]) -> None:
    for warning in warnings:
        with about(thread=request.thread_id, run=request.run_id):
            _log.warning("request of thread %r: %s", request.thread_id, warning)
