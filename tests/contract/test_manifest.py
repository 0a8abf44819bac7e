"""The manifest and the tests are held against each other, in both directions."""

import pytest

from tests.contract.citations import citations, cited_in_python, cited_in_web
from tests.contract.manifest import RULES, SECTIONS
from tests.contract.requirements import requirement
from tests.contract.verdicts import Standing


def test_every_tested_rule_is_cited_by_a_test() -> None:
    """A rule counts as kept only while a test cites it (design 10)."""
    cited = citations()
    tested = [rule for rule, entry in RULES.items() if entry.verdict.standing is Standing.TESTED]
    missing = [rule for rule in tested if rule not in cited]
    assert not missing, f"TESTED in the manifest, but no test cites: {', '.join(missing)}"


def test_every_cited_rule_is_in_the_manifest() -> None:
    """Web tests cite by text, so a misspelt id would go unseen without this."""
    unknown = {rule: sorted(places) for rule, places in citations().items() if rule not in RULES}
    assert not unknown, f"cited, but not in tests/contract/manifest: {unknown}"


def test_every_rule_has_its_verdict() -> None:
    """Kept, done otherwise on purpose, or not ours: nothing is put off, and each reason is told."""
    assert {standing.name for standing in Standing} == {"TESTED", "DIVERGENCE", "NOT_OURS"}
    untold = [
        rule
        for rule, entry in RULES.items()
        if entry.verdict.standing is not Standing.TESTED and len(entry.verdict.reason) < 20
    ]
    assert not untold, f"no reason that anybody could check: {', '.join(untold)}"


def test_no_rule_is_listed_by_two_sections() -> None:
    """Merging the sections would hide one of the two."""
    assert sum(len(section.RULES) for section in SECTIONS) == len(RULES)


def test_an_unknown_rule_fails_at_import() -> None:
    """The decorator refuses what the manifest does not hold, and an empty citation."""
    with pytest.raises(LookupError, match="XX-99"):
        requirement("LC-01", "XX-99")
    with pytest.raises(LookupError):
        requirement()


def test_a_python_citation_is_a_decorator_on_a_test() -> None:
    """Neither a helper's decorator nor an id in a comment counts."""
    source = (
        "@requirement('LC-01', 'LC-02')\nasync def test_a(): ...\n"
        "@requirement('LC-03')\ndef helper(): ...\n"
        "# LC-04\ndef test_b(): ...\n"
    )
    assert list(cited_in_python(source)) == [("LC-01", "test_a"), ("LC-02", "test_a")]


def test_a_web_citation_is_an_id_in_brackets() -> None:
    """Alone or in a list; an id without brackets is prose."""
    assert list(cited_in_web("it('shows all [CL-01, CR-3]') // [CL-10] see CL-11")) == [
        "CL-01",
        "CR-3",
        "CL-10",
    ]
