"""The pages for auditors: whatever they cite as proof is there to be run."""

import ast
import re

import pytest

from tests.sources import ROOT, files_below

PAGES = ("docs/threats.md", "docs/security.md")
CITED = re.compile(r"`(test_\w+|(?:tests|e2e)/[\w/.]+)`")


def written() -> set[str]:
    """The names of all tests in Python."""
    return {
        node.name
        for folder in ("tests", "e2e")
        for path in files_below(folder)
        if path.suffix == ".py"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    }


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_is_cited_exists(page: str) -> None:
    """One that was renamed or removed would leave a claim without a proof."""
    cited = CITED.findall((ROOT / page).read_text("utf-8"))
    assert len(cited) >= 20
    there = written()
    missing = [
        name
        for name in cited
        if not (name in there if name.startswith("test_") else (ROOT / name).exists())
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_every_claim_has_a_test(page: str) -> None:
    """A row of a table without one claims what nobody looks at."""
    rows = re.findall(r"^\| (?!-)(.*) \|$", (ROOT / page).read_text("utf-8"), re.M)
    bare = [row for row in rows if "the test that shows it" not in row and not CITED.search(row)]
    assert [row for row in bare if not set(row) <= set("-| ")] == []
