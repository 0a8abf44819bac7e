"""Ready hooks that say who is calling: bearer tokens, and JSON Web Tokens (design 7)."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sayso import DeclarationError, Principal, Sayso, ServerOptions, Turn, auth
from sayso.http import jwt_verifier
from tests.contract.rest import call
from tests.patience import PATIENCE

TOKEN = "a-token-that-is-long-enough"  # noqa: S105 - of no service
ISSUER, AUDIENCE = "https://id.example.org/", "sayso"
PRIVATE = ec.generate_private_key(ec.SECP256R1())
OTHER = ec.generate_private_key(ec.SECP256R1())
PUBLIC = PRIVATE.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
SECRET = "a secret of thirty-two characters"  # noqa: S105 - of no service


def served(authenticate: Any) -> Sayso:
    app = Sayso(store="memory:", authenticate=authenticate, server=ServerOptions(console=False))

    @app.agent("who")
    async def who(turn: Turn) -> None: ...

    return app


async def status(app: Sayso, *authorization: str) -> int:
    fields = {"authorization": authorization[0]} if authorization else {}
    async with app.lifespan():
        return (await call(app, "GET", "/threads", headers=fields)).status


async def principal(hook: Any, token: str) -> Principal | None:
    found: Principal | None = await hook(
        {"headers": [(b"authorization", f"Bearer {token}".encode())]}
    )
    return found


def token(key: Any = PRIVATE, *, kid: str | None = None, alg: str = "ES256", **claims: Any) -> str:
    """A token that counts, but for what is changed; None leaves a claim out."""
    body = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "ann",
        "exp": int(time.time()) + 600,
        **claims,
    }
    kept = {name: value for name, value in body.items() if value is not None}
    return jwt.encode(kept, key, alg, headers={"kid": kid} if kid else None)


@pytest.fixture
def hook() -> Any:
    return auth.jwt(key=PUBLIC, algorithms=["ES256"], issuer=ISSUER, audience=AUDIENCE)


@pytest.mark.parametrize(
    ("authorization", "expected"),
    [
        ([f"Bearer {TOKEN}"], 200),
        ([f"bearer  {TOKEN} "], 200),
        ([], 401),
        (["Bearer"], 401),
        (["Bearer "], 401),
        ([f"Basic {TOKEN}"], 401),
        ([TOKEN], 401),
        ([f"Bearer {TOKEN}x"], 401),
        ([f"Bearer {TOKEN[:-1]}"], 401),
        (["Bearer ü" + TOKEN], 401),
        (["Bearer " + "x" * 20_000], 401),
    ],
)
async def test_a_bearer_token_opens_and_nothing_else_does(
    authorization: list[str], expected: int
) -> None:
    """O5: 401 before anything is read, with the scheme that would do."""
    app = served(auth.bearer({TOKEN: Principal(subject="ann")}))
    assert await status(app, *authorization) == expected


async def test_a_token_stands_for_its_principal() -> None:
    """O1: subject, tenant and roles are the server's word, never the caller's."""
    ann = Principal(subject="ann", scope="shop", roles=("lead",))
    hook = auth.bearer({TOKEN: ann, TOKEN[::-1]: Principal(subject="bob")})
    assert await principal(hook, TOKEN) == ann
    assert await principal(hook, TOKEN[::-1]) == Principal(subject="bob")
    twice = [(b"authorization", f"Bearer {TOKEN}".encode())] * 2
    assert await hook({"headers": twice}) is None


@pytest.mark.parametrize("subject", ["service:ci", "sayso:retention"])
async def test_no_hook_gives_a_name_of_the_server_s_own(subject: str) -> None:
    """A session or a token that says so counts as nobody's, and is told why."""
    app = served(auth.bearer({TOKEN: Principal(subject=subject)}))
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with app.lifespan():
        refused = await call(app, "GET", "/threads", headers=headers)
    assert (refused.status, refused.json["code"]) == (401, "unauthenticated")
    assert "Have whoever vouches for you give another one" in refused.json["detail"]


