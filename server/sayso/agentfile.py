"""Agents declared in a file: `sayso serve agents.yaml`.

    store: sqlite:///shop.db              # where threads are kept; else the backend's own default
    authenticate: shop.auth:who           # a hook: ASGI scope to Principal or None; or
                                          # {jwt: {jwks: …, issuer: …, audience: …}}
    hosts: [sayso.example.org]
    origins: [https://app.example.org]
    copilotkit: true                      # at /copilotkit; or another path
    agents:
      - name: support                     # POST /agents/support
        import: shop.agents:support       # an async function of one argument, its Turn
        version: "2"
        description: Answers customers.
        tools: [shop.tools]               # modules or tools, beside those of the agent's own module
        spec:
          type: langgraph                 # what it is built with, as its capabilities tell
          interrupt:
            enabled: true                 # false: asking a person is an error that says so
            checkpoint:
              backend: sqlite             # or memory, postgres, redis
              ttl_seconds: 86400          # how long its questions stay open
        options:                          # the options of an agent, by their names
          refusals: recover

Everything is checked before anything is served, and each problem names its line and key.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from sayso import auth
from sayso.agents.tools import Tool
from sayso.app import Sayso
from sayso.errors import DeclarationError
from sayso.importing import ImportPathError, imported, module_of
from sayso.options import OptionValues
from sayso.stores import open_store
from sayso.yamlfile import Value, read_file

__all__ = ["app_of"]

CHECKPOINTS: Final = "checkpoints=shown"
"""What an agent that keeps its checkpoints in Redis says to the store."""
BACKENDS: Final = {
    "memory": "memory:",
    "sqlite": "sqlite:///sayso.db",
    "postgres": None,
    "redis": f"redis://127.0.0.1:6379/0?{CHECKPOINTS}",
}
"""The backends that a checkpoint may name, each with the URL of its store unless one is given.

