"""The ladders as data: what they are made of, and that the design shows them as they are."""

import inspect

import pytest

from sayso.gate.case import Case
from sayso.gate.ladder import INBOX, RUN, Rung, as_text
from tests.generated import check_part
from tests.sources import ROOT

LADDERS = {"runs": RUN, "inbox": INBOX}


@pytest.mark.parametrize("name", LADDERS)
def test_the_design_shows_each_ladder_as_the_code_has_it(name: str) -> None:
    check_part(ROOT / "docs" / "design.md", name, as_text(LADDERS[name]))


@pytest.mark.parametrize("rung", dict.fromkeys((*RUN, *INBOX)))
def test_a_rung_looks_at_the_case_alone_and_says_its_rule(rung: Rung) -> None:
    """So that each can be read, moved and tested by itself."""
    (parameter,) = inspect.signature(rung).parameters.values()
    assert parameter.annotation is Case
    assert rung.__doc__


@pytest.mark.parametrize("ladder", LADDERS.values(), ids=LADDERS)
def test_no_rung_stands_twice_on_a_ladder(ladder: tuple[Rung, ...]) -> None:
    """What it decides it decides once."""
    assert len(set(ladder)) == len(ladder)
