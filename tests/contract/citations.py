"""Where tests cite rules: Python tests by decorator, web tests by an id in brackets."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHON_TESTS = ("tests", "e2e")
WEB_TESTS = ("web", "tests", "e2e")
WEB_TEST_NAME = re.compile(r"\.(test|spec)\.(ts|tsx|mjs|js)$")
RULE = r"[A-Z]{2}-\d+"
IN_BRACKETS = re.compile(rf"\[({RULE}(?:,\s*{RULE})*)\]")
NOT_SOURCES = {"node_modules", "dist", "coverage", "__pycache__"}

Citations = dict[str, set[str]]
"""Rule id to the places that cite it, each `path::test` or `path` for web tests."""


def citations() -> Citations:
    """Every citation in the checkout."""
    found: Citations = defaultdict(set)
    for path in _files(PYTHON_TESTS):
        if path.suffix == ".py":
            for rule, test in cited_in_python(path.read_text("utf-8")):
                found[rule].add(f"{path.relative_to(ROOT)}::{test}")
    for path in _files(WEB_TESTS):
        if WEB_TEST_NAME.search(path.name):
            for rule in cited_in_web(path.read_text("utf-8")):
                found[rule].add(str(path.relative_to(ROOT)))
    return dict(found)


def cited_in_python(source: str) -> Iterator[tuple[str, str]]:
    """Rule and test name of every `@requirement(...)` on a test function."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
            "test_"
        ):
            for decorator in node.decorator_list:
                yield from ((rule, node.name) for rule in _rules_of(decorator))


def cited_in_web(source: str) -> Iterator[str]:
    """Every rule id in brackets, alone or in a list: `[CL-01]`, `[CL-01, CL-02]`."""
    for match in IN_BRACKETS.finditer(source):
        yield from re.findall(RULE, match[1])


def _rules_of(decorator: ast.expr) -> Iterator[str]:
    if (
        isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Name)
        and decorator.func.id == "requirement"
    ):
        for argument in decorator.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield argument.value


def _files(folders: tuple[str, ...]) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and not NOT_SOURCES.intersection(path.parts):
                yield path
