"""Signing in on the server, at a provider of OpenID Connect, as a browser goes through it."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from sayso import (
    Approvers,
    Principal,
    Sayso,
    ServerOptions,
    StoreUnavailable,
    Turn,
    auth,
)
from sayso.testing import FakeClock, FaultyStore
from tests.contract.signing_in import (
    HOST,
    OWN,
    TOKEN,
    Browser,
    app_of,
    onward,
    refused,
    signed_in_at,
)
from tests.http.fake_provider import CLIENT, FakeProvider
from tests.stores.backends import BACKENDS


async def test_a_person_signs_in_and_goes_on_where_they_were(
    provider: FakeProvider, clock: FakeClock
) -> None:
    """The cookie is the host's own, for no script, and for no page of another site."""
    app = app_of(provider, clock)
    async with app.lifespan():
        browser = Browser(app, provider)
        assert await browser.status() == 401
        (method,) = (await browser.http.get("/auth")).json()["methods"]
        assert (method["kind"], method["url"]) == ("redirect", "/login?return={return}")
        page = await browser.sign_in("/inbox/int_1?tab=a#b")
        assert (page.status_code, onward(page)) == (200, "/inbox/int_1?tab=a#b")
        cookie, login = page.headers.get_list("set-cookie")
        assert login.startswith("__Host-sayso-login=")
        assert re.fullmatch(
            r"__Host-sayso=[\w-]{43}; Path=/; HttpOnly; Secure; SameSite=Strict", cookie
        )
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script" not in policy + page.text
        me = (await browser.http.get("/me")).json()
        ends = me.pop("expiresAt"), me.pop("signedInAt")
        assert all(ends)
        assert me == {"subject": "lea", "scope": "default", "roles": ["lead"], "kind": "person"}


async def test_the_provider_is_asked_as_the_standards_say(
    provider: FakeProvider, clock: FakeClock
) -> None:
    """A code, PKCE by SHA-256, state and nonce, the client's secret; the login's cookie is Lax."""
    app = app_of(provider, clock)
    async with app.lifespan():
        browser = Browser(app, provider)
        response = await browser.http.get("/login")
        asked = {
            name: values[0]
            for name, values in parse_qs(urlsplit(response.headers["location"]).query).items()
        }
        assert response.headers["set-cookie"].endswith("; Path=/; HttpOnly; Secure; SameSite=Lax")
        assert {name: asked[name] for name in ("response_type", "client_id", "redirect_uri")} == {
            "response_type": "code",
            "client_id": CLIENT,
            "redirect_uri": f"https://{HOST}/callback",
        }
        assert asked["code_challenge_method"] == "S256"
        assert len(asked["code_challenge"]) == len(asked["nonce"]) == 43
        assert "prompt" not in asked
        await browser.sign_in()
        again = await browser.begin(max_age=300)
        (form,) = provider.forms
        assert form["grant_type"] == "authorization_code"
        fresh = list(provider.codes.values())[-1]
        assert (fresh["prompt"], fresh["max_age"]) == ("login", "300")
        assert fresh["state"] != asked["state"]
        assert (await browser.http.get(again)).status_code == 200
        # What it says of itself is read once.
        assert provider.asked.count("/.well-known/openid-configuration") == 1


async def test_a_sign_in_ends_in_the_browser_in_which_it_began(
    provider: FakeProvider, clock: FakeClock
) -> None:
    """So nobody is signed in as somebody else by a link, and none ends after ten minutes."""
    app = app_of(provider, clock)
    async with app.lifespan():
        mallory, victim = Browser(app, provider), Browser(app, provider)
        trap = await mallory.begin()
        assert (await victim.http.get(trap)).status_code == 400
        await victim.begin()
        page = await victim.http.get(trap)
        assert (page.status_code, "another browser" in page.text) == (400, True)
        late = await victim.begin()
        await clock.advance(601)
        assert (await victim.http.get(late)).status_code == 400
        assert (await victim.sign_in()).status_code == 200


async def test_a_code_counts_once(provider: FakeProvider, clock: FakeClock) -> None:
    app = app_of(provider, clock)
    async with app.lifespan():
        browser = Browser(app, provider)
        back = await browser.begin()
        assert (await browser.http.get(back)).status_code == 200
        again = await browser.http.get(back)
        assert (again.status_code, "set-cookie" in again.headers) == (403, False)


