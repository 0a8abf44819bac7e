"""The import rule, and the other rules that a reader of any one file can rely on.

The table is the architecture. Layers stand top to bottom, and so do the rows inside a layer: a
module imports from lower rows only, never from its own. `name.*` is a package whose inside is its
own business, cycles excepted. A new module fails the test until a row names it.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from tests.sources import ROOT, Module, files_below, package_modules


@dataclass(frozen=True)
class Layer:
    """Rows of modules, and what else binds them."""

    name: str
    rows: tuple[str, ...]
    only: tuple[str, ...] | None = None
    """The lower layers it may use; all of them when not given."""
    pure: bool = False
    """No framework, no driver, no loop, no clock."""


LAYERS = (
    Layer(
        "command",
        (
            "__main__",
            "cli",
            "commands.agents commands.audit commands.chat commands.seal commands.serve",
            "commands.conversation commands.endpoint commands.threads",
            "commands.listening commands.questions commands.telling",
            "commands.forms",
            "commands.fields commands.terminal",
            "commands.checks commands.output commands.session",
            "commands.target",
        ),
    ),
    Layer("demo", ("demo.*", "testing.*")),
    # It knows the protocol and nothing of the server, so that it can stand beside any.
    Layer("client", ("client", "client.client"), only=("pure", "base")),
    Layer("serving", ("agentfile supervisor", "binding importing serving yamlfile", "loops")),
    Layer("wiring", ("__init__", "app auth", "catalogue jsonwebtokens")),
    # Above edges and engine, so that neither can import a backend: they know `stores.base`.
    Layer(
        "storage",
        (
            "stores",
            "stores.memory.* stores.postgres.* stores.redis.* stores.sqlite.*",
            "stores.sql.*",
            "stores.changes stores.hints stores.pages stores.text",
        ),
        only=("interface", "pure", "base"),
    ),
    Layer("edges", ("http.*",)),
    Layer(
        "engine",
        (
            "engine.engine",
            "engine.repairs",
            "engine.edits engine.forks engine.restarts engine.sessions",
            "engine.desk engine.sweeper engine.threads",
            "engine.approvals engine.audit engine.inbox engine.live",
            "engine.attendance engine.reminders engine.standing",
            "engine.runner",
            "engine.stopping",
            "turns.*",
            "engine.claims streams.stream",
            "engine.health engine.measured",
            "engine.bell engine.breakpoints engine.judge engine.leases streams.reader",
        ),
    ),
    Layer("interface", ("stores.base",), only=("pure", "base")),
    Layer(
        "pure",
        (
            "client.stream",
            "client.events client.order client.thread",
            "client.answers client.chunks client.fields client.frames",
            "client.errors",
            "agents.decisions agents.tools protocol.opening schemas.states streams.textstream",
            "turns.copies",
            "agents.parameters",
            "protocol.ending protocol.guard schemas.forms",
            "gate.desk gate.ladder gate.sessions agents.turninput",
            "gate.attribution gate.decisions gate.steering",
            "gate.situation",
            "gate.settled gate.spoken",
            "gate.answers gate.expiry gate.held gate.history gate.refusals schemas.typed",
            "gate.approvers gate.frontend protocol.peers",
            "protocol.runinput schemas.schema",
            "protocol.legacy protocol.messages schemas.cleaning schemas.misfits",
            "protocol.forward_compat schemas.subschemas",
            "agents.approval",
            "agents.policy",
            "agents.remembering",
            "agents.likeness",
            "agents.asking agents.codec agents.outcomes agents.parts agents.registry",
            "agents.wording",
            "protocol.generations protocol.usage",
            "protocol.frames protocol.interrupts protocol.shapes",
            "protocol.abridging",
            "turns.journal turns.marks turns.turnstate",
            "jsonpatch",
        ),
        pure=True,
    ),
    Layer(
        "base",
        (
            "options",
            "audit breakpoints keepalive limits logs metrics seals",
            "votes",
            "clock errors jsonvalue records rows",
            "approvals making",
            "agents commands engine gate protocol schemas streams",
        ),
        pure=True,
    ),
)

IMPURE = {
    "asyncio": "pure code does not wait",
    "httptools": "a framework",
    "httpx": "a framework",
    "psycopg": "a driver",
    "redis": "a driver",
    "sqlite3": "a driver",
    "starlette": "a framework",
    "threading": "pure code does not share",
    "time": "a clock: take the time as an argument",
    "typer": "a framework",
    "uvicorn": "a framework",
    "uvloop": "a framework",
}
CLOCK_CALLS = {"now", "utcnow", "today"}
EXEMPT = {"clock": {"asyncio", "threading", "time"}}
"""The one module that other code gets its time from."""

LONGEST = 400
COUNTED = {".css", ".html", ".js", ".mjs", ".py", ".sql", ".ts", ".tsx"}

SDK = "ag_ui"
SDK_IN_THE_PACKAGE = 1
SDK_JUDGE = "tests/judge.py"
"""The one test module that asks the protocol's own SDK for its opinion."""