None: there is no such URL, the file has to say it.
"""
_SCHEMES: Final = {
    "postgresql": "postgres",
    "rediss": "redis",
    "unix": "redis",
    "valkey": "redis",
    "valkeys": "redis",
}
"""Backends whose URLs begin with another word."""

_FILE: Final = ("store", "authenticate", "hosts", "origins", "copilotkit", "agents")
_JWT: Final = ("jwks", "issuer", "audience", "tenant", "roles")
_AGENT: Final = ("name", "import", "version", "description", "tools", "spec", "options")
_SPEC: Final = ("type", "interrupt")
_INTERRUPT: Final = ("enabled", "checkpoint")
_CHECKPOINT: Final = ("backend", "ttl_seconds")
_ELSEWHERE: Final = ("expires_in", "may_ask", "on_reminder", "breakpoints", "detached_at_once")
"""Options that a file says in another place, or that need Python."""
_OPTIONS: Final = tuple(name for name in OptionValues.__annotations__ if name not in _ELSEWHERE)


@dataclass(frozen=True, slots=True)
class _Declared:
    """One agent of a file, as far as it could be read."""

    where: Value
    name: str
    function: Any
    tools: list[tuple[Value, Tool]]
    arguments: dict[str, Any]
    backend: Value | None


def app_of(path: Path, *, store: str | None = None, **settings: Any) -> Sayso:
    """The app that a file declares; `store` goes before its own, `settings` are those of `Sayso`.

    Raises `YamlFileError` with a line for each problem.
    """
    root = read_file(path)
    members = root.members(_FILE, required=("agents",))
    declared = list(_agents(members["agents"])) if "agents" in members else []
    url = _store(members.get("store"), declared, store)
    for name in ("hosts", "origins"):
        if name in members:
            own = [text for item in members[name].items() if (text := item.text()) is not None]
            settings[name] = (*own, *settings.get(name, ()))
    if "authenticate" in members:
        settings["authenticate"] = _hook(members["authenticate"])
    copilotkit = _mount(members["copilotkit"]) if "copilotkit" in members else None
    root.findings.tell()
    try:
        app = Sayso(store=url, **settings)
        if copilotkit is not None:
            app.copilotkit(copilotkit)
    except DeclarationError as error:
        root.wrong(str(error))
        root.findings.tell()
        raise
    for one in declared:
        _declare(app, one)
    root.findings.tell()
    return app


def _mount(where: Value) -> str | None:
    """Where CopilotKit is served, if at all."""
    said = where.checked(
        lambda value: isinstance(value, bool) or (isinstance(value, str) and value[:1] == "/"),
        "true, false, or a path that begins with '/'",
    )
    return "/copilotkit" if said is True else said or None


def _hook(where: Value) -> Any:
    """A hook by its import path, or one that checks JSON Web Tokens."""
    if where.is_scalar:
        return _imported(where)
    members = where.members(("jwt",), required=("jwt",))
    if "jwt" not in members:
        return None
    given = members["jwt"].members(_JWT, required=("jwks", "issuer", "audience"))
    said = {name: value.text() or "" for name, value in given.items()}
    if not all(said.get(name) for name in ("jwks", "issuer", "audience")):
        return None  # what is missing has been noted
    try:
        return auth.jwt(
            jwks=said["jwks"],
            issuer=said["issuer"],
            audience=said["audience"],
            tenant=said.get("tenant"),
            roles=said.get("roles", "roles"),
        )
    except DeclarationError as error:
        members["jwt"].wrong(str(error))
        return None


def _declare(app: Sayso, one: _Declared) -> None:
    for where, tool in one.tools:
        try:
            app.include(tool)
        except DeclarationError as error:
            where.wrong(str(error))
    try:
        app.agent(one.name, **one.arguments)(one.function)
    except DeclarationError as error:
        one.where.wrong(str(error))


def _agents(listed: Value) -> Iterator[_Declared]:
    names: set[tuple[str, str]] = set()
    count = 0
    for item in listed.items():
        count += 1
        members = item.members(_AGENT, required=("name", "import"))
        name = members["name"].text() if "name" in members else None
        version = members["version"].text() if "version" in members else "1"
        if name is not None and version is not None:
            if (name, version) in names:
                members["name"].wrong(
                    f"there are two agents {name!r} of version {version!r}; give the newer one "
                    "another version"
                )
            names.add((name, version))
        function = _imported(members["import"]) if "import" in members else None
        arguments: dict[str, Any] = {"version": version or "1"}
        if "description" in members:
            arguments["description"] = members["description"].text()
        if "options" in members:
            arguments |= {
                key: value.plain() for key, value in members["options"].members(_OPTIONS).items()
            }
        backend = None
        if "spec" in members:
            backend = _spec(members["spec"], arguments)
        if name is not None and function is not None:
            tools = list(_tools(members, function))
            yield _Declared(members["name"], name, function, tools, arguments, backend)
    if not count:
        listed.wrong("there is no agent in it")


def _spec(spec: Value, arguments: dict[str, Any]) -> Value | None:
    """Read `spec` into arguments of `Sayso.agent`; returns where it names a backend."""
    members = spec.members(_SPEC)
    if "type" in members and (kind := members["type"].text()) is not None:
        arguments["kind"] = kind
    if "interrupt" not in members:
        return None
    interrupt = members["interrupt"].members(_INTERRUPT)
    if "enabled" in interrupt:
        enabled = interrupt["enabled"].checked(
            lambda value: isinstance(value, bool), "true or false"
        )
        arguments["may_ask"] = enabled is not False
    if "checkpoint" not in interrupt:
        return None
    checkpoint = interrupt["checkpoint"].members(_CHECKPOINT)
    if "ttl_seconds" in checkpoint:
        arguments["expires_in"] = checkpoint["ttl_seconds"].checked(
            _is_lifetime, "seconds above zero, or null for ever"
        )
    return checkpoint.get("backend")


def _is_lifetime(value: Any) -> bool:
    if value is None:
        return True
    return type(value) in (int, float) and isfinite(value) and value > 0


def _store(named: Value | None, declared: list[_Declared], given: str | None) -> str:
    """The one store of all agents; a backend that is another's is noted."""
    url = given if given is not None else named.text() if named is not None else None
    if url is not None and given is None and named is not None:
        try:
            open_store(url)
        except DeclarationError as error:
            named.wrong(str(error))
    scheme = None if url is None else url.partition(":")[0].lower()
    chosen = None if scheme is None else _SCHEMES.get(scheme, scheme)
    for one in declared:
        if one.backend is None:
            continue
        backend = one.backend.checked(
            lambda value: value in BACKENDS, f"one of {', '.join(BACKENDS)}"
        )
        if backend is None:
            continue
        if chosen is not None and backend != chosen:
            why = "the store" if url is not None else "an agent above"
            one.backend.wrong(
                f"is {backend!r}, but {why} is {chosen!r}: all agents of a server share one store"
            )
        if url is None and BACKENDS[backend] is None:
            one.backend.wrong(
                f"is {backend!r}, which needs a URL: add `store:` with it to the file"
            )
        chosen = chosen or backend
        if backend == "redis" and url is not None and "checkpoints=" not in url:
            url += f"{'&' if '?' in url else '?'}{CHECKPOINTS}"
    return url or BACKENDS.get(chosen or "sqlite") or "sqlite:///sayso.db"


def _tools(members: dict[str, Value], function: Any) -> Iterator[tuple[Value, Tool]]:
    """The tools of the agent's own module, and those that the file names."""
    own = getattr(function, "__module__", None)
    if isinstance(own, str):
        yield from ((members["import"], tool) for tool in _in_module(module_of(own)))
    for item in members["tools"].items() if "tools" in members else ():
        path = item.text()
        found = None if path is None else _imported(item)
        if isinstance(found, Tool):
            yield item, found
        elif isinstance(found, ModuleType):
            yield from ((item, tool) for tool in _in_module(found))
        elif found is not None:
            item.wrong(f"{path!r} is no tool: make it one with @app.tool() or Tool(…)")


def _in_module(module: ModuleType) -> list[Tool]:
    return [value for value in vars(module).values() if isinstance(value, Tool)]


def _imported(where: Value) -> Any:
    """What an import path of the file names; a note and None if that is nothing."""
    path = where.text()
    if path is None:
        return None
    try:
        return imported(path) if ":" in path else module_of(path)
    except ImportPathError as error:
        where.wrong(str(error))
        return None
