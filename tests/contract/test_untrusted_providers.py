"""What a provider says is held against the standards: an answer that is wrong signs nobody in."""

import re
from typing import Any
from urllib.parse import quote

import pytest

from sayso import (
    DeclarationError,
    Oidc,
    Sayso,
)
from sayso.testing import FakeClock
from tests.contract.signing_in import (
    Browser,
    app_of,
    refused,
    signed_in_at,
)
from tests.http.fake_provider import CLIENT, OTHER, SECRET, FakeProvider


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"iss": "https://other.example.org"},
        {"aud": "another"},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"exp": 1},
        {"exp": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": "\ud800"},
    ],
    ids=str,
)
async def test_a_token_that_is_not_for_this_sign_in_signs_nobody_in(
    provider: FakeProvider, clock: FakeClock, claims: dict[str, Any]
) -> None:
    provider.claims = claims
    await refused(provider, clock)


@pytest.mark.parametrize("way", ["key", "none", "HS256", "logout", "access"])
async def test_a_token_that_another_signed_signs_nobody_in(
    provider: FakeProvider, clock: FakeClock, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By another key, by none, by the client's secret; nor one that is for something else."""
    if way == "key":
        provider.key = OTHER
    elif way == "none":
        monkeypatch.setattr(provider, "sign", lambda claims: unsigned(claims))
    elif way == "HS256":
        provider.key, provider.algorithm = SECRET * 2, "HS256"
    elif way == "logout":
        monkeypatch.setattr(provider, "sign", lambda _: FakeProvider.sign(provider, LOGOUT_CLAIMS))
    else:
        provider.claims = {"nonce": None}
    await refused(provider, clock)


LOGOUT_CLAIMS = {"sub": "lea", "exp": 9_999_999_999}


def unsigned(claims: dict[str, Any]) -> str:
    import jwt  # noqa: PLC0415 - this kind of token alone

    return jwt.encode(claims, "", "none")


@pytest.mark.parametrize(
    "change", ["state", "iss", "no iss", "error", "no code", "two codes", "code and error"]
)
async def test_an_answer_that_is_not_the_provider_s_signs_nobody_in(
    provider: FakeProvider, clock: FakeClock, change: str
) -> None:
    app = app_of(provider, clock)
    async with app.lifespan():
        browser = Browser(app, provider)
        back = await browser.begin()
        issuer = quote(provider.issuer, safe="")
        changed = {
            "state": re.sub(r"state=[^&]*", "state=a.1..Lw.b", back),
            "iss": back.replace(issuer, quote("https://other.example.org", safe="")),
            "no iss": back.replace(f"&iss={issuer}", ""),
            "error": back.replace("code=", "error="),
            "no code": back.replace("code=", "cod="),
            "two codes": back + "&code=another",
            "code and error": back + "&error=access_denied",
        }[change]
        page = await browser.http.get(changed)
        assert page.status_code == (400 if change == "state" else 403)
        assert await browser.status() == 401
        assert provider.forms == []


@pytest.mark.parametrize(
    "claims",
    [
        {"events": None},
        {"events": {}},
        {"nonce": "n", "sub": "lea"},
        {"aud": "another", "sub": "lea"},
        {"iss": "https://other.example.org", "sub": "lea"},
        {"exp": 1, "sub": "lea"},
        {},
        {"sid": 7},
        {"sid": "\ud800"},
        {"sid": "another", "sub": "lea"},
    ],
    ids=str,
)
async def test_a_logout_token_that_is_none_ends_nothing(
    provider: FakeProvider, clock: FakeClock, claims: dict[str, Any]
) -> None:
    async with signed_in_at(app_of(provider, clock), provider) as browser:
        sent = {"logout_token": provider.logout_token(**claims)}
        response = await browser.http.post("/backchannel-logout", data=sent)
        assert response.status_code == (200 if claims.get("sid") == "another" else 400)
        forged = provider.sign({"sub": "lea"}, OTHER)
        for body in ({"logout_token": forged}, {"other": "x"}):
            response = await browser.http.post("/backchannel-logout", data=body)
            assert response.status_code == 400
        assert await browser.status() == 200


@pytest.mark.parametrize("status", [500, 302, 404])
async def test_a_provider_that_is_away_is_said_in_words(
    provider: FakeProvider, clock: FakeClock, status: int
) -> None:
    """With a way to try again; nobody is sent somewhere else by it."""
    provider.status = status
    app = app_of(provider, clock)
    async with app.lifespan():
        browser = Browser(app, provider)
        page = await browser.http.get("/login", params={"return": "/inbox"})
        assert (page.status_code, page.headers["retry-after"]) == (503, "2")
        assert "Signing in is not possible now" in page.text
        assert 'href="/login?return=%2Finbox">Try again<' in page.text
        provider.status = 200
        back = await browser.begin()
        provider.status = status
        assert (await browser.http.get(back)).status_code == 503


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"{}", b" " * 300_000, b'{"issuer":"https://other.example.org"}']
)
async def test_what_a_provider_says_is_bounded_and_read_strictly(
    provider: FakeProvider, clock: FakeClock, body: bytes
) -> None:
    provider.body = body
    app = app_of(provider, clock)
    async with app.lifespan():
        assert (await Browser(app, provider).http.get("/login")).status_code == 503


@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint", "jwks_uri"])
async def test_endpoints_of_a_provider_are_https(
    provider: FakeProvider, clock: FakeClock, name: str
) -> None:
    for address in ("http://id.example.org/x", "https://id.example.org/\u20ac", 5):
        provider.described = {name: address}
        app = app_of(provider, clock)
        async with app.lifespan():
            assert (await Browser(app, provider).http.get("/login")).status_code == 503


def test_options_of_a_provider_are_checked() -> None:
    good: dict[str, Any] = {"issuer": "https://id.example.org", "client_id": "c"}
    assert "hunter2" not in repr(Oidc(**good, client_secret="hunter2"))  # noqa: S106 - of no service
    for change, said in (
        ({"issuer": "http://id.example.org"}, "no https address"),
        ({"issuer": "id.example.org"}, "no https address"),
        ({"client_id": ""}, "client_id= of Oidc"),
        ({"client_secret": ""}, "client_secret= of Oidc"),
        ({"session": 59}, "whole seconds from 60"),
        ({"idle": 1.5}, "whole seconds from 60"),
        ({"session": 60, "idle": 61}, "longer than session=60"),
    ):
        with pytest.raises(DeclarationError, match=said):
            Oidc(**(good | change))
    with pytest.raises(DeclarationError, match="sign_in"):
        Sayso(store="memory:", sign_in="https://id.example.org")  # type: ignore[arg-type]
