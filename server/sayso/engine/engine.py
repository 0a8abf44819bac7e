"""The engine: takes requests, has them judged by the gate, and makes the decision so.

Every answer is a `Reader`: of a live run, or of frames that say how the thread stands.
"""

import logging
from collections.abc import Sequence
from typing import Any

from sayso import jsonvalue
from sayso.agents.registry import Agent, Agents
from sayso.agents.tools import Tool
from sayso.clock import Clock
from sayso.engine.claims import Claimed, Claims
from sayso.engine.leases import LeaseKeeper
from sayso.engine.live import LiveRuns, present
from sayso.engine.sweeper import Sweeper
from sayso.errors import Code, Conflict, Problem
from sayso.gate import ladder as gate
from sayso.gate.history import visible
from sayso.limits import Limits
from sayso.protocol import frames
from sayso.protocol.ending import Ending, Peer
from sayso.protocol.runinput import RunInput
from sayso.records import Interrupt, Principal, ThreadView, Turn
from sayso.stores.base import Store
from sayso.streams.stream import Reader

__all__ = ["Engine"]

_log = logging.getLogger("sayso.engine.engine")

ATTEMPTS = 8
"""Times that a request is judged anew because the thread changed under it."""


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
    ) -> None:
        self._agents = agents
        self._tools = tools
        self._store = store
        self._clock = clock
        self._limits = limits
        self._keeper = LeaseKeeper(store, clock)
        self._claims = Claims(store, clock, self._keeper)
        self._live = LiveRuns(store, clock, self._keeper, limits, tool_threads)
        self._sweeper = Sweeper(agents, store, clock, self._claims, self._live)
        self._open = False

    async def start(self) -> None:
        """Open the store, keep leases, sweep; idempotent. Raises `StoreUnavailable`."""
        if not self._open:
            await self._store.open()
            self._keeper.start()
            self._sweeper.start()
            self._open = True

    async def stop(self, grace: float = 10.0) -> None:
        """Let running turns end for `grace` seconds; the rest is taken over elsewhere."""
        if not self._open:
            return
        self._open = False
        await self._sweeper.stop()
        await self._live.close(
            grace,
            Ending(
                type="error",
                code=Code.SHUTTING_DOWN.value,
                message="This server is shutting down: connect again to see the run go on.",
                details={"code": Code.SHUTTING_DOWN.value},
                goes_on=True,
            ),
        )
        self._keeper.stop()
        await self._store.close()

    async def run(
        self, agent_name: str, request: RunInput, principal: Principal, *, channel: str = "run"
    ) -> Reader:
        """Start, resume, replay, follow or refuse. Raises `Problem` before there is a stream."""
        agent = self._agent(agent_name)
        _warn(request, request.warnings)
        for _ in range(ATTEMPTS):
            view = await self._load(request, principal)
            decision = gate.check(
                request,
                view,
                agent=agent_name,
                principal=principal,
                channel=channel,
                now=self._clock.now(),
                limits=self._limits,
                judge=self._judge,
            )
            try:
                return await self._carry_out(decision, agent, request, principal, view)
            except Conflict:
                continue
        busy = gate.Refuse(Code.THREAD_BUSY, "This thread changes too fast: send this again.")
        return _refused(request, busy)

    async def connect(self, agent_name: str, request: RunInput, principal: Principal) -> Reader:
        """The thread as one run of snapshots; then live, if a run is going on (A1)."""
        self._agent(agent_name)
        view = await self._load(request, principal)
        if view is None:
            return _standing(request, None, Ending(type="success"))
        if view.turn is not None and view.turn.agent != agent_name:
            text = f"This thread belongs to agent {view.turn.agent!r}: connect there."
            return _refused(request, gate.Refuse(Code.WRONG_AGENT, text))
        if view.thread.holder is not None:
            return self._live.attach(view, request.run_id, _peer(request))
        # A turn that is suspended with nothing open could not go on: its last run says why.
        stuck = view.turn is not None and view.turn.status == "suspended"
        ending = present(view) if stuck else Ending(type="success")
        return _standing(request, view, ending)

    async def delivered(self, reader: Reader, principal: Principal) -> None:
        """Note that a body went out whole: it tells a retry from a regenerate."""
        if reader.run_key is not None:
            await self._store.delivered(principal.scope, reader.run_key)

    def _agent(self, name: str) -> Agent:
        agent = self._agents.newest(name)
        if agent is None:
            raise Problem(Code.UNKNOWN_AGENT, "There is no agent of that name: see GET /agents.")
        return agent

    async def _load(self, request: RunInput, principal: Principal) -> ThreadView | None:
        view = await self._store.load(
            principal.scope,
            request.thread_id,
            run_id=request.run_id,
            interrupt_ids=[entry.interrupt_id for entry in request.resume],
        )
        if view is not None and view.thread.owner != principal.subject:
            raise Problem(Code.UNKNOWN_THREAD, "There is no such thread.")
        return view

    def _judge(self, interrupt: Interrupt, payload: Any) -> Sequence[tuple[str, str]]:
        """What a tool's own model says about edited arguments (TB-07)."""
        if interrupt.reason != "tool_call" or not isinstance(payload, dict):
            return ()
        metadata = jsonvalue.decode(interrupt.metadata or b"{}")
        tool = self._tools.get(metadata.get("sayso", {}).get("tool", ""))
        if tool is None or "editedArgs" not in payload:
            return ()
        return [
            (f"/editedArgs{pointer}", message)
            for pointer, message in tool.problems(payload["editedArgs"])
        ]

    async def _carry_out(
        self,
        decision: gate.Decision,
        agent: Agent,
        request: RunInput,
        principal: Principal,
        view: ThreadView | None,
    ) -> Reader:
        match decision:
            case gate.Refuse():
                return _refused(request, decision)
            case gate.Start():
                _warn(request, decision.warnings)
                claimed = await self._claims.start(decision, agent, request, principal, view)
                return self._started(claimed, request)
            case gate.Resume() if view is not None and view.turn is not None:
                return await self._resume(decision, request, view, view.turn)
            case gate.Attach() if view is not None:
                return self._live.attach(view, request.run_id, _peer(request))
            case gate.Replay() if view is not None:
                return _standing(request, view, present(view))
        raise AssertionError(f"the gate decided {decision!r} without a thread")

    async def _resume(
        self, decision: gate.Resume, request: RunInput, view: ThreadView, turn: Turn
    ) -> Reader:
        agent = self._agents.version(turn.agent, turn.version)
        if agent is None:
            return _refused(request, missing_version(turn))
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
        reader = runner.stream.attach(
            request.run_id, _peer(request), messages=messages, state=state
        )
        self._live.go(claimed, runner)
        return reader

    def _started(self, claimed: Claimed, request: RunInput) -> Reader:
        """A new turn's reader: it is told only what the client does not know already."""
        runner = self._live.begin(claimed)
        messages, state = runner.shown()
        known = [message.id for message in request.messages]
        shown = [m.id for m in claimed.messages if m.visibility != "hidden"]
        stale = request.state is None and state != b"{}"
        reader = runner.stream.attach(
            request.run_id,
            _peer(request),
            messages=None if known == shown else messages,
            state=state if stale else None,
        )
        self._live.go(claimed, runner)
        return reader


