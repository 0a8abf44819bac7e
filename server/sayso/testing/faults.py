"""A store that breaks where a test wants it to."""

import os
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from inspect import signature
from typing import Any, NoReturn, cast, get_args

from sayso.base.errors import StoreUnavailable
from sayso.base.records import Update
from sayso.stores.base import Store
from sayso.stores.proxy import StoreProxy
from sayso.testing.points import Barrier, Fault, Point, StoreCall, When

_POINTS = frozenset(get_args(Point))


_SIGNATURES = {name: signature(getattr(Store, name)) for name in _POINTS}
_SUBJECTS = {
    "load": "thread_id",
    "journal": "turn_key",
    "interrupt": "interrupt_id",
    "runs": "thread_id",
    "changes": "since",
    "approval": "approval_id",
    "approval_uses": "approval_id",
    "valid_approvals": "tool",
    "revoke": "approval_id",
    "note": "events",
    "audit": "thread_id",
    "claim": "claim",
    "commit": "commit",
    "update_idle": "update",
    "delete": "thread_id",
    "amend": "amendment",
    "erase_trail": "thread",
    "erase_person": "name",
    "delete_approval": "approval_id",
    "take_duty": "duty",
    "set_hold": "thread_id",
    "request_stop": "thread_id",
    "mark_delivered": "run_key",
    "due_threads": "now",
    "count_all_open": "limit",
    "add_session": "session",
    "use_session": "digest",
    "sessions": "name",
    "end_sessions": "name",
    "add_service_token": "token",
    "service_token": "digest",
    "secrets": "thread_id",
    "revoke_service_token": "token_id",
    "renew": "leases",
}
"""The parameter that is a call's subject; of the others it is the scope."""


class FaultyStore(StoreProxy):
    """Wraps a store; `fail`, `hold` and `disconnect` break it, `calls` has what came.

    `before` a point nothing has been written, `after` it everything has and only the answer is
    lost: the two cases that every caller of a store has to get right.

        store = FaultyStore(MemoryStore(clock=clock))
        store.fail("commit", n=3, when="after")                     # the third from now
        store.fail("commit", match=lambda c: c.release, hook=store.disconnect)
        store.fail("claim", when="after", hook=kill_process)
    """

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.calls: list[StoreCall] = []
        self._faults: list[Fault] = []
        self._cut = False

    def fail(
        self,
        point: Point,
        *,
        n: int = 1,
        when: When = "before",
        error: BaseException | None = None,
        hook: Callable[[], Awaitable[object] | object] | None = None,
        match: Callable[[Any], bool] | None = None,
        times: int = 1,
    ) -> Fault:
        """Arm a fault at the n-th call from now and at the `times - 1` calls after it.

        `match` picks calls by their subject (see `StoreCall`); only those count. The fault calls
        `hook` (an awaitable that it returns is awaited, except in `renew`) and raises `error`.
        With neither it raises `StoreUnavailable`; with a hook alone the call continues.
        """
        if point not in _POINTS:
            raise ValueError(f"no fault point {point!r}; there are {', '.join(sorted(_POINTS))}")
        if n < 1 or times < 1:
            raise ValueError("n and times count from 1")
        if error is None and hook is None:
            error = StoreUnavailable(f"fault {when} {point}")
        fault = Fault(point, n, when, error, hook, match, times)
        self._faults.append(fault)
        return fault

    def hold(
        self,
        point: Point,
        *,
        n: int = 1,
        when: When = "before",
        match: Callable[[Any], bool] | None = None,
    ) -> Barrier:
        """Stop the n-th call from now at the point until the `Barrier` is released."""
        hold = Barrier()
        self.fail(point, n=n, when=when, hook=hold.stop_here, match=match)
        return hold

    def disconnect(self) -> None:
        """From now on every call fails and every answer under way is lost, as in a dead process."""
        self._cut = True

    def restore(self) -> None:
        """Undo `disconnect` and disarm all faults."""
        self._cut = False
        self._faults.clear()

    @property
    def has_notifications(self) -> bool:
        """True if the wrapped store notifies, and this process is not cut off."""
        return self.inner.has_notifications and not self._cut

    async def _around(self, name: str, call: partial[Awaitable[Any]]) -> Any:
        if name not in _POINTS:
            return await call()
        striking = self._arrived(_call(name, call))
        await self._strike(striking, "before")
        outcome = await call()
        await self._strike(striking, "after")
        return outcome

    def _around_blocking(self, name: str, call: partial[Any]) -> Any:
        """Do a call; its hooks are plain functions, called in the thread that renews."""
        striking = self._arrived(_call(name, call))
        self._strike_blocking(striking, "before")
        outcome = call()
        self._strike_blocking(striking, "after")
        return outcome

    def _arrived(self, call: StoreCall) -> list[Fault]:
        """Note a call; the faults that strike at it, now or when it is done."""
        self.calls.append(call)
        striking = [fault for fault in self._faults if fault.strikes(call)]
        for fault in striking:
            fault.left -= 1
        return striking

    async def _strike(self, faults: list[Fault], when: When) -> None:
        for fault in faults:
            if fault.when == when:
                fault.fired += 1
                answer = fault.hook() if fault.hook else None
                if isinstance(answer, Awaitable):
                    await answer
                self._raise(fault.error)
        self._raise(None)

    def _strike_blocking(self, faults: list[Fault], when: When) -> None:
        for fault in faults:
            if fault.when == when:
                fault.fired += 1
                if fault.hook:
                    fault.hook()
                self._raise(fault.error)
        self._raise(None)

    def _raise(self, error: BaseException | None) -> None:
        if error is not None:
            raise error
        if self._cut:
            raise StoreUnavailable("the store was cut off by a test")


def _call(name: str, call: partial[Any]) -> StoreCall:
    """The call as `match` and `calls` show it."""
    arguments = _SIGNATURES[name].bind(None, *call.args, **call.keywords).arguments
    subject = arguments.get(_SUBJECTS.get(name, "scope"))
    if isinstance(subject, Update):
        subject = subject.interrupts
    elif isinstance(subject, list):
        subject = tuple(subject)
    return StoreCall(cast("Point", name), subject)


def kill_process() -> NoReturn:
    """A hook that ends this process as a power cut would: at once, with nothing tidied up."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a killed process went on")
