"""Who may talk to the server: Host, Origin, authentication, in this order and before the body."""

from typing import Any

import pytest

from sayso.base.codes import Code
from sayso.base.errors import DeclarationError, Problem
from sayso.base.records import Principal
from sayso.http.asgi import Receive, Scope, Send, header
from sayso.http.errors import not_found, write_body
from tests.asgi import JSON, Answer, Exchange, call, run_body, scope_of
from tests.http.stub import StubEngine, edge

HERE = "localhost:8000"


async def run_from(
    headers: dict[str, str], engine: StubEngine | None = None, **options: Any
) -> Answer:
    app = edge(engine, **options)
    return await call(app, "POST", "/agents/support", headers=JSON | headers, body=run_body())


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8000",
        "127.0.0.1:1",
        "127.8.0.1",
        "[::1]:8000",
        "[::1]",
        "a.localhost",
    ],
)
async def test_a_loopback_host_is_served(host: str) -> None:
    """By any of its names (design 7)."""
    assert (await run_from({"host": host})).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "evil.example:8000",
        "127.0.0.1.evil.example",
        "localhost:8000@evil.example",
        "[::1].evil.example",
        "10.0.0.1",
        "",
        "192.168.1.1",
    ],
)
async def test_another_host_is_misdirected(host: str) -> None:
    """A name that an attacker points at this machine approves nothing (design 7)."""
    engine = StubEngine()
    answer = await run_from({"host": host}, engine)
    assert (answer.status, answer.json["code"]) == (421, "forbidden_host")
    assert engine.calls == []


async def test_two_hosts_are_one_too_many() -> None:
    """Which of them a proxy checked cannot be known."""
    scope = scope_of("POST", "/agents/support", JSON)
    scope["headers"].append((b"host", b"evil.example"))
    exchange = Exchange([run_body()])
    await edge()(scope, exchange.receive, exchange.send)
    assert exchange.answer.status == 421


@pytest.mark.parametrize(
    ("hosts", "host", "status"),
    [
        (("sayso.example",), "sayso.example", 200),
        (("sayso.example",), "SAYSO.example:443", 200),
        (("sayso.example:443",), "sayso.example", 200),
        (("sayso.example",), "www.sayso.example", 421),
        (("*.sayso.example",), "www.sayso.example", 200),
        (("*.sayso.example",), "sayso.example", 421),
        (("*.sayso.example",), "evilsayso.example", 421),
        (("*",), "anything.example", 200),
        (("*",), "", 421),
    ],
)
async def test_configured_hosts_are_served(hosts: tuple[str, ...], host: str, status: int) -> None:
    """By name, below a name, or all when a proxy checks them (design 7)."""
    assert (await run_from({"host": host}, hosts=hosts)).status == status


@pytest.mark.parametrize(
    "options",
    [
        {"hosts": ("https://sayso.example",)},
        {"hosts": ("",)},
        {"hosts": ("*sayso.example",)},
        {"hosts": ("*.",)},
        {"hosts": ("sayso.example/x",)},
        {"origins": ("app.example",)},
        {"origins": ("https://app.example/page",)},
        {"origins": ("",)},
    ],
)
def test_an_option_that_could_never_work_fails_at_once(options: dict[str, Any]) -> None:
    """Where it is written, with what to write instead (design 7)."""
    with pytest.raises(DeclarationError):
        edge(**options)


@pytest.mark.parametrize("origin", [f"http://{HERE}", f"https://{HERE}", f"HTTP://{HERE.upper()}"])
async def test_a_page_of_our_own_may_call(origin: str) -> None:
    """Behind a proxy that ends TLS the scheme is not known (design 7)."""
    answer = await run_from({"origin": origin})
    assert answer.status == 200
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://localhost",
        "http://localhost:8001",
        "http://localhost:8000.evil.example",
        "http://evil.example@localhost:8000",
        "null",
        "file://localhost:8000",
        "localhost:8000",
        "",
        "http://[",
    ],
)
async def test_a_page_of_another_site_may_not(origin: str) -> None:
    """Not even one of another port (design 7)."""
    engine = StubEngine()
    answer = await run_from({"origin": origin}, engine)
    assert (answer.status, answer.json["code"]) == (403, "forbidden_origin")
    assert "access-control-allow-origin" not in answer.headers
    assert engine.calls == []


