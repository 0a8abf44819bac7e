"""Quotas: the share of a server that one user, and all users of one tenant, can have.

Runs, streams and rates are counted by each process for itself. What is stored is counted by the
store, and known for ten seconds: meanwhile several processes may go beyond a limit. Answers,
withdrawals, stops, deletions and reads fall under the rate of requests alone, if their bodies are
small: whoever is at a limit can always get away from it.
"""

from collections.abc import Callable, Hashable
from math import ceil
from typing import Final, Literal, Self, TypeVar

from sayso.base.clock import Clock
from sayso.base.codes import Code
from sayso.base.errors import Problem
from sayso.base.limits import PER_TENANT, PER_USER, Limits, Quota
from sayso.base.records import Principal
from sayso.stores.base import Store

_FULL_S: Final = 5
"""Seconds after which somebody whose runs or streams go on may ask again."""
_KEPT_S: Final = 10
"""Seconds for which it is known what somebody has stored."""
_MAX_SHARE: Final = 0.01
"""The part of the time that may be spent on counting what somebody has stored."""
_MAX_KNOWN: Final = 10_000
"""Owners that are known beside each other, before those who are at rest are forgotten."""
_PERIODS: Final = {"requests_a_minute": 60.0, "forks_an_hour": 3600.0}
"""Seconds of each rate."""
_BODIES: Final = 2
"""Bodies of the largest size that may come from one user at the same time."""
_STORED: Final = ("open_questions", "bytes", "threads")
_WORDS: Final = {
    "runs": "runs at the same time",
    "streams": "streams at the same time",
    "threads": "threads",
    "open_questions": "open questions",
    "bytes": "stored bytes",
    "forks_an_hour": "copies of threads in an hour",
    "requests_a_minute": "requests in a minute",
}

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Owner = tuple[str, str | None]
"""A scope with a subject, or with None for all of them."""
Rate = Literal["requests_a_minute", "forks_an_hour"]
Held = Literal["runs", "streams"]


