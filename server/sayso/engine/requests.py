"""Requests to an agent: judged by the gate, and the decision carried out.

Every answer is a `Reader`: of a live run, or of frames that show the thread.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sayso.agents.registry import Agent
from sayso.base import breakpoints, jsonvalue
from sayso.base.codes import Code
from sayso.base.errors import Conflict, Problem
from sayso.base.fastrecords import copy_with
from sayso.base.limits import Limits
from sayso.base.logs import log_context
from sayso.base.options import AgentOptions
from sayso.base.records import PageRequest, Principal, ThreadView, TurnRecord
from sayso.base.secretvalues import Vault
from sayso.engine.answers import AnswerService, problem_of
from sayso.engine.claims import Claims, Unfit
from sayso.engine.dialect import Dialect
from sayso.engine.instrumented import log_held, log_refused
from sayso.engine.live import LiveRuns
from sayso.engine.quotas import Quotas
from sayso.engine.snapshots import (
    current_outcome,
    look_outcome,
    problem_message,
    recovered,
    refused,
    snapshot_run,
    unsent_messages,
)
from sayso.engine.suggestions import Suggestions, asks_for_suggestions
from sayso.engine.validation import Looks
from sayso.gate import refusals
from sayso.gate.alignment import aligned
from sayso.gate.answers import PayloadCheck
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
    verdict_of,
)
from sayso.gate.history import said_since
from sayso.gate.ladder import RUN, decide
from sayso.gate.quorum import asks_others
from sayso.gate.refusals import Refuse
from sayso.protocol.client_profile import ClientProfile
from sayso.protocol.runinput import RunInput, check_state_size
from sayso.stores.base import update_of
from sayso.streams.ending import Ending
from sayso.streams.reader import Reader
from sayso.turns.denials import Denials
from sayso.turns.services import TOO_FAST, Services, fresh, vault_for
from sayso.turns.signing import signed

_log = logging.getLogger("sayso.engine.engine")

AS_ASKED = Dialect()
"""The dialect that adds nothing to what a request says itself."""
_FORGOTTEN = "this thread was deleted before: only what was said since was taken from this request"


@dataclass(frozen=True, slots=True)
class _Inquiry:
    """A request with its sender's profile and its edge's dialect."""

    request: RunInput
    peer: ClientProfile
    dialect: Dialect
    principal: Principal


class Requests:
    """Takes the requests of every edge. Nothing here is per user; each call names its principal."""

    def __init__(
        self,
        services: Services,
        claims: Claims,
        live: LiveRuns,
        *,
        answers: AnswerService,
        denials: Denials,
        looks: Looks,
        quotas: Quotas,
        suggestions: Suggestions,
    ) -> None:
        self._services = services
        self._claims = claims
        self._live = live
        self._answers = answers
        self._denials = denials
        self._looks = looks
        self._quotas = quotas
        self._suggestions = suggestions

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
        agent = await self._agent(agent_name, dialect, principal)
        if self._services.authorization.asks:
            await self._services.authorization.check_allowed(principal, agent_name, "run")
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
            _check_state(request, view, self._services.limits)
            vault = await vault_for(self._services.store, principal.scope, view)
            check = None
            if view is not None and _may_settle(request, agent.options, view):
                check = await self._payload_check(view, vault)
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
                vault=vault,
            )
            decision = decide(case_of(request), RUN)
            if isinstance(decision, Start) and _recalls(decision, view):
                decision = await self._without_deleted(decision, request, principal, view, case_of)
            try:
                late = decision.late if isinstance(decision, Refuse | Replay | Attach) else ()
                if view is not None and late:
                    await self._answers.note(view, late, principal)
                elif view is not None and isinstance(decision, Refuse):
                    await self._answers.note_refusal(view, decision, principal, dialect.channel)
                if (signing := self._services.signing) is not None:
                    decision = await signed(signing, principal.scope, request.thread_id, decision)
                return await self._carry_out(decision, agent, inquiry, principal, view)
            except Unfit as unfit:
                return self._refused(unfit.refusal, agent, inquiry, view)

        async def exhausted(_: ThreadView | None) -> Reader:
            busy = Refuse(Code.THREAD_BUSY, TOO_FAST)
            return self._refused(busy, agent, inquiry, await self._load(request, principal))

        read = partial(self._load, request, principal)
        ids = {"agent": agent_name, "thread": request.thread_id, "run": request.run_id}
        judge = (
            act
            if self._services.tracing is None
            else self._services.tracing.around("gate", act, **ids)
        )
        return await fresh(read, judge, exhausted=exhausted)

    async def _payload_check(self, view: ThreadView, vault: Vault | None) -> PayloadCheck:
        """The check of answers to a thread, once what approvers said elsewhere was heard."""
        if any(map(asks_others, view.interrupts)) and await self._denials.hear(view):
            raise Conflict("the thread has changed by what was heard")
        return await self._looks.payload_check(view, vault=vault)

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
        agent = await self._agent(agent_name, dialect, principal)
        await self._services.authorization.check_allowed(principal, agent_name, "run")
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
        options = (await self._agent(agent_name, dialect, principal)).options
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
            return self._live.attach(principal, view, request.run_id, peer)
        # A turn that is suspended with nothing open could not continue: its last run says why.
        stuck = view.turn is not None and view.turn.status == "suspended"
        ending = current_outcome(view) if stuck else look_outcome(view)
        return snapshot_run(request, peer, view, ending)

    async def delivered(self, reader: Reader, principal: Principal) -> None:
        """Note that a body went out whole: it tells a retry from a regenerate."""
        if reader.run_key is not None:
            await self._services.store.mark_delivered(principal.scope, reader.run_key)

    async def _agent(self, name: str, dialect: Dialect, principal: Principal) -> Agent:
        agents = self._services.agents
        if self._services.authorization.asks:
            return dialect.agent_for(
                await self._services.authorization.agent(agents, name, principal)
            )
        return dialect.agent_for(agents.require(name))

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
        if self._services.tracing is not None:
            self._services.tracing.note(verdict=verdict_of(decision))
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
                seat = self._quotas.run(principal)
                try:
                    await self._quotas.room(principal, for_thread=view is None)
                    claimed = await self._claims.start(decision, agent, request, principal, view)
                    return self._live.start(claimed, request.run_id, peer, holds=request, seat=seat)
                except BaseException:
                    seat.leave()
                    raise
            case Resume() if view is not None and view.turn is not None:
                return await self._resume(decision, agent, inquiry, view, view.turn)
            case HoldAnswers() if view is not None:
                return await self._hold(decision, inquiry, view)
            case Attach() if view is not None:
                return self._live.attach(principal, view, request.run_id, peer)
            case Replay() if view is not None:
                return snapshot_run(request, peer, view, current_outcome(view))
        raise AssertionError(f"the gate decided {decision!r} without a thread")

    def _refused(
        self, refusal: Refuse, agent: Agent, inquiry: _Inquiry, view: ThreadView | None
    ) -> Reader:
        """Refuse in the way that the agent's clients can continue from (OC-01, TR-03)."""
        request, peer = inquiry.request, inquiry.peer
        if self._services.tracing is not None:
            self._services.tracing.note(code=refusal.code.value)
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
            return self._live.attach(inquiry.principal, view, request.run_id, peer, said)
        return recovered(request, peer, view, refusal)

    async def _hold(self, decision: HoldAnswers, inquiry: _Inquiry, view: ThreadView) -> Reader:
        """Keep answers, and ask for the rest again."""
        kept = {item.id: item for item in decision.items}
        thread = view.thread
        if kept:
            await self._services.store.update_idle(
                update_of(
                    thread,
                    self._services.clock.now(),
                    interrupts=decision.items,
                    secrets=decision.secrets,
                )
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
            secrets=decision.secrets,
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


def _check_state(request: RunInput, view: ThreadView | None, limits: Limits) -> None:
    """Refuse a state that is too large, unless it is the thread's, which clients send back."""
    if not request.state:
        return
    try:
        check_state_size(request.state, "/state", limits)
    except Problem:
        stored = None if view is None else jsonvalue.decode(view.thread.state)
        if not jsonvalue.equal(stored, request.state):
            raise


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