async def test_two_tabs_sign_in_at_once(provider: FakeProvider, clock: FakeClock) -> None:
    """And one session is left of both."""
    app = app_of(provider, clock)
    async with app.lifespan():
        browser = Browser(app, provider)
        one, two = await browser.begin("/inbox/1"), await browser.begin("/inbox/2")
        assert onward(await browser.http.get(one)) == "/inbox/1"
        first = browser.copy(app)
        assert await first.status() == 200
        assert onward(await browser.http.get(two)) == "/inbox/2"
        assert [await first.status(), await browser.status()] == [401, 200]


async def test_a_new_sign_in_of_a_browser_ends_the_one_that_it_had(
    provider: FakeProvider, clock: FakeClock
) -> None:
    """Though a strict cookie does not come along with the way back from the provider."""
    async with signed_in_at(app := app_of(provider, clock), provider) as browser:
        former, provider.person["sub"] = browser.copy(app), "leo"
        back = await browser.begin()
        assert await former.status() == 200
        del browser.http.cookies["__Host-sayso"]
        assert (await browser.http.get(back)).status_code == 200
        assert (await browser.http.get("/me")).json()["subject"] == "leo"
        assert await former.status() == 401


@pytest.mark.parametrize("subject", ["service:ci", "sayso:retention"])
async def test_nobody_signs_in_under_a_name_of_the_server_s_own(
    subject: str, provider: FakeProvider, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Else a person could be taken for a service, and do what is the service's."""
    provider.person["sub"] = subject
    app = app_of(provider, clock)
    async with app.lifespan():
        page = await Browser(app, provider).sign_in()
        assert (page.status_code, "set-cookie" in page.headers) == (403, False)
        assert f"the subject {subject!r} begins like a name of this server's own" in caplog.text


@pytest.mark.parametrize(
    "back",
    [
        "https://evil.example.org/",
        "//evil.example.org",
        "/\\evil.example.org",
        "/\t/evil.example.org",
        "\\\\evil.example.org",
        "javascript:alert(1)",
        "inbox",
        "",
        "/login?return=/x",
        "/logout",
        "/" + "a" * 3_000,
    ],
)
async def test_nobody_is_led_to_another_site(
    provider: FakeProvider, clock: FakeClock, back: str
) -> None:
    app = app_of(provider, clock)
    async with app.lifespan():
        assert onward(await Browser(app, provider).sign_in(back)) == "/"


async def test_the_way_back_is_sealed(provider: FakeProvider, clock: FakeClock) -> None:
    app = app_of(provider, clock)
    async with app.lifespan():
        browser = Browser(app, provider)
        one, two = await browser.begin("/inbox/1"), await browser.begin("/inbox/2")
        parts = [parse_qs(urlsplit(back).query)["state"][0].split(".") for back in (one, two)]
        mixed = ".".join([*parts[0][:3], parts[1][3], parts[0][4]])
        swapped = re.sub(r"state=[^&]*", f"state={mixed}", one)
        assert (await browser.http.get(swapped)).status_code == 400


async def test_below_a_prefix_all_paths_are(provider: FakeProvider, clock: FakeClock) -> None:
    """The way back too, which leads to nothing beside it."""
    app = app_of(provider, clock)

    async def mounted(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "root_path": "/desk"}, receive, send)

    async with app.lifespan():
        browser = Browser(mounted, provider)
        for wanted, expected in (("/desk/inbox", "/desk/inbox"), ("/other", "/desk/")):
            location = (await browser.http.get("/desk/login", params={"return": wanted})).headers
            back = provider.authorize(location["location"])
            assert back.startswith(f"https://{HOST}/desk/callback?")
            assert onward(await browser.http.get(back)) == expected


async def test_a_request_that_changes_something_needs_its_origin(
    provider: FakeProvider, clock: FakeClock
) -> None:
    """A page of another site can have a browser post; that page's Origin comes along."""
    async with signed_in_at(app_of(provider, clock), provider) as browser:
        for headers, status in (
            ({}, 403),
            ({"origin": "https://evil.example.org"}, 403),
            ({"origin": "null"}, 403),
            ({"origin": f"http://{HOST}"}, 403),
            (OWN, 404),
        ):
            response = await browser.http.post("/threads/t/stop", headers=headers)
            assert response.status_code == status
        assert (await browser.http.post("/logout")).status_code == 403
        assert await browser.status() == 200