# Written in halves, so that this file does not hold what it looks for.
FORBIDDEN_TEXT = (
    "registry." + "npmjs.org",
    "pypi." + "org",
    "python" + "hosted.org",
    "deb." + "debian.org",
    "/wo" + "rk/",
    "/ro" + "ot/",
    "/ho" + "me/",
)


def places(layers: Iterable[Layer]) -> dict[str, tuple[int, Layer]]:
    """Every name in the table with its height (0 is the top) and its layer."""
    rows = [(row, layer) for layer in layers for row in layer.rows]
    return {
        name: (height, layer) for height, (row, layer) in enumerate(rows) for name in row.split()
    }


def place_of(module: str, table: dict[str, tuple[int, Layer]]) -> str | None:
    """The name in the table that stands for a module: its own, or the `.*` of a package."""
    parts = module.split(".")
    packages = (".".join(parts[:length]) + ".*" for length in range(len(parts), 0, -1))
    return next((name for name in (module, *packages) if name in table), None)


def wrong_imports(modules: dict[str, Module], layers: tuple[Layer, ...]) -> list[str]:
    """Every import that the table does not allow, in words."""
    table = places(layers)
    found = []
    for module in modules.values():
        own = place_of(module.name, table)
        for used in sorted(module.uses):
            other = place_of(used, table)
            if own is None or other is None or (own == other and own.endswith(".*")):
                continue
            (height, layer), (depth, lower) = table[own], table[other]
            barred = layer.only is not None and lower is not layer and lower.name not in layer.only
            if depth <= height or barred:
                found.append(f"{module.name} ({layer.name}) imports {used} ({lower.name})")
    return found