def _peer(request: RunInput) -> Peer:
    return Peer(versioned=request.versioned)


def _warn(request: RunInput, warnings: Sequence[str]) -> None:
    for warning in warnings:
        _log.warning("request of thread %r: %s", request.thread_id, warning)


def missing_version(turn: Turn) -> gate.Refuse:
    """The refusal of a turn whose agent version is not registered any more (design 3, rule 9)."""
    return gate.Refuse(
        Code.AGENT_VERSION_MISSING,
        f"This turn began with version {turn.version!r} of agent {turn.agent!r}, which this server "
        "does not have: register it beside the new one.",
        {"version": turn.version},
    )


def _refused(request: RunInput, refusal: gate.Refuse) -> Reader:
    """A run that failed before anything was done: RUN_STARTED, RUN_ERROR (TR-37)."""
    ending = Ending(
        type="error",
        code=refusal.code.value,
        message=refusal.message,
        details={"code": refusal.code.value, **refusal.details},
    )
    return Reader.canned(
        [
            frames.run_started(request.thread_id, request.run_id),
            ending.frame(request.thread_id, request.run_id, _peer(request)),
        ]
    )


def _standing(request: RunInput, view: ThreadView | None, ending: Ending) -> Reader:
    """A run of snapshots: the thread as it stands (ID-03, SB-06)."""
    shown = [frames.run_started(request.thread_id, request.run_id)]
    if view is not None:
        shown.append(frames.messages_snapshot(visible(view.messages)))
        shown.append(frames.state_snapshot(view.thread.state))
    shown.append(ending.frame(request.thread_id, request.run_id, _peer(request)))
    return Reader.canned(shown)
