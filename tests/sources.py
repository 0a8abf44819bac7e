"""The checkout as text: which files are ours, and what Python modules import."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "server" / "sayso"
NOT_OURS = {
    ".cache",
    ".git",
    ".hypothesis",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".sayso",
    ".venv",
    "__pycache__",
    "coverage",
    "dist",
    "node_modules",
}


def files_below(*folders: str) -> Iterator[Path]:
    """Every file of ours below these folders of the checkout, `"."` for all of it."""
    for folder in folders:
        for path in sorted((ROOT / folder).iterdir()):
            if path.is_dir() and path.name not in NOT_OURS:
                yield from files_below(str(path.relative_to(ROOT)))
            elif path.is_file():
                yield path


@dataclass(frozen=True)
class Module:
    """A module of the package and everything that it imports, wherever in the file."""

    name: str
    """Its name below `sayso.`: `stores.base`; a package's own is `stores`; the top's `__init__`."""
    imports: frozenset[str]
    """Absolute dotted names as written: `sayso.base.records`, `time`."""
    uses: frozenset[str]
    """The modules of this package among them, by their name below `sayso.`."""
    tree: ast.Module


@cache
def package_modules(package: Path = PACKAGE) -> dict[str, Module]:
    """Every module of the package, by name; read once."""
    paths = {_name(path, package): path for path in sorted(package.rglob("*.py"))}
    return {name: _read(name, path, frozenset(paths)) for name, path in paths.items()}


def _name(path: Path, package: Path) -> str:
    parts = path.relative_to(package).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _read(name: str, path: Path, known: frozenset[str]) -> Module:
    tree = ast.parse(path.read_text("utf-8"))
    top = "" if name == "__init__" else name
    home = top if path.name == "__init__.py" else top.rpartition(".")[0]
    written: set[str] = set()
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                written.add(alias.name)
                used.add(_inside(alias.name, known))
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(node, home)
            written.add(source)
            for alias in node.names:
                used.add(_inside(f"{source}.{alias.name}", known))
    return Module(name, frozenset(written), frozenset(used - {"", name}), tree)


def _absolute(node: ast.ImportFrom, home: str) -> str:
    if node.level == 0:
        return node.module or ""
    parts = ["sayso", *home.split(".")] if home else ["sayso"]
    parts = parts[: len(parts) - (node.level - 1)]
    return ".".join([*parts, node.module] if node.module else parts)


def _inside(dotted: str, known: frozenset[str]) -> str:
    """The longest module of ours that a dotted name stands for, or nothing."""
    top, _, rest = dotted.partition(".")
    if top != "sayso":
        return ""
    while rest and rest not in known:
        rest = rest.rpartition(".")[0]
    return rest or "__init__"
