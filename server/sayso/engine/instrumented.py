"""The store as an engine knows it: its calls counted, decisions logged, the trail scrubbed.

A line is logged for each decision, with every store: `asked`, `held` (an answer that waits for
others), `answered`, `expired`, `refused`, `resumed`, `ended`. It has thread, interrupt, reason,
subject and code, if there are any, and never a payload. The logger is `sayso.decisions`; the
command shows it by default.
"""

import logging
from collections.abc import Awaitable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from sayso.base.audit import scrubbed
from sayso.base.clock import Clock
from sayso.base.errors import Conflict, LeaseLost, StoreUnavailable
from sayso.base.logs import log_context
from sayso.base.metrics import Metrics
from sayso.base.records import Claim, Commit, Interrupt, Run, Update
from sayso.base.runoutcome import outcome_type
from sayso.base.scrubbing import Scrubbing
from sayso.stores.base import WRITES, Store
from sayso.stores.proxy import StoreProxy
from sayso.streams.ending import Ending

_decisions = logging.getLogger("sayso.decisions")


class InstrumentedStore(StoreProxy):
    """Counts and times every call; what the store holds and promises stays the same."""

    def __init__(self, inner: Store, metrics: Metrics, clock: Clock) -> None:
        super().__init__(inner)
        self._metrics = metrics
        self._clock = clock

    async def _around(self, name: str, call: partial[Awaitable[Any]]) -> Any:
        began = self._clock.monotonic()
        try:
            outcome = await call()
        except Exception as error:
            self._failed(name, error)
            raise
        finally:
            self._metrics.calls.add(self._clock.monotonic() - began, name)
        if name in WRITES:
            self._written((*call.args, *call.keywords.values())[-1])
        return outcome

    def _around_blocking(self, name: str, call: partial[Any]) -> Any:
        began = self._clock.monotonic()
        try:
            return call()
        except Exception as error:
            self._failed(name, error)
            raise
        finally:
            self._metrics.calls.add(self._clock.monotonic() - began, name)

    def _written(self, step: Claim | Commit | Update) -> None:
        if isinstance(step, Update):
            # An interrupt that was settled before only gets a note of a late refusal.
            self._settled(item for item in step.interrupts if item.decided_at == step.now)
        elif isinstance(step, Commit) or step.revision:
            # A thread that begins with settled questions is a copy.
            if step.interrupts:
                self._settled(step.interrupts)
            if step.run is not None:
                self._ended(step.run)

    def _failed(self, name: str, error: Exception) -> None:
        if isinstance(error, Conflict):
            self._metrics.conflicts.add(name)
        elif isinstance(error, LeaseLost):
            self._metrics.lost.add(name)
        elif isinstance(error, StoreUnavailable):
            self._metrics.failures.add(name)

    def _settled(self, items: Iterable[Interrupt]) -> None:
        for item in items:
            if item.status == "open" or item.progress.result is not None:
                continue  # settled before, where something came of it
            self._metrics.settled.add(item.status)
            if item.decided_by is not None and item.decided_at is not None:
                taken = (item.decided_at - item.created_at) / 1000
                self._metrics.decisions.add(taken, item.status)

    def _ended(self, run: Run) -> None:
        if run.ended_at is None or run.outcome is None:
            return
        outcome = outcome_type(run.outcome) or "error"
        self._metrics.runs.add((run.ended_at - run.started_at) / 1000, outcome)


def log_questions(thread_id: str, items: Iterable[Interrupt]) -> None:
    """Log questions that have just been written: asked, or settled."""
    if not _decisions.isEnabledFor(logging.INFO):
        return
    for item in items:
        if item.progress.result is not None:
            continue  # it was settled before
        if item.status == "open":
            _log_line("asked", thread_id, item)
        elif item.status == "expired":
            _log_line("expired", thread_id, item)
        else:
            _log_line("answered", thread_id, item, subject=item.decided_by or "", code=item.status)


def log_held(thread_id: str, items: Iterable[Interrupt], subject: str) -> None:
    """Log answers that are held: others of their set, or other people, have to answer as well."""
    if not _decisions.isEnabledFor(logging.INFO):
        return
    for item in items:
        _log_line("held", thread_id, item, subject=subject)


def log_refused(thread_id: str, subject: str, code: str, interrupt_ids: Iterable[str] = ()) -> None:
    """Log a request that changed nothing; `interrupt_ids` are those that it was about."""
    ids = " ".join(interrupt_ids)
    with log_context(
        thread=thread_id, subject=subject, code=code, **({"interrupt": ids} if ids else {})
    ):
        _decisions.info("refused")


def log_resumed(thread_id: str, run_id: str) -> None:
    """Log that a turn continues with its answers."""
    if _decisions.isEnabledFor(logging.INFO):
        with log_context(thread=thread_id, run=run_id):
            _decisions.info("resumed")


def log_ended(ending: Ending | None) -> None:
    """Log that the run of the surrounding log context has ended."""
    if _decisions.isEnabledFor(logging.INFO):
        with log_context(code=(ending.code or ending.type) if ending else "unknown"):
            _decisions.info("ended")


def _log_line(event: str, thread_id: str, item: Interrupt, **more: str) -> None:
    ids = {"thread": thread_id, "interrupt": item.id, "reason": item.reason}
    with log_context(**ids, **{name: value for name, value in more.items() if value}):
        _decisions.info(event)


def with_scrubbed_trail(store: Store, scrub: Scrubbing | None) -> Store:
    """The store whose trail is scrubbed, if anything is to be."""
    return store if scrub is None else ScrubbedTrail(store, scrub)


class ScrubbedTrail(StoreProxy):
    """Tells the store with each step what texts pass that go into the trail, and scrubs notes."""

    def __init__(self, inner: Store, scrub: Scrubbing) -> None:
        super().__init__(inner)
        self._scrub = scrub

    async def _around(self, name: str, call: partial[Awaitable[Any]]) -> Any:
        if name in WRITES:
            *before, step = (*call.args, *call.keywords.values())
            call = partial(call.func, *before, replace(step, scrub=self._scrub))
        elif name == "note":
            scope, events, now = (*call.args, *call.keywords.values())
            call = partial(call.func, scope, [scrubbed(e, self._scrub) for e in events], now)
        return await call()
