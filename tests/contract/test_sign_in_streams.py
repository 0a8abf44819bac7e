"""What goes on with a session: streams that follow, and an app's own word about it."""

from pathlib import Path

import pytest

from sayso import Principal, Sayso
from sayso.testing import FakeClock
from tests.contract.signing_in import HOST, OWN, Browser, app_of, signed_in_at
from tests.contract.wire import Exchange
from tests.http.fake_provider import FakeProvider
from tests.stores.backends import BACKENDS


def followed(browser: Browser, app: Sayso) -> Exchange:
    """The inbox's stream, as the console follows it."""
    session = browser.http.cookies["__Host-sayso"]
    fields = {"cookie": f"__Host-sayso={session}", "host": HOST}
    return Exchange(app, "GET", "/interrupts/stream", b"", fields)


@pytest.mark.parametrize("way", ["logout", "issuer"])
async def test_who_is_signed_out_follows_nothing_any_more(
    provider: FakeProvider, clock: FakeClock, tmp_path: Path, way: str
) -> None:
    """At once on that server, within a minute on another that has just looked; others go on."""
    stores = [BACKENDS["sqlite"](tmp_path, clock) for _ in range(2)]
    one, two = (app_of(provider, clock, store) for store in stores)
    async with one.lifespan(), two.lifespan():
        lea, ben = Browser(one, provider), Browser(one, provider)
        await lea.sign_in()
        provider.person = {"sub": "ben", "sid": "s-2"}
        await ben.sign_in()
        streams = [followed(lea, one), followed(lea, two), followed(ben, one)]
        for stream in streams:
            await stream.until("connected")
        await clock.advance(55)
        assert await lea.copy(two).status() == 200
        if way == "logout":
            await lea.http.post("/logout", headers=OWN)
        else:
            told = {"logout_token": provider.logout_token(sid="s-1")}
            await ben.http.post("/backchannel-logout", data=told)
        last = (await streams[0].end()).events[-1]
        assert (last["type"], last["code"]) == ("closed", "token_expired")
        assert [stream.ended for stream in streams] == [True, False, False]
        await clock.advance(61)
        assert (await streams[1].end()).events[-1]["code"] == "token_expired"
        assert not streams[2].ended
        await streams[2].disconnect()


async def test_who_only_follows_rests(provider: FakeProvider, clock: FakeClock) -> None:
    """An open page does not keep a session: its stream ends with the idle time."""
    app = app_of(provider, clock)
    async with signed_in_at(app, provider) as browser:
        stream = followed(browser, app)
        await stream.until("connected")
        for _ in range(59):
            await clock.advance(60)
        assert not stream.ended
        await clock.advance(121)
        assert (await stream.end()).events[-1]["code"] == "token_expired"
        assert await browser.status() == 401


async def test_an_app_s_own_hook_is_asked_about_sessions_as_well(
    provider: FakeProvider, clock: FakeClock
) -> None:
    gone: set[str | None] = set()

    async def revoked(principal: Principal) -> bool:
        return principal.session in gone

    async with signed_in_at(app_of(provider, clock, revoked=revoked), provider) as browser:
        assert await browser.status() == 200
        gone.add("s-1")
        await clock.advance(11)
        assert await browser.status() == 401
