"""Answers that come one by one, from wherever a person decides: the inbox, a link, a terminal.

They are held on their interrupts until the set is complete; the last one settles all in the step
that claims the thread, and the turn goes on here, client or no client (design 5, L5).
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sayso.agents.registry import Agents
from sayso.agents.tools import Tool
from sayso.clock import Clock
from sayso.engine.claims import Claims
from sayso.engine.inbox import Inbox
from sayso.engine.judge import tool_judge
from sayso.engine.live import LiveRuns
from sayso.errors import Code, Conflict, Problem
from sayso.gate import desk as gate
from sayso.gate import refusals
from sayso.gate.approvers import may_see
from sayso.gate.expiry import notes
from sayso.gate.refusals import Refuse
from sayso.limits import Limits
from sayso.logs import about
from sayso.protocol.runinput import ResumeEntry
from sayso.records import Interrupt, ListedInterrupt, Principal, ThreadView
from sayso.stores.base import Store

__all__ = ["Answered", "Desk", "ThreadAnswered"]

_log = logging.getLogger("sayso.engine.desk")

ATTEMPTS = 8
"""Times that answers are judged anew because the thread changed under them."""
CHANNEL = "inbox"


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of answers: how many the set still waits for, or the run that it started.

    `run_id` is None when the turn that these answers let go on has not begun its run yet.
    """

    remaining: int
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class ThreadAnswered:
    """What came of all answers for one thread: all were taken, or none."""

    thread_id: str
    outcome: Answered | Problem


