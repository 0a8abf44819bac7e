"""A store that passes every call on to another one: the ground of whatever acts around a store."""

from abc import update_abstractmethods
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from sayso.stores.aesgcm import AesGcm
from sayso.stores.base import ChangeListener, Store
from sayso.stores.rekeying import Rekeyed


class StoreProxy(Store):
    """A store that passes every call on to another; subclasses act around the calls."""

    if TYPE_CHECKING:  # made below, in a loop that type checkers do not follow
        add_service_token: Any
        add_session: Any
        amend: Any
        approval: Any
        approval_uses: Any
        approvals: Any
        audit: Any
        audit_end: Any
        changes: Any
        claim: Any
        close: Any
        commit: Any
        count_all_open: Any
        delete: Any
        delete_approval: Any
        due_threads: Any
        end_sessions: Any
        erase_person: Any
        erase_trail: Any
        interrupt: Any
        interrupts: Any
        journal: Any
        last_decision: Any
        load: Any
        mark_delivered: Any
        note: Any
        open: Any
        next_scope: Any
        people: Any
        person: Any
        purge_files: Any
        renew: Any
        request_stop: Any
        revoke: Any
        revoke_service_token: Any
        runs: Any
        secret_key: Any
        secrets: Any
        service_token: Any
        service_tokens: Any
        sessions: Any
        set_hold: Any
        threads: Any
        take_duty: Any
        update_idle: Any
        usage: Any
        use_session: Any
        valid_approvals: Any

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    async def _around(self, name: str, call: partial[Awaitable[Any]]) -> Any:
        """Do one call; `call.args` and `call.keywords` are the caller's."""
        return await call()

    def _around_blocking(self, name: str, call: partial[Any]) -> Any:
        """Do one call that is no coroutine, outside the event loop's thread."""
        return call()

    @property
    def codec(self) -> AesGcm | None:
        """The inner store's keys."""
        return self.inner.codec

    async def rekey(
        self, after: str | None = None, *, accept_plain: bool = False, look: bool = False
    ) -> Rekeyed:
        """Bring a batch of the inner store's texts under its first key."""
        return await self.inner.rekey(after, accept_plain=accept_plain, look=look)

    @property
    def has_notifications(self) -> bool:
        """True while the inner store's notifications come."""
        return self.inner.has_notifications

    def subscribe(self, hear: ChangeListener) -> None:
        """Subscribe to the inner store."""
        self.inner.subscribe(hear)


def _passing_on(name: str) -> Callable[..., Any]:
    """Make the method of a proxy; name, signature and docstring are those of `Store`."""
    promise = getattr(Store, name)

    @wraps(promise, updated=())
    def pass_on(self: StoreProxy, *args: Any, **kwargs: Any) -> Awaitable[Any]:
        # The coroutine of `_around` itself: one more around it would cost as much as a small step.
        return self._around(name, partial(getattr(self.inner, name), *args, **kwargs))

    @wraps(promise, updated=())
    def pass_on_blocking(self: StoreProxy, *args: Any, **kwargs: Any) -> Any:
        return self._around_blocking(name, partial(getattr(self.inner, name), *args, **kwargs))

    return pass_on if iscoroutinefunction(promise) else pass_on_blocking


for _name in Store.__abstractmethods__:
    setattr(StoreProxy, _name, _passing_on(_name))
update_abstractmethods(StoreProxy)
