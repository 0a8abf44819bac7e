"""The provider's endpoints: its description, its tokens and their claims; needs the extra `oidc`.

It is asked with a bound on time and bytes, and never somewhere else than it says itself. What it
said of itself goes on counting for a day while it is away.
"""

import asyncio
import hmac
import logging
import ssl
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import httpx

from sayso.base import jsonvalue
from sayso.base.errors import Problem
from sayso.http.claims import is_text, moment_in
from sayso.http.jwt_verifier import JwtVerifier
from sayso.http.signin.attempts import Attempt
from sayso.http.signin.oidc import Oidc, is_safe

_log = logging.getLogger("sayso.auth")

FRESH_S: Final = 3_600.0
"""Seconds for which what the provider says of itself counts without another look."""
STALE_S: Final = 86_400.0
"""Seconds for which it counts while the provider is away."""
PAUSE_S: Final = 1.0
"""Seconds between two looks at a provider that is away."""
TIMEOUT_S: Final = 10.0
"""Seconds that one exchange may take."""
MAX_BYTES: Final = 256 * 1024
"""Bytes of one answer."""
LEEWAY_S: Final = 30.0
"""Seconds by which clocks may disagree."""
ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""Those by a key of the provider alone: with one that is shared, this server could sign as well."""
_ENDPOINTS: Final = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_LOGOUT: Final = "http://schemas.openid.net/event/backchannel-logout"

Claims = Mapping[str, Any]


class ProviderAway(Exception):
    """The provider cannot be asked now, or says nothing that could be used."""


class SignInRefused(Exception):
    """Nobody has signed in, or not in that attempt; the message is for the log."""


class _Described:
    """A provider as it describes itself."""

    def __init__(self, options: Oidc, members: Claims, before: "_Described | None") -> None:
        if members.get("issuer") != options.issuer:
            raise ValueError(f"it names itself {members.get('issuer')!r}")
        for name in _ENDPOINTS:
            if not is_safe(members.get(name)):
                raise ValueError(f"its {name} is no https address: {members.get(name)!r}")
        self.authorize: str = members["authorization_endpoint"]
        self.token: str = members["token_endpoint"]
        self.names_itself = members.get("authorization_response_iss_parameter_supported") is True
        methods = members.get("token_endpoint_auth_methods_supported")
        self.takes_basic = not isinstance(methods, list) or "client_secret_basic" in methods
        self.jwks: str = members["jwks_uri"]
        if before is not None and before.jwks == self.jwks:
            self.verifier: JwtVerifier = before.verifier  # with the keys that it knows
        else:
            self.verifier = JwtVerifier(
                jwks=self.jwks,
                key=None,
                algorithms=ALGORITHMS,
                audience=options.client_id,
                issuer=options.issuer,
                leeway=LEEWAY_S,
            )


class SignInProvider:
    """A provider, asked for what one client needs."""

    def __init__(self, options: Oidc) -> None:
        self._options = options
        self._described: _Described | None = None
        self._looked = self._found = -STALE_S
        self._looking = asyncio.Lock()
        self._refreshing: asyncio.Task[None] | None = None
        # To read all certificates takes tens of milliseconds, and strangers have it asked.
        self._tls = httpx.create_ssl_context()

    async def address(self, attempt: Attempt, back: str) -> str:
        """The address at which a person signs in; `back` is that of `/callback` here.

        Raises:
            ProviderAway: it cannot be known now.
        """
        described = await self._description()
        parameters = {
            "response_type": "code",
            "client_id": self._options.client_id,
            "redirect_uri": back,
            "scope": "openid profile",
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        if attempt.max_age is not None:
            parameters |= {"prompt": "login", "max_age": str(attempt.max_age)}
        separator = "&" if urlsplit(described.authorize).query else "?"
        return described.authorize + separator + urlencode(parameters)

    async def claims(
        self, attempt: Attempt, code: str, issuer: str | None, back: str, now: int
    ) -> Claims:
        """The claims of the person who has signed in; `issuer` is who says so, `now` in ms.

        Raises:
            ProviderAway: it cannot be asked now.
            SignInRefused: nobody has signed in, or not in this attempt.
        """
        described = await self._description()
        if issuer != self._options.issuer and (issuer is not None or described.names_itself):
            raise SignInRefused(f"the answer is of another issuer, {issuer!r}")
        claims = await self._checked(described, await self._token(described, attempt, code, back))
        if not _equal(claims.get("nonce"), attempt.nonce):
            raise SignInRefused("the ID token is of another sign-in")
        signed_in = moment_in(claims, "auth_time")
        if attempt.max_age is not None and (
            signed_in is None or now - signed_in > (attempt.max_age + LEEWAY_S) * 1000
        ):
            raise SignInRefused("the provider did not ask the person to sign in again")
        return claims

    async def logged_out(self, token: str) -> tuple[str | None, str | None] | None:
        """The subject and the session (`sid`) of a logout token; None if it is not valid.

        Raises:
            ProviderAway: it cannot be checked now.
        """
        described = await self._description()
        claims = await self._verified(described, token, subject=False)
        if claims is None or "nonce" in claims:
            return None
        events = claims.get("events")
        if not isinstance(events, dict) or not isinstance(events.get(_LOGOUT), dict):
            return None
        subject, session = claims.get("sub"), claims.get("sid")
        if not all(name is None or is_text(name) for name in (subject, session)):
            return None
        return (subject or None, session or None) if subject or session else None

    async def _checked(self, described: _Described, token: str) -> Claims:
        claims = await self._verified(described, token, subject=True)
        if claims is None:
            raise SignInRefused("the ID token is not valid")
        client = self._options.client_id
        if claims.get("azp", client) != client:
            raise SignInRefused("the ID token was made for another client")
        return claims

    async def _verified(self, described: _Described, token: str, *, subject: bool) -> Claims | None:
        try:
            return await described.verifier.claims(token, needs_subject=subject)
        except Problem as problem:
            raise ProviderAway(problem.detail) from None

    async def _token(self, described: _Described, attempt: Attempt, code: str, back: str) -> str:
        """Exchange a code for the ID token."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "code_verifier": attempt.verifier,
        }
        client, secret = self._options.client_id, self._options.client_secret
        auth = None
        if secret is not None and described.takes_basic:
            auth = httpx.BasicAuth(*(_form_encoded(text) for text in (client, secret)))
        else:
            form |= {"client_id": client} | ({} if secret is None else {"client_secret": secret})
        status, body = await _exchange("POST", described.token, self._tls, data=form, auth=auth)
        if status in (400, 401, 403):
            raise SignInRefused(f"the provider refused the code ({status}: {_error(body)})")
        if status != 200:
            raise ProviderAway(f"its token endpoint answers with {status}")
        token = _object(body).get("id_token")
        if not isinstance(token, str):
            raise SignInRefused("the provider gave no ID token")
        return token

    async def _description(self) -> _Described:
        age = time.monotonic() - self._found
        if self._described is None or age >= STALE_S:
            await self._look()
        elif age >= FRESH_S and (self._refreshing is None or self._refreshing.done()):
            self._refreshing = asyncio.create_task(self._look(), name="the provider itself")
        if self._described is None:
            raise ProviderAway("what it says of itself cannot be read")
        return self._described

    async def _look(self) -> None:
        async with self._looking:
            now = time.monotonic()
            if now - self._found < FRESH_S or now - self._looked < PAUSE_S:
                return  # somebody else has just looked
            address = f"{self._options.issuer.rstrip('/')}/.well-known/openid-configuration"
            try:
                status, body = await _exchange("GET", address, self._tls)
                if status != 200:
                    raise ProviderAway(f"{address} answers with {status}")
                self._described = _Described(self._options, _object(body), self._described)
                self._found = time.monotonic()
            except (ProviderAway, ValueError) as error:
                _log.error("the provider %s: %s", self._options.issuer, error)
                if now - self._found >= STALE_S:
                    self._described = None
            finally:
                self._looked = time.monotonic()  # also for all who have waited meanwhile


