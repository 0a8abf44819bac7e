"""Answers that come one by one, from wherever a person decides: the inbox, a link, a terminal.

They are held on their interrupts until the set is complete; the last one settles all in the step
that claims the thread, and the turn continues here, client or no client (design 5, L5).
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

from sayso.base import jsonvalue
from sayso.base.codes import Code
from sayso.base.errors import Conflict, Problem
from sayso.base.logs import log_context
from sayso.base.records import (
    Interrupt,
    ListedInterrupt,
    PageRequest,
    Principal,
    ThreadView,
)
from sayso.base.secretvalues import SecretValue, secret_id
from sayso.engine.claims import Claims
from sayso.engine.inbox import Inbox
from sayso.engine.instrumented import log_held, log_refused
from sayso.engine.live import LiveRuns
from sayso.engine.validation import Looks
from sayso.gate import changes, refusals
from sayso.gate.case import AlreadyAnswered, HoldAnswers, Resume, case_of_answers, verdict_of
from sayso.gate.ladder import INBOX, decide
from sayso.gate.quorum import may_see
from sayso.gate.refusals import Refuse
from sayso.protocol.interrupts import ours_of
from sayso.protocol.runinput import ResumeEntry
from sayso.stores.base import update_of
from sayso.turns.denials import Denials
from sayso.turns.journal.journal import MAX_REVEALED, refused_mark, revealed_mark
from sayso.turns.services import Services, fresh, vault_for
from sayso.turns.signing import signed

_log = logging.getLogger("sayso.engine.answers")

CHANNEL = "inbox"
_FORBIDDEN = 403


@dataclass(frozen=True, slots=True)
class Answered:
    """The outcome of answers: how many the set still waits for, or the run that it started.

    `run_id` is None when the turn that these answers resume has not begun its run yet.
    `counted` is the question if several have to agree and more are needed; `dropped` are those who
    had agreed to another answer before, and no longer do.
    """

    remaining: int
    run_id: str | None = None
    counted: Interrupt | None = None
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ThreadAnswered:
    """The outcome of all answers for one thread: all were taken, or none."""

    thread_id: str
    outcome: Answered | Problem


class AnswerService:
    """Takes answers and changes to open interrupts. Every method raises `Problem`."""

    def __init__(
        self,
        services: Services,
        looks: Looks,
        claims: Claims,
        live: LiveRuns,
        inbox: Inbox,
        denials: Denials,
    ) -> None:
        self._store, self._clock = services.store, services.clock
        self._agents, self._limits = services.agents, services.limits
        self._changed, self._tracing = services.changed, services.tracing
        self._people, self._signing = services.people, services.signing
        self._looks = looks
        self._claims = claims
        self._live = live
        self._inbox = inbox
        self._denials = denials

    async def interrupt(self, principal: Principal, interrupt_id: str) -> ListedInterrupt:
        """One of the caller's interrupts, told of what was denied in copies of its thread."""
        listed = await self._inbox.interrupt(principal, interrupt_id)
        item = listed.interrupt
        heard = item.status == "open" and await self._denials.heard(
            principal.scope, listed.owner, listed.thread_id, [item]
        )
        return await self._inbox.interrupt(principal, interrupt_id) if heard else listed

    async def answer(self, principal: Principal, entry: ResumeEntry) -> Answered:
        """Answer one interrupt; its problems point into `{"status", "payload"}`."""
        listed = await self._inbox.interrupt(principal, entry.interrupt_id)
        with log_context(thread=listed.thread_id, interrupt=entry.interrupt_id):
            return await self._give(principal, listed.thread_id, [entry], {entry.interrupt_id: ""})

    async def answer_all(
        self, principal: Principal, entries: Sequence[ResumeEntry]
    ) -> list[ThreadAnswered]:
        """Answer several, for each thread all or none; problems point into `{"answers"}`.

        An id that nobody asked belongs to no thread: then none is taken at all.
        """
        by_thread: dict[str, list[ResumeEntry]] = {}
        pointers: dict[str, str] = {}
        unknown = []
        for position, entry in enumerate(entries):
            try:
                listed = await self._inbox.interrupt(principal, entry.interrupt_id)
            except Problem:
                unknown.append(f"/answers/{position}/interruptId")
                continue
            by_thread.setdefault(listed.thread_id, []).append(entry)
            pointers.setdefault(entry.interrupt_id, f"/answers/{position}")
        if unknown:
            raise Problem(
                Code.UNKNOWN_INTERRUPT,
                "Some of these interrupts do not exist, so no answer was taken: send the others "
                "again without them.",
                errors=tuple(
                    {"pointer": pointer, "message": "is unknown"}
                    for pointer in unknown[: self._limits.errors]
                ),
            )
        taken = []
        for thread_id, theirs in by_thread.items():
            outcome: Answered | Problem
            try:
                outcome = await self._give(principal, thread_id, theirs, pointers)
            except Problem as problem:
                outcome = problem
            taken.append(ThreadAnswered(thread_id, outcome))
        return taken

    async def withdraw(self, principal: Principal, interrupt_id: str) -> int:
        """Take back a held answer, if there is one; returns how many the set then waits for."""
        change = partial(changes.withdraw, interrupt_id=interrupt_id, subject=principal.subject)
        return (await self._change(principal, interrupt_id, change)).remaining

    async def extend(
        self,
        principal: Principal,
        interrupt_id: str,
        *,
        until: int | None = None,
        seconds: float | None = None,
    ) -> ListedInterrupt:
        """Move the end of an open interrupt: to a time (ms), or by seconds from its present end."""

        def change(view: ThreadView) -> HoldAnswers | Refuse:
            return changes.extend(
                view,
                interrupt_id,
                self._clock.now(),
                principal,
                self._limits,
                until=until,
                seconds=seconds,
            )

        await self._change(principal, interrupt_id, change)
        with log_context(interrupt=interrupt_id):
            _log.info("%r was extended by %r", interrupt_id, principal.subject)
        return await self._inbox.interrupt(principal, interrupt_id)

    async def reveal(self, principal: Principal, interrupt_id: str, pointer: str) -> Any:
        """Show a secret of the arguments that a question is about; who was shown it is noted first.

        `pointer` is one of those that the card has (`reveal`).
        """
        listed = await self._inbox.interrupt(principal, interrupt_id)

        async def act(view: ThreadView) -> Any:
            now = self._clock.now()
            refused = changes.reveal(view, interrupt_id, principal, now)
            if refused is not None:
                await self._refuse(view, refused, principal, interrupt_id)
            details = next(ours_of(item) for item in view.interrupts if item.id == interrupt_id)
            name = None
            if pointer in details.get("reveal", ()):
                name = secret_id(jsonvalue.resolve(details["arguments"], pointer))
            values = await self._store.secrets(principal.scope, listed.thread_id)
            body = next((value.body for value in values if value.id == name), None)
            if body is None or view.turn is None:
                text = f"Nothing at {pointer!r} can be shown: its card has the pointers (reveal)."
                raise Problem(Code.INVALID_INPUT, text)
            entries = await self._store.journal(principal.scope, view.turn.key)
            by = principal.subject
            mark = revealed_mark(entries, interrupt_id, pointer, by=by, channel=CHANNEL)
            if mark is None:
                text = f"You were shown this secret {MAX_REVEALED} times, and will be no more."
                raise Problem(Code.TOO_MANY, text)
            await self._store.update_idle(update_of(view.thread, now, entries=[mark], by=by))
            return jsonvalue.decode(body)

        return await fresh(partial(self._load, principal, listed.thread_id, [interrupt_id]), act)

    async def assign(
        self, principal: Principal, interrupt_id: str, to: str | None
    ) -> ListedInterrupt:
        """Say who should answer an open interrupt; None takes that back."""
        people = None
        if to is not None and self._people.are_known:
            # For whoever may assign nobody, nobody is looked up.
            check = partial(changes.check_assign, interrupt_id=interrupt_id, principal=principal)
            await self._change(principal, interrupt_id, check)
            people = await self._people.assignable(principal.scope, to)
        change = partial(
            changes.assign,
            interrupt_id=interrupt_id,
            to=to,
            principal=principal,
            now=self._clock.now(),
            people=people,
        )
        await self._change(principal, interrupt_id, change)
        return await self._inbox.interrupt(principal, interrupt_id)

    async def note(self, view: ThreadView, late: Sequence[Interrupt], principal: Principal) -> None:
        """Note on expired questions who refused them too late; not while the thread runs (D6).

        Raises:
            Conflict: the thread has changed.
        """
        if not late:
            return
        ids = ", ".join(item.id for item in late)
        _log.info("%r refused %s after they had expired", principal.subject, ids)
        if view.thread.holder is None:
            await self._keep(view, late, principal)

    async def note_refusal(
        self, view: ThreadView, refusal: Refuse, principal: Principal, channel: str
    ) -> None:
        """Note who was refused an answer that is not theirs to give, while the question waits.

        Raises:
            Conflict: the thread has changed.
        """
        thread, turn = view.thread, view.turn
        if refusal.code.facts.status != _FORBIDDEN or turn is None or turn.status != "suspended":
            return
        entries = await self._store.journal(thread.scope, turn.key)
        marks = (
            refused_mark(
                entries, detail["interruptId"], refusal.code, by=principal, channel=channel
            )
            for detail in refusal.details.get("interrupts", ())
        )
        if new := [mark for mark in marks if mark is not None]:
            now = self._clock.now()
            await self._store.update_idle(update_of(thread, now, entries=new, by=principal.subject))

    async def _refuse(
        self, view: ThreadView, refusal: Refuse, principal: Principal, interrupt_id: str
    ) -> NoReturn:
        await self.note_refusal(view, refusal, principal, CHANNEL)
        log_refused(view.thread.id, principal.subject, refusal.code, [interrupt_id])
        raise problem_of(refusal, {interrupt_id: ""})

    async def _change(
        self,
        principal: Principal,
        interrupt_id: str,
        change: Callable[[ThreadView], HoldAnswers | Refuse],
    ) -> HoldAnswers:
        thread_id = (await self._inbox.interrupt(principal, interrupt_id)).thread_id

        async def act(view: ThreadView) -> HoldAnswers:
            decision = change(view)
            if isinstance(decision, Refuse):
                await self._refuse(view, decision, principal, interrupt_id)
            await self._keep(view, decision.items, principal)
            return decision

        return await fresh(partial(self._load, principal, thread_id, [interrupt_id]), act)

    async def _give(
        self,
        principal: Principal,
        thread_id: str,
        entries: Sequence[ResumeEntry],
        pointers: dict[str, str],
    ) -> Answered:
        ids = [entry.interrupt_id for entry in entries]

        async def act(view: ThreadView) -> Answered:
            if await self._denials.hear(view, ids):
                raise Conflict("the thread has changed by what was heard")
            vault = await vault_for(self._store, principal.scope, view)
            check = await self._looks.payload_check(view, ids, vault=vault)
            case = case_of_answers(
                entries,
                view,
                principal=principal,
                channel=CHANNEL,
                now=self._clock.now(),
                limits=self._limits,
                check=check,
                vault=vault,
            )
            decision = decide(case, INBOX)
            if self._tracing is not None:
                self._tracing.note(verdict=verdict_of(decision))
            if self._signing is not None:
                decision = await signed(self._signing, principal.scope, thread_id, decision)
            match decision:
                case Refuse():
                    await self.note(view, decision.late, principal)
                    await self.note_refusal(view, decision, principal, CHANNEL)
                    log_refused(thread_id, principal.subject, decision.code, ids)
                    raise problem_of(decision, pointers)
                case HoldAnswers():
                    await self._keep(view, decision.items, principal, decision.secrets)
                    log_held(thread_id, decision.items, principal.subject)
                    # A no that was kept before is told as well: whoever says it again may have
                    # got no answer, for the server died before it told copies of it.
                    before = [item for item in view.interrupts if item.id in ids]
                    await self._denials.tell(view.thread, [*before, *decision.items])
                    return _held(decision, entries)
                case AlreadyAnswered():
                    await self.note(view, decision.late, principal)
                    return Answered(0, await self._run_id(view, decision.run_key))
                case Resume():
                    return Answered(0, await self._resume(view, decision))
                case _:
                    raise AssertionError(f"the inbox does not decide {decision!r}")

        tracing = self._tracing
        judge = act if tracing is None else tracing.around("gate", act, thread=thread_id)
        return await fresh(partial(self._load, principal, thread_id, ids), judge)

    async def _resume(self, view: ThreadView, decision: Resume) -> str:
        turn = view.turn
        assert turn is not None  # noqa: S101 - the gate settles for a turn only
        agent = self._agents.version(turn.agent, turn.version)
        if agent is None:
            raise problem_of(refusals.missing_version(turn), {})
        claimed = await self._claims.resume(
            view,
            turn,
            agent,
            settle=decision.settle,
            retry=decision.retry,
            secrets=decision.secrets,
        )
        try:
            # Before the turn continues: whoever takes it over, if this server dies now, tells them.
            await self._denials.tell(view.thread, decision.settle)
        finally:
            self._live.start_unread(claimed)
        return claimed.run.run_id

    async def _keep(
        self,
        view: ThreadView,
        items: Sequence[Interrupt],
        principal: Principal,
        secrets: tuple[SecretValue, ...] = (),
    ) -> None:
        if not items:
            return
        thread = view.thread
        now = self._clock.now()
        await self._store.update_idle(
            update_of(thread, now, interrupts=items, by=principal.subject, secrets=secrets)
        )
        self._changed(thread.scope)

    async def _load(self, principal: Principal, thread_id: str, ids: Sequence[str]) -> ThreadView:
        view = await self._store.load(principal.scope, thread_id, interrupt_ids=ids)
        interrupts = {} if view is None else {item.id: item for item in view.interrupts}
        if view is None or not all(
            may_see(interrupts[key], view.thread.owner, principal)
            if key in interrupts
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
            page = await self._store.runs(view.thread.scope, view.thread.id, PageRequest(after))
            for run in page.items:
                if run.key == run_key:
                    return run.run_id
            after = page.next
            if after is None:
                break
        return None


def _held(decision: HoldAnswers, entries: Sequence[ResumeEntry]) -> Answered:
    """The outcome of answers that are kept, or counted."""
    interrupt_ids = {entry.interrupt_id for entry in entries}
    counted = [item for item in decision.items if item.held is None and item.id in interrupt_ids]
    return Answered(
        decision.remaining,
        counted=counted[0] if len(interrupt_ids) == 1 and counted else None,
        dropped=decision.dropped,
    )


def problem_of(refusal: Refuse, pointers: dict[str, str]) -> Problem:
    """A refusal as a problem; `pointers` are those of its entry for each interrupt.

    `errors` point into the request, `interrupts` are the gate's details, whose pointers begin at
    the payload. When one interrupt is the matter, `by` and `at` say who decided it, and when.
    """
    details = refusal.details.get("interrupts", [])
    errors = tuple(
        {
            "pointer": f"{pointers.get(detail['interruptId'], '')}/payload{problem['pointer']}",
            "message": problem["message"],
        }
        for detail in details
        for problem in detail.get("problems", ())
    )
    errors = (*refusal.details.get("errors", ()), *errors)
    more = {"interrupts": details} if details else {}
    if len(details) == 1:
        more |= {name: details[0][name] for name in ("by", "at") if name in details[0]}
    return Problem(refusal.code, refusal.message, errors=errors, more=more)
