"""Ready hooks that say who is calling: bearer tokens, and JSON Web Tokens (design 7).

    app = Sayso(authenticate=auth.bearer({os.environ["DESK_TOKEN"]: Principal(subject="ann")}))
    app = Sayso(
        authenticate=auth.jwt(
            jwks="https://id.example.org/.well-known/jwks.json",
            issuer="https://id.example.org/",
            audience="sayso",
        )
    )

Any other way is an async function from an ASGI scope to a `Principal`, or None for nobody.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sayso.base.errors import DeclarationError
from sayso.base.records import Principal
from sayso.http.asgi import Scope, header
from sayso.http.claims import moment_in, roles_in, scope_in, text_in
from sayso.http.security import Authenticate

MIN_TOKEN_CHARS: Final = 16
"""Characters of a bearer token; what is shorter can be guessed."""
MAX_TOKEN_CHARS: Final = 16 * 1024
"""Bytes of a token that is looked at."""
_ASYMMETRIC: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_CURVES: Final = ("ES256", "ES384", "ES512", "EdDSA")
_SECRET: Final = ("HS256", "HS384", "HS512")


def token_of(scope: Scope) -> str | None:
    """The token of `Authorization: Bearer …`, sent exactly once; None for anything else."""
    scheme, _, token = (header(scope, b"authorization") or "").partition(" ")
    token = token.strip()
    return token if scheme.lower() == "bearer" and 0 < len(token) <= MAX_TOKEN_CHARS else None


def bearer(tokens: Mapping[str, Principal]) -> Authenticate:
    """Make a hook that authenticates callers by tokens, each for one principal.

    Tokens are looked up by their digest, so that the time of a comparison tells nothing.

    Raises:
        DeclarationError: a token that no header could carry, or that is too short.
    """
    if not tokens:
        raise DeclarationError("auth.bearer needs a token at least: nobody could call otherwise")
    for token, principal in tokens.items():
        if not isinstance(principal, Principal):
            raise DeclarationError(
                f"auth.bearer maps tokens to a Principal each, not to {type(principal).__name__}"
            )
        if not token.isascii() or not token.isprintable():
            raise DeclarationError("a bearer token is printable ASCII, as a header can carry it")
        if " " in token or len(token) < MIN_TOKEN_CHARS:
            raise DeclarationError(
                f"a bearer token has {MIN_TOKEN_CHARS} characters at least and no blanks; make "
                f"one with "
                "`python -c 'import secrets; print(secrets.token_urlsafe(32))'`"
            )
    principals = {_digest(token): principal for token, principal in tokens.items()}

    async def authenticate(scope: Scope) -> Principal | None:
        token = token_of(scope)
        return None if token is None else principals.get(_digest(token))

    return authenticate


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("latin-1")).digest()


def jwt(
    *,
    audience: str | Sequence[str],
    issuer: str,
    jwks: str | None = None,
    key: str | bytes | None = None,
    algorithms: Sequence[str] | None = None,
    leeway: float = 30.0,
    tenant: str | None = None,
    roles: str = "roles",
    service: Callable[[Mapping[str, Any]], bool] | None = None,
    principal: Callable[[Mapping[str, Any]], Principal | None] | None = None,
) -> Authenticate:
    """Make a hook that accepts signed JSON Web Tokens from an issuer, for an audience.

    The key is either one of those at the address `jwks`, chosen by the token's `kid`, or `key`: a
    public key in PEM, or a secret (then `algorithms` has to name its HS ones). A token without
    signature, expiry (`exp`) or subject (`sub`), or for another audience, is never accepted.
    `leeway` is the seconds by which clocks may disagree. `tenant` is the claim that names the
    scope, `roles` the one that lists roles, as a list or one text with blanks. A token whose `sub`
    is its `client_id` or `azp` is a service's; `service` says it otherwise, by all claims.
    `auth_time` says when the person signed in; issuer, `jti` and `sid` are kept too. `principal`
    makes one of all claims instead, or None. Streams that follow threads or the inbox end with the
    token. Keys that were found are valid for a day while the issuer cannot be reached; they are
    refreshed in the background. Needs the extra `jwt`.

    Raises:
        DeclarationError: the extra is missing, or the arguments allow no check.
    """
    try:
        from sayso.http.jwt_verifier import JwtVerifier  # noqa: PLC0415 - only who uses it needs it
    except ImportError:
        raise DeclarationError(
            "auth.jwt needs PyJWT: install sayso with the extra jwt, or pip install 'pyjwt[crypto]'"
        ) from None
    if (jwks is None) == (key is None):
        raise DeclarationError("auth.jwt takes either jwks=, an address of keys, or key=")
    chosen = tuple(algorithms or (*_ASYMMETRIC, *_CURVES))
    supported = (*_ASYMMETRIC, *_CURVES, *_SECRET)
    for name in chosen:
        if name not in supported:
            raise DeclarationError(
                f"there is no algorithm {name!r}; there are {', '.join(supported)}"
            )
    secret = [name for name in chosen if name in _SECRET]
    if secret and (jwks is not None or len(secret) != len(chosen)):
        # A public key that is taken for a secret would let everybody sign.
        raise DeclarationError(f"{secret[0]} needs key=, a secret, and no other kind beside it")
    checker = JwtVerifier(
        jwks=jwks,
        key=key,
        algorithms=chosen,
        audience=audience if isinstance(audience, str) else tuple(audience),
        issuer=issuer,
        leeway=leeway,
    )

    def of(claims: Mapping[str, Any]) -> Principal | None:
        scope = scope_in(claims, tenant)
        if scope is None:
            return None
        return Principal(
            subject=claims["sub"],
            scope=scope,
            roles=roles_in(claims, roles),
            kind="service" if (service or _is_service)(claims) else "person",
            auth_time=moment_in(claims, "auth_time"),
            issuer=claims["iss"],
            token_id=text_in(claims, "jti"),
            session=text_in(claims, "sid"),
        )

    async def authenticate(scope: Scope) -> Principal | None:
        token = token_of(scope)
        claims = None if token is None else await checker.claims(token)
        who = None if claims is None else (principal or of)(claims)
        if claims is None or who is None or who.expires_at is not None:
            return who
        ends = (moment_in(claims, "exp") or 0) + int(leeway * 1000)
        return replace(who, expires_at=ends)

    return authenticate


def _is_service(claims: Mapping[str, Any]) -> bool:
    """True for a token that a client got for itself, without a person (RFC 9068, 2.2)."""
    return claims["sub"] in (claims.get("client_id"), claims.get("azp"))
