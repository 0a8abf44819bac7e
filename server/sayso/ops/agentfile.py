"""Agents declared in a file: `sayso serve agents.yaml`.

    store: sqlite:///shop.db              # where threads are kept; else the backend's own default
    authenticate: shop.auth:who           # a hook: ASGI scope to Principal or None; or
                                          # {jwt: {jwks: …, issuer: …, audience: …}}
    sign_in:                              # where people sign in to the console
      issuer: https://id.example.org
      client_id: sayso
      client_secret: ${OIDC_SECRET}       # also: roles, tenant, session, idle
    hosts: [sayso.example.org]
    origins: [https://app.example.org]
    retention: {threads: 90, keeper: "role:legal"}  # days; as the members of `Retention`
    copilotkit: true                      # at /copilotkit; or another path
    default_approval: ask                 # of tools that say nothing themselves: never, ask, deny,
                                          # guidelines, or the import path of a Policy
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

YAML is read strictly: everything is checked before anything is served, and each problem names its
line and key. Agents of the types `chat_model_agent` and `remote_agent` need no code:
`ops/agenttypes` has their members.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from math import isfinite
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from sayso import auth
from sayso.agents.approval import never
from sayso.agents.tools import Tool
from sayso.app import Sayso
from sayso.base.errors import DeclarationError
from sayso.base.options import Legacy, OptionValues
from sayso.base.retention import Retention
from sayso.http.dialects.copilotkit import CopilotKit
from sayso.http.options import ServerOptions
from sayso.http.signin.oidc import Oidc
from sayso.ops.agenttypes import CHAT, REMOTE, REMOTE_MEMBERS, ChatSpec, RemoteSpec
from sayso.ops.approvals import policy_of
from sayso.ops.importing import ImportPathError, load_object, module_of
from sayso.ops.yamlfile import Value, read_file
from sayso.stores import open_store
from sayso.stores.aesgcm import AesGcm
from sayso.turns.keys import Ed25519

CHECKPOINTS: Final = "checkpoints=shown"
"""The query in a store's URL that makes Redis show checkpoints."""
BACKENDS: Final[dict[str, str | None]] = {
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

_FILE: Final = (
    "store",
    "authenticate",
    "sign_in",
    "revoked",
    "authorize",
    "directory",
    "signer",
    "retention",
    "hosts",
    "origins",
    "copilotkit",
    "default_approval",
    "four_eyes",
    "key_file",
    "agents",
)
_LISTS: Final = ("hosts", "origins")
_SIGN_IN: Final = tuple(field.name for field in fields(Oidc))
_RETENTION: Final = tuple(field.name for field in fields(Retention))
_JWT: Final = ("jwks", "issuer", "audience", "tenant", "roles")
_AGENT: Final = ("name", "import", "version", "description", "tools", "spec", "options")
_SPEC: Final = ("type", "interrupt")
_CHAT_SPEC: Final = (*_SPEC, "model", "settings", "system", "rounds", "approve")
_REMOTE_SPEC: Final = (*_SPEC, *REMOTE_MEMBERS)
_WITHOUT_CODE: Final = {CHAT: _CHAT_SPEC, REMOTE: _REMOTE_SPEC}
"""Types of agents that have no code of their own, with the members of their specs."""
_INTERRUPT: Final = ("enabled", "checkpoint")
_CHECKPOINT: Final = ("backend", "ttl_seconds")
_LEGACY: Final = tuple(field.name for field in fields(Legacy))
_ELSEWHERE: Final = (
    "expires_in",
    "interrupts_enabled",
    "on_reminder",
    "breakpoints",
)
"""Options that a file says in another place, or that need Python."""
_OPTIONS: Final = tuple(name for name in OptionValues.__annotations__ if name not in _ELSEWHERE)


@dataclass(frozen=True, slots=True)
class _Declared:
    """One agent of a file, as far as it could be read."""

    where: Value
    name: str
    function: Any
    tools: list[tuple[Value, Tool[..., Any]]]
    chat: ChatSpec | None
    remote: RemoteSpec | None
    arguments: dict[str, Any]
    backend: Value | None


def app_of(path: Path, *, store: str | None = None, codec: AesGcm | None = None) -> Sayso:
    """Make the app that a file declares; `store` and `codec` count instead of the file's own.

    Raises:
        YamlFileError: with a line for each problem.
    """
    root = read_file(path)
    members = root.members(_FILE, required=("agents",))
    declared = list(_agents(members["agents"])) if "agents" in members else []
    codec = codec or _codec(members.get("key_file"))
    url = _store(members.get("store"), declared, store, shown=codec is None)
    hosts, origins = (_texts(members[name]) if name in members else () for name in _LISTS)
    authenticate = _hook(members["authenticate"]) if "authenticate" in members else None
    sign_in = _sign_in(members["sign_in"]) if "sign_in" in members else None
    revoked = _imported(members["revoked"]) if "revoked" in members else None
    authorize = _imported(members["authorize"]) if "authorize" in members else None
    directory = _imported(members["directory"]) if "directory" in members else None
    signer = _signer(members["signer"]) if "signer" in members else None
    retention = _retention(members["retention"]) if "retention" in members else None
    copilotkit = _mount(members["copilotkit"]) if "copilotkit" in members else None
    default = policy_of(members["default_approval"]) if "default_approval" in members else None
    four_eyes = "four_eyes" in members and members["four_eyes"].checked(
        lambda value: isinstance(value, bool), "true or false"
    )
    root.findings.raise_if_any()
    try:
        app = Sayso(
            store=url,
            codec=codec,
            authenticate=authenticate,
            sign_in=sign_in,
            revoked=revoked,
            authorize=authorize,
            directory=directory,
            signer=signer,
            retention=retention,
            default_approval=default or never,
            four_eyes=bool(four_eyes),
            server=ServerOptions(hosts=hosts, origins=origins),
        )
        if copilotkit is not None:
            app.mount(CopilotKit(copilotkit))
    except DeclarationError as error:
        root.wrong(str(error))
        root.findings.raise_if_any()
        raise
    for agent in declared:
        _declare(app, agent)
    root.findings.raise_if_any()
    return app


def _texts(where: Value) -> tuple[str, ...]:
    return tuple(text for item in where.items() if (text := item.text()) is not None)


def _mount(where: Value) -> str | None:
    """The path of CopilotKit, if it is served."""
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
    values = members["jwt"].members(_JWT, required=("jwks", "issuer", "audience"))
    said = {name: value.text() or "" for name, value in values.items()}
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


def _sign_in(where: Value) -> Oidc | None:
    """The provider at which people sign in."""
    members = where.members(_SIGN_IN, required=("issuer", "client_id"))
    secret = members.get("client_secret")
    if secret is not None and not secret.is_variable:
        secret.wrong("a secret is not written out: put it into the environment, as ${OIDC_SECRET}")
        return None
    if not {"issuer", "client_id"} <= members.keys():
        return None  # what is missing has been noted
    try:
        return Oidc(**{name: value.plain() for name, value in members.items()})
    except DeclarationError as error:
        where.wrong(str(error))
        return None


def _retention(where: Value) -> Retention | None:
    """How long things are kept, and who may keep them for longer."""
    members = where.members(_RETENTION)
    try:
        return Retention(**{name: value.plain() for name, value in members.items()})
    except DeclarationError as error:
        where.wrong(str(error))
        return None


def _signer(where: Value) -> Any:
    """A signer by its import path, or one with the keys of a file."""
    if where.is_scalar:
        return _imported(where)
    members = where.members(("ed25519",), required=("ed25519",))
    path = members["ed25519"].text() if "ed25519" in members else None
    if path is None:
        return None
    try:
        return Ed25519.from_file(path)
    except DeclarationError as error:
        members["ed25519"].wrong(str(error))
        return None


def _declare(app: Sayso, agent: _Declared) -> None:
    if agent.remote is not None:
        offered = [tool for _, tool in agent.tools]
        try:
            agent.remote.mount(app, agent.name, offered, agent.arguments)
        except DeclarationError as error:
            agent.where.wrong(str(error))
        return
    function = agent.function
    tools, owner = agent.tools, None
    if agent.chat is not None:
        places = {tool: where for where, tool in reversed(tools)}
        own = agent.chat.tools([tool for _, tool in tools], app.default_approval)
        tools, owner = [(places[tool.origin], tool) for tool in own], agent.name
        function = agent.chat.agent(own)
    for where, tool in tools:
        try:
            app.add_tools(tool, agent=owner)
        except DeclarationError as error:
            where.wrong(str(error))
    try:
        app.agent(agent.name, **agent.arguments)(function)
    except DeclarationError as error:
        agent.where.wrong(str(error))


def _agents(listed: Value) -> Iterator[_Declared]:
    names: set[tuple[str, str]] = set()
    count = 0
    for item in listed.items():
        count += 1
        members = item.members(_AGENT, required=("name",))
        name = members["name"].text() if "name" in members else None
        version = members["version"].text() if "version" in members else "1"
        if name is not None and version is not None:
            if (name, version) in names:
                members["name"].wrong(
                    f"there are two agents {name!r} of version {version!r}; give the newer one "
                    "another version"
                )
            names.add((name, version))
        kind = _without_code(members.get("spec"))
        _check_import(item, members, kind)
        function = _imported(members["import"]) if "import" in members else None
        arguments: dict[str, Any] = {"version": version or "1"}
        if "description" in members:
            arguments["description"] = members["description"].text()
        if "options" in members:
            arguments |= {
                key: _legacy(value) if key == "legacy" else value.plain()
                for key, value in members["options"].members(_OPTIONS).items()
            }
        backend = None
        if "spec" in members:
            backend = _spec(members["spec"], arguments)
        chat = remote = None
        if kind == CHAT:
            chat = ChatSpec.read(members["spec"].members(_CHAT_SPEC))
        elif kind is not None:
            remote = RemoteSpec.read(members["spec"].members(_REMOTE_SPEC))
        tools = list(_tools(members, function))
        if name is not None and (function or chat or remote) is not None:
            where = members["name"]
            yield _Declared(where, name, function, tools, chat, remote, arguments, backend)
    if not count:
        listed.wrong("there is no agent in it")


def _check_import(item: Value, members: dict[str, Value], kind: str | None) -> None:
    """Note code of an agent that has none, and an agent without any that should have some."""
    if kind is not None and "import" in members:
        members["import"].wrong(f"an agent of type {kind} has no code of its own")
    elif kind is None and "import" not in members:
        item.wrong("'import' is missing")


def _legacy(where: Value) -> Legacy:
    """Read `options.legacy`; its defaults, and a note, for a value that it does not have."""
    values = {key: value.plain() for key, value in where.members(_LEGACY).items()}
    try:
        return Legacy(**values)
    except DeclarationError as error:
        where.wrong(str(error))
        return Legacy()


def _spec(spec: Value, arguments: dict[str, Any]) -> Value | None:
    """Read `spec` into arguments of `Sayso.agent`; returns where it names a backend."""
    members = spec.members(_WITHOUT_CODE.get(_without_code(spec) or "", _SPEC))
    if "type" in members and (kind := members["type"].text()) is not None:
        arguments["kind"] = kind
    if "interrupt" not in members:
        return None
    interrupt = members["interrupt"].members(_INTERRUPT)
    if "enabled" in interrupt:
        enabled = interrupt["enabled"].checked(
            lambda value: isinstance(value, bool), "true or false"
        )
        arguments["interrupts_enabled"] = enabled is not False
    if "checkpoint" not in interrupt:
        return None
    checkpoint = interrupt["checkpoint"].members(_CHECKPOINT)
    if "ttl_seconds" in checkpoint:
        arguments["expires_in"] = checkpoint["ttl_seconds"].checked(
            _is_lifetime, "seconds above zero, or null for no end"
        )
    return checkpoint.get("backend")


def _without_code(spec: Value | None) -> str | None:
    """The type of an agent that has no code, None for any other."""
    kind = None if spec is None else spec.peek("type")
    return kind if kind in _WITHOUT_CODE else None


def _is_lifetime(value: Any) -> bool:
    if value is None:
        return True
    return type(value) in (int, float) and isfinite(value) and value > 0


def _codec(named: Value | None) -> AesGcm | None:
    """The keys of the store; a file without any is noted."""
    path = None if named is None else named.text()
    if named is None or path is None:
        return None
    try:
        return AesGcm.from_file(path)
    except DeclarationError as error:
        named.wrong(str(error))
        return None


def _store(
    named: Value | None, declared: list[_Declared], override: str | None, *, shown: bool
) -> str:
    """The one store of all agents; a backend that is another's is noted.

    `shown`: what waits in Redis is shown to others, unless the URL says otherwise.
    """
    url = override if override is not None else named.text() if named is not None else None
    if url is not None and override is None and named is not None:
        try:
            open_store(url)
        except DeclarationError as error:
            named.wrong(str(error))
    scheme = None if url is None else url.partition(":")[0].lower()
    chosen = None if scheme is None else _SCHEMES.get(scheme, scheme)
    for agent in declared:
        if agent.backend is None:
            continue
        backend = agent.backend.checked(
            lambda value: value in BACKENDS, f"one of {', '.join(BACKENDS)}"
        )
        if backend is None:
            continue
        if chosen is not None and backend != chosen:
            why = "the store" if url is not None else "an agent above"
            agent.backend.wrong(
                f"is {backend!r}, but {why} is {chosen!r}: all agents of a server share one store"
            )
        if url is None and BACKENDS[backend] is None:
            agent.backend.wrong(
                f"is {backend!r}, which needs a URL: add `store:` with it to the file"
            )
        chosen = chosen or backend
        if shown and backend == "redis" and url is not None and "checkpoints=" not in url:
            url += f"{'&' if '?' in url else '?'}{CHECKPOINTS}"
    return url or BACKENDS.get(chosen or "sqlite") or "sqlite:///sayso.db"


def _tools(members: dict[str, Value], function: Any) -> Iterator[tuple[Value, Tool[..., Any]]]:
    """The tools of the agent's own module, and those that the file names."""
    own = getattr(function, "__module__", None)
    if isinstance(own, str):
        yield from ((members["import"], tool) for tool in _in_module(module_of(own)))
    for item in members["tools"].items() if "tools" in members else ():
        path = item.text()
        loaded = None if path is None else _imported(item)
        if isinstance(loaded, Tool):
            yield item, loaded
        elif isinstance(loaded, ModuleType):
            yield from ((item, tool) for tool in _in_module(loaded))
        elif loaded is not None:
            item.wrong(f"{path!r} is no tool: make it one with @app.tool() or Tool(…)")


def _in_module(module: ModuleType) -> list[Tool[..., Any]]:
    return [value for value in vars(module).values() if isinstance(value, Tool)]


def _imported(where: Value) -> Any:
    """Load what an import path of the file names; notes a problem and returns None otherwise."""
    path = where.text()
    if path is None:
        return None
    try:
        return load_object(path) if ":" in path else module_of(path)
    except ImportPathError as error:
        where.wrong(str(error))
        return None