def cycle_in(uses: dict[str, frozenset[str]]) -> list[str]:
    """One import cycle, as the modules along it, or nothing."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for used in sorted(uses.get(name, ())):
            if found := visit(used, [*path, name]):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(uses) if (found := visit(name, []))), [])


def impurities(module: Module) -> list[str]:
    """What a pure module must not touch, in words."""
    allowed = EXEMPT.get(module.name, set())
    tops = {name.partition(".")[0] for name in module.imports} - allowed
    found = [f"{module.name} imports {top}: {IMPURE[top]}" for top in sorted(tops & set(IMPURE))]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = ast.unparse(node.func.value).rpartition(".")[2]
            if node.func.attr in CLOCK_CALLS and owner in {"date", "datetime"}:
                found.append(
                    f"{module.name}:{node.lineno} reads the clock: take the time as an argument"
                )
    return found


def test_every_module_has_its_place() -> None:
    """A new module is placed by its author, not by accident (design 10)."""
    table = places(LAYERS)
    homeless = [name for name in package_modules() if place_of(name, table) is None]
    assert not homeless, f"place these in LAYERS in {__file__}: {', '.join(homeless)}"


def test_the_table_names_only_what_exists() -> None:
    """A row that outlives its module would let a later one in unseen."""
    modules = package_modules()
    table = places(LAYERS)
    found = {place_of(name, table) for name in modules}
    stale = [name for name in table if name not in found]
    assert not stale, f"no such module, so remove from LAYERS: {', '.join(stale)}"


def test_imports_point_downward() -> None:
    """From higher rows to lower ones, and from storage to its interface alone (design 10)."""
    wrong = wrong_imports(package_modules(), LAYERS)
    assert not wrong, "imports against the table:\n" + "\n".join(wrong)


def test_no_module_imports_itself_in_the_end() -> None:
    """Packages order their own inside, but never in a circle."""
    cycle = cycle_in({name: module.uses for name, module in package_modules().items()})
    assert not cycle, " -> ".join(cycle)


def test_pure_modules_touch_no_framework_driver_or_clock() -> None:
    """So that they can be tested by value, at any time of day."""
    table = places(LAYERS)
    found = []
    for name, module in package_modules().items():
        place = place_of(name, table)
        if place is not None and table[place][1].pure:
            found += impurities(module)
    assert not found, "\n".join(found)


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    """At most 400 lines, tests included (design 10)."""
    lengths = {
        str(path.relative_to(ROOT)): path.read_text("utf-8").count("\n")
        for path in files_below("server", "web", "tests", "e2e", "scripts", "examples")
        if path.suffix in COUNTED
    }
    long = {path: length for path, length in lengths.items() if length > LONGEST}
    assert not long, f"longer than {LONGEST} lines: {long}"


def test_the_protocol_sdk_is_imported_in_one_place() -> None:
    """One module of the package at most, and one judge among the tests (design 10)."""
    users = []
    for path in files_below("server", "tests", "e2e"):
        if path.suffix == ".py":
            tree = ast.parse(path.read_text("utf-8"))
            if any(name.partition(".")[0] == SDK for name in _imported(tree)):
                users.append(str(path.relative_to(ROOT)))
    in_package = [path for path in users if path.startswith("server/")]
    elsewhere = [path for path in users if not path.startswith("server/") and path != SDK_JUDGE]
    assert len(in_package) <= SDK_IN_THE_PACKAGE, f"{SDK} is imported by {in_package}"
    assert not elsewhere, f"{SDK} belongs in {SDK_JUDGE}, not in {elsewhere}"


def test_no_file_names_a_registry_or_a_machine() -> None:
    """Any mirror serves a fresh clone, wherever it lies (design 10)."""
    found = []
    for path in files_below("."):
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue  # a picture or a font
        found += [f"{path.relative_to(ROOT)}: {word}" for word in FORBIDDEN_TEXT if word in text]
    assert not found, "\n".join(found)


def _imported(tree: ast.Module) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or ""


def _module(name: str, uses: Iterable[str] = (), source: str = "") -> Module:
    tree = ast.parse(source)
    return Module(name, frozenset(_imported(tree)), frozenset(uses), tree)


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("errors", "agents.tools"),
        ("records", "errors"),
        ("turns.branch", "stores.memory.store"),
        ("stores.memory.store", "turns.branch"),
        ("stores.base", "turns.branch"),
        ("stores.sql.ops", "stores.sqlite.session"),
        ("agents.tools", "__init__"),
    ],
)
def test_the_rule_sees_an_import_against_it(importer: str, imported: str) -> None:
    """Upward, sideways, engine to backend, backend to engine, and the package's own front door."""
    modules = {importer: _module(importer, [imported]), imported: _module(imported)}
    assert wrong_imports(modules, LAYERS)


def test_the_rule_lets_downward_imports_be() -> None:
    """Wiring picks a backend, packages use their own inside."""
    modules = {
        "app": _module("app", ["stores.memory.store", "turns.branch"]),
        "turns.branch": _module("turns.branch", ["turns.effects", "tools", "stores.base"]),
    }
    assert wrong_imports(modules, LAYERS) == []


def test_the_rule_sees_a_cycle() -> None:
    """Also a longer one, and it names the way round."""
    uses = {"a": frozenset("b"), "b": frozenset("c"), "c": frozenset("a"), "d": frozenset("a")}
    assert cycle_in(uses) == ["a", "b", "c", "a"]


@pytest.mark.parametrize(
    "source", ["import time", "from asyncio import sleep", "datetime.now(UTC)"]
)
def test_the_rule_sees_impure_code(source: str) -> None:
    """An import of a clock or a loop, and a clock that came with datetime."""
    assert impurities(_module("gate", source=source))
