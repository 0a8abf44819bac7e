"""The engine: takes requests, has them judged by the gate, and carries out the decision.

Every answer is a `Reader`: of a live run, or of frames that show the thread.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from sayso.agents.registry import Agent, Agents
from sayso.agents.toolset import Tools
from sayso.base import breakpoints
from sayso.base.clock import Clock
from sayso.base.codes import Code
from sayso.base.errors import Conflict, Problem
from sayso.base.fastrecords import copy_with
from sayso.base.limits import Limits
from sayso.base.logs import log_context
from sayso.base.metrics import Metrics
from sayso.base.options import AgentOptions
from sayso.base.records import PageRequest, Principal, ThreadView, TurnRecord
from sayso.engine.answers import AnswerService, problem_of
from sayso.engine.approvals import ApprovalService
from sayso.engine.audit import Audit
from sayso.engine.claims import Claims, Unfit
from sayso.engine.context import Contexts
from sayso.engine.dialect import Dialect
from sayso.engine.health import Health
from sayso.engine.inbox import Inbox
from sayso.engine.instrumented import InstrumentedStore, log_held, log_refused
from sayso.engine.leases import LeaseKeeper
from sayso.engine.live import LiveRuns
from sayso.engine.repairs import Repairs
from sayso.engine.runner import Runner
from sayso.engine.snapshots import (
    current_outcome,
    look_outcome,
    problem_message,
    recovered,
    refused,
    snapshot_run,
    unsent_messages,
)
from sayso.engine.stop import StopRequest, StopService
from sayso.engine.suggestions import Suggestions, asks_for_suggestions
from sayso.engine.sweeper import Sweeper
from sayso.engine.threads import SessionService, Threads
from sayso.engine.validation import Looks
from sayso.gate import refusals
from sayso.gate.alignment import aligned
from sayso.gate.case import (
    AlreadyAnswered,
    Attach,
    Case,
    GateDecision,
    HoldAnswers,
    Replay,
    Resume,
    Start,
    case_of_request,
)
from sayso.gate.history import said_since
from sayso.gate.ladder import RUN, decide
from sayso.gate.quorum import asks_others
from sayso.gate.refusals import Refuse
from sayso.protocol.client_profile import ClientProfile
from sayso.protocol.runinput import RunInput
from sayso.stores.base import Store, update_of
from sayso.streams.ending import Ending
from sayso.streams.reader import Reader
from sayso.turns.denials import Denials
from sayso.turns.replay.effects import ToolThreads
from sayso.turns.services import TOO_FAST, Services, fresh

_log = logging.getLogger("sayso.engine.engine")

STOP_WAIT_S = 0.5
"""Seconds that a stop waits for the end of a run, so that the thread can be used right after."""

AS_ASKED = Dialect()
"""The dialect that adds nothing to what a request says itself."""
_FORGOTTEN = "this thread was deleted before: only what was said since was taken from this request"
_GOING = Ending(
    type="error",
    code=Code.SHUTTING_DOWN.value,
    message="This server is shutting down: connect again to see the run continue.",
    details={"code": Code.SHUTTING_DOWN.value},
    continues_elsewhere=True,
)


@dataclass(frozen=True, slots=True)
class _Inquiry:
    """A request with its sender's profile and its edge's dialect."""

    request: RunInput
    peer: ClientProfile
    dialect: Dialect
    principal: Principal


class Engine:
    """Runs agents over one store. Nothing here is per user; every call names its principal."""

    def __init__(
        self,
        *,
        agents: Agents,
        tools: Tools,
        store: Store,
        clock: Clock,
        limits: Limits,
        tool_threads: int = 16,
        shared: bool = False,
        lease: float = 10.0,
        max_unattended: int = 8,
        prepare: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`prepare` is awaited before anything is begun: it may declare agents and tools."""
        self.store = store
        self._prepare = prepare
        metrics = Metrics()
        services = self._services = Services(
            store=InstrumentedStore(store, metrics, clock),
            clock=clock,
            limits=limits,
            agents=agents,
            tools=tools,
            metrics=metrics,
        )
        self._keeper = LeaseKeeper(services.store, clock, seconds=lease)
        self._claims = Claims(services, self._keeper)
        self._suggestions = Suggestions(services)
        self._denials = Denials(services)
        self._stopping = StopService(services, self._claims, self._denials)
        self._live = LiveRuns(
            services,
            self._keeper,
            partial(ToolThreads, tool_threads, shared=shared),
            self._stopping.paused,
        )
        self._sweeper = Sweeper(
            services,
            self._claims,
            self._live,
            self._stopping,
            self._denials,
            at_once=max_unattended,
            shared=shared,
        )
        self.threads: Threads = Threads(services)
        self.sessions: SessionService = SessionService(services)
        self.inbox: Inbox = Inbox(services)
        self.contexts: Contexts = Contexts(services, self.inbox)
        self.approvals: ApprovalService = ApprovalService(services)
        self.audit: Audit = Audit(services)
        self.looks: Looks = Looks(services, self._claims, self._live)
        self.answers: AnswerService = AnswerService(
            services, self.looks, self._claims, self._live, self.inbox, self._denials
        )
        self.repairs: Repairs = Repairs(
            services, self.threads, self._claims, self._live, self._stopping, self._denials
        )
        self.health: Health = Health(services, self._live.running)
        self._open = False

    async def start(self, *, sweep: bool = True) -> None:
        """Open the store, keep leases, sweep; idempotent.

        Without `sweep` nothing is done without a request.

        Raises:
            StoreUnavailable: the store cannot be opened.
            DeclarationError: the app cannot be prepared.
        """
        if not self._open:
            if self._prepare is not None:
                await self._prepare()
            await self.store.open()
            self._keeper.start(self._live.told_to_stop)
            self._live.open(follow=sweep)
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
        await self._suggestions.close()
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
        dialect: Dialect = AS_ASKED,
    ) -> Reader:
        """Start, resume, replay, follow or refuse.

        Raises:
            Problem: the request cannot be answered with a stream.
        """
        agent = self._agent(agent_name, dialect)
        peer = dialect.profile_for(request, agent.options, principal, self._services.clock.now())
        inquiry = _Inquiry(request, peer, dialect, principal)
        _warn(request, request.warnings)
        if request.tools and asks_for_suggestions(request):  # no thread is read or made for it
            return self._suggestions.answer(agent, request, principal, peer)
        if request.command is not None and not agent.options.legacy.answers:
            _warn(request, ["forwardedProps.command answers nothing here: Legacy(answers=False)"])
        props = request.forwarded_props
        stops = breakpoints.from_request(props) if props else None

        async def act(view: ThreadView | None) -> Reader:
            _check_count(request, view, self._services.limits.messages)
            check = None
            if view is not None and _may_settle(request, agent.options, view):
                if any(map(asks_others, view.interrupts)) and await self._denials.hear(view):
                    raise Conflict("the thread has changed by what was heard")
                check = await self.looks.payload_check(view)
            case_of = partial(
                case_of_request,
                view=view,
                agent=agent_name,
                principal=principal,
                channel=dialect.channel,
                now=self._services.clock.now(),
                limits=self._services.limits,
                options=agent.options,
                check=check,
                has_breakpoints=bool(stops),
                refuse_repeats=dialect.refuse_repeats,
            )
            decision = decide(case_of(request), RUN)
            if isinstance(decision, Start) and _recalls(decision, view):
                decision = await self._without_deleted(decision, request, principal, view, case_of)
            try:
                late = decision.late if isinstance(decision, Refuse | Replay | Attach) else ()
                if view is not None and late:
                    await self.answers.note(view, late, principal)
                return await self._carry_out(decision, agent, inquiry, principal, view)
            except Unfit as unfit:
                return self._refused(unfit.refusal, agent, inquiry, view)

        async def exhausted(_: ThreadView | None) -> Reader:
            busy = Refuse(Code.THREAD_BUSY, TOO_FAST)
            return self._refused(busy, agent, inquiry, await self._load(request, principal))

        read = partial(self._load, request, principal)
        return await fresh(read, act, exhausted=exhausted)

    async def _without_deleted(
        self,
        decision: Start,
        request: RunInput,
        principal: Principal,
        view: ThreadView | None,
        case_of: Callable[[RunInput], Case],
    ) -> GateDecision:
        """Keep deleted messages deleted when a page that is still open sends them again.

        The thread's id may be used again: then only messages since are taken.
        """
        if not await self._was_deleted(principal, request.thread_id, view):
            return decision
        since = said_since(request.messages)
        if not any(message.role == "user" for message in since):
            return refusals.gone([])
        newer = decide(case_of(copy_with(request, messages=since)), RUN)
        if isinstance(newer, Start):
            return replace(newer, warnings=(*newer.warnings, _FORGOTTEN))
        return newer

    async def _was_deleted(
        self, principal: Principal, thread_id: str, view: ThreadView | None
    ) -> bool:
        """True if the caller's thread of that id was deleted; a trail without a thread says so."""
        after: str | None = None
        while True:
            rows = await self._services.store.audit(
                principal.scope, PageRequest(after), thread_id=thread_id, owner=principal.subject
            )
            if any(view is None or row.kind == "deleted" for row in rows.items):
                return True
            after = rows.next
            if after is None:
                return False

    async def suggest(
        self,
        agent_name: str,
        request: RunInput,
        principal: Principal,
        dialect: Dialect = AS_ASKED,
    ) -> Reader:
        """Suggest what the user could say next; nothing is stored."""
        agent = self._agent(agent_name, dialect)
        peer = dialect.profile_for(request, agent.options, principal, self._services.clock.now())
        return self._suggestions.answer(agent, request, principal, peer)

    async def connect(
        self,
        agent_name: str,
        request: RunInput,
        principal: Principal,
        dialect: Dialect = AS_ASKED,
    ) -> Reader:
        """Show the thread as one run of snapshots; then live, if a run is in progress (A1)."""
        options = self._agent(agent_name, dialect).options
        peer = dialect.profile_for(request, options, principal, self._services.clock.now())
        try:
            view = await self._load(request, principal)
        except Problem:  # somebody else's is told as what nobody has
            view = None
        if view is None:
            return snapshot_run(request, peer, None, Ending(type="success"))
        if view.turn is not None and view.turn.agent != agent_name:
            text = f"This thread belongs to agent {view.turn.agent!r}: connect there."
            return refused(request, peer, Refuse(Code.WRONG_AGENT, text))
        if view.thread.holder is not None:
            return self._live.attach(view, request.run_id, peer)
        # A turn that is suspended with nothing open could not continue: its last run says why.
        stuck = view.turn is not None and view.turn.status == "suspended"
        ending = current_outcome(view) if stuck else look_outcome(view)
        return snapshot_run(request, peer, view, ending)

    async def stop_thread(
        self,
        principal: Principal,
        thread_id: str,
        run_id: str | None = None,
        *,
        waiting: bool = True,
        stopper: StopRequest | None = None,
    ) -> bool:
        """Stop a thread's run; True if something was stopped.

        Nothing is stopped if the thread does another run than `run_id`. A run has the id that it
        was begun with, and that of each reader who follows it here. A turn that waits is ended too,
        its questions cancelled, unless `waiting` is false. `stopper` is who stops it if not the
        caller. Returns once a run of this process has ended, or will at its next record.

        Raises:
            Problem: `unknown_thread`, the thread is not the caller's.
        """
        if run_id is not None and self._live.follows(principal.scope, thread_id, run_id):
            run_id = None
        runner: Runner | None = None

        def running_here(stopper: StopRequest, fence: int) -> bool:
            nonlocal runner
            runner = self._live.stop(principal.scope, thread_id, fence, stopper)
            return runner is not None

        stopped = await self._stopping.stop(
            principal,
            thread_id,
            run_id,
            waiting=waiting,
            running_here=running_here,
            stopper=stopper,
        )
        self._services.changed(principal.scope)
        if runner is None:
            return stopped
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_WAIT_S):
                await runner.over.wait()
        return runner.ending is None or runner.ending.type == "cancelled"

    async def delivered(self, reader: Reader, principal: Principal) -> None:
        """Note that a body went out whole: it tells a retry from a regenerate."""
        if reader.run_key is not None:
            await self._services.store.mark_delivered(principal.scope, reader.run_key)

    def _agent(self, name: str, dialect: Dialect) -> Agent:
        return dialect.agent_for(self._services.agents.require(name))

    async def _load(self, request: RunInput, principal: Principal) -> ThreadView | None:
        view = await self._services.store.load(
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
        decision: GateDecision,
        agent: Agent,
        inquiry: _Inquiry,
        principal: Principal,
        view: ThreadView | None,
    ) -> Reader:
        if isinstance(decision, Refuse):
            return self._refused(decision, agent, inquiry, view)
        if isinstance(decision, AlreadyAnswered):
            raise AssertionError("that is decided of answers without a request")
        _warn(inquiry.request, decision.warnings)
        if decision.warnings:
            inquiry = replace(inquiry, peer=inquiry.peer.with_warnings(decision.warnings))
        request, peer = inquiry.request, inquiry.peer
        match decision:
            case Start():
                claimed = await self._claims.start(decision, agent, request, principal, view)
                return self._live.start(claimed, request.run_id, peer, holds=request)
            case Resume() if view is not None and view.turn is not None:
                return await self._resume(decision, agent, inquiry, view, view.turn)
            case HoldAnswers() if view is not None:
                return await self._hold(decision, inquiry, view)
            case Attach() if view is not None:
                return self._live.attach(view, request.run_id, peer)
            case Replay() if view is not None:
                return snapshot_run(request, peer, view, current_outcome(view))
        raise AssertionError(f"the gate decided {decision!r} without a thread")

    def _refused(
        self, refusal: Refuse, agent: Agent, inquiry: _Inquiry, view: ThreadView | None
    ) -> Reader:
        """Refuse in the way that the agent's clients can continue from (OC-01, TR-03)."""
        request, peer = inquiry.request, inquiry.peer
        if inquiry.dialect.refusals != "problem":  # those are counted where problems are answered
            self._services.metrics.refusals.add(refusal.code.value)
        strict = agent.options.refusals == "error"
        # A client of the older dialect has no other way back to the question (design 5).
        again = refusal.code is Code.INTERRUPTS_PENDING and peer.interrupts != "standard"
        if inquiry.dialect.refusals == "problem":  # they are logged there as well
            raise problem_of(refusal, {})
        named = refusal.details.get("interrupts", ())
        ids = [detail.get("interruptId") or detail["toolCallId"] for detail in named]
        log_refused(request.thread_id, inquiry.principal.subject, refusal.code, ids)
        if strict and not again:
            return refused(request, peer, refusal)
        held = view is not None and view.thread.holder is not None
        if view is not None and held and refusal.code is not Code.WRONG_AGENT:
            said = [*unsent_messages(request, view), problem_message(refusal)]
            return self._live.attach(view, request.run_id, peer, said)
        return recovered(request, peer, view, refusal)

    async def _hold(self, decision: HoldAnswers, inquiry: _Inquiry, view: ThreadView) -> Reader:
        """Keep answers, and ask for the rest again."""
        kept = {item.id: item for item in decision.items}
        thread = view.thread
        if kept:
            await self._services.store.update_idle(
                update_of(thread, self._services.clock.now(), interrupts=decision.items)
            )
            log_held(thread.id, decision.items, inquiry.principal.subject)
            self._services.changed(thread.scope)
            await self._denials.tell(thread, decision.items)
        rest = replace(
            view,
            interrupts=tuple(kept.get(interrupt.id, interrupt) for interrupt in view.interrupts),
        )
        said = [message.body for message in decision.shown]
        return snapshot_run(inquiry.request, inquiry.peer, rest, current_outcome(rest), said)

    async def _resume(
        self,
        decision: Resume,
        newest: Agent,
        inquiry: _Inquiry,
        view: ThreadView,
        turn: TurnRecord,
    ) -> Reader:
        request = inquiry.request
        agent = self._services.agents.version(turn.agent, turn.version)
        if agent is None:
            return self._refused(refusals.missing_version(turn), newest, inquiry, view)
        agent = inquiry.dialect.agent_for(agent)
        claimed = await self._claims.resume(
            view,
            turn,
            agent,
            settle=decision.settle,
            queue=decision.queue,
            retry=decision.retry,
            request=request,
        )
        try:
            if any(map(asks_others, decision.settle)):
                await self._denials.tell(view.thread, decision.settle)
        except BaseException:
            self._live.start_unread(claimed)  # it has its answers, whatever copies are told
            raise
        return self._live.start(claimed, request.run_id, inquiry.peer)