@pytest.mark.parametrize(
    "tokens",
    [
        {},
        {"": Principal()},
        {"short": Principal()},
        {"with a blank in its middle": Principal()},
        {"ümlaut-in-a-long-token": Principal()},
        {TOKEN + "\n": Principal()},
        {TOKEN: "ann"},
    ],
    ids=repr,
)
def test_tokens_that_cannot_work_are_refused_where_they_are_declared(tokens: Any) -> None:
    """And the message holds no token."""
    with pytest.raises(DeclarationError) as error:
        auth.bearer(tokens)
    assert TOKEN not in str(error.value)


async def test_a_signed_token_says_who_is_calling(hook: Any) -> None:
    """Subject and roles from its claims; the scope only from a claim that was named."""
    assert await status(served(hook), f"Bearer {token()}") == 200
    assert await principal(hook, token(roles=["a", 7, "b"])) == Principal(
        subject="ann", roles=("a", "b")
    )
    assert await principal(hook, token(roles="a b", tenant="x")) == Principal(
        subject="ann", roles=("a", "b")
    )
    assert await principal(hook, token(aud=["other", AUDIENCE])) == Principal(subject="ann")
    tenants = auth.jwt(
        key=PUBLIC, algorithms=["ES256"], issuer=ISSUER, audience=AUDIENCE, tenant="org"
    )
    assert await principal(tenants, token(org="shop")) == Principal(subject="ann", scope="shop")
    for claims in ({}, {"org": ""}, {"org": 7}):
        assert await principal(tenants, token(**claims)) is None


@pytest.mark.parametrize(
    "forged",
    [
        lambda: token(OTHER),
        lambda: token(exp=int(time.time()) - 60),
        lambda: token(exp=None),
        lambda: token(nbf=int(time.time()) + 600),
        lambda: token(sub=None),
        lambda: token(sub=""),
        lambda: token(iss="https://evil.example/"),
        lambda: token(iss=None),
        lambda: token(aud="another service"),
        lambda: token(aud=None),
        lambda: jwt.encode({"sub": "ann", "iss": ISSUER, "aud": AUDIENCE}, "", "none"),
        lambda: token("x" * 40, alg="HS256"),
        lambda: token()[:-4] + "AAAA",
        lambda: token() + ".x",
        lambda: "a.b.c",
        lambda: "ü.ü.ü",
    ],
)
async def test_a_token_that_does_not_count_lets_nobody_in(
    hook: Any, forged: Callable[[], str]
) -> None:
    """SE-01: another key, another time, another service, no signature, no sense: 401."""
    assert await principal(hook, forged()) is None
    assert await status(served(hook), f"Bearer {forged()}") == 401


async def test_a_secret_signs_only_when_it_is_said_to() -> None:
    """A public key that is taken for a secret would let everybody sign."""
    hook = auth.jwt(key=SECRET, algorithms=["HS256"], issuer=ISSUER, audience=AUDIENCE)
    assert await principal(hook, token(SECRET, alg="HS256")) == Principal(subject="ann")
    assert await principal(hook, token(SECRET[:-1] + "x", alg="HS256")) is None
    pem = PUBLIC.decode()
    for wrong in (
        {"key": pem, "algorithms": ["HS256"]},
        {"key": SECRET, "algorithms": ["HS256", "ES256"]},
        {"jwks": "https://id.example.org/keys", "algorithms": ["HS256"]},
        {"key": SECRET},
        {"key": pem, "algorithms": ["none"]},
        {"key": pem, "jwks": "https://id.example.org/keys"},
        {},
        {"jwks": "http://id.example.org/keys"},
        {"jwks": "id.example.org/keys"},
        {"key": pem, "audience": ""},
        {"key": pem, "issuer": ""},
    ):
        given: Any = {"issuer": ISSUER, "audience": AUDIENCE, **wrong}
        with pytest.raises(DeclarationError):
            auth.jwt(**given)


