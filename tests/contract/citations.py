"""Where tests cite rules and cases.

Python tests cite rules by decorator and cases in their docstring, web tests both in brackets.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHON_TESTS = ("tests", "e2e")
WEB_TESTS = ("web", "tests", "e2e")
WEB_TEST_NAME = re.compile(r"\.(test|spec)\.(ts|tsx|mjs|js)$")
RULE = r"[A-Z]{2}-\d+"
IN_BRACKETS = re.compile(rf"\[({RULE}(?:,\s*{RULE})*)\]")
CASE = r"\b[A-V]\d{1,2}\b"
LISTED = re.compile(rf"\[((?:{RULE}|{CASE})(?:,\s*(?:{RULE}|{CASE}))*)\]")
NOT_SOURCES = {"node_modules", "dist", "coverage", "__pycache__"}

Citations = dict[str, set[str]]
"""Rule id to the places that cite it, each `path::test` or `path` for web tests."""


@cache
def citations() -> Citations:
    """Every citation of a rule in the checkout."""
    return _gathered(cited_in_python, cited_in_web)


@cache
def cases_cited() -> Citations:
    """Every citation of a case in the checkout."""
    return _gathered(cases_in_python, cases_in_web)


def _gathered(
    in_python: Callable[[str], Iterator[tuple[str, str]]], in_web: Callable[[str], Iterator[str]]
) -> Citations:
    found: Citations = defaultdict(set)
    for path in _files(PYTHON_TESTS):
        if path.suffix == ".py":
            for cited, test in in_python(path.read_text("utf-8")):
                found[cited].add(f"{path.relative_to(ROOT)}::{test}")
    for path in _files(WEB_TESTS):
        if WEB_TEST_NAME.search(path.name):
            for cited in in_web(path.read_text("utf-8")):
                found[cited].add(str(path.relative_to(ROOT)))
    return dict(found)


def cited_in_python(source: str) -> Iterator[tuple[str, str]]:
    """Rule and test name of every `@requirement(...)` on a test function."""
    for test in _tests(source):
        for decorator in test.decorator_list:
            yield from ((rule, test.name) for rule in _rules_of(decorator))


def cases_in_python(source: str) -> Iterator[tuple[str, str]]:
    """Case and test name of every case that the docstring of a test function names."""
    for test in _tests(source):
        for case in re.findall(CASE, ast.get_docstring(test) or ""):
            yield case, test.name


def _tests(source: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("test_"):
            yield node


def cited_in_web(source: str) -> Iterator[str]:
    """Every rule id in brackets, alone or in a list: `[CL-01]`, `[CL-01, CL-02]`."""
    for match in IN_BRACKETS.finditer(source):
        yield from re.findall(RULE, match[1])


def cases_in_web(source: str) -> Iterator[str]:
    """Every case in brackets, alone or in a list: `[A1]`, `[CL-01, A1]`."""
    for match in LISTED.finditer(source):
        yield from re.findall(CASE, match[1])


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
