"""The options of signing in."""

from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from sayso.base.errors import DeclarationError

_SHORTEST_S: Final = 60
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Oidc:
    """A provider of OpenID Connect at which people sign in to the console.

    | option | values | default |
    |---|---|---|
    | `issuer` | the provider's address, exactly as it names itself | needed |
    | `client_id` | this server's id there | needed |
    | `client_secret` | its secret there; a public client has none | none |
    | `roles` | the claim of the ID token that lists roles | `roles` |
    | `tenant` | the claim that names the tenant; None: all are one | none |
    | `session` | seconds after which a person signs in again | 28800 |
    | `idle` | seconds without a request after which a person signs in again | 3600 |

    The provider has to know `https://…/callback` of this server as an address to return to, and
    may know `https://…/backchannel-logout`. Needs the extra `oidc`.

    Raises:
        DeclarationError: for an invalid value.
    """

    issuer: str
    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    roles: str = "roles"
    tenant: str | None = None
    session: int = 28_800
    idle: int = 3_600

    def __post_init__(self) -> None:
        for name in ("issuer", "client_id", "roles"):
            _check_text(name, getattr(self, name))
        for name in ("client_secret", "tenant"):
            if getattr(self, name) is not None:
                _check_text(name, getattr(self, name))
        if not is_safe(self.issuer):
            raise DeclarationError(
                f"issuer={self.issuer!r} of Oidc is no https address: whoever could change what it "
                "says on its way could sign in as anybody"
            )
        for name in ("session", "idle"):
            seconds: Any = getattr(self, name)
            if type(seconds) is not int or seconds < _SHORTEST_S:
                raise DeclarationError(
                    f"{name}= of Oidc is whole seconds from {_SHORTEST_S}, not {seconds!r}"
                )
        if self.idle > self.session:
            raise DeclarationError(
                f"idle={self.idle} of Oidc is longer than session={self.session}: it would never "
                "count"
            )

    @property
    def name(self) -> str:
        """The provider's host, by which people know it."""
        return urlsplit(self.issuer).hostname or self.issuer


def is_safe(address: Any) -> bool:
    """True for an https address, or any on loopback, without a fragment."""
    if not isinstance(address, str) or not (address.isascii() and address.isprintable()):
        return False
    try:
        parts = urlsplit(address)
        schemes = ("https", "http") if parts.hostname in _LOOPBACK else ("https",)
        return bool(parts.hostname) and parts.scheme in schemes and not parts.fragment
    except ValueError:
        return False


def _check_text(name: str, value: Any) -> None:
    if not isinstance(value, str) or not value.strip():
        raise DeclarationError(f"{name}= of Oidc is a text, not {type(value).__name__}")