class Desk:
    """Takes answers and changes to open interrupts. Every method raises `Problem`."""

    def __init__(
        self,
        *,
        agents: Agents,
        store: Store,
        clock: Clock,
        limits: Limits,
        tools: Mapping[str, Tool],
        claims: Claims,
        live: LiveRuns,
        inbox: Inbox,
    ) -> None:
        self._agents = agents
        self._store = store
        self._clock = clock
        self._limits = limits
        self._tools = tools
        self._claims = claims
        self._live = live
        self._inbox = inbox

    async def answer(self, principal: Principal, entry: ResumeEntry) -> Answered:
        """Answer one interrupt; its problems point into `{"status", "payload"}`."""
        listed = await self._inbox.interrupt(principal, entry.interrupt_id)
        with about(thread=listed.thread_id, interrupt=entry.interrupt_id):
            return await self._give(principal, listed.thread_id, [entry], {entry.interrupt_id: ""})

    async def answer_all(
        self, principal: Principal, entries: Sequence[ResumeEntry]
    ) -> list[ThreadAnswered]:
        """Answer several, for each thread all or none; problems point into `{"answers"}`.

        An id that nobody asked belongs to no thread: then none is taken at all.
        """
        by_thread: dict[str, list[ResumeEntry]] = {}
        at: dict[str, str] = {}
        unknown = []
        for position, entry in enumerate(entries):
            try:
                listed = await self._inbox.interrupt(principal, entry.interrupt_id)
            except Problem:
                unknown.append(f"/answers/{position}/interruptId")
                continue
            by_thread.setdefault(listed.thread_id, []).append(entry)
            at.setdefault(entry.interrupt_id, f"/answers/{position}")
        if unknown:
            raise Problem(
                Code.UNKNOWN_INTERRUPT,
                "Some of these interrupts do not exist, so no answer was taken: send the others "
                "again without them.",
                errors=tuple({"pointer": one, "message": "is unknown"} for one in unknown),
            )
        taken = []
        for thread_id, theirs in by_thread.items():
            outcome: Answered | Problem
            try:
                outcome = await self._give(principal, thread_id, theirs, at)
            except Problem as problem:
                outcome = problem
            taken.append(ThreadAnswered(thread_id, outcome))
        return taken

    async def withdraw(self, principal: Principal, interrupt_id: str) -> int:
        """Take back a held answer, if there is one; returns how many the set then waits for."""
        decide = partial(gate.take_back, interrupt_id=interrupt_id, subject=principal.subject)
        return (await self._change(principal, interrupt_id, decide)).remaining

    async def extend(
        self,
        principal: Principal,
        interrupt_id: str,
        *,
        until: int | None = None,
        seconds: float | None = None,
    ) -> ListedInterrupt:
        """Move the end of an open interrupt: to a time (ms), or by seconds from its present end."""

        def decide(view: ThreadView) -> gate.Hold | Refuse:
            now = self._clock.now()
            return gate.extend(view, interrupt_id, now, until=until, seconds=seconds)

        await self._change(principal, interrupt_id, decide)
        with about(interrupt=interrupt_id):
            _log.info("%r was extended by %r", interrupt_id, principal.subject)
        return await self._inbox.interrupt(principal, interrupt_id)

    async def assign(
        self, principal: Principal, interrupt_id: str, to: str | None
    ) -> ListedInterrupt:
        """Say who should answer an open interrupt; None takes that back."""
        decide = partial(gate.assign, interrupt_id=interrupt_id, to=to)
        await self._change(principal, interrupt_id, decide)
        return await self._inbox.interrupt(principal, interrupt_id)

    async def note(
        self, view: ThreadView, refused: Sequence[Interrupt], principal: Principal
    ) -> None:
        """Keep with expired questions who refused them too late; not while the thread runs (D6).

        Raises `Conflict` when the thread has changed.
        """
        ids = ", ".join(item.id for item in refused)
        _log.info("%r refused %s after they had expired", principal.subject, ids)
        if view.thread.holder is None:
            await self._keep(view, refused, principal)

    async def note_late(
        self,
        view: ThreadView,
        entries: Sequence[ResumeEntry],
        principal: Principal,
        channel: str,
        now: int,
    ) -> None:
        """Keep which of these answers refused what had expired: that decides nothing, but was said.

        Raises `Conflict` when the thread has changed.
        """
        late = notes(view.interrupts, entries, principal.subject, channel, now)
        if late:
            await self.note(view, late, principal)

    async def _change(
        self,
        principal: Principal,
        interrupt_id: str,
        decide: Callable[[ThreadView], gate.Hold | Refuse],
    ) -> gate.Hold:
        thread_id = (await self._inbox.interrupt(principal, interrupt_id)).thread_id
        for _ in range(ATTEMPTS):
            view = await self._load(principal, thread_id, [interrupt_id])
            decision = decide(view)
            if isinstance(decision, Refuse):
                raise problem_of(decision, {interrupt_id: ""})
            try:
                await self._keep(view, decision.items, principal)
            except Conflict:
                continue
            return decision
        raise _too_fast()

    async def _give(
        self,
        principal: Principal,
        thread_id: str,
        entries: Sequence[ResumeEntry],
        at: dict[str, str],
    ) -> Answered:
        for _ in range(ATTEMPTS):
            view = await self._load(principal, thread_id, [one.interrupt_id for one in entries])
            now = self._clock.now()
            decision = gate.give(
                view,
                entries,
                principal=principal,
                channel=CHANNEL,
                now=now,
                limits=self._limits,
                judge=tool_judge(self._tools, view),
            )
            try:
                late = notes(view.interrupts, entries, principal.subject, CHANNEL, now)
                match decision:
                    case Refuse():
                        if late and decision.code is Code.INTERRUPT_EXPIRED:
                            await self.note(view, late, principal)
                        raise problem_of(decision, at)
                    case gate.Hold():
                        await self._keep(view, decision.items, principal)
                        return Answered(decision.remaining)
                    case gate.Stand():
                        if late:
                            await self.note(view, late, principal)
                        return Answered(0, await self._run_id(view, decision.run_key))
                    case gate.Settle():
                        return Answered(0, await self._go_on(view, decision))
            except Conflict:
                continue
        raise _too_fast()

    async def _go_on(self, view: ThreadView, decision: gate.Settle) -> str:
        turn = view.turn
        assert turn is not None  # noqa: S101 - the gate settles for a turn only
        agent = self._agents.version(turn.agent, turn.version)
        if agent is None:
            raise problem_of(refusals.missing_version(turn), {})
        claimed = await self._claims.resume(
            view, turn, agent, settle=decision.items, retry=decision.retry
        )
        runner = self._live.begin(claimed)
        self._live.go(claimed, runner)
        _log.info("thread %r goes on: its answers are complete", view.thread.id)
        return claimed.run.run_id

    async def _keep(
        self, view: ThreadView, items: Sequence[Interrupt], principal: Principal
    ) -> None:
        if not items:
            return
        thread = view.thread
        now = self._clock.now()
        await self._store.settle(
            thread.scope, thread.id, thread.revision, items, now, by=principal.subject
        )
        self._inbox.ring(thread.scope)

    async def _load(self, principal: Principal, thread_id: str, ids: Sequence[str]) -> ThreadView:
        view = await self._store.load(principal.scope, thread_id, interrupt_ids=ids)
        asked = {} if view is None else {item.id: item for item in view.interrupts}
        if view is None or not all(
            may_see(asked[key], view.thread.owner, principal)
            if key in asked
            else view.thread.owner == principal.subject
            for key in ids
        ):
            raise problem_of(refusals.unknown(list(ids)), {})
        return view

    async def _run_id(self, view: ThreadView, run_key: str | None) -> str | None:
        """The client's name of a run, which began after all others that it may be among."""
        if view.run is not None and view.run.key == run_key:
            return view.run.run_id
        after = None
        while run_key is not None:
            page = await self._store.runs(view.thread.scope, view.thread.id, after=after)
            for run in page.items:
                if run.key == run_key:
                    return run.run_id
            after = page.next
            if after is None:
                break
        return None


def problem_of(refusal: Refuse, at: dict[str, str]) -> Problem:
    """A refusal as a problem; `at` is where the request has the entry of each interrupt.

    `errors` point into the request, `interrupts` are the gate's details, whose pointers begin at
    the payload. When one interrupt is the matter, `by` and `at` say who decided it, and when.
    """
    details = refusal.details.get("interrupts", [])
    errors = tuple(
        {
            "pointer": f"{at.get(one['interruptId'], '')}/payload{problem['pointer']}",
            "message": problem["message"],
        }
        for one in details
        for problem in one.get("problems", ())
    )
    more = {"interrupts": details} if details else {}
    if len(details) == 1:
        more |= {name: details[0][name] for name in ("by", "at") if name in details[0]}
    return Problem(refusal.code, refusal.message, errors=errors, more=more)


def _too_fast() -> Problem:
    return problem_of(
        Refuse(Code.THREAD_BUSY, "This thread changes too fast: send this again."), {}
    )
