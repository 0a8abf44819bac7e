"""Every rule of the store on every backend (design 6)."""

from pathlib import Path

import pytest

from sayso.testing import FakeClock, Rule, suite
from tests.stores.backends import BACKENDS, BY_DRIVER, ENCRYPTED, Make, opened

ALL = BACKENDS | BY_DRIVER | ENCRYPTED


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
@pytest.mark.parametrize("rule", suite(), ids=lambda rule: rule.__name__)
async def test_the_backend_keeps(rule: Rule, make: Make, tmp_path: Path) -> None:
    """One rule of `sayso.testing.suite` (design 6)."""
    clock = FakeClock()
    async with opened(make(tmp_path, clock)) as store:
        await rule(store, clock)


def test_the_suite_names_each_rule_once_and_explains_it() -> None:
    """A rule is a sentence with a docstring; none is lost by having the name of another."""
    names = [rule.__name__ for rule in suite()]
    assert len(names) == len(set(names))
    assert [rule.__name__ for rule in suite() if not rule.__doc__] == []
