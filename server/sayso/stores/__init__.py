"""Stores by URL: the only way to a backend."""

import re
from importlib import import_module
from urllib.parse import parse_qsl, urlencode, urlsplit

from sayso.base.clock import Clock
from sayso.base.errors import DeclarationError
from sayso.stores.aesgcm import AesGcm
from sayso.stores.base import Store
from sayso.stores.sqlite.memory import MemoryStore
from sayso.stores.sqlite.store import SqliteStore

__all__ = ["open_store", "store_of"]

_FORMS = (
    "memory:, sqlite:///relative/path.db, sqlite:////absolute/path.db, "
    "postgresql://user:password@host:5432/database, redis://:password@host:6379/0"
)
_QUOTES = "'\"`"
_REDIS_OPTIONS = {
    "redis": ("durability", "checkpoints"),
    "rediss": (
        "durability",
        "checkpoints",
        "ssl_ca_certs",
        "ssl_cert_reqs",
        "ssl_certfile",
        "ssl_keyfile",
    ),
    "unix": ("durability", "checkpoints", "db", "password", "username"),
}
"""What a Redis URL may say behind its question mark; the first two are ours."""
_REDIS_FORMS = "redis://user:password@host:6379/0, or unix:///run/redis/redis.sock?db=0"
_OURS = {"durability": ("strict", "relaxed"), "checkpoints": ("hidden", "shown")}
"""Our options with their values, the default first."""


def open_store(url: str, *, clock: Clock | None = None, codec: AesGcm | None = None) -> Store:
    """The store that a URL names; nothing is connected before its `open()`.

    `memory:` keeps everything in this process. `sqlite:///rel.db` is a file relative to the
    working directory of now, `sqlite:////abs.db` one by its absolute path. `postgresql:` is what
    libpq takes, and needs the extra `postgres`. `redis://:password@host:6379/0`, `rediss:` with
    TLS, `unix:///path/of/the.sock` are Redis or Valkey, and need the extra `redis`;
    `?durability=relaxed` accepts a server that may lose the newest steps when it crashes, and
    `?checkpoints=shown` shows threads that wait as `checkpoint:{session_id}`. `clock` decides when
    leases run out, `codec` encrypts what is kept. Raises `DeclarationError` with the URL to write
    instead.
    """
    url = str(url or "")  # an unset variable and a path are the usual mistakes
    if not url.strip():
        raise DeclarationError(f"a store needs a URL; write one of {_FORMS}")
    if url != url.strip():
        raise DeclarationError("the store's URL has blanks or a line end around it; remove them")
    if url[0] in _QUOTES or url[-1] in _QUOTES:
        raise DeclarationError(
            "the store's URL has quotes around it; remove them: files of variables and supervisors "
            "do not take them off as a shell does"
        )
    scheme, colon, rest = url.partition(":")
    kind = scheme.lower().partition("+")[0]
    if colon and kind == "memory":
        if rest.strip("/"):
            raise DeclarationError("memory: takes no name and no options; write memory:")
        return MemoryStore(clock=clock, codec=codec)
    if colon and kind in ("sqlite", "sqlite3"):
        return SqliteStore(_sqlite_path(scheme, rest), clock=clock, codec=codec)
    if colon and kind in ("postgres", "postgresql"):
        return _postgres(_postgres_url(scheme, rest), clock, codec)
    if colon and kind in ("redis", "rediss", "valkey", "valkeys", "unix"):
        return _redis(scheme.lower(), rest, clock, codec)
    raise DeclarationError(_wrong_scheme(url, kind if colon else ""))


def store_of(given: str | Store, *, clock: Clock, codec: AesGcm | None = None) -> Store:
    """The store that is given itself, or by its URL; raises `DeclarationError` for neither."""
    if isinstance(given, Store):
        if codec is not None:
            raise DeclarationError(
                "a store that is given itself has its codec already; write "
                "open_store(url, codec=…), or give Sayso the store's URL"
            )
        return given
    if not isinstance(given, str):
        raise DeclarationError(
            f"store is 'memory:', a URL such as 'sqlite:///sayso.db', or a Store, not {given!r}"
        )
    return open_store(given, clock=clock, codec=codec)


def _postgres(url: str, clock: Clock | None, codec: AesGcm | None) -> Store:
    """The driver is loaded by who uses it: others do not need to have it."""
    try:
        backend = import_module("sayso.stores.postgres.store")
        connection_info = import_module("psycopg.conninfo")
    except ImportError:
        raise DeclarationError(
            "PostgreSQL needs its driver: install sayso with the extra postgres, or "
            "pip install 'psycopg[binary]'"
        ) from None
    try:
        given = connection_info.conninfo_to_dict(url)
    except Exception:
        raise DeclarationError(
            "the PostgreSQL URL cannot be read; write postgresql://user:password@host:5432/database"
            " and percent-encode what is special in user and password: @ as %40, / as %2F, : as %3A"
        ) from None
    if not given.get("dbname"):
        raise DeclarationError(
            "the PostgreSQL URL names no database; write postgresql://user:password@host:5432/name"
        )
    store: Store = backend.PostgresStore(url, clock=clock, codec=codec)
    return store