async def test_other_claims_may_say_who_is_calling() -> None:
    """A function of all claims; None is nobody."""

    def by_mail(claims: Any) -> Principal | None:
        return Principal(subject=claims["email"]) if claims.get("email_verified") else None

    hook = auth.jwt(
        key=PUBLIC, algorithms=["ES256"], issuer=ISSUER, audience=AUDIENCE, principal=by_mail
    )
    mail = {"email": "ann@example.org"}
    found = await principal(hook, token(**mail, email_verified=True))
    assert found == Principal(subject="ann@example.org")
    assert await principal(hook, token(**mail)) is None


class Keys:
    """A server of keys, which counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.answer: tuple[int, bytes, dict[str, str]] = (200, b'{"keys":[]}', {})

    def publish(self, **keys: Any) -> None:
        listed = []
        for kid, key in keys.items():
            algorithm = jwt.get_algorithm_by_name(
                "EdDSA" if isinstance(key, ed25519.Ed25519PrivateKey) else "ES256"
            )
            listed.append({**json.loads(algorithm.to_jwk(key.public_key())), "kid": kid})
        self.answer = (200, json.dumps({"keys": listed}).encode(), {})


@pytest.fixture
def keys() -> Iterator[tuple[Keys, str]]:
    """A server of keys on loopback, and its address."""
    given = Keys()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given.asked += 1
            code, body, fields = given.answer
            self.send_response(code)
            for name, value in fields.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield given, f"http://127.0.0.1:{server.server_port}/keys"
        server.shutdown()
        thread.join()


async def test_keys_are_fetched_once_and_chosen_by_their_id(keys: tuple[Keys, str]) -> None:
    """Of several kinds; a token that names none counts only when there is one."""
    given, address = keys
    curve = ed25519.Ed25519PrivateKey.generate()
    given.publish(a=PRIVATE, b=curve)
    hook = auth.jwt(jwks=address, issuer=ISSUER, audience=AUDIENCE)
    for _ in range(3):
        assert await principal(hook, token(kid="a")) == Principal(subject="ann")
        assert await principal(hook, token(curve, kid="b", alg="EdDSA")) is not None
    assert given.asked == 1
    assert await principal(hook, token(OTHER, kid="a")) is None
    assert await principal(hook, token()) is None
    single = auth.jwt(jwks=address, issuer=ISSUER, audience=AUDIENCE)
    given.publish(a=PRIVATE)
    assert await principal(single, token()) == Principal(subject="ann")


async def test_new_keys_are_found_and_strangers_cannot_make_it_look_all_the_time(
    keys: tuple[Keys, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that is unknown is looked for, at most every so often."""
    given, address = keys
    given.publish(a=OTHER)
    hook = auth.jwt(jwks=address, issuer=ISSUER, audience=AUDIENCE)
    for n in range(5):
        assert await principal(hook, token(kid=f"made-up-{n}")) is None
    assert given.asked == 1
    given.publish(a=OTHER, b=PRIVATE)
    assert await principal(hook, token(kid="b")) is None
    monkeypatch.setattr(jwt_verifier, "MIN_REFETCH_S", 0.0)
    assert await principal(hook, token(kid="b")) == Principal(subject="ann")
    assert given.asked == 2


