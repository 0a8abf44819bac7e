"""A sign-in under way: what the provider is told of it, and how it is known again. Pure.

Nothing of it is stored. The browser has a key, in a cookie of its own, and all else comes from
that: `state`, which seals where to return to, the nonce, and the secret of PKCE. So a sign-in ends
in the browser in which it began, several of one browser do not disturb each other, and what a
provider sends back counts for ten minutes.
"""

import hashlib
import hmac
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Final

LASTS_S: Final = 600
"""Seconds that a sign-in may take."""
_MAX_RETURN_CHARS: Final = 2_000
_MAX_STATE_CHARS: Final = 4_000
_KEY: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_PATH: Final = re.compile(r"/(?!/)[!-\[\]-~]*")
"""A path, query and fragment of this server: no `//`, no backslash, no control character."""
_OWN: Final = ("/login", "/callback", "/logout")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One sign-in of a browser that has `key`; `max_age` is that of a fresh sign-in, in seconds."""

    key: str
    id: str
    began_at: int
    back: str
    max_age: int | None

    @property
    def state(self) -> str:
        """The text that the provider hands back with its answer."""
        return f"{self._sealed}.{_mac(self.key, 'state', self._sealed)}"

    @property
    def nonce(self) -> str:
        """The text that the ID token has to repeat."""
        return _mac(self.key, "nonce", self.id)

    @property
    def verifier(self) -> str:
        """The secret of PKCE, which only this server can tell."""
        return _mac(self.key, "verifier", self.id)

    @property
    def challenge(self) -> str:
        """The challenge of PKCE (S256)."""
        return _encoded(hashlib.sha256(self.verifier.encode()).digest())

    @property
    def _sealed(self) -> str:
        age = "" if self.max_age is None else str(self.max_age)
        return ".".join((self.id, str(self.began_at), age, _encoded(self.back.encode())))


def new_key() -> str:
    """Make the key of a browser."""
    return secrets.token_urlsafe(32)


def is_key(text: str) -> bool:
    """True for what may be the key of a browser."""
    return _KEY.fullmatch(text) is not None


def begin(key: str, back: str, max_age: int | None, now: int) -> Attempt:
    """Begin a sign-in; `now` in ms."""
    return Attempt(key, secrets.token_urlsafe(16), now // 1000, back, max_age)


def known_again(key: str | None, state: str | None, now: int) -> Attempt | None:
    """The sign-in that a state is of; None if it began in another browser, or too long ago."""
    if key is None or not is_key(key):
        return None
    if state is None or len(state) > _MAX_STATE_CHARS or not state.isascii():
        return None
    sealed, _, mac = state.rpartition(".")
    if not hmac.compare_digest(mac, _mac(key, "state", sealed)):
        return None
    try:
        name, began_at, age, back = sealed.split(".")
        path, max_age = _decoded(back).decode(), int(age) if age else None
        attempt = Attempt(key, name, int(began_at), path, max_age)
    except ValueError:
        return None  # whoever has made up a key can seal anything by it
    return attempt if 0 <= now // 1000 - attempt.began_at <= LASTS_S else None


def path_back(address: str | None, root: str) -> str:
    """Where to return to: a path of this server below `root`, else its start page."""
    start = f"{root}/"
    if address is None or len(address) > _MAX_RETURN_CHARS or _PATH.fullmatch(address) is None:
        return start
    path = re.split(r"[?#]", address, maxsplit=1)[0]
    own = any(path.rstrip("/") == root + name for name in _OWN)
    return address if path.startswith(start) and not own else start


def _mac(key: str, use: str, text: str) -> str:
    return _encoded(hmac.digest(key.encode(), f"{use} {text}".encode(), "sha256"))


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