class Quotas:
    """The share that each owner has of a server now. Every refusal is a `Problem`, `too_many`.

    The default quotas count where users are told apart (`shared`), others always.
    """

    def __init__(self, limits: Limits, store: Store, clock: Clock, *, shared: bool) -> None:
        self._user = _counting(limits.per_user, PER_USER, shared=shared)
        self._tenant = _counting(limits.per_tenant, PER_TENANT, shared=shared)
        self._limits = {name: self._limit(name) for name in _WORDS}
        """Of each limit what a user may have, and what all of a tenant may have."""
        self._stores = any(most is not None for name in _STORED for most in self._limits[name])
        self._now = clock.monotonic
        self._store = store
        self._held: dict[tuple[str, Owner], int] = {}
        self._due: dict[tuple[str, Owner], float] = {}
        """When all that was counted of a rate is worked off: one period ahead at most."""
        self._stored: dict[Owner, tuple[float, tuple[str, ...]]] = {}
        """Which limits of what is stored are reached, and until when that is known."""
        self._coming: dict[Owner, int] = {}
        """Bytes that are kept of bodies that are not whole yet."""
        self._most_coming = _BODIES * limits.body if shared else None
        self._most_due = self._most_stored = _MAX_KNOWN

    def request(self, principal: Principal) -> None:
        """Count a request, of any kind."""
        self._pace("requests_a_minute", principal)

    def comes(self, principal: Principal, size: int) -> None:
        """Count bytes that are kept of a body; below 0 once it is whole, or given up.

        Who sends a part of many, and nothing more, would fill the memory with them.
        """
        if self._most_coming is None or size == 0:
            return
        owner = (principal.scope, principal.subject)
        after = self._coming.pop(owner, 0) + size
        if after > 0:
            self._coming[owner] = after
        if size > 0 and after > self._most_coming:
            raise Problem(
                Code.TOO_MANY,
                f"Your requests that still come have more than {self._most_coming} bytes together. "
                f"Try again in {_FULL_S} seconds.",
                more={"limit": "body", "max": self._most_coming, "retryAfter": _FULL_S},
            )

    def fork(self, principal: Principal) -> None:
        """Count a thread that is about to be copied."""
        self._pace("forks_an_hour", principal)

    def run(self, principal: Principal) -> "Seat":
        """A seat for a run that is about to begin."""
        return self._hold("runs", principal)

    def stream(self, principal: Principal) -> "Seat":
        """A seat for a stream."""
        return self._hold("streams", principal)

    def count_run(self, principal: Principal) -> "Seat":
        """The seat of a run that continues, whatever the limit."""
        return Seat(self._held, "runs", (principal.scope, principal.subject))

    async def room(self, principal: Principal, *, for_thread: bool) -> None:
        """Refuse a turn, or with it a thread, of an owner who has stored as much as may be."""
        if not self._stores:
            return
        now, scope = self._now(), principal.scope
        for owner in ((scope, principal.subject), (scope, None)):
            entry = self._stored.get(owner)
            if entry is None or entry[0] <= now:
                entry = await self._look(owner)
            for limit in entry[1]:
                if limit != "threads" or for_thread:
                    raise self._refusal(owner, limit, _KEPT_S)

    async def _look(self, owner: Owner) -> tuple[float, tuple[str, ...]]:
        """Have it counted what an owner has stored, and know that for a while."""
        began = self._now()
        if (entry := self._stored.get(owner)) is not None:
            # Meanwhile others go by what was known, so that it is counted once.
            self._stored[owner] = (began + _KEPT_S, entry[1])
        usage = await self._store.usage(*owner)
        ended = self._now()
        most = {name: self._limits[name][owner[1] is None] for name in _STORED}
        reached = tuple(
            name
            for name, allowed in most.items()
            if allowed is not None and getattr(usage, name) >= allowed
        )
        entry = (ended + max(_KEPT_S, (ended - began) / _MAX_SHARE), reached)
        self._stored[owner] = entry
        self._most_stored = _forget(self._stored, self._most_stored, lambda it: it[0] <= ended)
        return entry

    def _limit(self, name: str) -> tuple[int | None, int | None]:
        return getattr(self._user, name), getattr(self._tenant, name)

    def _hold(self, kind: Held, principal: Principal) -> "Seat":
        scope, (of_user, of_tenant) = principal.scope, self._limits[kind]
        user = (scope, principal.subject)
        if of_user is not None and self._held.get((kind, user), 0) >= of_user:
            raise self._refusal(user, kind, _FULL_S)
        if of_tenant is not None and self._held.get((kind, (scope, None)), 0) >= of_tenant:
            raise self._refusal((scope, None), kind, _FULL_S)
        return Seat(self._held, kind, user)

    def _pace(self, rate: Rate, principal: Principal) -> None:
        scope, (of_user, of_tenant) = principal.scope, self._limits[rate]
        if of_user is not None:
            self._step(rate, (scope, principal.subject), of_user)
        if of_tenant is not None:
            self._step(rate, (scope, None), of_tenant)

    def _step(self, rate: Rate, owner: Owner, most: int) -> None:
        """Count one more of a rate."""
        period, now, key = _PERIODS[rate], self._now(), (rate, owner)
        before = self._due.get(key, now)
        after = (now if before < now else before) + period / most
        if after > now + period:
            raise self._refusal(owner, rate, ceil(after - now - period))
        self._due[key] = after
        self._most_due = _forget(self._due, self._most_due, lambda moment: moment <= now)

    def _refusal(self, owner: Owner, limit: str, seconds: int) -> Problem:
        """The refusal of what is over a limit; it can be tried again after some seconds."""
        most, whole = self._limits[limit], owner[1] is None
        whose = "Your organization's" if whole else "Your"
        unit = "second" if seconds == 1 else "seconds"
        return Problem(
            Code.TOO_MANY,
            f"{whose} limit of {_WORDS[limit]}, {most[whole]}, is reached. "
            f"Try again in {seconds} {unit}.",
            more={"limit": limit, "max": most[whole], "retryAfter": seconds},
        )


class Seat:
    """A seat that a run or a stream holds, of its user's and of its tenant's; until `leave`."""

    __slots__ = ("_held", "_keys")

    def __init__(self, held: dict[tuple[str, Owner], int], kind: Held, user: Owner) -> None:
        self._held = held
        self._keys: tuple[tuple[str, Owner], ...] = ((kind, user), (kind, (user[0], None)))
        for key in self._keys:
            held[key] = held.get(key, 0) + 1

    def leave(self) -> None:
        """Let others have it; idempotent."""
        keys, self._keys = self._keys, ()
        for key in keys:
            self._held[key] -= 1
            if not self._held[key]:
                del self._held[key]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


def _forget(counted: dict[K, V], most: int, rests: Callable[[V], bool]) -> int:
    """Let those go who are at rest, once there are more than `most`; gives the next such number."""
    if len(counted) <= most:
        return most
    for key in [key for key, value in counted.items() if rests(value)]:
        del counted[key]
    return max(_MAX_KNOWN, 2 * len(counted))


def _counting(quota: Quota, default: Quota, *, shared: bool) -> Quota:
    return quota if shared or quota != default else Quota()
