"""The house in figures: how much code there is, how it is cut, and how far one request walks.

    python bench/house.py

prints the table. `tests/test_house.py` holds each figure that code alone decides at the value
of today: it may get better and never worse.

    python bench/house.py --where "colourless locals"

prints the places that a figure counts, for those of `PLACES`.
"""

import ast
import asyncio
import collections
import functools
import inspect
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
import orjson

from sayso import Sayso, ServerOptions, Turn, approval

__all__ = ["FIGURES", "PLACES", "Trace", "measure", "trips"]

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "server" / "sayso"
COLOURLESS = frozenset({"found", "at", "one", "asked", "known", "wanted", "given", "told"})
"""Names of locals that say nothing of what they hold."""

SETTLE_S = 0.05
"""How long a trip is followed after its response, in seconds: what the server does afterwards."""


@functools.cache
def _sources() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "server/sayso"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    return [path for path in paths if path.suffix in {".py", ".sql", ".lua"} and path.exists()]


@functools.cache
def _trees() -> dict[str, ast.Module]:
    """Every module of the package by its dotted name."""
    trees = {}
    for path in _sources():
        if path.suffix == ".py":
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            trees[name] = ast.parse(path.read_text("utf-8"))
    return trees


def files() -> int:
    """Python, SQL and Lua files of the package."""
    return len(_sources())


def lines() -> int:
    """Their lines."""
    return sum(path.read_text("utf-8").count("\n") for path in _sources())


def long_files() -> Iterator[str]:
    """Files with more than 600 lines: is each still one idea?"""
    for path in _sources():
        count = path.read_text("utf-8").count("\n")
        if count > 600:
            yield f"{path.relative_to(ROOT)}: {count} lines"


