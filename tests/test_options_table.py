"""The one table of options: in its page and in the docstring, and true."""

import re
from dataclasses import fields
from inspect import Parameter, signature
from typing import Any

import pytest

from sayso import Sayso
from sayso.options import Options
from tests.sources import ROOT

ROW = re.compile(r"^ *\| `(\w+)` \| (.*) \| (.*) \|$", re.MULTILINE)


def documented() -> list[tuple[str, str, str]]:
    return ROW.findall(Sayso.__doc__ or "")


def test_the_page_and_the_docstring_hold_the_same_table() -> None:
    """Design 3: one documented table of names, values and defaults."""
    page = (ROOT / "docs/options.md").read_text("utf-8")
    assert ROW.findall(page) == documented()


def test_the_table_names_every_option_and_no_other() -> None:
    """What `Sayso` takes, then what agents may override."""
    taken = [
        parameter.name
        for parameter in signature(Sayso).parameters.values()
        if parameter.kind is Parameter.KEYWORD_ONLY
    ]
    names = [name for name, _, _ in documented()]
    own = names[: names.index("refusals")]
    assert sorted(own) == sorted(taken)
    assert names[len(own) :] == [field.name for field in fields(Options)]


@pytest.mark.parametrize("field", fields(Options), ids=lambda field: str(field.name))
def test_the_table_tells_the_default(field: Any) -> None:
    """A default that changes in one place only would be a lie in the other."""
    name, default = field.name, getattr(Options(), field.name)
    told = {one: text for one, _, text in documented()}[name].strip("`")
    if name == "on_reminder":
        assert (default, told) == (None, "none")
    elif isinstance(default, float):
        assert float(told) == default
    else:
        assert told == str(default)
