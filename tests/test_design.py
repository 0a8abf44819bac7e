"""What code and tests cite of the design stands there."""

import re

from sayso import Turn
from tests.contract.manifest import RULES
from tests.sources import ROOT, files_below

DESIGN = (ROOT / "docs" / "design.md").read_text("utf-8")
CITED = re.compile(
    r"\bdesign (?P<section>\d+)"
    r"(?:,? rules? (?P<rules>\d+(?:(?:, | and |, and )\d+)*)|, (?P<part>[a-z]+))?",
    re.IGNORECASE,
)
PART = re.compile(r"^\*\*([A-Za-z]+)(?: [a-z]+)?\.?\*\*", re.MULTILINE)
"""A paragraph that has a name, such as *Readers* in section 5."""
RULE = re.compile(r"\b[A-Z]{2}-\d{2}\b")
CODE = {".css", ".lua", ".mjs", ".py", ".sql", ".ts", ".tsx"}


def sections() -> dict[str, str]:
    """The text of each numbered section."""
    parts = re.split(r"^## (\d+)\. ", DESIGN, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def missing(text: str) -> list[str]:
    """The citations in a text that lead nowhere."""
    known = sections()
    parts = {
        number: {name.lower() for name in PART.findall(text)} for number, text in known.items()
    }
    found = []
    # A comment may break its line in the middle of a citation.
    for cited in CITED.finditer(re.sub(r"\s*\n[\s#/*-]*", " ", text)):
        section = known.get(cited["section"])
        rules = re.findall(r"\d+", cited["rules"] or "")
        part = (cited["part"] or "").lower()
        if (
            section is None
            or not all(re.search(rf"^{rule}\. \*\*", section, re.MULTILINE) for rule in rules)
            or (part in set.union(*parts.values()) and part not in parts[cited["section"]])
        ):
            found.append(cited[0])
    return found


def test_every_citation_of_the_design_leads_somewhere() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {cited}"
        for path in files_below("server", "web", "tests", "e2e", "bench", "scripts")
        if path.suffix in CODE and path.name != "test_design.py"
        for cited in missing(path.read_text("utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


def test_the_design_names_all_that_a_turn_can_do() -> None:
    """Its paragraph says that this is all that an author sees."""
    (surface,) = re.findall(r"^`Turn` is the whole surface.*?^$", DESIGN, re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]+`", surface))))
    assert {name for name in vars(Turn) if not name.startswith("_")} - named == set()


def test_every_rule_that_the_package_cites_is_in_the_manifest() -> None:
    """Protocol rules by their ids, such as LC-01; tests cite them by `@requirement`."""
    wrong = [
        f"{path.relative_to(ROOT)}: {rule}"
        for path in files_below("server", "web/react/src", "web/console/src", "bench", "e2e")
        if path.suffix in CODE
        for rule in RULE.findall(path.read_text("utf-8"))
        if rule not in RULES
    ]
    assert wrong == []


def test_a_citation_that_leads_nowhere_is_seen() -> None:
    """A section, a rule of replay, and a part of a section."""
    assert missing("(design 4)") == []
    assert missing("design 3, rule 9 and Design 5, Readers and design 3, rules 3, 9 and 10") == []
    assert missing("design 14") == ["design 14"]
    assert missing("Design 3, rule 11") == ["Design 3, rule 11"]
    assert missing("# as design 4,\n# Readers") == ["design 4, Readers"]