def _imported(name: str, tree: ast.Module, modules: collections.abc.Set[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module in modules:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules else node.module


def single_importers() -> float:
    """Per cent of the modules that exactly one other module imports."""
    trees = _trees()
    importers = collections.Counter(
        used
        for name, tree in trees.items()
        for used in set(_imported(name, tree, trees.keys())) - {name}
    )
    return round(100 * sum(count == 1 for count in importers.values()) / len(trees), 1)


def duplicate_classes() -> int:
    """Names of public classes that two modules of the package define."""
    names = collections.Counter(
        node.name
        for tree in _trees().values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return sum(count > 1 for count in names.values())


def colourless_locals() -> Iterator[str]:
    """Where a name that says nothing is bound, arguments included."""
    for module, tree in _trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.arg):
                name = node.arg
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                name = node.id
            else:
                continue
            if name in COLOURLESS:
                yield f"{module} line {node.lineno}: {name}"


def roundabout_docstrings() -> Iterator[str]:
    """Docstrings that begin with "What", "Whether" or "One who" instead of a verb or a noun."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for module, tree in _trees().items():
        for node in ast.walk(tree):
            said = (ast.get_docstring(node) or "") if isinstance(node, documented) else ""
            if re.match(r"(What|Whether|One who)\b", said):
                yield f"{module} {getattr(node, 'name', 'itself')}: {said.splitlines()[0]}"


def settling_files() -> int:
    """Files that write who decided an interrupt: all of its life belongs in one.

    The records that the rules for stores are made of (`testing`) have no life.
    """
    return sum(
        any(
            isinstance(node, ast.Call)
            and any(keyword.arg == "decided_at" for keyword in node.keywords)
            and getattr(node.func, "id", getattr(node.func, "attr", "")) in {"replace", "copy_with"}
            for node in ast.walk(tree)
        )
        for name, tree in _trees().items()
        if not name.startswith("sayso.testing")
    )


def execution_parameters() -> int:
    """Parameters of the constructor of `Execution`."""
    for name, tree in _trees().items():
        if any(isinstance(node, ast.ClassDef) and node.name == "Execution" for node in tree.body):
            module = __import__(name, fromlist=["Execution"])
            return len(inspect.signature(module.Execution).parameters)
    raise LookupError("no module of the package defines Execution")


def layer_rows() -> int:
    """Rows of the import table in `tests/test_architecture.py`."""
    sys.path.insert(0, str(ROOT))
    try:
        from tests.test_architecture import BESIDE, LAYERS  # noqa: PLC0415
    finally:
        sys.path.remove(str(ROOT))
    return len(LAYERS) + len(BESIDE)


def concepts(change: str) -> Callable[[], int]:
    """Things to know for a usual change: items of its list in `docs/changing.md`."""

    def count() -> int:
        page = (ROOT / "docs" / "changing.md").read_text("utf-8")
        (section,) = re.findall(rf"^## {change}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
        return len(re.findall(r"^\d+\. ", section, re.MULTILINE))

    return count


def longest_sentences() -> Iterator[str]:
    """Sentences of the documentation with more than 35 words."""
    for page in [
        ROOT / "README.md",
        ROOT / "ARCHITECTURE.md",
        *sorted((ROOT / "docs").glob("*.md")),
    ]:
        for sentence in _sentences(page.read_text()):
            if len(sentence.split()) > 35:
                yield f"{page.name}: {sentence}"


def _sentences(text: str) -> Iterator[str]:
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for block in re.split(r"\n\s*\n", text):
        if block.lstrip().startswith(("|", "#", "<")):
            continue
        for item in re.split(r"^\s*(?:[-*]|\d+\.)\s", block, flags=re.MULTILINE):
            yield from re.split(r"(?<=[.!?])\s+", " ".join(item.split()))


@dataclass
class Trace:
    """The files of the package that code enters inside the block, and how often it changes file."""

    files: set[str] = field(default_factory=set)
    changes: int = 0
    last: str = ""

    def __enter__(self) -> "Trace":
        sys.setprofile(self._entered)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _entered(self, frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(PACKAGE)):
            self.files.add(name)
            if name != self.last:
                self.changes, self.last = self.changes + 1, name


def trips() -> dict[str, Trace]:
    """A hello, an approved call and a refused answer, each followed through the package."""
    return asyncio.run(_trips())


async def _trips() -> dict[str, Trace]:
    app = Sayso(store="memory:", server=ServerOptions(console=False))

    @app.tool(approval=approval.always)
    async def pay(amount: int) -> str:
        return f"paid {amount}"

    @app.agent("hello")
    async def hello(turn: Turn) -> None:
        await turn.say("hello")

    @app.agent("payer")
    async def payer(turn: Turn) -> None:
        await turn.say(str(await turn.call(pay, amount=5)))

    transport = httpx.ASGITransport(app)
    async with (
        app.lifespan(),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):

        async def run(agent: str, thread: str, **body: Any) -> list[dict[str, Any]]:
            first = {"id": f"m-{thread}", "role": "user", "content": "go"}
            answer = await client.post(
                f"/agents/{agent}",
                json={
                    "threadId": thread,
                    "runId": f"r-{time.perf_counter_ns()}",
                    "protocolVersion": "1.0",
                    "messages": [first],
                    "tools": [],
                    "context": [],
                    "state": {},
                    "forwardedProps": {},
                    **body,
                },
            )
            answer.raise_for_status()
            found = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
            return [orjson.loads(data) for data in found]

        def answered(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
            (question,) = events[-1]["outcome"]["interrupts"]
            return [
                {"interruptId": question["id"], "status": "resolved", "payload": {"approved": True}}
            ]

        await run("hello", "warm")
        await run("payer", "warm-2", resume=answered(await run("payer", "warm-2")))
        events = await run("payer", "t-2")
        unknown = [
            {"interruptId": "int_unknown", "status": "resolved", "payload": {"approved": True}}
        ]
        traced: dict[str, Callable[[], Awaitable[Any]]] = {
            "hello": lambda: run("hello", "t-1"),
            "refused": lambda: run("payer", "t-2", resume=unknown),
            "resume": lambda: run("payer", "t-2", resume=answered(events)),
        }
        traces = {}
        for name, trip in traced.items():
            with Trace() as trace:
                await trip()
                await asyncio.sleep(SETTLE_S)
            traces[name] = trace
        return traces


PLACES: dict[str, Callable[[], Iterator[str]]] = {
    "files with more than 600 lines": long_files,
    "colourless locals": colourless_locals,
    "roundabout docstrings": roundabout_docstrings,
    "sentences over 35 words in docs": longest_sentences,
}
"""What some of the figures count, place by place."""


def _number_of(places: Callable[[], Iterator[str]]) -> Callable[[], int]:
    return lambda: sum(1 for _ in places())


FIGURES: dict[str, tuple[Callable[[], float], float]] = {
    "files below server/sayso": (files, 270),
    "their lines": (lines, 40_000),
    "files with more than 600 lines": (_number_of(long_files), 0),
    "modules with one importer, %": (single_importers, 20),
    "rows of the layer table": (layer_rows, 16),
    "class names defined twice": (duplicate_classes, 0),
    "constructor parameters of Execution": (execution_parameters, 6),
    "files that settle an interrupt": (settling_files, 1),
    "colourless locals": (_number_of(colourless_locals), 150),
    "roundabout docstrings": (_number_of(roundabout_docstrings), 20),
    "sentences over 35 words in docs": (_number_of(longest_sentences), 0),
    "concepts of a new event": (concepts("An event"), 6),
    "concepts of a new refusal": (concepts("A refusal"), 3),
    "concepts of a new store": (concepts("A store"), 8),
}
"""What code alone decides: the figure, and the target."""

ENTERED = {"hello": 45, "refused": 20, "resume": 60}
"""Targets for the files that a trip enters."""


def changed_places(name: str) -> list[str]:
    """The places of a figure in files that are not committed as they are; all of none such."""
    listed = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=all"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    changed = {line[3:].rpartition(" -> ")[2] for line in listed.splitlines()}
    places = list(PLACES[name]()) if name in PLACES else []
    return [place for place in places if _file_of(place) in changed] or places


def _file_of(place: str) -> str:
    """The path of a file by the beginning of a place: a dotted module, a path, or a page's name."""
    name = place.split()[0].rstrip(":")
    if name.endswith(".md"):
        return name if (ROOT / name).exists() else f"docs/{name}"
    path = f"server/{name.replace('.', '/')}"
    return (
        name
        if "/" in name
        else next(
            (each for each in (f"{path}.py", f"{path}/__init__.py") if (ROOT / each).exists()), name
        )
    )


def measure() -> dict[str, tuple[float, float]]:
    """Every figure with its target, trips included."""
    figures: dict[str, tuple[float, float]] = {
        name: (figure(), target) for name, (figure, target) in FIGURES.items()
    }
    for name, trace in trips().items():
        figures[f"files entered by {name}"] = (len(trace.files), ENTERED[name])
        figures[f"changes of file by {name}"] = (trace.changes, 0)
    return figures


if __name__ == "__main__":
    if sys.argv[1:2] == ["--where"]:
        places = PLACES.get(" ".join(sys.argv[2:]))
        if places is None:
            sys.exit(f"--where takes one of these: {', '.join(PLACES)}")
        print(*places(), sep="\n")  # noqa: T201
        sys.exit()
    for title, (figure, target) in measure().items():
        print(f"{title:<38}{figure:>10,}   target {target:,}")  # noqa: T201
