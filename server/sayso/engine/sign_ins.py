"""Sign-ins that end while requests and streams of theirs go on: they run out, or are revoked.

What the app's hook has said counts for some seconds, and requests of one sign-in ask it together.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, NamedTuple

from sayso.base.clock import Clock
from sayso.base.codes import Code
from sayso.base.errors import Problem, StoreError
from sayso.base.records import Principal
from sayso.engine.service_tokens import ISSUER, ServiceTokens
from sayso.turns.hooks import ask_hook, hook_failed

Revoked = Callable[[Principal], Awaitable[bool]]
"""Says if a sign-in that was valid counts no more."""

KNOWN_S: Final = 10.0
"""Seconds for which the word of the hook counts."""
LOOK_S: Final = 50.0
"""Seconds between two looks at the sign-in of an open stream: a minute with those of a word."""
AFTER_MS: Final = 900_000
"""Milliseconds for which the stream of a request that began a run outlives its credentials."""
_MAX_KNOWN: Final = 10_000
_OPTION: Final = "revoked"


class SignInEnd(NamedTuple):
    """Why a stream ends."""

    code: Code
    message: str


class _Word(NamedTuple):
    asked_at: float
    answer: asyncio.Task[bool]


class SignIns:
    """Says whether a caller's sign-in still counts; without a hook they only run out."""

    def __init__(self, clock: Clock, tokens: ServiceTokens, revoked: Revoked | None = None) -> None:
        self._clock = clock
        self._tokens = tokens
        self._hook = revoked
        self._words: OrderedDict[tuple[Any, ...], _Word] = OrderedDict()
        self._ended: OrderedDict[str, float] = OrderedDict()
        """When sign-ins have ended here, by the ids of their tokens; the last one comes last."""
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        """What is sent to callers until their sign-in ends, by the ids of their tokens."""

    def may_end(self, principal: Principal) -> bool:
        """True if this sign-in can end before its caller goes."""
        if principal.expires_at is not None or self._hook is not None:
            return True
        return principal.issuer == ISSUER

    async def check(self, principal: Principal) -> None:
        """Let a caller pass whose sign-in counts.

        Raises:
            Problem: `unauthenticated`, it has ended; `auth_unavailable`, the hook failed.
        """
        ends = principal.expires_at
        if ends is not None and ends <= self._clock.now():
            raise Problem(Code.UNAUTHENTICATED, "Your sign-in has ended: sign in again.")
        if self._hook is not None and await self._is_revoked(self._hook, principal):
            raise Problem(Code.UNAUTHENTICATED, "Your sign-in was revoked: sign in again.")

    def now(self) -> float:
        """The moment, for `check_again`; in seconds."""
        return self._clock.monotonic()

    async def check_again(self, principal: Principal, since: float) -> None:
        """The same once all that a caller sends has come, who was let in at the moment `since`.

        A body may take hours: whoever has left in the meantime decides nothing by it.

        Raises:
            Problem: as `check`; `unauthenticated` also for a service's token that was revoked.
        """
        await self.check(principal)
        late = self._clock.monotonic() - since >= KNOWN_S
        if late and not await self._tokens.counts(principal):
            raise Problem(Code.UNAUTHENTICATED, "Your token was revoked: ask for another one.")

    async def end(self, principal: Principal, *, began: bool) -> SignInEnd:
        """Wait until what this caller is sent has to end; then say why.

        `began`: the request began a run. Its stream has more time, but not after a revocation.
        """
        ends = principal.expires_at
        if ends is not None and began:
            ends += AFTER_MS
        while True:
            # Looks are taken by the wall clock, which may be set, or pass while a machine sleeps.
            left = LOOK_S if ends is None else (ends - self._clock.now()) / 1000
            if left <= 0:
                return SignInEnd(
                    Code.TOKEN_EXPIRED, "Your sign-in has ended: sign in, and connect again."
                )
            await self._pause(principal.token_id, min(left, LOOK_S))
            try:
                if not await self._still_counts(principal):
                    return SignInEnd(
                        Code.TOKEN_EXPIRED, "Your sign-in was revoked: sign in, and connect again."
                    )
            except Problem as problem:
                return SignInEnd(problem.code, problem.detail)
            except StoreError:
                return SignInEnd(Code.STORE_UNAVAILABLE, "Your sign-in cannot be checked now.")

    async def _still_counts(self, principal: Principal) -> bool:
        hook = self._hook
        if hook is not None and await self._is_revoked(hook, principal):
            return False
        return await self._tokens.counts(principal)

    def look_again(self, token_id: str) -> None:
        """Have the hook asked at once about a sign-in that has ended here."""
        now = self._clock.monotonic()
        self._ended[token_id] = now
        self._ended.move_to_end(token_id)
        while now - next(iter(self._ended.values())) >= KNOWN_S:  # no word of before counts
            self._ended.popitem(last=False)
        for waiter in self._waiting.pop(token_id, ()):
            waiter.set_result(None)

    async def _pause(self, token_id: str | None, seconds: float) -> None:
        """Wait that long, or until the sign-in is looked at again."""
        if token_id is None:
            await self._clock.sleep(seconds)
            return
        sleep = asyncio.ensure_future(self._clock.sleep(seconds))
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(token_id, set()).add(waiter)
        try:
            await asyncio.wait((sleep, waiter), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleep.cancel()
            waiters = self._waiting.get(token_id, set())
            waiters.discard(waiter)
            if not waiters:
                self._waiting.pop(token_id, None)

    async def _is_revoked(self, hook: Revoked, principal: Principal) -> bool:
        key = _key(principal)
        now = self._clock.monotonic()
        word = self._words.get(key)
        if word is None or word.asked_at <= self._oldest(principal.token_id, now):
            asking = asyncio.create_task(_asked(hook, principal), name=f"hook {_OPTION}")
            asking.add_done_callback(partial(self._forget_failure, key))
            word = self._words[key] = _Word(now, asking)
            self._words.move_to_end(key)
            if len(self._words) > _MAX_KNOWN:
                self._words.popitem(last=False)
        return await asyncio.shield(word.answer)

    def _oldest(self, token_id: str | None, now: float) -> float:
        """The moment up to which no word about a sign-in counts any more."""
        ended = None if token_id is None else self._ended.get(token_id)
        return max(now - KNOWN_S, now - KNOWN_S if ended is None else ended)

    def _forget_failure(self, key: tuple[Any, ...], answer: asyncio.Task[bool]) -> None:
        """Have the hook asked again at once after it failed; whoever waits is told of that."""
        failed = answer.cancelled() or answer.exception() is not None
        word = self._words.get(key)
        if failed and word is not None and word.answer is answer:
            del self._words[key]


async def _asked(hook: Revoked, principal: Principal) -> bool:
    revoked: object = await ask_hook(_OPTION, lambda: hook(principal))
    if not isinstance(revoked, bool):  # such as a coroutine that was not awaited
        raise hook_failed(f"{_OPTION} (it returned a {type(revoked).__name__}, not a bool)")
    return revoked


def _key(who: Principal) -> tuple[Any, ...]:
    """The sign-in itself: people have several, and one may be revoked alone."""
    # A token without an id is known by its end; the end of a session moves with its use.
    by = who.expires_at if who.token_id is None else who.token_id
    return (who, who.kind, who.issuer, who.session, who.auth_time, by)
