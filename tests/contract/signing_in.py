"""Browsers that sign in at a provider of OpenID Connect, for the tests that have some."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from typing import Any

import httpx

from sayso import (
    Oidc,
    Sayso,
    ServerOptions,
    Turn,
)
from sayso.testing import FakeClock
from tests.http.fake_provider import CLIENT, SECRET, FakeProvider

HOST = "sayso.example.org"
TOKEN = "a-token-of-a-machine"  # noqa: S105 - of no service
OWN = {"origin": f"https://{HOST}"}


class Browser:
    """Somebody's browser: it keeps cookies and follows where it is led."""

    def __init__(self, app: Any, provider: FakeProvider, at: str = f"https://{HOST}") -> None:
        transport = httpx.ASGITransport(app)
        self.http = httpx.AsyncClient(transport=transport, base_url=at)
        self.provider = provider
        self.origin = {"origin": at}

    async def begin(self, back: str = "/inbox", **more: Any) -> str:
        """Open the page of signing in; gives where the provider sends the browser back to."""
        query = {"return": back, **more}
        response = await self.http.get("/login", params=query)
        assert response.status_code == 303, response.text
        return self.provider.authorize(response.headers["location"])

    async def sign_in(self, back: str = "/inbox", **more: Any) -> httpx.Response:
        """Sign in; gives the last page."""
        return await self.http.get(await self.begin(back, **more))

    async def status(self) -> int:
        return (await self.http.get("/me")).status_code

    def copy(self, app: Any) -> "Browser":
        """The same browser, led to another replica."""
        other = Browser(app, self.provider)
        other.http.cookies = httpx.Cookies(self.http.cookies)
        return other


def app_of(
    provider: FakeProvider, clock: FakeClock, store: Any = "memory:", **options: Any
) -> Sayso:
    oidc = {"client_secret": SECRET, **options.pop("oidc", {})}
    app = Sayso(
        store=store,
        sign_in=Oidc(provider.issuer, CLIENT, **oidc),
        server=ServerOptions(console=False, clock=clock, hosts=[HOST]),
        **options,
    )

    @app.agent("who")
    async def who(turn: Turn) -> None: ...

    return app


@asynccontextmanager
async def signed_in_at(app: Sayso, provider: FakeProvider) -> AsyncIterator[Browser]:
    async with app.lifespan():
        browser = Browser(app, provider)
        assert (await browser.sign_in()).status_code == 200
        yield browser


def onward(response: httpx.Response) -> str:
    found = re.search(r'http-equiv="refresh" content="0;url=([^"]*)"', response.text)
    assert found is not None, response.text
    return unescape(found[1])


async def refused(provider: FakeProvider, clock: FakeClock, **options: Any) -> None:
    """A whole sign-in that comes to nothing, with words, and a way to try again."""
    app = app_of(provider, clock, **options)
    async with app.lifespan():
        browser = Browser(app, provider)
        page = await browser.sign_in("/inbox/int_1")
        assert page.status_code == 403
        assert "You are not signed in" in page.text
        assert 'href="/login?return=%2Finbox%2Fint_1">Try again<' in page.text
        assert "set-cookie" not in page.headers
        assert await browser.status() == 401
