"""Work that is handed to a store's own thread, and the outcome that comes back."""

import asyncio
import concurrent.futures
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from sayso.stores.sql.session import Transaction

T = TypeVar("T")
Outcome = tuple[Any, BaseException | None]


class StoreRunner(Protocol):
    """Runs a store's work inside transactions, in threads of its own."""

    async def run(self, work: Callable[[Transaction], T], *, writes: bool, key: str = "") -> T:
        """Have it done and committed; cancelling the waiter does not cancel the work.

        Work of one `key` is done in the order of the calls.
        """

    def run_blocking(self, work: Callable[[Transaction], T], timeout: float) -> T:
        """Have writing work done and committed, from another thread than an event loop's."""

    async def stop(self) -> None:
        """Finish what was submitted and let go of everything; idempotent."""


@dataclass(slots=True)
class Job:
    """Something to do in a transaction, and who waits for it; no loop: a thread does."""

    work: Callable[[Transaction], Any]
    writes: bool
    waiter: "asyncio.Future[Any] | concurrent.futures.Future[Any]"
    loop: asyncio.AbstractEventLoop | None


def deliver(jobs: Sequence[Job], outcomes: Sequence[Outcome]) -> None:
    """Tell every waiter, with one wake-up per event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Job, Outcome]]] = {}
    for job, outcome in zip(jobs, outcomes, strict=True):
        if job.loop is None:
            _settle(job, outcome)
        else:
            by_loop.setdefault(job.loop, []).append((job, outcome))
    for loop, settled in by_loop.items():
        with contextlib.suppress(RuntimeError):  # that loop is closed, so nobody waits any more
            loop.call_soon_threadsafe(_settle_all, settled)


def _settle_all(settled: list[tuple[Job, Outcome]]) -> None:
    for job, outcome in settled:
        _settle(job, outcome)


def _settle(job: Job, outcome: Outcome) -> None:
    if job.waiter.done():  # cancelled: the write stands all the same
        return
    value, error = outcome
    if error is None:
        job.waiter.set_result(value)
    else:
        job.waiter.set_exception(error)
