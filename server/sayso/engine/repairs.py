"""Repairs of a thread by hand: edit its state, copy it, restart its turn."""

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from sayso.agents.registry import Agent
from sayso.base import ids, jsonvalue
from sayso.base.codes import Code
from sayso.base.errors import Conflict, Problem
from sayso.base.jsonpatch import merge_patch
from sayso.base.records import Entry, Interrupt, Principal, Run, ThreadView, TurnRecord
from sayso.engine.claims import Claims
from sayso.engine.live import LiveRuns
from sayso.engine.stop import StopRequest, StopService
from sayso.engine.threads import Threads
from sayso.gate import refusals
from sayso.gate.interrupts import mark_copied
from sayso.gate.quorum import asks_others, may_answer
from sayso.protocol.reasons import BREAKPOINT
from sayso.stores.base import update_of
from sayso.turns.denials import Denials, first_of, origin_of, questions
from sayso.turns.input import TurnInput
from sayso.turns.journal.earlier_decisions import barred_by_denials, decisions
from sayso.turns.journal.forks import Fork, fork
from sayso.turns.journal.journal import again_mark, copied_from, edit_mark
from sayso.turns.replay.conclusion import suspension
from sayso.turns.services import Services, fresh

_log = logging.getLogger("sayso.engine.repairs")


@dataclass(frozen=True, slots=True)
class Restarted:
    """The run that began, and the names of what the turn before had done and may now do again."""

    run_id: str
    repeats: tuple[str, ...]