@pytest.mark.parametrize(
    "answer",
    [
        (500, b"", {}),
        (200, b"<html>", {}),
        (200, b"[]", {}),
        (200, b'{"keys":[]}', {}),
        (302, b"", {"location": "http://127.0.0.1:1/keys"}),
    ],
    ids=lambda answer: f"{answer[0]} {answer[1].decode()}",
)
async def test_a_server_of_keys_that_is_down_is_no_fault_of_the_caller(
    keys: tuple[Keys, str], monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    """503 while there is no key at all; keys that were read go on counting."""
    given, address = keys
    given.answer = answer
    hook = auth.jwt(jwks=address, issuer=ISSUER, audience=AUDIENCE)
    assert await status(served(hook), f"Bearer {token(kid='a')}") == 503
    monkeypatch.setattr(jwt_verifier, "MIN_REFETCH_S", 0.0)
    given.publish(a=PRIVATE)
    assert await principal(hook, token(kid="a")) == Principal(subject="ann")
    given.answer = answer
    monkeypatch.setattr(jwt_verifier, "FRESH_S", 0.0)
    assert await principal(hook, token(kid="a")) == Principal(subject="ann")


async def test_a_token_says_when_it_ends(hook: Any) -> None:
    """So that streams that follow end with it; it is no part of who that is."""
    for exp in (2_000_000_000, 2_000_000_000.0):
        found = await principal(hook, token(exp=exp))
        assert found == Principal(subject="ann")
        assert found.expires_at == 2_000_000_030_000  # with the leeway


@pytest.mark.parametrize("own", [None, 7])
async def test_who_reads_the_claims_itself_is_told_when_the_token_ends(own: int | None) -> None:
    """Unless it says so itself."""
    by_sub = auth.jwt(
        key=PUBLIC,
        algorithms=["ES256"],
        issuer=ISSUER,
        audience=AUDIENCE,
        leeway=0.5,
        principal=lambda claims: Principal(subject=claims["sub"], expires_at=own),
    )
    found = await principal(by_sub, token(exp=2_000_000_000))
    assert found is not None
    assert found.expires_at == (own or 2_000_000_000_500)


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": "2000000000"},
        {"exp": True},
        {"exp": [2_000_000_000]},
        {"exp": {}},
        {"exp": 1e300},
        {"exp": 10**400},
        {"exp": 10**12},
        {"exp": float("inf")},
        {"exp": float("nan")},
        {"exp": -float("inf")},
        {"exp": -5},
        {"nbf": float("inf")},
        {"iat": float("inf")},
        {"iat": "soon"},
    ],
    ids=str,
)
async def test_a_token_that_ends_at_no_moment_lets_nobody_in(
    hook: Any, claims: dict[str, Any]
) -> None:
    """401, and no fault of the server; signed by the issuer all the same."""
    signed = jwt.api_jws.encode(
        json.dumps({"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": 2e9, **claims}).encode(),
        PRIVATE,
        "ES256",
    )
    assert await status(served(hook), f"Bearer {signed}") == 401


@pytest.mark.parametrize(("skew", "counts"), [(-15, True), (-45, False), (15, True), (45, False)])
async def test_clocks_may_disagree_by_half_a_minute(hook: Any, skew: int, counts: bool) -> None:
    """Either way: a token that has just ended, and one that begins soon."""
    now = int(time.time())
    claims: dict[str, Any] = (
        {"exp": now + skew} if skew < 0 else {"nbf": now + skew, "iat": now + skew}
    )
    assert (await principal(hook, token(**claims)) is not None) is counts


