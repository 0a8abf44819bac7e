"""Checking JSON Web Tokens, with keys that are given or fetched; needs the extra `jwt`.

Keys are fetched in a thread, at most every so often whatever strangers send, and the old ones go
on counting while their server is down.
"""

import asyncio
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import jwt

from sayso.base import jsonvalue
from sayso.base.codes import Code
from sayso.base.errors import DeclarationError, Problem
from sayso.http.claims import moment_in, text_in

_log = logging.getLogger("sayso.auth")

FRESH_S: Final = 300.0
"""Seconds after which fetched keys are refreshed in the background."""
STALE_S: Final = 86_400.0
"""Seconds after which keys that could not be refreshed expire."""
MIN_REFETCH_S: Final = 10.0
"""Seconds between two looks, however many unknown keys are named."""
FETCH_TIMEOUT_S: Final = 5.0
"""Seconds that a look may take."""
MAX_KEY_SET_BYTES: Final = 1024 * 1024
"""Bytes of a set of keys."""
_PIECE: Final = 65_536


class JwtVerifier:
    """Checks tokens against one issuer's keys."""

    def __init__(
        self,
        *,
        jwks: str | None,
        key: str | bytes | None,
        algorithms: Sequence[str],
        audience: str | tuple[str, ...],
        issuer: str,
        leeway: float,
    ) -> None:
        self._keys = None if jwks is None else _KeySet(jwks)
        self._key = key
        self._algorithms = list(algorithms)
        self._audience = audience
        self._issuer = issuer
        self._leeway = leeway
        if not audience or not issuer:
            raise DeclarationError(
                "auth.jwt needs issuer= and audience=: a token for another service must not do"
            )
        if key is not None:
            self._try_key(key)

    def _try_key(self, key: str | bytes) -> None:
        for name in self._algorithms:
            try:
                jwt.get_algorithm_by_name(name).prepare_key(key)
            except (jwt.InvalidKeyError, ValueError, TypeError):
                continue
            return
        raise DeclarationError(
            f"key= is not a key for {', '.join(self._algorithms)}: give a public key in PEM, or a "
            "secret and its algorithms"
        )

    async def claims(self, token: str, *, needs_subject: bool = True) -> Mapping[str, Any] | None:
        """Return the claims of a valid token, else None; without a subject only if none is needed.

        Raises:
            Problem: `auth_unavailable`, its key could not be looked up.
        """
        try:
            head = jwt.get_unverified_header(token)
            if head.get("alg") not in self._algorithms:
                return None
            key: Any = self._key if self._keys is None else await self._keys.named(head.get("kid"))
            if key is None:
                return None
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=self._algorithms,
                audience=self._audience,
                issuer=self._issuer,
                leeway=self._leeway,
                options={"require": ["exp", "iss", "aud", *(["sub"] if needs_subject else [])]},
            )
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError) as error:
            _log.info("a token was refused: %s", type(error).__name__)
            return None
        if moment_in(claims, "exp") is None or ("sub" in claims and not text_in(claims, "sub")):
            return None
        return claims


class _KeySet:
    """The keys at an address, by their ids."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        if not parts.netloc or parts.scheme not in (("https", "http") if local else ("https",)):
            raise DeclarationError(
                f"jwks={address!r} is no https address: whoever could change the keys on their way "
                "could sign in as anybody"
            )
        self._address = address
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._looked = -FRESH_S
        self._found = -FRESH_S
        self._looking = asyncio.Lock()
        self._refreshing: asyncio.Task[None] | None = None

    async def named(self, kid: str | None) -> jwt.PyJWK | None:
        """The key of that id; the only one, for a token that names none.

        A token with a known key does not wait for the issuer, which may hang: keys are refreshed in
        the background. Only an unknown key, or one found a day ago, is waited for.
        """
        age = time.monotonic() - self._found
        if age >= STALE_S:
            self._keys = {}
        if self._known(kid) is None:
            await self._look()
        elif age >= FRESH_S and (self._refreshing is None or self._refreshing.done()):
            self._refreshing = asyncio.create_task(self._look(), name="keys of the issuer")
        return self._known(kid)

    def _known(self, kid: str | None) -> jwt.PyJWK | None:
        if kid is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(kid) if kid is not None else None

    async def _look(self) -> None:
        async with self._looking:
            now = time.monotonic()
            if now - self._looked < MIN_REFETCH_S:
                if not self._keys:
                    raise _unavailable()
                return
            try:
                async with asyncio.timeout(2 * FETCH_TIMEOUT_S):  # whatever the issuer drips
                    data = await asyncio.to_thread(_fetched, self._address)
                keys = jwt.PyJWKSet.from_dict(jsonvalue.decode(data)).keys
            except (OSError, ValueError, TypeError, AttributeError, jwt.PyJWTError) as error:
                _log.error("the keys at %s could not be read: %r", self._address, error)
                if not self._keys:
                    raise _unavailable() from None
                return
            finally:
                self._looked = time.monotonic()  # also for all who have waited meanwhile
            self._keys = {key.key_id: key for key in keys if key.public_key_use in (None, "sig")}
            self._found = now


def _unavailable() -> Problem:
    return Problem(
        Code.AUTH_UNAVAILABLE,
        "Who is calling cannot be checked now: the keys of the issuer cannot be read. Send the "
        "request again.",
    )


def _fetched(address: str) -> bytes:
    request = urllib.request.Request(address, headers={"accept": "application/json"})  # noqa: S310 - the scheme is checked where it is declared
    ends = time.monotonic() + FETCH_TIMEOUT_S
    try:
        with _OPENER.open(request, timeout=FETCH_TIMEOUT_S) as response:
            data = bytearray()
            while len(data) <= MAX_KEY_SET_BYTES and (piece := response.read1(_PIECE)):
                data += piece
                if time.monotonic() > ends:
                    raise TimeoutError(f"not within {FETCH_TIMEOUT_S} s")
    except urllib.error.HTTPError as error:
        error.close()  # it is the response too, and holds its connection
        raise
    if len(data) > MAX_KEY_SET_BYTES:
        raise ValueError(f"more than {MAX_KEY_SET_BYTES} bytes")
    return bytes(data)


class _Stay(urllib.request.HTTPRedirectHandler):
    """Keys come from where they were said to be."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER: Final = urllib.request.build_opener(_Stay)