class Repairs:
    """Changes the threads of one caller at a time. Every method raises `Problem`."""

    def __init__(
        self,
        services: Services,
        threads: Threads,
        claims: Claims,
        live: LiveRuns,
        stopping: StopService,
        denials: Denials,
    ) -> None:
        self._store, self._clock = services.store, services.clock
        self._agents, self._tools = services.agents, services.tools
        self._services_may_decide = services.services_may_decide
        self._authorization = services.authorization
        self._changed = services.changed
        self._threads = threads
        self._claims = claims
        self._live = live
        self._stopping = stopping
        self._denials = denials

    async def edit(
        self, principal: Principal, thread_id: str, patch: dict[str, Any], *, channel: str = "edit"
    ) -> None:
        """Apply a merge patch (RFC 7396) to the state of a thread that waits.

        The edit is checked and journalled, and is stronger than what a client sends.

        Raises:
            Problem: `unknown_thread`; `thread_busy` while it runs; `not_waiting`;
                `not_an_approver` while it waits at a breakpoint for others, `already_resolved` once
                one of them has agreed; `invalid_payload` for a state that its agent does not take.
        """

        async def act(view: ThreadView) -> None:
            turn = _waiting_turn(view)
            _check_breakpoints(_of_turn(view, turn), principal)
            state = merge_patch(jsonvalue.decode(view.thread.state), patch)
            self._check_edit(turn, state)
            entries = await self._store.journal(principal.scope, turn.key)
            now = self._clock.now()
            try:
                mark = edit_mark(entries, patch, by=principal.subject, at=now, channel=channel)
            except IndexError:
                raise Conflict("its journal has ended since") from None
            await self._store.update_idle(
                update_of(view.thread, now, state=jsonvalue.encode(state), entries=(mark,))
            )

        await fresh(partial(self._threads.view, principal, thread_id), act)
        self._changed(principal.scope)

    def _check_edit(self, turn: TurnRecord, state: Any) -> None:
        agent = self._agents.version(turn.agent, turn.version)
        if agent is None:
            missing = refusals.missing_version(turn)
            raise Problem(missing.code, missing.message)
        wrong = agent.state_errors(state)
        if wrong:
            raise Problem(
                Code.INVALID_PAYLOAD,
                f"The state would not be one of agent {turn.agent!r} any more: `errors` say where. "
                "Nothing was changed.",
                errors=tuple(
                    {"pointer": f"/values{pointer}", "message": text} for pointer, text in wrong
                ),
            )

    async def fork(
        self, principal: Principal, thread_id: str, interrupt_id: str, *, channel: str = "fork"
    ) -> str:
        """A new thread that waits where this one waited, or waits, for that answer; its id.

        The other answer can be tried there; the thread that is copied continues as before.

        Raises:
            Problem: `unknown_thread`; `unknown_interrupt`; `journal_gone` once another turn has
                begun; `denied_before` for what its approvers will not be asked again;
                `not_allowed` by the app; `thread_busy` while it runs, unless it was copied before
                or is a copy itself.
        """

        async def act(view: ThreadView) -> tuple[Fork, ThreadView]:
            interrupt, turn = _interrupt_of(view, interrupt_id)
            await self._authorization.check(principal, turn.agent, "fork")
            entries = await self._store.journal(principal.scope, turn.key)
            after = await self._store.load(principal.scope, thread_id)
            if after is None or after.thread.revision != view.thread.revision:
                raise Conflict("thread and journal do not belong together")
            before = decisions(_of_turn(view, turn), entries, thread_id)
            _check_denied(_of_turn(view, turn), before)
            first = await self._first(view, entries)
            if first is None and await self._mark_copied(view, interrupt):
                raise Conflict("the thread has changed by the note")
            made = fork(
                view,
                turn,
                entries,
                interrupt,
                now=self._clock.now(),
                origin={
                    "threadId": thread_id,
                    "interruptId": interrupt_id,
                    "by": principal.subject,
                    "channel": channel,
                    **({} if first in (None, thread_id) else {"first": first}),
                    **({"before": before} if before else {}),
                },
                four_eyes=self._tools.four_eyes,
                services=self._services_may_decide,
            )
            if made is None:
                raise _gone()
            return made, view

        read = partial(self._threads.view, principal, thread_id, interrupt_ids=[interrupt_id])
        made, copied = await fresh(read, act)
        copy = await self._create_fork(principal, made, copied)
        await self._tell_denied_meanwhile(principal, copied)
        return copy

    async def _first(self, view: ThreadView, entries: Sequence[Entry]) -> str | None:
        """The first of the threads that this one was copied from; None if it was not."""
        if (first := first_of(view.interrupts, entries)) is not None:
            return first
        return await origin_of(self._store, view.thread.scope, view.thread.id)

    async def _mark_copied(self, view: ThreadView, item: Interrupt) -> bool:
        """Note on the question that its thread was copied there, so that denials in copies count.

        Returns True if it was written now. While the thread runs a note on any other one does.

        Raises:
            Problem: `thread_busy`, the thread runs, so nothing can be noted: what is denied in the
                copy would count in the copy alone.
        """
        if item.progress.copied:
            return False
        if view.thread.holder is not None:
            async for other in questions(self._store, view.thread.scope, view.thread.id):
                if other.progress.copied:
                    return False
            raise _busy()
        now = self._clock.now()
        with suppress(Conflict):
            await self._store.update_idle(
                update_of(view.thread, now, interrupts=(mark_copied(item),))
            )
        return True

    async def _create_fork(self, principal: Principal, made: Fork, copied: ThreadView) -> str:
        thread_id = ids.new("thread")
        now = self._clock.now()
        open_now = [item for item in made.interrupts if item.status == "open"]
        run = Run(
            key=ids.new("run"),
            run_id=ids.new("run"),
            turn_key=made.turn.key,
            started_at=now,
            ended_at=now,
            outcome=suspension(open_now).to_json(),
        )
        secrets = await self._claims.secrets_of(copied, made.entries)
        await self._claims.create_fork(principal, thread_id, made, run, secrets)
        self._changed(principal.scope)
        return thread_id

    async def _tell_denied_meanwhile(self, principal: Principal, copied: ThreadView) -> None:
        """Tell the copy of what was denied while it was made."""
        view = await self._store.load(principal.scope, copied.thread.id)
        if view is not None and view.thread.revision != copied.thread.revision:
            await self._denials.tell(view.thread, view.interrupts)

    async def repeats(self, principal: Principal, thread_id: str) -> tuple[str, ...]:
        """Names of tools and steps that a restart would run again, in order."""
        view = await self._threads.view(principal, thread_id)
        if view.turn is None:
            return ()
        return repeated(await self._store.journal(principal.scope, view.turn.key))

    async def restart(
        self,
        principal: Principal,
        thread_id: str,
        *,
        by: str | None = None,
        channel: str = "restart",
    ) -> Restarted:
        """Stop the turn if it waits, and begin it again from its own request.

        The server never does that by itself: what was done before is done again. Its questions are
        cancelled and its calls get results that say so. The new turn has the newest version of the
        agent, the same input, and the history with all that happened. `by` is who does it, the
        caller if not given.

        Raises:
            Problem: `unknown_thread`; `thread_busy` while it runs; `not_waiting` once it has ended
                well; `unknown_agent` for one that is no longer served; `not_allowed` by the
                app; `denied_before` for what its approvers will not be asked again.
        """
        repeats: tuple[str, ...] = ()
        actor = by or principal.subject

        async def act(view: ThreadView) -> str:
            nonlocal repeats
            turn, agent = self._restartable(view)
            if by is None:
                await self._authorization.check(principal, turn.agent, "restart")
            entries = await self._store.journal(principal.scope, turn.key)
            repeats = repeated(entries) or repeats
            mine = _of_turn(view, turn)
            before = decisions(mine, entries, thread_id)
            _check_denied(mine, before)
            if turn.status == "suspended":
                await self._stopping.end(view, turn, StopRequest(actor, channel=channel))
                raise Conflict("the turn has ended by that")
            mark = again_mark(actor, before, copied_from(entries))
            claimed = await self._claims.restart(view, turn, agent, mark)
            self._live.start_unread(claimed)
            return claimed.run.run_id

        run_id = await fresh(partial(self._threads.view, principal, thread_id), act)
        _log.info("%r restarted thread %r", principal.subject, thread_id)
        return Restarted(run_id, repeats)

    def _restartable(self, view: ThreadView) -> tuple[TurnRecord, Agent]:
        """The turn of a thread that can begin again, and the agent that it then has."""
        turn = view.turn
        if view.thread.holder is not None:
            raise Problem(Code.THREAD_BUSY, "This thread is running: stop it first.")
        if turn is None or turn.status == "finished":
            raise Problem(
                Code.NOT_WAITING,
                "The turn has ended well, so there is nothing to begin again: send a message.",
            )
        agent = self._agents.newest(turn.agent)
        if agent is None:
            raise Problem(
                Code.UNKNOWN_AGENT,
                f"Agent {turn.agent!r} is not served any more: register it, or stop the turn.",
            )
        # Refused before anything is cancelled: what newer code could not begin with.
        state = TurnInput.from_json(view.thread.id, jsonvalue.decode(turn.request), ()).state
        wrong = agent.state_errors(state) if state and agent.version != turn.version else ()
        if wrong:
            raise Problem(
                Code.INVALID_PAYLOAD,
                f"The turn began with a state that version {agent.version!r} of agent "
                f"{agent.name!r} does not take, so it was not restarted: `errors` say where. Stop "
                "it, and begin anew.",
                errors=tuple(
                    {"pointer": f"/state{pointer}", "message": text} for pointer, text in wrong
                ),
            )
        return turn, agent


