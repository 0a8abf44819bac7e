"""The order in which recorded calls ended, the same live and on replay (design 3, rules 3, 4).

A race has a winner, a queue hands its items to whoever is ready: what author code does next may
depend on which of its branches went on first. So each record of an effect carries a number, and
results come out in that order, live as well, each after the code before it has had its turns of
the event loop. Live effects begin when the recorded past has come out whole.

Code whose own timing differs (a plain sleep, a request that is no step), or that went on because a
pause unwound another branch, may not come for a record in its turn. Nobody waits for it longer
than `STALL_TIMEOUT_S`; then places and fingerprints alone say what matches.
"""

import asyncio
import heapq
import itertools
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_log = logging.getLogger("sayso.turn")

SETTLING_STEPS = 10
"""Turns of the event loop that author code gets to act on a result before the next comes out."""
ALONE_STEPS = 4
"""The same where the code that got the result is the code that asks for the next: it has acted."""
_FURTHER, _FURTHER_ALONE = SETTLING_STEPS - 2, ALONE_STEPS - 2
"""Turns besides the last of them, and that in which who waited goes on."""
STALL_TIMEOUT_S = 0.2
"""Seconds without any progress after which what is waited for comes out all the same."""
LAST_CALL_STEPS = 50
"""Turns of the event loop that code gets after that, as it may have been blocked all the time."""
MAX_STALLS = 5
"""How often that may happen before the order is given up for good."""


@dataclass(slots=True)
class _Settling:
    """Turns of the loop that go by after something came out, and who waits for their end."""

    progress: int
    waiters: list["asyncio.Future[None]"]


class ReplayOrder:
    """The ends of a turn's effects, by number; `turn` names it in the log.

    `again`: its code is entered again. What comes out first then comes out after its turns of the
    loop as well: tasks that were made before it had begun by then, live.
    """

    def __init__(self, turn: str, ends: Iterable[int], *, again: bool = False) -> None:
        self._turn = turn
        self._past = sorted(ends)
        self._next = 0
        self._out: set[int] = set()
        self._began = self._past[-1] + 1 if self._past else 0
        self._number = self._began
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._progress = 0
        self._acted_on = -1 if again else 0
        self._last: asyncio.Task[Any] | None = None
        """Who got what came out last."""
        self._settling: list[_Settling] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stalls = 0

    @property
    def next_number(self) -> int:
        """The number of the next thing that ends; all that has ended has a lower one."""
        return self._number

    def end(self) -> int:
        """Number what ends now."""
        number = self._number
        self._number += 1
        self._past.append(number)
        return number

    async def wait_turn(self, end: int, task: asyncio.Task[Any] | None = None) -> None:
        """Wait until a recorded end may come out, and let it; `task` is the running one, if known.

        Cancelled, it counts as come out: nobody must wait for it.
        """
        # A journal is gone through by this: what need not wait is not called.
        if task is None:
            task = asyncio.current_task()
        past = self._past
        try:
            if self._next < len(past) and past[self._next] < end and self._stalls < MAX_STALLS:
                await self._all_below(end)
            if self._acted_on != self._progress:
                await self._acting(task)
        finally:
            if end not in self._out:
                self._out.add(end)
                self._progress += 1
            self._go_on()
            self._last = task

    async def wait_for_all_before(self, end: int) -> None:
        """Wait until all that ended before that number has come out and been acted on."""
        await self._all_below(end)
        if self._acted_on != self._progress:
            await self._acting(asyncio.current_task())

    def _acting(self, task: asyncio.Task[Any] | None) -> "asyncio.Future[None]":
        """Done once author code has acted on what came out last: its turns of the loop.

        Once for all who wait, and by callbacks and not by sleeping: a turn of the loop must not
        cost a walk down to whoever waits at the end of the call chain.
        """
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        if self._settling and self._settling[-1].progress == self._progress:
            self._settling[-1].waiters.append(waiter)
        else:
            settling = _Settling(self._progress, [waiter])
            self._settling.append(settling)
            # Turn by turn the loop calls itself, and a line of Python only at the end.
            further = _FURTHER_ALONE if self._last is task else _FURTHER
            soon: Any = loop.call_soon
            soon(*itertools.repeat(soon, further), self._settled, settling)
        return waiter

    def _settled(self, settling: _Settling) -> None:
        self._settling.remove(settling)
        if settling.progress > self._acted_on:
            self._acted_on = settling.progress
        for waiter in settling.waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait_for_past(self) -> None:
        """Wait until everything recorded has come out; at once when it has."""
        await self._all_below(self._began)

    def give_up_order(self) -> None:
        """Let everything come out at once from now on: the code has let go of a call."""
        self._stalls = MAX_STALLS
        self._began = 0
        self.release(self._past)

    def release(self, ends: Iterable[int]) -> None:
        """Let recorded ends come out without anybody waiting for them."""
        before = len(self._out)
        self._out.update(ends)
        if len(self._out) > before:
            self._progress += 1
        self._go_on()

    def _go_on(self) -> None:
        """Count on to what has not come out yet, and let those go on who waited for that."""
        while self._next < len(self._past) and self._past[self._next] in self._out:
            self._next += 1
        while self._waiting and self._passed(self._waiting[0][0]):
            _, _, waiter = heapq.heappop(self._waiting)
            if not waiter.done():
                waiter.set_result(None)

    def _passed(self, end: int) -> bool:
        if self._stalls >= MAX_STALLS:
            return True
        return self._next >= len(self._past) or self._past[self._next] >= end

    async def _all_below(self, end: int) -> None:
        while not self._passed(end):
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (end, next(self._order), waiter))
            if end >= self._began and self._passed(self._began):
                # What is missing is on its way to the store.
                await asyncio.wait((waiter,))
                continue
            before = self._progress
            await asyncio.wait((waiter,), timeout=STALL_TIMEOUT_S)
            for _ in range(0 if waiter.done() else LAST_CALL_STEPS):
                await asyncio.sleep(0)
            if not waiter.done() and before == self._progress:
                self._stalled()

    def _stalled(self) -> None:
        """Nobody comes for what should be next: go on with what is waited for."""
        self._stalls += 1
        if self._stalls < MAX_STALLS:
            first = self._waiting[0][0]
            self.release([end for end in self._past if end < first])
        else:
            self.give_up_order()
            _log.warning(
                "turn %s: its code comes for its records in another order than the first time; "
                "going on without that order",
                self._turn,
            )
