"""Rules of people's sessions: kept by their digest, used, ended by name, by time and by rest.

And of services' tokens: kept by their digest, found, listed, revoked once; each is noted.
"""

import asyncio
from dataclasses import replace
from typing import Any

from sayso.base.audit import NO_THREAD, content_of
from sayso.base.errors import Conflict
from sayso.base.records import PageRequest
from sayso.base.service_tokens import ServiceToken
from sayso.base.sessions import Session, sessions_by_issuer, sessions_by_subject, sessions_of
from sayso.stores.base import Store
from sayso.testing.clock import FakeClock
from sayso.testing.store_suite._make import SCOPE, raises, same

_ISSUER = "https://id.example.org"
_IDLE = 100_000
_LIFETIME = 1_000_000


def _session(digest: str = "d1", **members: Any) -> Session:
    values: dict[str, Any] = {
        "scope": SCOPE,
        "subject": "ann",
        "issuer": _ISSUER,
        "roles": ("lead", "ops"),
        "issuer_session": "sid-1",
        "auth_time": 1_700_000_000_000,
        "lifetime": _LIFETIME,
        "idle": _IDLE,
    }
    return Session(digest=digest, **(values | members))


async def _alive(store: Store, *digests: str) -> list[str]:
    return [digest for digest in digests if await store.use_session(digest) is not None]


async def a_session_comes_back_as_it_began(store: Store, clock: FakeClock) -> None:
    """With every member, and the end of its lifetime by the store's clock."""
    began = clock.now()
    plain = _session("d2", roles=(), issuer_session=None, auth_time=None)
    for session in (_session(), plain):
        await store.add_session(session)
        expected = {name: getattr(session, name) for name in Session.__slots__}
        whole = Session(**(expected | {"expires_at": began + _LIFETIME}))
        same(await store.use_session(session.digest), whole)
    same(await store.use_session("d3"), None)
    same(await store.use_session(sessions_of(SCOPE, "ann")), None)


async def a_known_session_stays_as_it_is(store: Store, clock: FakeClock) -> None:
    """A digest is one session's."""
    await store.add_session(_session())
    await store.add_session(_session(subject="eve"))
    session = await store.use_session("d1")
    same(None if session is None else session.subject, "ann")


async def a_session_has_no_names_of_another(store: Store, clock: FakeClock) -> None:
    """Whoever came with its digest too late, or had it before, ends other sessions."""
    await store.add_session(_session(subject="ben", issuer_session=None))
    await store.end_sessions("d1")
    await store.add_session(_session())
    await store.add_session(_session(subject="eve", issuer_session="sid-2"))
    for name in (
        *(sessions_of(SCOPE, subject) for subject in ("ben", "eve")),
        *(sessions_by_subject(_ISSUER, subject) for subject in ("ben", "eve")),
        sessions_by_issuer(_ISSUER, "sid-2"),
    ):
        same(await store.end_sessions(name), ())
    same(await _alive(store, "d1"), ["d1"])


async def a_session_that_rests_ends(store: Store, clock: FakeClock) -> None:
    """At the end of its idle time, counted from its last use; what is not used has ended."""
    await store.add_session(_session())
    await store.add_session(_session("d2"))
    for _ in range(3):
        await clock.advance((_IDLE - 1) / 1000)
        same(await _alive(store, "d1"), ["d1"])
    same(await _alive(store, "d2"), [])
    await clock.advance(_IDLE / 1000)
    same(await _alive(store, "d1"), [])


async def a_look_is_no_use(store: Store, clock: FakeClock) -> None:
    """Whoever only follows does not keep a session from its rest."""
    await store.add_session(_session())
    for _ in range(2):
        await clock.advance(_IDLE / 2000 - 1)
        same(await store.use_session("d1", look=True) is None, False)
    await clock.advance(2)
    same(await store.use_session("d1", look=True), None)


