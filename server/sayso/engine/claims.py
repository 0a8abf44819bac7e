"""Taking threads: the one atomic step that begins a turn, lets it go on, or takes it over."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any

from sayso import jsonvalue
from sayso.agents.registry import Agent
from sayso.agents.turninput import begun_with, request_of, text_of, turn_input
from sayso.clock import Clock
from sayso.engine.leases import LeaseKeeper
from sayso.errors import LeaseLost, StoreUnavailable
from sayso.gate import ladder as gate
from sayso.gate.frontend import results_of
from sayso.gate.settled import settled_message
from sayso.making import changed, quick
from sayso.protocol.runinput import RunInput
from sayso.records import (
    Claim,
    Commit,
    Entry,
    Interrupt,
    Lease,
    Message,
    Principal,
    Run,
    ThreadView,
    Turn,
)
from sayso.stores.base import Store
from sayso.turns.copies import Copied
from sayso.turns.marks import edited, pauses, resumed_mark

__all__ = ["Claimed", "Claims"]


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A thread as it stands right after it was claimed."""

    lease: Lease
    alive: Callable[[], bool]
    agent: Agent
    turn: Turn
    run: Run
    state: Any
    messages: tuple[Message, ...]
    interrupts: tuple[Interrupt, ...] = ()
    settled: tuple[Interrupt, ...] = ()
    entries: tuple[Entry, ...] = ()
    retry: bool = False


_OVER = "this server is shutting down: it takes no thread any more"