async def test_only_origins_that_are_named_come_with_a_cookie(
    provider: FakeProvider, clock: FakeClock
) -> None:
    """`*` lets pages of any site call, never as somebody."""
    named = "https://app.example.org"
    server = ServerOptions(console=False, clock=clock, hosts=[HOST], origins=[named, "*"])
    async with signed_in_at(app_of(provider, clock).replace(server=server), provider) as browser:
        for origin, status in ((named, 404), ("https://evil.example.org", 403)):
            headers = {"origin": origin}
            response = await browser.http.post("/threads/t/stop", headers=headers)
            assert response.status_code == status


async def test_two_cookies_of_a_name_are_nobody(provider: FakeProvider, clock: FakeClock) -> None:
    """One of them is from another host of the domain, and nobody can say which."""
    async with signed_in_at(app_of(provider, clock), provider) as browser:
        (session,) = [c.value for c in browser.http.cookies.jar if c.name == "__Host-sayso"]
        http = httpx.AsyncClient(transport=browser.http._transport, base_url=f"https://{HOST}")
        for line, status in (
            (f"__Host-sayso={session}", 200),
            (f"__Host-sayso={session}; __Host-sayso=evil", 401),
            (f"__Host-sayso=evil; __Host-sayso={session}", 401),
            (f"sayso={session}", 401),
            (f"__Host-sayso={session}x", 401),
        ):
            assert (await http.get("/me", headers={"cookie": line})).status_code == status


async def test_a_session_that_was_put_there_is_not_taken_over(
    provider: FakeProvider, clock: FakeClock
) -> None:
    """Each sign-in has a new id, whatever the browser came with."""
    async with signed_in_at(app_of(provider, clock), provider) as browser:
        before = browser.http.cookies["__Host-sayso"]
        await browser.sign_in()
        after = browser.http.cookies["__Host-sayso"]
        assert before != after
        planted = "A" * 43
        app: Any = browser.http._transport
        victim = Browser(app.app, provider)
        victim.http.cookies.set("__Host-sayso", planted, domain=HOST)
        page = await victim.sign_in()
        assert planted not in page.headers["set-cookie"]
        mallory = httpx.AsyncClient(transport=app, base_url=f"https://{HOST}")
        line = {"cookie": f"__Host-sayso={planted}"}
        assert (await mallory.get("/me", headers=line)).status_code == 401


async def test_a_session_ends_by_rest_and_by_age(provider: FakeProvider, clock: FakeClock) -> None:
    """By the store's clock: after an hour without a request, and after eight in any case."""
    async with signed_in_at(app_of(provider, clock), provider) as browser:
        for _ in range(8):
            clock.jump(3_500)
            await clock.advance(0)
            assert await browser.status() == 200
        clock.jump(28_800 - 8 * 3_500)
        await clock.advance(0)
        assert await browser.status() == 401
        await browser.sign_in()
        clock.jump(3_600)
        await clock.advance(0)
        assert await browser.status() == 401


async def test_signing_out_ends_the_session_everywhere(
    provider: FakeProvider, clock: FakeClock, tmp_path: Path
) -> None:
    """On each replica, for each copy of the cookie; signing out again is no error."""
    stores = [BACKENDS["sqlite"](tmp_path, clock) for _ in range(2)]
    one, two = (app_of(provider, clock, store) for store in stores)
    async with one.lifespan(), two.lifespan():
        browser = Browser(one, provider)
        back = await browser.begin()
        elsewhere = browser.copy(two)
        await elsewhere.http.get(back)
        browser.http.cookies = httpx.Cookies(elsewhere.http.cookies)
        assert [await browser.status(), await elsewhere.status()] == [200, 200]
        left = await browser.http.post("/logout", headers=OWN)
        assert left.status_code == 204
        assert ["Max-Age=0" in line for line in left.headers.get_list("set-cookie")] == [True] * 2
        assert await elsewhere.status() == 401
        assert (await elsewhere.http.post("/logout", headers=OWN)).status_code == 204


