"""A provider of OpenID Connect on loopback that does what a test wants, hostile things included."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

CLIENT, SECRET = "sayso-console", "a secret of the client"
KEY = ec.generate_private_key(ec.SECP256R1())
OTHER = ec.generate_private_key(ec.SECP256R1())
LOGOUT = "http://schemas.openid.net/event/backchannel-logout"

Json = dict[str, Any]


def _jwk() -> Json:
    key: Json = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(KEY.public_key()))
    return key | {"kid": "k", "use": "sig", "alg": "ES256"}


@dataclass
class FakeProvider:
    """What it says; a test changes the members, and gives `person` claims of its own."""

    issuer: str = ""
    person: Json = field(default_factory=lambda: {"sub": "lea", "roles": ["lead"], "sid": "s-1"})
    claims: Json = field(default_factory=dict)
    """Claims of ID tokens that replace the right ones; None leaves one out."""
    described: Json = field(default_factory=dict)
    key: Any = KEY
    algorithm: str = "ES256"
    status: int = 200
    """The status of whatever it answers."""
    body: bytes | None = None
    """What it answers in place of what is right."""
    codes: dict[str, Json] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    """The paths that were asked for."""
    forms: list[dict[str, str]] = field(default_factory=list)

    def sign(self, members: Json, key: Any = None, **header: Any) -> str:
        """A token of its own."""
        kept = {name: value for name, value in members.items() if value is not None}
        return jwt.encode(kept, key or self.key, self.algorithm, headers={"kid": "k", **header})

    def authorize(self, address: str) -> str:
        """Sign the person in at once; gives the address that the browser is sent back to."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        answer = {"code": code, "state": asked["state"], "iss": self.issuer}
        return f"{asked['redirect_uri']}?{urlencode(answer)}"

    def exchanged(self, form: dict[str, str]) -> tuple[int, Json]:
        """The answer of the token endpoint: a code counts once, with its verifier."""
        self.forms.append(form)
        asked = self.codes.pop(form.get("code", ""), None)
        if asked is None:
            return 400, {"error": "invalid_grant"}
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if challenge != asked["code_challenge"] or form["redirect_uri"] != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        members = {
            "iss": self.issuer,
            "aud": CLIENT,
            "exp": now + 600,
            "iat": now,
            "nonce": asked["nonce"],
            "auth_time": now,
            **self.person,
            **self.claims,
        }
        return 200, {"access_token": "a", "token_type": "Bearer", "id_token": self.sign(members)}

    def logout_token(self, **claims: Any) -> str:
        """A token that says that somebody was logged out."""
        now = int(time.time())
        members = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 120,
            "jti": "j",
            "events": {LOGOUT: {}},
            **claims,
        }
        return self.sign(members, typ="logout+jwt")

    def answer(self, path: str, form: dict[str, str]) -> tuple[int, Json]:
        """The answer to one request."""
        self.asked.append(path)
        if path == "/.well-known/openid-configuration":
            members = {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "authorization_response_iss_parameter_supported": True,
                **self.described,
            }
            return 200, members
        if path == "/keys":
            return 200, {"keys": [_jwk()]}
        return self.exchanged(form) if path == "/token" else (404, {})


@contextmanager
def fake_provider() -> Iterator[FakeProvider]:
    """One that is served until the block ends."""
    provider = FakeProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply({})

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            form = parse_qs(self.rfile.read(length).decode())
            self.reply({name: values[0] for name, values in form.items()})

        def reply(self, form: dict[str, str]) -> None:
            status, members = provider.answer(self.path, form)
            body = json.dumps(members).encode() if provider.body is None else provider.body
            self.send_response(status if provider.status == 200 else provider.status)
            self.send_header("location", "http://127.0.0.1:9/")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider.issuer = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield provider
        server.shutdown()
        thread.join()