class Claims:
    """Claims threads for one holder. Every method raises `Conflict` when the thread has changed."""

    def __init__(self, store: Store, clock: Clock, keeper: LeaseKeeper) -> None:
        self._store = store
        self._clock = clock
        self._keeper = keeper
        self._holder = f"holder_{token_hex(16)}"

    async def start(
        self,
        decision: gate.Start,
        agent: Agent,
        request: RunInput,
        principal: Principal,
        view: ThreadView | None,
    ) -> Claimed:
        """Begin a turn with what a request brought."""
        now = self._clock.now()
        before = view.messages if view else ()
        state = request.state
        if state is None:
            state = jsonvalue.decode(view.thread.state) if view else {}
        messages = _started_with(before, decision)
        given = begun_with(request, state, text_of(decision.append) or request.user_text)
        turn = Turn(
            key=f"turn_{token_hex(16)}",
            agent=agent.name,
            version=agent.version,
            status="running",
            request=request_of(given, len(messages)),
            principal=principal,
            started_at=now,
        )
        run = new_run(request.run_id, turn, now)
        claim = Claim(
            scope=principal.scope,
            thread_id=request.thread_id,
            owner=principal.subject,
            agent=agent.name,
            revision=view.thread.revision if view else 0,
            holder=self._holder,
            lease_ms=self._keeper.lease_ms,
            now=now,
            turn=turn,
            run=run,
            state=jsonvalue.encode(state),
            messages=decision.append,
            hide=decision.hide,
        )
        lease, alive = await self._take(claim)
        return Claimed(
            lease=lease,
            alive=alive,
            agent=agent,
            turn=turn,
            run=run,
            state=state,
            messages=messages,
        )

    async def resume(
        self,
        view: ThreadView,
        turn: Turn,
        agent: Agent,
        *,
        settle: Iterable[Interrupt] = (),
        queue: tuple[Message, ...] = (),
        retry: bool = False,
        request: RunInput | None = None,
    ) -> Claimed:
        """Let a turn go on with its answers; `request` is None when no client brought them.

        The results of the client's own tools join the history with it.
        """
        run_id = request.run_id if request is not None else f"run_{token_hex(16)}"
        run = new_run(run_id, turn, self._clock.now())
        entries = await self._store.journal(view.thread.scope, turn.key)
        # A client that was just loaded sends {} because it knows nothing, not to clear the state.
        # And who edited the state while the turn waited knew more than a page that was open then.
        waited = pauses(entries)
        is_edited = bool(waited and edited(entries, waited[-1]))
        sent = request.state if request is not None and not is_edited else None
        state = sent or jsonvalue.decode(view.thread.state)
        pause = None if retry else _resumed(entries, state, request)
        settled = tuple(changed(interrupt, run_key=run.key) for interrupt in settle)
        known = {message.id for message in view.messages}
        results = tuple(one for one in results_of(settled) if one.id not in known)
        return await self._again(
            view,
            changed(turn, status="running", ended_at=None),
            agent,
            run,
            state,
            settled=settled,
            queue=(*results, *queue),
            entries=entries,
            pause=pause,
            retry=retry,
        )

    async def take_over(self, view: ThreadView, turn: Turn, run: Run, agent: Agent) -> Claimed:
        """Go on with the run of a holder whose lease ran out, from its journal."""
        entries = await self._store.journal(view.thread.scope, turn.key)
        state = jsonvalue.decode(view.thread.state)
        return await self._again(view, turn, agent, run, state, entries=entries)

    async def begin_again(self, view: ThreadView, turn: Turn, agent: Agent) -> Claimed:
        """Begin a turn with what another one began with, which has ended."""
        now = self._clock.now()
        given = turn_input(view.thread.id, jsonvalue.decode(turn.request), view.messages)
        run_id = f"run_{token_hex(16)}"
        again = Turn(
            key=f"turn_{token_hex(16)}",
            agent=agent.name,
            version=agent.version,
            status="running",
            request=request_of(replace(given, run_id=run_id), len(view.messages)),
            principal=turn.principal,
            started_at=now,
        )
        # The interrupts of the view are those of the turn before.
        before = changed(view, interrupts=())
        return await self._again(before, again, agent, new_run(run_id, again, now), given.state)

    async def found(self, owner: Principal, thread_id: str, made: Copied, run: Run) -> None:
        """Make a thread out of a copied turn, which waits; `Conflict` if there is one."""
        await self._write(
            Claim(
                scope=owner.scope,
                thread_id=thread_id,
                owner=owner.subject,
                agent=made.turn.agent,
                revision=0,
                holder=self._holder,
                lease_ms=self._keeper.lease_ms,
                now=self._clock.now(),
                turn=made.turn,
                run=run,
                state=made.state,
                messages=made.messages,
                interrupts=made.interrupts,
                entries=made.entries,
            ),
            Commit(now=self._clock.now(), release=True),
        )

    async def close(
        self,
        view: ThreadView,
        turn: Turn,
        run: Run,
        *,
        interrupts: tuple[Interrupt, ...] = (),
        entries: tuple[Entry, ...] = (),
        messages: tuple[Message, ...] = (),
    ) -> None:
        """Write how a turn ended that nobody runs; the thread is idle afterwards.

        All of it is in the claim, so that whoever finds the thread if this server dies in between
        has nothing to do but to let it go.
        """
        now = self._clock.now()
        await self._write(
            Claim(
                scope=view.thread.scope,
                thread_id=view.thread.id,
                owner=view.thread.owner,
                agent=turn.agent,
                revision=view.thread.revision,
                holder=self._holder,
                lease_ms=self._keeper.lease_ms,
                now=now,
                turn=turn,
                run=run,
                messages=messages,
                interrupts=interrupts,
                entries=entries,
            ),
            Commit(now=now, dequeue=True, release=True),
        )

    async def _write(self, claim: Claim, release: Commit) -> None:
        """Write all in a claim, and let the thread go at once."""
        lease = await self._store.claim(claim)
        with suppress(LeaseLost):
            await self._store.commit(lease, release)

    async def _again(
        self,
        view: ThreadView,
        turn: Turn,
        agent: Agent,
        run: Run,
        state: Any,
        *,
        settled: tuple[Interrupt, ...] = (),
        queue: tuple[Message, ...] = (),
        entries: tuple[Entry, ...] = (),
        pause: Entry | None = None,
        retry: bool = False,
    ) -> Claimed:
        told = tuple(m for item in settled if (m := settled_message(item)) is not None)
        claim = Claim(
            scope=view.thread.scope,
            thread_id=view.thread.id,
            owner=view.thread.owner,
            agent=turn.agent,
            revision=view.thread.revision,
            holder=self._holder,
            lease_ms=self._keeper.lease_ms,
            now=self._clock.now(),
            turn=turn,
            run=run,
            state=jsonvalue.encode(state),
            messages=(*told, *queue),
            interrupts=settled,
            entries=(pause,) if pause else (),
        )
        lease, alive = await self._take(claim)
        answered = {interrupt.id for interrupt in settled}
        return Claimed(
            lease=lease,
            alive=alive,
            agent=agent,
            turn=turn,
            run=run,
            state=state,
            messages=(*view.messages, *told, *queue),
            interrupts=tuple(i for i in view.interrupts if i.id not in answered),
            settled=settled,
            entries=tuple(
                pause if pause is not None and entry.place == pause.place else entry
                for entry in entries
            ),
            retry=retry,
        )

    async def _take(self, claim: Claim) -> tuple[Lease, Callable[[], bool]]:
        if self._is_over():
            raise StoreUnavailable(_OVER)
        asked = self._clock.monotonic()
        lease = await self._store.claim(claim)
        if self._is_over():  # since then: what the claim holds is for others
            await asyncio.to_thread(self._keeper.let_go, (lease,))
            raise StoreUnavailable(_OVER)
        return lease, self._keeper.keep(lease, asked)

    def _is_over(self) -> bool:
        return not self._keeper.keeps


def new_run(run_id: str, turn: Turn, now: int) -> Run:
    """A run of a turn, under a key of our own (ID-02, TR-07)."""
    return Run(key=f"run_{token_hex(16)}", run_id=run_id, turn_key=turn.key, started_at=now)


def _started_with(before: tuple[Message, ...], decision: gate.Start) -> tuple[Message, ...]:
    """The thread's messages as the claim leaves them."""
    known = {message.id for message in before}
    shown = {message.id for message in decision.append}
    hidden = set(decision.hide)
    kept = [
        changed(message, visibility="hidden")
        if message.id in hidden
        else changed(message, visibility="visible")
        if message.id in shown
        else message
        for message in before
    ]
    return (*kept, *(message for message in decision.append if message.id not in known))


def _resumed(entries: tuple[Entry, ...], state: Any, request: RunInput | None) -> Entry | None:
    """The record of the last pause, with what the turn is resumed with."""
    waited = pauses(entries)
    if not waited:
        return None
    given = None
    if request is not None:
        given = request_of(begun_with(request, request.state, request.user_text), 0)
    return resumed_mark(waited[-1], jsonvalue.encode(state), given)
