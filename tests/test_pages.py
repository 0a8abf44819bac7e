"""What the pages of this repository point at is there."""

import re
from pathlib import Path

import pytest

from sayso import Sayso, Turn
from sayso.protocol.reasons import CLIENT_TOOL
from tests.contract.rest import routes_of
from tests.sources import PACKAGE, ROOT
from tests.test_architecture import LAYERS

LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#([^)\s]+))?\)")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "web/react/README.md"])
CONCEPTS = {"An event": 6, "A refusal": 3, "A store": 8}
"""At most so many things to know for a change."""


def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub links to them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    """To a file or folder of the checkout, and to a heading of it where it names one."""
    wrong = []
    for target, anchor in LINK.findall(page.read_text("utf-8")):
        path = (page.parent / target).resolve()
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
            wrong.append(f"{target}#{anchor}" if anchor else target)
    assert wrong == []


@pytest.mark.parametrize("change", CONCEPTS)
def test_a_usual_change_takes_few_concepts(change: str) -> None:
    """Each item of its list says where: a file that exists, or the rule behind it."""
    page = (ROOT / "docs" / "changing.md").read_text("utf-8")
    (section,) = re.findall(rf"^## {change}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    items = re.findall(r"^\d+\. ", section, re.MULTILINE)
    assert 0 < len(items) <= CONCEPTS[change]


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "docs/design.md"])
def test_every_module_that_a_page_names_exists(name: str) -> None:
    packages = "|".join(layer.name for layer in LAYERS)
    named = re.findall(rf"`((?:{packages})/[\w/]+)`", (ROOT / name).read_text("utf-8"))
    wrong = [
        module
        for module in named
        if not (PACKAGE / module).is_dir() and not (PACKAGE / f"{module}.py").is_file()
    ]
    assert wrong == []


def test_the_architecture_shows_the_line_of_packages() -> None:
    line = " → ".join(layer.name for layer in LAYERS)
    assert line in (ROOT / "ARCHITECTURE.md").read_text("utf-8")


def test_the_page_about_http_has_a_row_for_every_route() -> None:
    """By its path; `…/assign` stands for a path like the one before it."""
    page = (ROOT / "docs" / "http.md").read_text("utf-8")
    (table,) = re.findall(r"^## Paths\n(.*?)(?=^## )", page, re.MULTILINE | re.DOTALL)
    shown = {re.sub(r"\{.*?\}", "{}", path) for path in re.findall(r"[/…][^\s`?;,]*", table)}
    missing = [
        path
        for _, path in routes_of(Sayso(store="memory:"))
        if re.sub(r"\{.*?\}", "{}", path) not in shown and f"…/{path.split('/')[-1]}" not in shown
    ]
    assert missing == []


def test_the_page_about_agents_names_all_that_a_turn_can_do() -> None:
    """As `turn.name` in text or code, or by its name alone."""
    page = (ROOT / "docs" / "agents.md").read_text("utf-8")
    verbs = [name for name in vars(Turn) if not name.startswith("_")]
    assert [verb for verb in verbs if not re.search(rf"\bturn\.{verb}\b|`{verb}\b", page)] == []


def test_the_page_about_http_has_every_name_of_ours() -> None:
    """Those that clients are told: reasons, activities and `CUSTOM` events."""
    page = (ROOT / "docs" / "http.md").read_text("utf-8")
    (table,) = re.findall(r"^## Names of ours\n(.*?)(?=^## )", page, re.MULTILINE | re.DOTALL)
    used = {
        name
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in ("stores", "frameworks", "testing")
        for name in re.findall(r'"(sayso:[a-z-]+)"', path.read_text("utf-8"))
    }
    assert used - {CLIENT_TOOL} - set(re.findall(r"`([^`]+)`", table)) == set()


def test_no_page_of_the_console_stands_where_the_server_has_a_path() -> None:
    """A reload would show JSON: paths of the server come first."""
    app = (ROOT / "web" / "console" / "src" / "App.tsx").read_text("utf-8")
    pages = set(re.findall(r'<Route path="([\w-]+)', app))
    taken = {path.split("/")[1] for _, path in routes_of(Sayso(store="memory:"))}
    assert "inbox" in pages
    assert pages & taken == set()


def test_a_link_to_nothing_is_seen() -> None:
    assert LINK.findall("[a](b.md#c), [d](https://e.f), [g](#h)") == [("b.md", "c")]
    assert "codes" in anchors(ROOT / "docs" / "http.md")
