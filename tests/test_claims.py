"""The pages for auditors: whatever they cite as proof is there to be run."""

import re
from functools import cache

import pytest

from tests.sources import ROOT, files_below

PAGES = ("docs/threats.md", "docs/security.md")
"""Those whose every claim has to have a test."""
CITED = re.compile(r"`(test_\w+|(?:tests|e2e)/[\w/.]+|testing/[\w/.]+)`")
WRITTEN = re.compile(r"^\s*(?:async )?def (test_\w+)", re.MULTILINE)


@cache
def written() -> set[str]:
    """The names of all tests in Python."""
    return {
        name
        for folder in ("tests", "e2e")
        for path in files_below(folder)
        if path.suffix == ".py"
        for name in WRITTEN.findall(path.read_text("utf-8"))
    }


def is_there(cited: str) -> bool:
    """True for a test, or a file of tests, that is there to be run."""
    if cited.startswith("testing/"):
        return (ROOT / "server/sayso" / cited).exists()
    return (ROOT / cited).exists() or cited in written()


def pages() -> list[str]:
    """The pages that cite tests."""
    paths = [*sorted((ROOT / "docs").glob("*.md")), *ROOT.glob("*.md")]
    names = (str(path.relative_to(ROOT)) for path in paths if CITED.search(path.read_text("utf-8")))
    return [name for name in names if name != "CHANGELOG.md"]


@pytest.mark.parametrize("page", pages())
def test_every_test_that_is_cited_exists(page: str) -> None:
    """One that was renamed or removed would leave a claim without a proof."""
    cited = CITED.findall((ROOT / page).read_text("utf-8"))
    assert len(cited) >= 20 or page not in PAGES
    assert [name for name in cited if not is_there(name)] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_claim_has_a_test(page: str) -> None:
    """A row of a table without one claims what nobody looks at."""
    rows = re.findall(r"^\| (?!-)(.*) \|$", (ROOT / page).read_text("utf-8"), re.MULTILINE)
    bare = [row for row in rows if "the test that shows it" not in row and not CITED.search(row)]
    assert [row for row in bare if not set(row) <= set("-| ")] == []


def test_every_claim_about_the_trail_has_a_test() -> None:
    """The table of the audit trail has a column for it: a test, a file of tests, or "the same"."""
    text = (ROOT / "docs/audit.md").read_text("utf-8")
    table = text[text.index("| ") : text.index("## What was shown")]
    shows = [row.split(" | ")[-1] for row in re.findall(r"^\| (?!-)(.*) \|$", table, re.MULTILINE)]
    assert len(shows) > 10
    assert [cell for cell in shows[1:] if not CITED.search(cell) and cell != "the same"] == []