def repeated(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Names of tools and steps that were run, or may have been, in order."""
    return tuple(
        entry.name
        for entry in entries
        if entry.kind in ("call", "step") and (entry.status == "started" or _ran(entry))
    )


def _ran(entry: Entry) -> bool:
    if entry.status == "asked":
        return b'"why":"indeterminate"' in entry.data
    return entry.kind == "step" or b'"status":"executed"' in entry.data


def _waiting_turn(view: ThreadView) -> TurnRecord:
    """The turn that a thread waits in; Problem if it runs, or waits for nobody."""
    if view.thread.holder is not None:
        raise _busy()
    if view.turn is None or view.turn.status != "suspended":
        raise Problem(
            Code.NOT_WAITING,
            "This thread waits for nobody: its turn has ended. Only a turn that waits can be "
            "changed.",
        )
    return view.turn


def _of_turn(view: ThreadView, turn: TurnRecord) -> list[Interrupt]:
    return [item for item in view.interrupts if item.turn_key == turn.key]


def _interrupt_of(view: ThreadView, interrupt_id: str) -> tuple[Interrupt, TurnRecord]:
    interrupt = next((item for item in view.interrupts if item.id == interrupt_id), None)
    if interrupt is None:
        raise Problem(
            Code.UNKNOWN_INTERRUPT,
            "This thread never asked that: GET /threads/{id}/history lists its interrupts.",
        )
    turn = view.turn
    if turn is None or interrupt.turn_key != turn.key:
        raise _gone()
    return interrupt, turn


def _check_breakpoints(items: Sequence[Interrupt], principal: Principal) -> None:
    """Check that what approvers look at stays as they see it.

    Raises:
        Problem: `not_an_approver` for whoever is none of them, `already_resolved` once others have
            agreed.
    """
    for item in items:
        if item.reason != BREAKPOINT or item.status != "open" or not asks_others(item):
            continue
        if not may_answer(item, principal):
            raise Problem(
                Code.NOT_AN_APPROVER,
                f"The turn waits at a breakpoint for others ({item.id}), who decide about the "
                "state as it is: ask one of them, or cancel the question.",
            )
        if any(vote.by != principal.subject for vote in item.progress.votes):
            raise Problem(
                Code.ALREADY_RESOLVED,
                f"Others have agreed to continue with the state as it is ({item.id}): let the rest "
                "decide, or cancel the question.",
            )


def _check_denied(items: Sequence[Interrupt], before: Sequence[dict[str, Any]]) -> None:
    """Check that no question to be asked again was denied for good.

    Raises:
        Problem: `denied_before`, one was.
    """
    again = barred_by_denials(items, before)
    if again:
        raise Problem(
            Code.DENIED_BEFORE,
            "An approver has denied a call of this turn, and copies and restarts of such calls are "
            "refused: send a message to ask for something else.",
            more={"interrupts": [{"interruptId": interrupt_id} for interrupt_id in again]},
        )


def _busy() -> Problem:
    return Problem(
        Code.THREAD_BUSY, "This thread is running: stop it, or wait until it asks or ends."
    )


def _gone() -> Problem:
    return Problem(
        Code.JOURNAL_GONE,
        "Another turn has begun since, and the record of this one is gone: a copy can be made "
        "at the questions of a thread's newest turn.",
    )
