"""Signing in by a browser: `/login`, `/callback`, `/logout`, `/backchannel-logout`; the cookie.

/login ──► the provider ──► /callback ──► a page that goes on by itself ──► where it began
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import parse_qs, urlencode

from sayso.base.codes import Code
from sayso.base.errors import Problem, StoreUnavailable
from sayso.base.records import Principal
from sayso.engine.logins import Logins
from sayso.http.asgi import App, Receive, Scope, Send, header, headers
from sayso.http.body import read_body
from sayso.http.claims import is_text, moment_in, roles_in, scope_in, text_in
from sayso.http.errors import ProblemWriter, method_not_allowed
from sayso.http.rest.who import REDIRECT
from sayso.http.security import TRUSTED_ORIGIN, Authenticate, is_reserved, is_secure
from sayso.http.signin import attempts, cookies, pages
from sayso.http.signin.oidc import Oidc
from sayso.http.signin.provider import Claims, ProviderAway, SignInProvider, SignInRefused

_log = logging.getLogger("sayso.auth")

LOGIN: Final = "/login"
CALLBACK: Final = "/callback"
LOGOUT: Final = "/logout"
ELSEWHERE: Final = "/backchannel-logout"
_SAFE: Final = ("GET", "HEAD", "OPTIONS")
_MAX_AGE_S: Final = 31_622_400
_MAX_LOGOUT_BYTES: Final = 65_536
_NO_STORE: Final = (b"cache-control", b"no-store")
_AWAY: Final = (
    "Signing in is not possible now",
    "A service that this needs does not answer. Try again in a moment.",
)
_TOO_OLD: Final = (
    "You are not signed in yet",
    "This sign-in took too long, or it began in another browser.",
)
_REFUSED: Final = (
    "You are not signed in",
    "The sign-in was refused or cancelled. If this happens again, tell who runs this server.",
)


class SignInRoutes:
    """The endpoints of signing in, for anybody; and `authenticate` by the cookie."""

    def __init__(
        self,
        options: Oidc,
        logins: Logins,
        otherwise: Authenticate | None,
        start: Callable[[], Awaitable[None]],
    ) -> None:
        """`otherwise` recognises who comes without a cookie; `start` opens the store."""
        self._options = options
        self._provider = SignInProvider(options)
        self._logins = logins
        self._otherwise = otherwise
        self._start = start
        self.paths: dict[str, App] = {
            LOGIN: self._login,
            CALLBACK: self._callback,
            LOGOUT: self._logout,
            ELSEWHERE: self._logged_out_elsewhere,
        }
        """The apps by their paths."""

    async def authenticate(self, scope: Scope) -> Principal | None:
        """Recognise a caller by its token, else by the session in its cookie.

        Raises:
            Problem: `forbidden_origin`, a request that may change something, with a cookie and
                without an Origin that is ours.
        """
        principal = None
        if not headers(scope, b"authorization"):
            session_id = cookies.cookie(scope, cookies.SESSION)
            if session_id is not None:
                await self._start()
                principal = await self._logins.principal(session_id, self._options.issuer)
        if principal is not None:
            if scope["method"] not in _SAFE:
                _check_origin(scope)
            return principal
        return None if self._otherwise is None else await self._otherwise(scope)

    def with_way(self, write: ProblemWriter) -> ProblemWriter:
        """Have problems of a sign-in that is too old say where a person signs in again."""

        async def written(problem: Problem, scope: Scope, send: Send) -> None:
            if problem.code is Code.STEP_UP_REQUIRED:
                problem.more["url"] = REDIRECT["again"].replace(
                    "{seconds}", str(_least_age(problem))
                )
            await write(problem, scope, send)

        return written

    async def _login(self, scope: Scope, _: Receive, send: Send) -> None:
        _check_method(scope, "GET")
        query = _query(scope)
        back = attempts.path_back(query.get("return"), _root(scope))
        key, earlier = cookies.login_of(scope)
        if key is None or not attempts.is_key(key):
            key = attempts.new_key()
        # Behind the provider's redirect, the session's own cookie does not come along.
        earlier = cookies.cookie(scope, cookies.SESSION) or earlier
        attempt = attempts.begin(key, back, _seconds(query.get("max_age")), self._logins.now())
        try:
            address = await self._provider.address(attempt, _callback_address(scope))
        except ProviderAway as error:
            await self._say_away(scope, send, error, back, attempt.max_age)
            return
        fields = [
            (b"location", address.encode("latin-1")),
            cookies.login_cookie(scope, key, earlier),
            (b"referrer-policy", b"no-referrer"),
        ]
        await _send_empty(send, 303, fields)

    async def _callback(self, scope: Scope, _: Receive, send: Send) -> None:
        _check_method(scope, "GET")
        query = _query(scope)
        now = self._logins.now()
        key, earlier = cookies.login_of(scope)
        attempt = attempts.known_again(key, query.get("state"), now)
        if attempt is None or key is None:
            again = _login_path(scope, _root(scope) + "/", None)
            await pages.send_trouble(send, 400, *_TOO_OLD, again)
            return
        back = attempts.path_back(attempt.back, _root(scope))
        try:
            principal = await self._signed_in(scope, query, attempt, now)
        except ProviderAway as error:
            await self._say_away(scope, send, error, back, attempt.max_age)
            return
        except SignInRefused as refused:
            _log.warning("a sign-in was refused: %s", refused)
            again = _login_path(scope, back, attempt.max_age)
            await pages.send_trouble(send, 403, *_REFUSED, again)
            return
        try:
            await self._start()
            session_id = await self._logins.begin(
                principal, lifetime=self._options.session, idle=self._options.idle
            )
            if earlier is not None:
                await self._logins.end(earlier, "sign_in")
        except StoreUnavailable as error:
            await self._say_away(scope, send, error, back, attempt.max_age)
            return
        fields = [
            cookies.session_cookie(scope, session_id),
            # A sign-in that another tab has begun ends this session in its turn.
            cookies.login_cookie(scope, key, session_id),
        ]
        await pages.send_onward(send, back, fields)

    async def _signed_in(
        self, scope: Scope, query: dict[str, str], attempt: attempts.Attempt, now: int
    ) -> Principal:
        if "code" not in query or "error" in query:
            raise SignInRefused(f"the provider says {query.get('error', 'nothing')[:64]!r}")
        claims = await self._provider.claims(
            attempt, query["code"], query.get("iss"), _callback_address(scope), now
        )
        return self._principal(claims)

    def _principal(self, claims: Claims) -> Principal:
        tenant = scope_in(claims, self._options.tenant)
        if tenant is None:
            raise SignInRefused(f"the claim {self._options.tenant!r} names no tenant")
        principal = Principal(
            subject=claims["sub"],
            scope=tenant,
            roles=roles_in(claims, self._options.roles),
            issuer=self._options.issuer,
            session=text_in(claims, "sid"),
            auth_time=moment_in(claims, "auth_time"),
        )
        texts = (principal.subject, tenant, *principal.roles, principal.session or "")
        if not all(map(is_text, texts)):
            raise SignInRefused("a claim has text that is no Unicode")
        if is_reserved(principal.subject):
            raise SignInRefused(
                f"the subject {principal.subject!r} begins like a name of this server's own: have "
                "the provider give this person another one"
            )
        return principal

    async def _say_away(
        self, scope: Scope, send: Send, error: Exception, back: str, max_age: int | None
    ) -> None:
        _log.error("nobody can sign in at %s: %s", self._options.issuer, error)
        again = _login_path(scope, back, max_age)
        await pages.send_trouble(send, 503, *_AWAY, again, [(b"retry-after", b"2")])

    async def _logout(self, scope: Scope, _: Receive, send: Send) -> None:
        _check_method(scope, "POST")
        _check_origin(scope)
        session_id = cookies.cookie(scope, cookies.SESSION)
        if session_id is not None:
            await self._start()
            await self._logins.end(session_id)
        await _send_empty(send, 204, cookies.no_cookies(scope))

    async def _logged_out_elsewhere(self, scope: Scope, receive: Receive, send: Send) -> None:
        _check_method(scope, "POST")
        body = await read_body(scope, receive, _MAX_LOGOUT_BYTES)
        tokens = _parameters(body.decode("latin-1")).get("logout_token")
        try:
            ended = None if tokens is None else await self._provider.logged_out(tokens)
        except ProviderAway as error:
            _log.error("a logout token cannot be checked: %s", error)
            raise Problem(
                Code.AUTH_UNAVAILABLE, "The logout token cannot be checked now. Send it again."
            ) from None
        if ended is None:
            await _send_empty(send, 400, [])
            return
        await self._start()
        await self._logins.end_elsewhere(self._options.issuer, *ended)
        await _send_empty(send, 200, [])


def _check_method(scope: Scope, method: str) -> None:
    if scope["method"] != method:
        raise method_not_allowed(method)


def _check_origin(scope: Scope) -> None:
    """Keep out what another site has a browser send; each browser names the page's Origin here."""
    if TRUSTED_ORIGIN not in scope:
        raise Problem(
            Code.FORBIDDEN_ORIGIN,
            "A request that changes something and comes with a cookie has to name the Origin of "
            "its page, which is this server, or named in its origins option.",
        )


