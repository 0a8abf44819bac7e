"""Tokens of services: programs that call without an issuer of their own. Pure.

Whoever reads the store can call with nothing of it: it has the token's digest alone.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fnmatch import fnmatchcase
from typing import Any, Final

from sayso.base import jsonvalue

PREFIX: Final = "sayso_sk_"
"""The beginning of each such token, by which a request and a scanner of leaks know it."""

TOOLS_ROLE: Final = "sayso:tools:"
"""The beginning of a role that limits its caller to some tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceToken:
    """One token of a service `name`; `digest` is the SHA-256 of it, in hex.

    It may do what `roles` may, and call the tools that fit one of the patterns `tools` (None: all).
    Times are milliseconds since the epoch; without `expires_at` it lasts until it is revoked.
    """

    id: str
    scope: str
    name: str
    digest: str
    roles: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    added_by: str
    added_at: int
    expires_at: int | None = None
    revoked_at: int | None = None
    revoked_by: str | None = None

    def counts(self, now: int) -> bool:
        """True if it is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def subject_of(name: str) -> str:
    """The subject of a service."""
    return f"service:{name}"


def role_of_tools(patterns: Sequence[str]) -> str:
    """The role that limits its caller to tools of these patterns, wherever a turn continues."""
    return TOOLS_ROLE + ",".join(patterns)


def has_tool_limit(roles: Sequence[str]) -> bool:
    """True if a role limits its caller to some tools."""
    return any(role.startswith(TOOLS_ROLE) for role in roles)


def may_call(roles: Sequence[str], tool: str) -> bool:
    """True unless a role limits its caller to other tools."""
    return all(
        any(fnmatchcase(tool, pattern) for pattern in role.removeprefix(TOOLS_ROLE).split(","))
        for role in roles
        if role.startswith(TOOLS_ROLE)
    )


def new_token() -> str:
    """Make a token: 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


def digest_of(token: str) -> str:
    """The digest under which a token is kept."""
    return hashlib.sha256(token.encode("latin-1")).hexdigest()


def to_json(token: ServiceToken) -> bytes:
    """The JSON of a token as it is kept."""
    return jsonvalue.encode(asdict(token))


def from_json(data: bytes, **changed: Any) -> ServiceToken:
    """The token that such JSON stands for, but for what has `changed` since."""
    members: Mapping[str, Any] = jsonvalue.decode(data)
    values = {field.name: members[field.name] for field in fields(ServiceToken)} | changed
    tools = values["tools"]
    values["roles"] = tuple(values["roles"])
    values["tools"] = None if tools is None else tuple(tools)
    return ServiceToken(**values)