def _warn(request: RunInput, warnings: Sequence[str]) -> None:
    for warning in warnings:
        with log_context(thread=request.thread_id, run=request.run_id):
            _log.warning("request of thread %r: %s", request.thread_id, warning)


def _may_settle(request: RunInput, options: AgentOptions, view: ThreadView) -> bool:
    """True if a request may answer what is open; other answers are refused before they are read."""
    if request.command is not None or options.on_message == "answer":
        return True
    ids = {entry.interrupt_id for entry in request.resume}
    return any(item.status == "open" and item.id in ids for item in view.interrupts)


def _recalls(decision: Start, view: ThreadView | None) -> bool:
    """True if a turn would begin with assistant or tool messages that the thread lacks."""
    stored = {message.id for message in view.messages} if view is not None else set()
    return any(
        message.role in ("assistant", "tool") and message.id not in stored
        for message in decision.append
    )


def _check_count(request: RunInput, view: ThreadView | None, most: int) -> None:
    """Refuse a request with too many new messages; those of the thread do not count."""
    if len(request.messages) <= most:
        return
    stored = len(view.messages) if view is not None else 0
    # Each stored message matches one at most, so a longer list need not be compared.
    if len(request.messages) > most + stored or len(aligned(request, view).new) > most:
        wrong = {"pointer": "/messages", "message": f"has more than {most} new messages"}
        raise Problem(
            Code.INVALID_INPUT,
            f"This request brings more than {most} messages that the thread does not have: send "
            "fewer at once.",
            errors=(wrong,),
        )
