"""Cases from the field and tests are held against each other, in both directions."""

from collections import defaultdict

from tests.contract.cases import CASES, DESIGNS
from tests.contract.citations import cases_cited, cases_in_python, cases_in_web


def test_every_case_is_shown_by_a_test() -> None:
    """A report counts as heard only while a test shows what should have happened."""
    missing = [case for case in CASES if case not in cases_cited()]
    assert not missing, f"in tests/contract/cases.py, but shown by no test: {', '.join(missing)}"


def test_every_case_that_a_test_cites_is_known() -> None:
    """A citation by text is misspelt without anybody noticing."""
    known = {*CASES, *DESIGNS}
    unknown: dict[str, list[str]] = defaultdict(list)
    for case, places in cases_cited().items():
        if case not in known:
            unknown[case] += sorted(places)
    assert not unknown, f"cited, but not in tests/contract/cases.py: {dict(unknown)}"


def test_a_python_test_cites_cases_in_its_docstring() -> None:
    """Neither a module's docstring nor a helper's counts, nor a name or a text in the code."""
    source = (
        '"""About A1."""\n'
        "async def test_a():\n    '''D1 and L5: by both; V6.\n\n    Not H264, R2D2.'''\n"
        "    A2 = 'A3'\n"
        "def helper():\n    '''A4.'''\n"
        "def test_b(): ...\n"
    )
    assert list(cases_in_python(source)) == [("D1", "test_a"), ("L5", "test_a"), ("V6", "test_a")]


def test_a_web_test_cites_cases_in_brackets() -> None:
    """As it cites rules, also beside them."""
    assert list(cases_in_web("it('[A1] [CL-01, B2] shows C3 and [Q1]')")) == ["A1", "B2", "Q1"]
