"""Claims of threads: the one atomic step that begins, continues or takes over a turn."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from sayso.agents.registry import Agent
from sayso.base import digits, ids, jsonvalue
from sayso.base.errors import LeaseLost, StoreUnavailable
from sayso.base.fastrecords import copy_with, fast
from sayso.base.records import (
    Claim,
    Commit,
    Entry,
    Interrupt,
    Lease,
    Message,
    Principal,
    Run,
    ThreadView,
    TurnRecord,
)
from sayso.base.secretvalues import SecretValue, may_hold_secrets
from sayso.engine.instrumented import log_questions, log_resumed
from sayso.engine.leases import LeaseKeeper
from sayso.gate import refusals
from sayso.gate.answers import holds_apart
from sayso.gate.case import Start
from sayso.gate.client_tools import joining, results_of
from sayso.gate.interrupts import taken_by
from sayso.gate.refusals import Refuse
from sayso.gate.settled import settled_message
from sayso.protocol.runinput import RunInput
from sayso.turns.input import TurnInput, text_of_messages
from sayso.turns.journal.forks import Fork
from sayso.turns.journal.journal import edited, pauses, resumed_mark
from sayso.turns.services import Services


class Unfit(Exception):
    """A request brings a state that its agent does not accept; nothing was changed."""

    def __init__(self, refusal: Refuse) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A thread right after it was claimed."""

    lease: Lease
    alive: Callable[[], bool]
    agent: Agent
    turn: TurnRecord
    run: Run
    messages: tuple[Message, ...]
    begun: TurnInput | None = None
    """What its turn begins with, if it begins now; else the turn's record says it."""
    interrupts: tuple[Interrupt, ...] = ()
    settled: tuple[Interrupt, ...] = ()
    answered: tuple[Interrupt, ...] = ()
    """The settled ones as they stood before."""
    entries: tuple[Entry, ...] = ()
    retry: bool = False
    kept: bytes | None = None
    secrets: tuple[SecretValue, ...] = ()
    """What is kept apart from the answers."""


_OVER = "this server is shutting down: it takes no thread any more"