def _query(scope: Scope) -> dict[str, str]:
    return _parameters(scope.get("query_string", b"").decode("latin-1"))


def _parameters(text: str) -> dict[str, str]:
    """Parameters of a form; those that come twice count as none (RFC 6749, 3.1)."""
    try:
        parsed = parse_qs(text, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return {}
    return {name: values[0] for name, values in parsed.items() if len(values) == 1}


def _least_age(problem: Problem) -> int:
    """The age that a sign-in may have for all questions that a problem is about."""
    items = problem.more.get("interrupts", ())
    return min((int(item["approvers"].get("stepUp", 0)) for item in items), default=0)


def _seconds(text: str | None) -> int | None:
    """The age that a fresh sign-in may have."""
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > 9:
        return None
    return min(int(text), _MAX_AGE_S)


def _root(scope: Scope) -> str:
    root: str = scope.get("root_path", "").rstrip("/")
    return root


def _callback_address(scope: Scope) -> str:
    scheme = "https" if is_secure(scope) else "http"
    host = (header(scope, b"host") or "").lower()
    return f"{scheme}://{host}{_root(scope)}{CALLBACK}"


def _login_path(scope: Scope, back: str, max_age: int | None) -> str:
    parameters = {"return": back} | ({} if max_age is None else {"max_age": str(max_age)})
    return f"{_root(scope)}{LOGIN}?{urlencode(parameters)}"


async def _send_empty(send: Send, status: int, fields: list[tuple[bytes, bytes]]) -> None:
    plain = [_NO_STORE, (b"content-length", b"0"), (b"x-content-type-options", b"nosniff")]
    if status == 204:
        del plain[1]
    await send({"type": "http.response.start", "status": status, "headers": [*plain, *fields]})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