async def test_an_issuer_that_hangs_holds_nobody_up_whose_key_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Keys are looked for anew beside; after a day without a look they count no more."""
    hung = threading.Event()
    algorithm = jwt.get_algorithm_by_name("ES256")
    key = {**json.loads(algorithm.to_jwk(PRIVATE.public_key())), "kid": "a"}
    asked = []

    def fetched(address: str) -> bytes:
        asked.append(address)
        if len(asked) > 1:
            assert hung.wait(PATIENCE)
            raise OSError("the issuer hangs")
        return json.dumps({"keys": [key]}).encode()

    monkeypatch.setattr(jwt_verifier, "_fetched", fetched)
    monkeypatch.setattr(jwt_verifier, "FRESH_S", 0.0)
    monkeypatch.setattr(jwt_verifier, "MIN_REFETCH_S", 0.0)
    hook = auth.jwt(jwks="http://127.0.0.1:1/keys", issuer=ISSUER, audience=AUDIENCE)
    try:
        for _ in range(3):
            found = await asyncio.wait_for(principal(hook, token(kid="a")), PATIENCE / 2)
            assert found == Principal(subject="ann")
        assert len(asked) <= 2
    finally:
        hung.set()
    monkeypatch.setattr(jwt_verifier, "STALE_S", 0.0)
    assert await status(served(hook), f"Bearer {token(kid='a')}") == 503


async def test_many_unknown_keys_at_once_are_looked_for_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever comes meanwhile waits for the same answer of the issuer."""
    asked = []

    def fetched(address: str) -> bytes:
        asked.append(address)
        algorithm = jwt.get_algorithm_by_name("ES256")
        key = {**json.loads(algorithm.to_jwk(PRIVATE.public_key())), "kid": "a"}
        return json.dumps({"keys": [key]}).encode()

    monkeypatch.setattr(jwt_verifier, "_fetched", fetched)
    hook = auth.jwt(jwks="http://127.0.0.1:1/keys", issuer=ISSUER, audience=AUDIENCE)
    tokens = [token(kid="a"), *(token(kid=f"made-up-{n}") for n in range(20))]
    found = await asyncio.gather(*(principal(hook, each) for each in tokens))
    assert found == [Principal(subject="ann"), *[None] * 20]
    assert len(asked) == 1


async def test_keys_that_come_drop_by_drop_are_waited_for_no_longer_than_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each byte in time, all of them never: as if the issuer were away."""

    class Drip:
        def __enter__(self) -> "Drip":
            return self

        def __exit__(self, *_: object) -> None: ...

        def read1(self, _: int) -> bytes:
            return b" "

    class Opener:
        def open(self, *_: Any, **__: Any) -> Drip:
            return Drip()

    monkeypatch.setattr(jwt_verifier, "_OPENER", Opener())
    monkeypatch.setattr(jwt_verifier, "FETCH_TIMEOUT_S", 0.05)
    hook = auth.jwt(jwks="http://127.0.0.1:1/keys", issuer=ISSUER, audience=AUDIENCE)
    assert await status(served(hook), f"Bearer {token(kid='a')}") == 503


@pytest.mark.parametrize(
    ("claims", "kind"),
    [
        ({}, "person"),
        ({"azp": "console"}, "person"),
        ({"client_id": "ann"}, "service"),
        ({"azp": "ann"}, "service"),
        ({"client_id": None, "azp": None}, "person"),
    ],
)
async def test_a_token_that_a_client_got_for_itself_is_a_services(
    hook: Any, claims: dict[str, Any], kind: str
) -> None:
    who = await principal(hook, token(**claims))
    assert who is not None
    assert who.kind == kind


async def test_a_function_of_the_claims_says_who_is_a_service() -> None:
    hook = auth.jwt(
        key=PUBLIC,
        algorithms=["ES256"],
        issuer=ISSUER,
        audience=AUDIENCE,
        service=lambda claims: claims.get("gty") == "client-credentials",
    )
    robot = await principal(hook, token(gty="client-credentials"))
    person = await principal(hook, token(azp="ann"))
    assert robot is not None
    assert person is not None
    assert (robot.kind, person.kind) == ("service", "person")


async def test_a_token_tells_its_session_and_when_its_person_signed_in(hook: Any) -> None:
    who = await principal(hook, token(auth_time=1_700_000_000, jti="t-1", sid="s-1"))
    assert who is not None
    told = (who.auth_time, who.issuer, who.token_id, who.session)
    assert told == (1_700_000_000_000, ISSUER, "t-1", "s-1")


@pytest.mark.parametrize("wrong", ["1700000000", True, -1, 253_402_300_800, [1]])
async def test_a_sign_in_of_no_moment_is_none(hook: Any, wrong: Any) -> None:
    """A claim that is no time counts as no sign-in, and never as a fresh one."""
    who = await principal(hook, token(auth_time=wrong, sid=["s"]))
    assert who is not None
    assert (who.auth_time, who.token_id, who.session) == (None, None, None)
