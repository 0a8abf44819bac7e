"""What the pages in docs/ show is what runs."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.sources import ROOT


def module_of(page: str) -> dict[str, Any]:
    """The names that a page's Python defines, all blocks as one module."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text("utf-8"), re.S)
    names: dict[str, Any] = {"__name__": page}
    exec("\n".join(blocks), names)  # noqa: S102 - our own page
    return names


TESTING = [name for name in module_of("testing.md") if name.startswith("test_")]


@pytest.mark.parametrize("name", TESTING)
def test_the_page_about_tests_holds_tests_that_pass(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each as it stands; none of them touches the store that its app names."""
    monkeypatch.chdir(tmp_path)
    module_of("testing.md")[name]()
    assert list(tmp_path.iterdir()) == []


def test_the_page_about_tests_has_examples() -> None:
    """A page whose blocks are not found would pass by showing nothing."""
    assert len(TESTING) >= 10