async def _exchange(
    method: str, address: str, tls: ssl.SSLContext, **request: Any
) -> tuple[int, bytes]:
    """The status and the body of one answer; raises `ProviderAway`."""
    try:
        async with (
            asyncio.timeout(TIMEOUT_S),
            httpx.AsyncClient(timeout=TIMEOUT_S / 2, follow_redirects=False, verify=tls) as client,
            client.stream(
                method,
                address,
                headers={"accept": "application/json", "accept-encoding": "identity"},
                **request,
            ) as response,
        ):
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > MAX_BYTES:
                    raise ProviderAway(f"{address} sends more than {MAX_BYTES} bytes")
            return response.status_code, bytes(body)
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError) as error:
        raise ProviderAway(f"{address} cannot be reached: {type(error).__name__}") from error


def _object(body: bytes) -> Claims:
    try:
        members = jsonvalue.decode(body)
    except ValueError:
        members = None
    if not isinstance(members, dict):
        raise ProviderAway("it answers with something else than a JSON object")
    return members


def _error(body: bytes) -> str:
    """The code of an error, as far as it is one (RFC 6749, 5.2)."""
    try:
        code = _object(body).get("error")
    except ProviderAway:
        return "no code"
    return code[:64] if isinstance(code, str) and code.isascii() and code.isprintable() else "?"


def _form_encoded(text: str) -> str:
    """A part of Basic as OAuth has it: form-encoded first (RFC 6749, 2.3.1)."""
    return urlencode({"": text})[1:]


def _equal(claim: Any, text: str) -> bool:
    return isinstance(claim, str) and hmac.compare_digest(
        claim.encode("utf-8", "replace"), text.encode()
    )
