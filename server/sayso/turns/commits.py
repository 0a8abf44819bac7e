"""Commits of one execution: those that are asked for in one turn of the event loop are one.

So a hundred calls that begin or end together are one step for the store and not a hundred.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from sayso.clock import Clock
from sayso.errors import StoreError
from sayso.protocol.ending import STOPPED
from sayso.records import Commit, Entry, Message
from sayso.turns.effects import Effects
from sayso.turns.leased import Leased
from sayso.turns.permits import Permits

__all__ = ["Commits"]


class Recording(Protocol):
    """What there is to know of an execution."""

    leased: Leased
    clock: Clock
    effects: Effects
    permits: Permits

    def riding(self) -> tuple[tuple[Entry, ...], tuple[Message, ...]]:
        """What the commit that is being made now must carry."""

    def abort(self, error: StoreError) -> None:
        """The store has failed."""

    def stop(self, reason: str) -> None:
        """The store has said that the turn shall stop."""


class Commits:
    """Writes what an execution records. It does not hold the execution, which holds it."""

    def __init__(self) -> None:
        self._sharing: list[asyncio.Future[None]] | None = None
        """Who shares the commit that begins in the next turn of the loop; None while none does."""

    async def durable(self, execution: Recording) -> None:
        """Return once what is recorded now has been written, or the execution was aborted."""
        if self._sharing is not None:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._sharing.append(waiter)
            await waiter
            return
        sharing: list[asyncio.Future[None]] = []
        self._sharing = sharing
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self._begin(execution, sharing)
            raise
        if sharing:
            # First, as it was the first to ask: what is told afterwards is told in that order.
            waiter = asyncio.get_running_loop().create_future()
            sharing.insert(0, waiter)
            self._begin(execution, sharing)
            await waiter
        else:
            self._sharing = None
            await _write(execution)
            # As many turns of the loop as those take who share one: what is told in consequence
            # is told in the order in which it was recorded.
            await asyncio.sleep(0)

    def _begin(self, execution: Recording, sharing: list[asyncio.Future[None]]) -> None:
        """Write for several, whoever of them is cancelled meanwhile."""
        self._sharing = None
        if sharing:
            execution.effects.keep(_write_for(execution, sharing))


async def _write_for(execution: Recording, sharing: Sequence[asyncio.Future[None]]) -> None:
    try:
        await _write(execution)
    finally:
        for waiter in sharing:
            if not waiter.done():
                waiter.set_result(None)


async def _write(execution: Recording) -> None:
    entries, messages = execution.riding()
    now, permits = execution.clock.now(), execution.permits.take()
    try:
        stopping = await execution.leased.commit(
            Commit(now=now, entries=entries, messages=messages, **permits)
        )
    except StoreError as error:
        execution.abort(error)
    else:
        if stopping:
            execution.stop(STOPPED)