async def test_the_default_port_of_a_scheme_may_be_spelt_out_or_not() -> None:
    """Browsers leave it out of both, others do not."""
    hosts = ("sayso.example",)
    for host, origin in [
        ("sayso.example", "https://sayso.example"),
        ("sayso.example:443", "https://sayso.example"),
        ("sayso.example", "https://sayso.example:443"),
        ("sayso.example:80", "http://sayso.example"),
    ]:
        assert (await run_from({"host": host, "origin": origin}, hosts=hosts)).status == 200


ALLOWED = "https://app.example"


async def test_an_allowed_origin_gets_cors_on_success_and_on_errors() -> None:
    """A browser shows its page an error only with these headers (EN-18)."""
    app = edge(origins=(ALLOWED,))
    for body, status in [(run_body(), 200), (b"{", 400)]:
        answer = await call(
            app, "POST", "/agents/support", headers=JSON | {"origin": ALLOWED}, body=body
        )
        assert answer.status == status
        assert answer.headers["access-control-allow-origin"] == ALLOWED
        assert answer.headers["access-control-allow-credentials"] == "true"
        assert answer.headers["vary"] == "Origin"


async def test_a_preflight_is_answered_before_anybody_is_asked_who_they_are() -> None:
    """Browsers send it without credentials (EN-18)."""

    async def nobody(_: Scope) -> Principal | None:
        return None

    headers = {
        "origin": ALLOWED,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type",
    }
    app = edge(origins=(ALLOWED,), authenticate=nobody)
    answer = await call(app, "OPTIONS", "/agents/support", headers=headers)
    assert answer.status == 204
    assert answer.headers["access-control-allow-headers"] == "authorization, content-type"
    assert "POST" in answer.headers["access-control-allow-methods"]
    refused = await call(
        app, "OPTIONS", "/agents/support", headers=headers | {"origin": "http://x"}
    )
    assert refused.status == 403


async def test_any_origin_is_let_in_without_its_users_credentials() -> None:
    """`*` must not hand out what cookies protect (EN-18)."""
    answer = await run_from({"origin": "http://anybody.example"}, origins=("*",))
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == "http://anybody.example"
    assert "access-control-allow-credentials" not in answer.headers


async def by_token(scope: Scope) -> Principal | None:
    sent = header(scope, b"authorization")
    return Principal(subject="ann", scope="acme") if sent == "Bearer good" else None


async def test_the_principal_is_who_the_hook_says() -> None:
    """Scope and subject go with every call (SE-02)."""
    engine = StubEngine()
    answer = await run_from({"authorization": "Bearer good"}, engine, authenticate=by_token)
    assert answer.status == 200
    assert engine.calls[0][3] == Principal(subject="ann", scope="acme")
    assert engine.noted[0][1].subject == "ann"


async def test_nobody_is_a_401_and_the_body_is_not_read() -> None:
    """Authentication comes first (design 7)."""
    engine = StubEngine()
    exchange = Exchange([run_body()])
    await edge(engine, authenticate=by_token)(
        scope_of("POST", "/agents/support", JSON), exchange.receive, exchange.send
    )
    assert (exchange.answer.status, exchange.answer.json["code"]) == (401, "unauthenticated")
    assert exchange.answer.headers["www-authenticate"] == "Bearer"
    assert exchange.asked == 0
    assert engine.calls == []


@pytest.mark.parametrize("path", ["/agents", "/agents/support", "/agents/support/capabilities"])
async def test_what_agents_there_are_is_for_the_authenticated(path: str) -> None:
    """Nothing but the health probe is open (design 7)."""
    app = edge(authenticate=by_token)
    assert (await call(app, "GET", path)).status == 401
    assert (await call(app, "GET", path, headers={"authorization": "Bearer good"})).status == 200
    assert (await call(app, "GET", "/healthz")).status == 200


async def test_a_hook_that_fails_lets_nobody_in(caplog: pytest.LogCaptureFixture) -> None:
    """Fail closed, and say why in the log (design 7)."""

    async def broken(_: Scope) -> Principal | None:
        raise RuntimeError("the key server is down")

    engine = StubEngine()
    answer = await run_from({}, engine, authenticate=broken)
    assert answer.status == 500
    assert engine.calls == []
    assert "key server" in caplog.text


