"""A framework that is not there, or in a version that nobody has tried, is one line."""

import pytest

from sayso import DeclarationError
from sayso.frameworks.needs import require


def test_a_framework_that_is_missing_names_the_extra_and_its_bounds() -> None:
    with pytest.raises(DeclarationError) as raised:
        require("no-such-framework", extra="nosuch", least="1.0", below="2")
    assert str(raised.value) == (
        "no-such-framework is not installed: install sayso with the extra nosuch, or "
        "no-such-framework>=1.0,<2"
    )


@pytest.mark.parametrize(("least", "below"), [("9000.1", "9001"), ("0.1", "2.0.1")])
def test_one_that_is_too_old_or_too_new_says_its_version(least: str, below: str) -> None:
    with pytest.raises(DeclarationError, match=rf"^pytest \d\S+ is none .+ pytest>={least},<"):
        require("pytest", extra="pytest", least=least, below=below)


def test_one_within_its_bounds_is_taken() -> None:
    require("pytest", extra="pytest", least="9", below="1000")
