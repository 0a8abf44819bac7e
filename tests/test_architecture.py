"""The import rule, and the other rules that a reader of any one file can rely on.

The packages stand on one line. A package imports only what stands to its right; inside a package
there is no order, only no cycle. A new package fails the test until a row names it.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from tests.sources import ROOT, Module, files_below, package_modules


@dataclass(frozen=True)
class Layer:
    """A package, or modules of the root, and what else binds them."""

    name: str
    modules: tuple[str, ...] = ()
    """Modules of the root that stand here; a layer without any is the package of its name."""
    pure: bool = False
    """No framework, no driver, no loop, no clock."""


LAYERS = (
    Layer("cli", ("cli.*", "__main__")),
    Layer("ops"),
    Layer(
        "frameworks",
        (
            "frameworks.*",
            "agent_framework",
            "agui",
            "langgraph",
            "mcp",
            "openai_agents",
            "pydantic_ai",
            "strands",
        ),
    ),
    Layer("app", ("app", "auth", "directory", "providers", "__init__")),
    Layer("http"),
    Layer("engine"),
    Layer("turns"),
    Layer("streams"),
    Layer("stores"),
    Layer("gate", pure=True),
    Layer("agents", pure=True),
    Layer("schemas", pure=True),
    Layer("protocol", pure=True),
    Layer("base", pure=True),
)
BESIDE = {
    # It knows the protocol and nothing of the server, so that it can stand beside any.
    "client": ("schemas", "protocol", "base"),
    "testing": tuple(layer.name for layer in LAYERS if layer.name != "cli"),
    "demo": ("testing", *(layer.name for layer in LAYERS if layer.name != "cli")),
}
"""Packages beside the line, with what they may import.

Of the line, only `cli` imports them, and `frameworks` the client: for agents that speak AG-UI.
"""
INTERFACE = ("stores.base", "stores.pieces", "stores.proxy")
KNOW_THE_INTERFACE = ("http", "engine", "turns", "streams")
"""Layers that know of storage its interface alone, and never a backend."""
BACKENDS = ("postgres", "redis", "sqlite")
"""Packages of `stores` that know nothing of each other."""
PURE_MODULES = (
    "stores.step",
    "streams.ending",
    "streams.textstream",
    "turns.input",
    "turns.journal.*",
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
EXEMPT = {"base.clock": {"asyncio", "threading", "time"}}
"""The one module that other code gets its time from."""

MAX_LINES = 800
COUNTED = {".css", ".html", ".js", ".mjs", ".py", ".sql", ".ts", ".tsx"}

SDK = "ag_ui"
SDK_IN_THE_PACKAGE = 1
SDK_JUDGE = "tests/judge.py"
"""The one test module that asks the protocol's own SDK for its opinion."""
SDK_PRODUCERS = "tests/frameworks/agui/producers.py"
"""The one whose agents are written with the SDK, as those of its users are."""

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


def layer_of(module: str) -> str | None:
    """The layer that a module stands in, or the package beside the line."""
    package = module.partition(".")[0]
    for layer in LAYERS:
        if module in layer.modules or package == layer.name:
            return layer.name
        if f"{package}.*" in layer.modules:
            return layer.name
    return package if package in BESIDE else None


def may_import(layer: str, other: str) -> bool:
    """True if modules of one layer may import those of another."""
    if layer == other:
        return True
    if layer in BESIDE:
        return other in BESIDE[layer]
    if other in BESIDE:
        return layer == "cli" or (layer, other) == ("frameworks", "client")
    line = [each.name for each in LAYERS]
    return line.index(layer) < line.index(other)


def wrong_imports(modules: dict[str, Module]) -> list[str]:
    """Every import that the line does not allow, in words."""
    wrong = []
    for module in modules.values():
        layer = layer_of(module.name)
        for used in sorted(module.uses):
            other = layer_of(used)
            if layer is None or other is None:
                continue
            barred = layer in KNOW_THE_INTERFACE and other == "stores" and used not in INTERFACE
            if barred or not may_import(layer, other) or _backends_meet(module.name, used):
                wrong.append(f"{module.name} ({layer}) imports {used} ({other})")
    return wrong


def _backends_meet(module: str, used: str) -> bool:
    """True if one backend imports another, or what they share imports one; `stores` picks one."""
    own, other = module.split("."), used.split(".")
    if own[0] != "stores" or other[0] != "stores" or len(own) < 2 or len(other) < 2:
        return False
    return other[1] in BACKENDS and other[1] != own[1]


