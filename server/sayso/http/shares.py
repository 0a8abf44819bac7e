"""The shares of users in the event loop: of long requests one of each goes on at a time."""

from asyncio import Lock, sleep
from collections.abc import Awaitable, Generator, Hashable
from functools import partial
from time import monotonic
from typing import Any, Final
from weakref import WeakValueDictionary

PIECE_S: Final = 0.02
"""Seconds of steps on the event loop after which a request takes long, and others have a turn."""


class Shares:
    """Turns of users' requests. The event loop serves all of them, and each step holds others up.

    So do their reads of the store, which is why a turn lasts until its request is over.
    """

    def __init__(self) -> None:
        self._turns: WeakValueDictionary[Hashable, Lock] = WeakValueDictionary()

    def paced(self, user: Hashable, work: Awaitable[None]) -> Awaitable[None]:
        """The work of one request, which has an end: no stream, nor what waits for another one."""
        return _Paced(self, user, work)

    def turn(self, user: Hashable) -> Lock:
        """The turn of a user, which is had by one request at a time."""
        return self._turns.setdefault(user, Lock())


class _Paced:
    def __init__(self, shares: Shares, user: Hashable, work: Awaitable[None]) -> None:
        self._shares, self._user, self._work = shares, user, work

    def __await__(self) -> Generator[Any, Any, None]:
        """Do the work; once it takes long, in its user's turn, and at most half of the time."""
        work: Any = self._work.__await__()
        step, spent = partial(next, work), 0.0
        turn: Lock | None = None
        try:
            while True:
                began = monotonic()
                try:
                    awaited = step()
                except StopIteration:
                    return
                spent += monotonic() - began
                try:
                    if spent >= PIECE_S:
                        try:
                            if turn is None:
                                waiting = self._shares.turn(self._user)
                                yield from waiting.acquire().__await__()
                                turn = waiting
                            yield from sleep(spent).__await__()
                        except BaseException:
                            # The work has yet to wait for it, so nobody else would end it.
                            if awaited is not None:
                                awaited.cancel()
                            raise
                        spent = 0.0
                    sent = yield awaited
                except BaseException as error:
                    step = partial(work.throw, error)
                else:
                    step = partial(work.send, sent)
        finally:
            if turn is not None:
                turn.release()