async def test_a_hook_may_refuse_in_its_own_words() -> None:
    """A Problem of the hook is the answer."""

    async def expired(_: Scope) -> Principal | None:
        raise Problem(Code.UNAUTHENTICATED, "Your token has expired: sign in again.")

    answer = await run_from({}, authenticate=expired)
    assert answer.status == 401
    assert "expired" in answer.json["detail"]


def scope_from(peer: Any, headers: dict[str, str]) -> Scope:
    return {**scope_of("GET", "/agents", headers), "client": peer}


async def status_from(
    peer: Any, app: Any, headers: dict[str, str] | None = None
) -> tuple[int, str]:
    exchange = Exchange([])
    await app(scope_from(peer, headers or {}), exchange.receive, exchange.send)
    answer = exchange.answer
    return answer.status, answer.json.get("code", "")


@pytest.mark.parametrize(
    "peer",
    [
        *(("127.0.0.1", 1), ("127.9.9.9", 1), ("::1", 1), ("::1", 1, 0, 0)),
        *(("::ffff:127.0.0.1", 1), ("::ffff:7f00:1", 1), None, ("", 0), ("testclient", 1)),
    ],
)
async def test_who_is_on_this_machine_need_not_say_who_they_are(peer: Any) -> None:
    """By loopback, a socket file, or from within the process."""
    assert await status_from(peer, edge()) == (200, "")


@pytest.mark.parametrize(
    "peer",
    [
        *(("203.0.113.9", 1), ("10.0.0.2", 1), ("0.0.0.0", 1), ("::", 1), ("2001:db8::1", 1)),  # noqa: S104 - peers
        *(
            ("fe80::1%eth0", 1),
            ("::ffff:203.0.113.9", 1),
            ("::127.0.0.1", 1),
            ("64:ff9b::7f00:1", 1),
        ),
    ],
)
async def test_another_machine_is_not_served_where_nobody_says_who_they_are(peer: Any) -> None:
    """Whatever Host it names, under any server; unless that is wanted in so many words."""
    engine = StubEngine()
    refused = await status_from(peer, edge(engine), {"host": "localhost"})
    assert refused == (403, "loopback_only")
    assert await status_from(peer, edge(insecure_no_auth=True)) == (200, "")
    assert await status_from(peer, edge(authenticate=someone)) == (200, "")


@pytest.mark.parametrize(
    "name",
    ["forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"],
)
async def test_what_a_proxy_passed_on_is_not_taken_for_this_machine_s(name: str) -> None:
    """Who sent it is not known."""
    assert await status_from(("127.0.0.1", 1), edge(), {name: "x"}) == (403, "loopback_only")
    local = edge(insecure_no_auth=True)
    assert await status_from(("127.0.0.1", 1), local, {name: "x"}) == (200, "")


async def someone(_: Scope) -> Principal:
    return Principal(subject="ann")


async def test_rest_answers_are_for_no_other_site_and_no_cache() -> None:
    answer = await call(edge(), "GET", "/agents")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"


def test_the_origin_of_sandboxed_frames_is_no_origin_to_name() -> None:
    """Every one of them says `null`."""
    with pytest.raises(DeclarationError, match="no origin"):
        edge(origins=("null",))


class Words:
    """A mount that fails, and tells of it in its own words."""

    path = "/words"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Find nothing."""
        raise not_found()

    async def write_problem(self, problem: Problem, _: Scope, send: Send) -> None:
        """Say the code alone."""
        await write_body(problem, {"said": problem.code.value}, send)


async def test_each_problem_is_told_once_in_the_words_of_whom_it_is_told() -> None:
    """In a mount its own, with CORS for its pages; outside of it the server's (design 7)."""
    engine = StubEngine()
    app = edge(engine, origins=(ALLOWED,))
    app.mount(Words())
    inside = await call(app, "GET", "/words/x", headers={"origin": ALLOWED})
    assert (inside.status, inside.json) == (404, {"said": "not_found"})
    assert inside.headers["access-control-allow-origin"] == ALLOWED
    outside = await call(app, "GET", "/words/x", headers={"origin": "https://evil.example"})
    assert (outside.status, outside.json["code"]) == (403, "forbidden_origin")
    counted = [line for line in await engine.health.lines() if "refus" in line and "{" in line]
    assert sorted(line.split("{", 1)[1] for line in counted) == [
        'code="forbidden_origin"} 1',
        'code="not_found"} 1',
    ]