def _postgres_url(scheme: str, rest: str) -> str:
    """The URL as libpq takes it; every other way to write one is told the right one."""
    if scheme.lower() not in ("postgres", "postgresql"):
        raise DeclarationError(f"write postgresql: instead of {scheme}:, as in {_FORMS}")
    if not rest.startswith("//"):
        raise DeclarationError("write two slashes: postgresql://user:password@host:5432/database")
    if "\0" in rest:
        raise DeclarationError("the PostgreSQL URL has a NUL in it; remove it")
    return f"postgresql:{rest}"


def _redis(scheme: str, rest: str, clock: Clock | None, codec: AesGcm | None) -> Store:
    """The driver is loaded by who uses it, as with PostgreSQL."""
    url, ours = _redis_url(scheme, rest)
    try:
        backend = import_module("sayso.stores.redis.store")
    except ImportError:
        raise DeclarationError(
            "Redis needs its client: install sayso with the extra redis, or "
            "pip install 'redis[hiredis]'"
        ) from None
    store: Store = backend.RedisStore(
        url,
        clock=clock,
        codec=codec,
        relaxed=ours["durability"] == "relaxed",
        checkpoints=ours["checkpoints"] == "shown",
    )
    return store


def _redis_url(scheme: str, rest: str) -> tuple[str, dict[str, str]]:
    """The URL as redis-py takes it, and what it says to us."""
    named = {"valkey": "redis", "valkeys": "rediss"}.get(scheme, scheme)
    if named not in ("redis", "rediss", "unix"):
        raise DeclarationError(f"write redis: instead of {scheme}:, as in {_FORMS}")
    if not rest.startswith("//"):
        raise DeclarationError(f"write two slashes: {_REDIS_FORMS}")
    where, _, query = rest.partition("?")
    _check_redis_place(named, where)
    try:
        given = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
    except ValueError:
        raise DeclarationError(f"the Redis URL's options cannot be read; {_REDIS_FORMS}") from None
    allowed = _REDIS_OPTIONS[named]
    for name in given:
        if name not in allowed:
            raise DeclarationError(
                f"the Redis URL has an option {name[:40]!r}; it takes {', '.join(allowed)}"
            )
    ours = {name: given.pop(name, values[0]) for name, values in _OURS.items()}
    for name, values in _OURS.items():
        if ours[name] not in values:
            raise DeclarationError(f"{name} of a Redis URL is {' or '.join(values)}")
    options = f"?{urlencode(given)}" if given else ""
    return f"{named}:{where}{options}", ours


def _check_redis_place(scheme: str, where: str) -> None:
    """Host, port and number of the database, or the path of a socket."""
    if "\0" in where:
        raise DeclarationError("the Redis URL has a NUL in it; remove it")
    if scheme == "unix":
        if not where[2:].rpartition("@")[2].startswith("/") or where.endswith("/"):
            raise DeclarationError(f"a socket is named by its absolute path: {_REDIS_FORMS}")
        return
    try:
        parts = urlsplit(f"redis:{where}")
        known = bool(parts.hostname) and (parts.port is None or parts.port > 0)
        if "@" in parts.path:
            raise ValueError("a slash that is not percent-encoded ended the host")
    except ValueError:
        raise DeclarationError(
            "the Redis URL cannot be read; write redis://user:password@host:6379/0 and "
            "percent-encode what is special in user and password: @ as %40, / as %2F, : as %3A"
        ) from None
    if not known:
        raise DeclarationError(f"the Redis URL names no host; write {_REDIS_FORMS}")
    if not re.fullmatch(r"/?[0-9]{0,6}", parts.path):
        raise DeclarationError(
            "databases of Redis have numbers; write redis://:password@host:6379/0"
        )
    if "#" in where:
        raise DeclarationError("the Redis URL has a '#' in it; write %23 for one in a password")


def _sqlite_path(scheme: str, rest: str) -> str:
    """The file of an SQLite URL; every other way to write one is told the right one."""
    if scheme.lower() != "sqlite":
        raise DeclarationError(f"write sqlite: instead of {scheme}:, as in {_FORMS}")
    path = rest.removeprefix("///")
    if ":memory:" in rest:
        raise DeclarationError("SQLite in memory would lose what it acknowledged; write memory:")
    if not rest.strip("/"):
        raise DeclarationError("the SQLite URL names no file; write sqlite:///sayso.db")
    if "?" in rest or "\0" in rest:
        raise DeclarationError(
            "an SQLite URL takes no options and no '?' or NUL in its path; write sqlite:///sayso.db"
        )
    if path == rest:
        name = rest.lstrip("/")
        slashes = "////" if rest.startswith("/") and not rest.startswith("//") else "///"
        raise DeclarationError(
            f"write sqlite:{slashes}{name}: three slashes for a path relative to the working "
            "directory, four for an absolute one"
        )
    if path.startswith("~"):
        raise DeclarationError(
            "~ is not expanded; write the whole path, as in sqlite:////data/sayso.db"
        )
    if path.endswith(("/", "\\")) or path in (".", ".."):
        raise DeclarationError("the SQLite URL names a folder; name a file in it")
    return path


def _wrong_scheme(url: str, kind: str) -> str:
    """Say what to write instead; quote only the scheme, since URLs carry passwords."""
    if kind == "file":
        return f"a file is named by its engine: write one of {_FORMS}"
    if re.fullmatch(r"[a-z][a-z0-9.-]+", kind):
        return f"there is no store for {kind}:; write one of {_FORMS}"
    return f"the store's URL has no scheme; write one of {_FORMS}"