class Claims:
    """Claims threads for one holder. Every method raises `Conflict` when the thread has changed.

    A method that is given a request raises `Unfit` for a state that its agent does not take.
    """

    def __init__(self, services: Services, keeper: LeaseKeeper) -> None:
        self._store, self._clock = services.store, services.clock
        self._keeper = keeper
        self._holder = ids.new("holder")

    async def start(
        self,
        decision: Start,
        agent: Agent,
        request: RunInput,
        principal: Principal,
        view: ThreadView | None,
    ) -> Claimed:
        """Begin a turn with what a request brought."""
        now = self._clock.now()
        before, kept = (view.messages, view.thread.state) if view else ((), b"{}")
        state, stored = _brought(request.state, kept, agent)
        messages = _started_with(before, decision)
        begun = TurnInput.from_request(
            request, state, text_of_messages(decision.append) or request.user_text
        )
        turn = TurnRecord(
            key=ids.new("turn"),
            agent=agent.name,
            version=agent.version,
            status="running",
            request=begun.to_json(stored, len(messages)),
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
            state=stored,
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
            messages=messages,
            begun=begun,
            kept=view.thread.kept if view else None,
        )

    async def resume(
        self,
        view: ThreadView,
        turn: TurnRecord,
        agent: Agent,
        *,
        settle: Iterable[Interrupt] = (),
        queue: tuple[Message, ...] = (),
        retry: bool = False,
        request: RunInput | None = None,
        secrets: tuple[SecretValue, ...] = (),
    ) -> Claimed:
        """Continue a turn with its answers; `request` is None when no client brought them.

        `secrets` are kept apart from these answers.

        The results of the client's own tools join the history with it.
        """
        run_id = request.run_id if request is not None else ids.new("run")
        run = new_run(run_id, turn, self._clock.now())
        entries = await self._store.journal(view.thread.scope, turn.key)
        # A client that was just loaded sends {} because it knows nothing, not to clear the state.
        # And an edit while the turn waited knew more than a page that was open before it.
        waited = pauses(entries)
        is_edited = bool(waited and edited(entries, waited[-1]))
        state = view.thread.state
        if request is not None and secrets:
            request = _without_command(request)
        if request is not None and request.state and not is_edited:
            brought, state = _brought(request.state, state, agent)
            request = replace(request, state=brought)
        pause = None if retry else _resumed(entries, state, request)
        settled = tuple(taken_by(interrupt, run.key) for interrupt in settle)
        results = joining(results_of(settled), view.messages, queue)
        claimed = await self._again(
            view,
            copy_with(turn, status="running", ended_at=None),
            agent,
            run,
            state,
            settled=settled,
            queue=(*results, *queue),
            entries=entries,
            pause=pause,
            retry=retry,
            secrets=secrets,
        )
        log_resumed(view.thread.id, run_id)
        return claimed

    async def take_over(
        self, view: ThreadView, turn: TurnRecord, run: Run, agent: Agent
    ) -> Claimed:
        """Continue the run of a holder whose lease ran out, from its journal."""
        entries = await self._store.journal(view.thread.scope, turn.key)
        return await self._again(view, turn, agent, run, view.thread.state, entries=entries)

    async def unclaimed(self, view: ThreadView, turn: TurnRecord, agent: Agent) -> Claimed:
        """Read a turn that nobody runs, without a lease: it can only be looked at."""
        entries = await self._store.journal(view.thread.scope, turn.key)
        waits = turn.status == "suspended"
        pause = _resumed(entries, view.thread.state, None) if waits else None
        return Claimed(
            lease=Lease(scope=view.thread.scope, thread_id=view.thread.id, holder="", fence=0),
            alive=lambda: False,
            agent=agent,
            turn=turn,
            run=new_run(ids.new("run"), turn, self._clock.now()),
            messages=view.messages,
            interrupts=view.interrupts,
            kept=view.thread.kept,
            secrets=await self.secrets_of(view, entries),
            entries=tuple(
                pause if pause is not None and entry.place == pause.place else entry
                for entry in entries
            ),
        )

    async def restart(
        self, view: ThreadView, turn: TurnRecord, agent: Agent, mark: Entry
    ) -> Claimed:
        """Begin a turn with what another one began with, which has ended; `mark` says by whom."""
        now = self._clock.now()
        run_id = ids.new("run")
        first = TurnInput.from_json(view.thread.id, jsonvalue.decode(turn.request), ())
        begun, state = replace(first, run_id=run_id), jsonvalue.encode(first.state)
        again = TurnRecord(
            key=ids.new("turn"),
            agent=agent.name,
            version=agent.version,
            status="running",
            request=begun.to_json(state, len(view.messages)),
            principal=turn.principal,
            started_at=now,
        )
        # The interrupts of the view are those of the turn before.
        before = copy_with(view, interrupts=())
        run = new_run(run_id, again, now)
        return await self._again(
            before, again, agent, run, state, begun=begun, entries=(mark,), mark=mark
        )

    async def create_fork(
        self,
        owner: Principal,
        thread_id: str,
        made: Fork,
        run: Run,
        secrets: tuple[SecretValue, ...],
    ) -> None:
        """Make a thread out of a copied turn, which waits; `Conflict` if there is one.

        `secrets` are kept apart from the answers of that turn.
        """
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
                kept=made.kept,
                secrets=secrets,
            ),
            Commit(now=self._clock.now(), release=True),
        )

    async def close(
        self,
        view: ThreadView,
        turn: TurnRecord,
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
        log_questions(claim.thread_id, claim.interrupts)
        with suppress(LeaseLost):
            await self._store.commit(lease, release)

    async def _again(
        self,
        view: ThreadView,
        turn: TurnRecord,
        agent: Agent,
        run: Run,
        state: bytes,
        *,
        begun: TurnInput | None = None,
        settled: tuple[Interrupt, ...] = (),
        queue: tuple[Message, ...] = (),
        entries: tuple[Entry, ...] = (),
        pause: Entry | None = None,
        mark: Entry | None = None,
        retry: bool = False,
        secrets: tuple[SecretValue, ...] = (),
    ) -> Claimed:
        messages = tuple(m for item in settled if (m := settled_message(item)) is not None)
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
            state=state,
            messages=(*messages, *queue),
            interrupts=settled,
            entries=tuple(entry for entry in (pause, mark) if entry is not None),
            secrets=secrets,
        )
        kept_apart = await self.secrets_of(view, entries)
        lease, alive = await self._take(claim)
        answered = {interrupt.id for interrupt in settled}
        return Claimed(
            lease=lease,
            alive=alive,
            agent=agent,
            turn=turn,
            run=run,
            begun=begun,
            messages=_written_over(view.messages, (*messages, *queue)),
            interrupts=tuple(i for i in view.interrupts if i.id not in answered),
            settled=settled,
            answered=tuple(i for i in view.interrupts if i.id in answered),
            entries=tuple(
                pause if pause is not None and entry.place == pause.place else entry
                for entry in entries
            ),
            retry=retry,
            kept=view.thread.kept,
            secrets=(*kept_apart, *secrets),
        )

    async def secrets_of(
        self, view: ThreadView, entries: Iterable[Entry]
    ) -> tuple[SecretValue, ...]:
        """Read what is kept apart for a thread's newest turn, whose journal has these entries."""
        if self._store.codec is None:
            return ()
        holds = any(map(holds_apart, view.interrupts))
        if not holds and not any(may_hold_secrets(entry.data) for entry in entries):
            return ()
        return await self._store.secrets(view.thread.scope, view.thread.id)

    async def _take(self, claim: Claim) -> tuple[Lease, Callable[[], bool]]:
        if self._is_over():
            raise StoreUnavailable(_OVER)
        claimed_at = self._clock.monotonic()
        lease = await self._store.claim(claim)
        if self._is_over():  # since then: what the claim holds is for others
            await asyncio.to_thread(self._keeper.release, (lease,))
            raise StoreUnavailable(_OVER)
        log_questions(claim.thread_id, claim.interrupts)
        return lease, self._keeper.track(lease, claimed_at)

    def _is_over(self) -> bool:
        return not self._keeper.tracks