def is_pure(module: str) -> bool:
    """True if a module stands in a pure layer, or is pure by itself."""
    layer = layer_of(module)
    if any(each.pure for each in LAYERS if each.name == layer):
        return True
    return any(
        module == name or (name.endswith(".*") and module.startswith(name[:-1]))
        for name in PURE_MODULES
    )


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
    """A new package is placed by its author, not by accident (design 10)."""
    homeless = [name for name in package_modules() if layer_of(name) is None]
    assert not homeless, f"place these in LAYERS in {__file__}: {', '.join(homeless)}"


def test_the_table_names_only_what_exists() -> None:
    """A row that outlives its package would let a later one in unseen."""
    modules = package_modules()
    standing = {layer_of(name) for name in modules}
    stale = [name for name in (*(layer.name for layer in LAYERS), *BESIDE) if name not in standing]
    for name in PURE_MODULES:
        prefix = name.removesuffix("*")
        stale += [] if any(module.startswith(prefix) for module in modules) else [name]
    assert not stale, f"no such module, so remove from the table: {', '.join(stale)}"


def test_imports_point_to_the_right() -> None:
    """Along the line, and from edges and engine to the interface of storage alone (design 10)."""
    wrong = wrong_imports(package_modules())
    assert not wrong, "imports against the line:\n" + "\n".join(wrong)


def test_no_module_imports_itself_in_the_end() -> None:
    """Packages order their own inside, but never in a circle."""
    cycle = cycle_in({name: module.uses for name, module in package_modules().items()})
    assert not cycle, " -> ".join(cycle)


def test_pure_modules_touch_no_framework_driver_or_clock() -> None:
    """So that they can be tested by value, at any time of day."""
    found = []
    for name, module in package_modules().items():
        if is_pure(name):
            found += impurities(module)
    assert not found, "\n".join(found)


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    """A file is one idea: past 800 lines it says why, in a sentence that begins with `One idea`.

    `bench/house.py` counts those past 600 already: look for a second idea.
    """
    long = {}
    for path in files_below("server", "web", "tests", "e2e", "scripts", "examples"):
        if path.suffix in COUNTED:
            length = (text := path.read_text("utf-8")).count("\n")
            if length > MAX_LINES and not (path.suffix == ".py" and explains_its_length(text)):
                long[str(path.relative_to(ROOT))] = length
    assert not long, f"longer than {MAX_LINES} lines, and no reason is given: {long}"


def explains_its_length(source: str) -> bool:
    """True if the docstring of this module says why it is long."""
    return "One idea" in (ast.get_docstring(ast.parse(source)) or "")


def test_every_test_file_holds_a_test() -> None:
    """An empty one passes whatever the product does; a class may have its tests from another."""
    holds = {
        ".py": re.compile(r"^(?:async )?def test_|^class Test\w+\(\w", re.MULTILINE),
        ".ts": re.compile(r"\b(?:it|test)(?:\.each\b.*)?[(`]"),
    }
    holds |= dict.fromkeys((".tsx", ".mjs"), holds[".ts"])
    empty = [
        str(path.relative_to(ROOT))
        for path in files_below("tests", "e2e", "web")
        if path.suffix in holds
        and (path.name.startswith("test_") or path.stem.endswith(".test"))
        and not holds[path.suffix].search(path.read_text("utf-8"))
    ]
    assert not empty, f"without a test: {empty}"


def test_the_protocol_sdk_is_imported_in_one_place() -> None:
    """One module of the package at most, and one judge among the tests (design 10)."""
    users = []
    for path in files_below("server", "tests", "e2e"):
        if path.suffix != ".py" or SDK not in (text := path.read_text("utf-8")):
            continue
        if any(name.partition(".")[0] == SDK for name in _imported(ast.parse(text))):
            users.append(str(path.relative_to(ROOT)))
    in_package = [path for path in users if path.startswith("server/")]
    known = (SDK_JUDGE, SDK_PRODUCERS)
    elsewhere = [path for path in users if not path.startswith("server/") and path not in known]
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
        ("base.errors", "agents.tools"),
        ("schemas.schema", "agents.tools"),
        ("protocol.frames", "gate.rights"),
        ("turns.replay.branch", "stores.sqlite.memory"),
        ("engine.engine", "stores"),
        ("stores.sqlite.memory", "turns.replay.branch"),
        ("stores.base", "turns.replay.branch"),
        ("stores.sql.ops", "stores.sqlite.session"),
        ("stores.redis.store", "stores.sqlite.memory"),
        ("agents.tools", "__init__"),
        ("client.client", "gate.interrupts"),
        ("ops.serving", "demo.app"),
        ("demo.app", "cli.main"),
    ],
)
def test_the_rule_sees_an_import_against_it(importer: str, imported: str) -> None:
    """To the left, between backends, from the engine to one, and by the package's front door."""
    modules = {importer: _module(importer, [imported]), imported: _module(imported)}
    assert wrong_imports(modules)