async def a_session_ends_with_its_lifetime(store: Store, clock: FakeClock) -> None:
    """However much it is used."""
    await store.add_session(_session())
    for _ in range(_LIFETIME // _IDLE * 2 - 1):
        await clock.advance(_IDLE / 2000)
        same(await _alive(store, "d1"), ["d1"])
    await clock.advance(_IDLE / 2000)
    same(await _alive(store, "d1"), [])


async def a_use_within_a_twentieth_need_not_count(store: Store, clock: FakeClock) -> None:
    """So a session ends at most that much before it has rested for so long, and never later."""
    await store.add_session(_session())
    await clock.advance(_IDLE / 25_000)
    same(await _alive(store, "d1"), ["d1"])
    await clock.advance((_IDLE - _IDLE / 20) / 1000 - 1)
    same(await _alive(store, "d1"), ["d1"])


async def sessions_end_by_their_names(store: Store, clock: FakeClock) -> None:
    """By digest, by the issuer's name of the session, by person here and at the issuer."""
    sessions = (
        _session("d1"),
        _session("d2", issuer_session=None),
        _session("d3", subject="ben"),
        _session("d4", scope="other", issuer_session="sid-2"),
        _session("d5", issuer="https://other.example.org"),
    )
    ways: tuple[tuple[str, list[str]], ...] = (
        ("d2", ["d2"]),
        (sessions_by_issuer(_ISSUER, "sid-1"), ["d1", "d3"]),
        (sessions_by_subject(_ISSUER, "ann"), ["d1", "d2", "d4"]),
        (sessions_of(SCOPE, "ann"), ["d1", "d2", "d5"]),
        (sessions_of(SCOPE, "eve"), []),
        ("d9", []),
    )
    digests = [session.digest for session in sessions]
    for name, ended in ways:
        for session in sessions:
            await store.add_session(session)
        same([session.digest for session in await store.end_sessions(name)], ended)
        same(await store.end_sessions(name), ())
        same(await _alive(store, *digests), [digest for digest in digests if digest not in ended])
        for digest in digests:
            await store.end_sessions(digest)


async def what_has_ended_is_not_ended_again(store: Store, clock: FakeClock) -> None:
    """Neither by time nor by rest; and nobody brings it back by using it."""
    await store.add_session(_session())
    await clock.advance(_IDLE / 1000)
    same(await store.end_sessions(sessions_of(SCOPE, "ann")), ())
    same(await _alive(store, "d1"), [])


async def a_session_has_text_that_can_be_stored(store: Store, clock: FakeClock) -> None:
    """Or is refused as a whole."""
    await raises(ValueError, store.add_session(_session(subject="\ud800")))
    same(await _alive(store, "d1"), [])


def _token(number: str = "1", **members: Any) -> ServiceToken:
    values: dict[str, Any] = {
        "id": f"svc_{number}",
        "scope": SCOPE,
        "name": "ci",
        "digest": f"digest-{number}",
        "roles": ("asker", "ops"),
        "tools": ("deploy_*",),
        "added_by": "ann",
        "added_at": 2_000,
        "expires_at": 9_000,
    }
    return ServiceToken(**(values | members))


async def _noted(store: Store, scope: str = SCOPE) -> list[tuple[str, Any, int]]:
    page = await store.audit(scope, PageRequest(None, 500), thread_id=NO_THREAD)
    return [(row.kind, (content_of(row) or {}).get("tokenId"), row.at) for row in page.items]


async def a_token_comes_back_as_it_was_added(store: Store, clock: FakeClock) -> None:
    """With every member, by its digest and in the list of its scope."""
    plain = _token("2", roles=(), tools=None, expires_at=None, added_at=1_000)
    elsewhere = _token("1", scope="elsewhere", digest="other")
    for token in (_token(), plain, elsewhere):
        await store.add_service_token(token)
        same(await store.service_token(token.digest), token)
    same(await store.service_tokens(SCOPE), (plain, _token()))
    same(await store.service_tokens("elsewhere"), (elsewhere,))
    same(await store.service_tokens("nowhere"), ())
    for unknown in ("digest-3", "svc_1", ""):
        same(await store.service_token(unknown), None)


async def a_known_token_stays_as_it_is(store: Store, clock: FakeClock) -> None:
    """Its digest is one service's, whatever scope is named; so is its id in a scope."""
    await store.add_service_token(_token())
    for other in (
        _token(name="eve"),
        _token(id="svc_2", roles=("admin",)),
        _token(scope="elsewhere"),
        _token(digest="other", roles=("admin",)),
    ):
        await raises(Conflict, store.add_service_token(other))
    same(await store.service_token("digest-1"), _token())
    same(await store.service_tokens(SCOPE), (_token(),))
    same([kind for kind, *_ in await _noted(store)], ["service_added"])
    same(await _noted(store, "elsewhere"), [])


async def a_token_is_revoked_once(store: Store, clock: FakeClock) -> None:
    """And stays in the list; nobody else's is."""
    for name in ("1", "2"):
        await store.add_service_token(_token(name))
    await store.revoke_service_token(SCOPE, "svc_1", "ben", 5_000)
    revoked = replace(_token(), revoked_at=5_000, revoked_by="ben")
    same(await store.service_token("digest-1"), revoked)
    same(await store.service_tokens(SCOPE), (revoked, _token("2")))
    for scope, token_id in ((SCOPE, "svc_1"), (SCOPE, "svc_3"), ("elsewhere", "svc_2")):
        await raises(Conflict, store.revoke_service_token(scope, token_id, "eve", 6_000))
    same(await store.service_token("digest-1"), revoked)
    same(await store.service_token("digest-2"), _token("2"))
    same(
        await _noted(store),
        [
            ("service_added", "svc_1", 2_000),
            ("service_added", "svc_2", 2_000),
            ("service_revoked", "svc_1", 5_000),
        ],
    )


async def of_those_who_revoke_at_once_one_does(store: Store, clock: FakeClock) -> None:
    """And it is noted once."""
    await store.add_service_token(_token())
    answers = await asyncio.gather(
        *(store.revoke_service_token(SCOPE, "svc_1", who, 5_000) for who in ("ann", "ben", "eve")),
        return_exceptions=True,
    )
    same(sorted(type(answer).__name__ for answer in answers), ["Conflict", "Conflict", "NoneType"])
    same([kind for kind, *_ in await _noted(store)], ["service_added", "service_revoked"])


async def who_revokes_a_token_has_a_name_that_can_be_stored(store: Store, clock: FakeClock) -> None:
    """Or is refused as a whole, and nothing is noted."""
    await store.add_service_token(_token("2"))
    await raises(ValueError, store.revoke_service_token(SCOPE, "svc_2", "\ud800", 5_000))
    same(await store.service_tokens(SCOPE), (_token("2"),))
    same(len(await _noted(store)), 1)