def new_run(run_id: str, turn: TurnRecord, now: int) -> Run:
    """A run of a turn, under a key of our own (ID-02, TR-07)."""
    return Run(key=ids.new("run"), run_id=run_id, turn_key=turn.key, started_at=now)


def _started_with(before: tuple[Message, ...], decision: Start) -> tuple[Message, ...]:
    """The thread's messages as the claim leaves them."""
    stored = {message.id for message in before}
    shown = {message.id for message in decision.append}
    hidden = set(decision.hide)
    kept = [
        copy_with(message, visibility="hidden")
        if message.id in hidden
        else copy_with(message, visibility="visible")
        if message.id in shown
        else message
        for message in before
    ]
    return (*kept, *[message for message in decision.append if message.id not in stored])


def _written_over(before: tuple[Message, ...], written: tuple[Message, ...]) -> tuple[Message, ...]:
    """The thread's messages as a step leaves them: what it writes again keeps its place."""
    new = {message.id: message for message in written}
    return (*[new.pop(message.id, message) for message in before], *new.values())


def _resumed(entries: tuple[Entry, ...], state: bytes, request: RunInput | None) -> Entry | None:
    """The record of the last pause, with what the turn is resumed with."""
    waited = pauses(entries)
    if not waited:
        return None
    brought = None
    if request is not None:
        said = TurnInput.from_request(request, request.state, request.user_text)
        brought = said.to_json(jsonvalue.encode(request.state), 0)
    return resumed_mark(waited[-1], state, brought)


def _without_command(request: RunInput) -> RunInput:
    """The request without its answer of the older dialect, whose secrets would stay with it."""
    props = request.forwarded_props
    if not isinstance(props, dict) or "command" not in props:
        return request
    rest = {name: value for name, value in props.items() if name != "command"}
    return replace(request, forwarded_props=rest)


def _brought(sent: Any, kept: bytes, agent: Agent) -> tuple[Any, bytes]:
    """The state that a turn continues with: what a client sent back of the thread's own.

    Clients that read numbers as doubles send large ones rounded; that changes nothing. What did
    change has to be a state that the agent takes; what the agent itself has left is not judged.
    """
    before = jsonvalue.decode(kept)
    if sent is None or jsonvalue.equal(sent, before):
        return before, kept
    state = digits.unrounded(sent, before)
    if jsonvalue.equal(state, before):
        return before, kept
    wrong = () if state == {} else agent.state_errors(state, before)
    if wrong:
        raise Unfit(refusals.unfit_state(agent.name, wrong))
    return state, jsonvalue.encode(state)