def test_the_rule_lets_imports_to_the_right_be() -> None:
    """Wiring picks a backend, packages use their own inside."""
    modules = {
        "app": _module("app", ["stores", "stores.sqlite.memory", "turns.replay.branch"]),
        "stores": _module("stores", ["stores.sqlite.memory"]),
        "cli.main": _module("cli.main", ["client", "demo.start"]),
        "turns.replay.branch": _module(
            "turns.replay.branch", ["turns.replay.effects", "stores.base"]
        ),
    }
    assert wrong_imports(modules) == []


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


ADAPTERS = "frameworks"
"""The package of what adapts other people's agents: it knows what an author knows."""
SURFACE = ("__init__", "client", "providers")
"""What is public of this package: the front door, the client, and what models are asked by."""
FRAMEWORKS = frozenset(
    {
        "ag_ui",
        "agent_framework",
        "agents",
        "anthropic",
        "google",
        "langchain",
        "langchain_core",
        "langgraph",
        "mcp",
        "openai",
        "pydantic_ai",
        "strands",
    }
)
"""Top-level packages of frameworks, and of SDKs that they are used with."""


def off_the_surface(modules: Iterable[Module]) -> list[str]:
    """Every import by which an adapter reaches into the engine, or another module for one."""
    wrong = []
    for module in modules:
        adapts = module.name.partition(".")[0] == ADAPTERS
        for used in sorted(module.uses):
            top = used.partition(".")[0]
            if adapts and top not in (ADAPTERS, *SURFACE):
                wrong.append(f"{module.name} imports {used}: adapters use what authors do")
        tops = {name.partition(".")[0] for name in module.imports}
        if not adapts:
            wrong += [
                f"{module.name} imports {top}, which only adapters do"
                for top in sorted(tops & FRAMEWORKS)
            ]
        if adapts and module.name.count(".") == 0:
            wrong += [
                f"{module.name} imports {top} before it is asked for"
                for top in sorted(tops & FRAMEWORKS)
            ]
    return wrong


def test_adapters_of_frameworks_stand_on_the_public_surface() -> None:
    """They use what an author of agents could, and nobody else imports a framework."""
    wrong = off_the_surface(package_modules().values())
    assert not wrong, "\n".join(wrong)


def test_importing_the_package_imports_no_framework() -> None:
    """Who has none of them installed, or waits for a command, does not pay for one."""
    code = "import sys, sayso, sayso.cli.main; print(*sys.modules)"
    printed = subprocess.run(  # noqa: S603 - our own package
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    loaded = {name.partition(".")[0] for name in printed.stdout.split()}
    assert not loaded & FRAMEWORKS


@pytest.mark.parametrize(
    ("name", "uses", "source"),
    [
        ("frameworks.langgraph.mount", ["turns.turn"], ""),
        ("frameworks.mcp", ["agents.tools"], ""),
        ("frameworks.strands", ["testing"], ""),
        ("frameworks.mcp", ["base.errors"], "from sayso.base.errors import TurnError"),
        ("frameworks", [], "import langgraph"),
        ("turns.turn", [], "from pydantic_ai import Agent"),
        ("app", [], "def late():\n    import mcp.types"),
    ],
)
def test_the_rule_sees_what_is_off_the_surface(name: str, uses: list[str], source: str) -> None:
    """An adapter that reaches inside, and a framework outside of the adapters."""
    assert off_the_surface([_module(name, uses, source)])


def test_the_rule_lets_adapters_use_what_is_public() -> None:
    """The front door, the client, each other, and their framework."""
    uses = ["__init__", "client.events", "frameworks.langgraph.saver", "providers"]
    source = "from langgraph.graph import StateGraph\nfrom sayso import Turn"
    assert off_the_surface([_module("frameworks.langgraph.mount", uses, source)]) == []