@pytest.mark.parametrize("names", [{"sid": "s-1"}, {"sub": "lea"}, {"sid": "s-1", "sub": "lea"}])
async def test_the_provider_ends_sessions(
    provider: FakeProvider, clock: FakeClock, names: dict[str, str]
) -> None:
    app = app_of(provider, clock)
    async with signed_in_at(app, provider) as browser:
        provider.person = {"sub": "ben", "sid": "s-2"}
        ben = Browser(app, provider)
        await ben.sign_in()
        told = {"logout_token": provider.logout_token(**names)}
        response = await ben.http.post("/backchannel-logout", data=told)
        assert (response.status_code, response.headers["cache-control"]) == (200, "no-store")
        assert [await browser.status(), await ben.status()] == [401, 200]


async def test_while_the_provider_is_away_who_has_signed_in_stays(
    provider: FakeProvider, clock: FakeClock
) -> None:
    async with signed_in_at(app_of(provider, clock), provider) as browser:
        provider.status = 500
        assert await browser.status() == 200


async def test_tenants_are_told_by_a_claim(provider: FakeProvider, clock: FakeClock) -> None:
    """Whoever has none of them is nobody."""
    provider.person |= {"org": "acme"}
    app = app_of(provider, clock, oidc={"tenant": "org", "roles": "groups"})
    provider.person["groups"] = "lead ops"
    async with signed_in_at(app, provider) as browser:
        me = (await browser.http.get("/me")).json()
        assert (me["scope"], me["roles"]) == ("acme", ["lead", "ops"])
    for claims in ({"org": None}, {"org": ""}, {"org": 7}):
        provider.claims = claims
        await refused(provider, clock, oidc={"tenant": "org"})


async def test_machines_go_on_with_their_tokens(provider: FakeProvider, clock: FakeClock) -> None:
    """A token counts before a cookie, and needs no Origin."""
    hook = auth.bearer({TOKEN: Principal(subject="ci", kind="service")})
    async with signed_in_at(app_of(provider, clock, authenticate=hook), provider) as browser:
        methods = (await browser.http.get("/auth")).json()["methods"]
        assert [method["kind"] for method in methods] == ["token", "redirect"]
        headers = {"authorization": f"Bearer {TOKEN}"}
        assert (await browser.http.get("/me", headers=headers)).json()["subject"] == "ci"
        assert (await browser.http.get("/me")).json()["subject"] == "lea"
        stopped = await browser.http.post("/threads/t/stop", headers=headers)
        assert stopped.status_code == 404
        wrong = {"authorization": "Bearer another-token-of-16"}
        assert (await browser.http.get("/me", headers=wrong)).status_code == 401


async def test_on_loopback_without_tls_the_cookie_is_plain(
    provider: FakeProvider, clock: FakeClock
) -> None:
    app = app_of(provider, clock)
    async with app.lifespan():
        browser = Browser(app, provider, "http://localhost:8000")
        page = await browser.sign_in()
        assert page.headers["set-cookie"].startswith("sayso=")
        assert "Secure" not in page.headers["set-cookie"]
        assert await browser.status() == 200
        assert provider.forms[0]["redirect_uri"] == "http://localhost:8000/callback"


async def test_behind_a_proxy_that_ends_tls_the_cookie_is_the_host_s(
    provider: FakeProvider, clock: FakeClock
) -> None:
    app = app_of(provider, clock)
    async with app.lifespan():
        browser = Browser(app, provider, f"http://{HOST}")
        page = await browser.sign_in()
        assert page.headers["set-cookie"].startswith("__Host-sayso=")
        assert provider.forms[0]["redirect_uri"] == f"https://{HOST}/callback"


async def test_without_a_provider_there_is_nothing_to_sign_in_at() -> None:
    app = Sayso(store="memory:", server=ServerOptions(console=False))
    http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")
    async with app.lifespan(), http:
        assert (await http.get("/auth")).json() == {"methods": []}
        assert (await http.get("/me")).json()["subject"] == "local"
        for path in ("/login", "/callback", "/logout", "/backchannel-logout"):
            assert (await http.get(path)).status_code == 404


