"""How a Redis or Valkey server is talked to, and what is wrong when it does not answer well."""

from typing import Any

import redis
from redis import exceptions

TIMEOUT_S = 5.0
"""Seconds to wait for the server: half a lease."""

_OPTIONS: dict[str, Any] = {
    "protocol": 2,
    "decode_responses": False,
    "socket_connect_timeout": TIMEOUT_S,
    "socket_timeout": TIMEOUT_S,
    "client_name": "sayso",
}

_UNREACHABLE = (
    "Redis cannot be reached, or the connection was lost; see that it runs and that host and port "
    "of the store's URL are right"
)
REMEDIES = {
    "WRONGPASS": "refuses user or password; correct them in the store's URL: "
    "redis://user:password@host:6379/0",
    "NOAUTH": "wants a password; write redis://:password@host:6379/0",
    "Authentication required": "wants a password; write redis://:password@host:6379/0",
    "Client sent AUTH, but no password is set": "takes no password; leave it out of the URL",
    "without any password configured": "takes no password; leave it out of the URL",
    "invalid username-password pair": "refuses user or password; correct them in the store's URL",
    "invalid password": "refuses the password; correct it in the store's URL",
    "DENIED": "runs in protected mode: give it a password (requirepass) and write it into the URL",
    "NOPERM": "lacks a right; run ACL SETUSER sayso on '>password' '~sayso*' '~checkpoint:*' "
    "resetchannels '&sayso:*' +@all -@dangerous +info '+config|get' '+client|setname'",
    "DB index is out of range": "has no such database; correct the number at the end of the URL",
    "invalid DB index": "has no such database; correct the number at the end of the URL",
    "READONLY": "is a read-only replica; name the primary in the store's URL",
    "MASTERDOWN": "is a replica that lost its primary; name the primary in the store's URL",
    "NOREPLICAS": "has too few replicas to accept writes; see min-replicas-to-write",
    "OOM": "has no memory left; raise maxmemory, or delete threads that are not needed",
    "MISCONF": "cannot write to its disk and takes no writes; free some space, see its log",
    "LOADING": "is loading its data; this goes on when it is ready",
    "BUSY": "is busy with a script; look at its load (SCRIPT KILL ends one that hangs)",
    "max number of clients": "has no connection left; raise maxclients or run fewer servers",
    "MOVED": "is one node of several of a cluster; name a server, or a proxy, that has all keys",
    "CROSSSLOT": "is one node of several of a cluster; name a server that has all keys",
    "CLUSTERDOWN": "belongs to a cluster that is down; see CLUSTER INFO",
    "unknown command": "lacks a command; use Redis 6.2 or newer, or Valkey",
}
"""What a server says, and what to do about it; the first that is found counts."""

_CODES: dict[type[Exception], str] = {
    exceptions.NoPermissionError: "NOPERM",
    exceptions.OutOfMemoryError: "OOM",
    exceptions.ReadOnlyError: "READONLY",
    exceptions.BusyLoadingError: "LOADING",
    exceptions.MasterDownError: "MASTERDOWN",
    exceptions.ClusterDownError: "CLUSTERDOWN",
    exceptions.MovedError: "MOVED",
    exceptions.AskError: "MOVED",
}
"""Errors whose code the client has taken out of the text."""


def options(url: str) -> dict[str, Any]:
    """How a connection is made, whatever the URL says besides."""
    return _OPTIONS if url.startswith("unix:") else _OPTIONS | {"socket_keepalive": True}


def explain(error: BaseException) -> str:
    """Say what is wrong and what to do about it; never with a password."""
    said = str(error).strip().partition("\n")[0]
    for kind, code in _CODES.items():
        if isinstance(error, kind):
            return f"Redis {REMEDIES[code]} ({_shown(said)})"
    for text, remedy in REMEDIES.items():
        if text in said:
            return f"Redis {remedy} ({_shown(said)})"
    if isinstance(error, redis.TimeoutError):
        return (
            f"Redis did not answer within {TIMEOUT_S:.0f} s; look at its load and at the network "
            f"({_shown(said)})"
        )
    if isinstance(error, (redis.ConnectionError, OSError)):
        return f"{_UNREACHABLE} ({_shown(said)})"
    return f"Redis failed ({_shown(said)})"


def _shown(said: str) -> str:
    return said[:200] or "no reason given"