async def test_a_question_that_takes_a_fresh_sign_in_says_where(
    provider: FakeProvider, clock: FakeClock
) -> None:
    """And takes the answer once the person has been there; an old sign-in is not enough."""
    app = app_of(provider, clock)

    @app.agent("payer")
    async def payer(turn: Turn) -> None:
        await turn.interrupt(
            "shop:go",
            "Go on?",
            schema={"type": "boolean"},
            approvers=Approvers(people=["lea"], step_up=300),
        )

    async with signed_in_at(app, provider) as browser:
        body = {"threadId": "t", "runId": "r", "messages": [MESSAGE], "tools": [], "context": []}
        ran = await browser.http.post("/agents/payer", json=body, headers=OWN)
        assert ran.status_code == 200
        await clock.advance(1_000)
        (asked,) = (await browser.http.get("/interrupts")).json()["items"]
        assert "signIn" in asked["metadata"]["sayso"]["may"]
        way = f"/interrupts/{asked['id']}/answer"
        answer = {"status": "resolved", "payload": True}
        late = await browser.http.post(way, json=answer, headers=OWN)
        assert (late.status_code, late.json()["code"]) == (403, "step_up_required")
        assert late.json()["url"] == "/login?return={return}&max_age=300"
        stale = await browser.sign_in("/inbox", max_age=300)
        assert stale.status_code == 403
        provider.claims = {"auth_time": clock.now() // 1000}
        assert (await browser.sign_in("/inbox", max_age=300)).status_code == 200
        taken = await browser.http.post(way, json=answer, headers=OWN)
        assert taken.status_code == 200


MESSAGE = {"id": "m", "role": "user", "content": "go"}


async def test_the_trail_says_who_has_signed_in_and_out(
    provider: FakeProvider, clock: FakeClock
) -> None:
    """In the tenant's chain, with the proof that decisions of that session have."""
    provider.person["roles"] = ["auditor"]
    async with signed_in_at(app_of(provider, clock), provider) as browser:
        await browser.http.post("/logout", headers=OWN)
        await browser.http.post("/logout", headers=OWN)
        await browser.sign_in()
        told = {"logout_token": provider.logout_token(sub="lea")}
        await browser.http.post("/backchannel-logout", data=told)
        await browser.sign_in()
        provider.person["sub"] = "leo"
        await browser.sign_in()
        rows = (await browser.http.get("/audit", params={"of": "tenant"})).json()["items"]
        kinds = [(row["kind"], row["content"]["by"], row["content"].get("channel")) for row in rows]
        assert kinds == [
            ("signed_in", "lea", None),
            ("signed_out", "lea", "logout"),
            ("signed_in", "lea", None),
            ("signed_out", "lea", "issuer"),
            ("signed_in", "lea", None),
            ("signed_in", "leo", None),
            ("signed_out", "lea", "sign_in"),
        ]
        proofs = [row["content"]["proof"] for row in rows]
        assert {proof["issuer"] for proof in proofs} == {provider.issuer}
        ids = [proof["tokenId"] for proof in proofs]
        assert (ids[0], ids[2], ids[4]) == (ids[1], ids[3], ids[6])
        assert len({*ids}) == 4
        session = browser.http.cookies["__Host-sayso"]
        assert session not in str(rows)


async def test_nobody_is_signed_in_while_the_store_is_away(
    provider: FakeProvider, clock: FakeClock, tmp_path: Path
) -> None:
    """A request with a cookie is 503 then, never somebody else's; nothing is half done."""
    store = FaultyStore(BACKENDS["memory"](tmp_path, clock))
    app = app_of(provider, clock, store)
    async with app.lifespan():
        browser = Browser(app, provider)
        for point in ("note", "add_session"):
            store.fail(point, error=StoreUnavailable("away"))
            page = await browser.sign_in()
            assert (page.status_code, "set-cookie" in page.headers) == (503, False)
            assert "Signing in is not possible now" in page.text
            assert await browser.status() == 401
        assert (await browser.sign_in()).status_code == 200
        store.fail("use_session", error=StoreUnavailable("away"))
        assert [await browser.status(), await browser.status()] == [503, 200]
        store.fail("end_sessions", error=StoreUnavailable("away"))
        assert (await browser.http.post("/logout", headers=OWN)).status_code == 503
        assert await browser.status() == 200
