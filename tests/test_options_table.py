"""The tables of options: in their page and in the docstrings, and true."""

import re
from dataclasses import MISSING, Field, fields
from inspect import Parameter, signature
from typing import Any

import pytest

from sayso import AgentOptions, Legacy, Limits, Oidc, Sayso, ServerOptions
from tests.sources import ROOT

ROW = re.compile(r"^ *\| `(\w+)` \| (.*) \| (.*) \|$", re.MULTILINE)
GROUPS: tuple[type[Any], ...] = (Oidc, ServerOptions, AgentOptions, Legacy)


def documented(group: type[Any]) -> list[tuple[str, str, str]]:
    return ROW.findall(group.__doc__ or "")


def test_the_page_and_the_docstrings_hold_the_same_tables() -> None:
    """Design 3: documented tables of names, values and defaults."""
    page = (ROOT / "docs/options.md").read_text("utf-8")
    groups: list[type[Any]] = [Sayso, *GROUPS]
    assert ROW.findall(page) == [row for group in groups for row in documented(group)]


def test_the_page_names_every_limit() -> None:
    """In the order in which they are declared."""
    page = (ROOT / "docs/options.md").read_text("utf-8")
    (named,) = re.findall(r"^- `Limits\((.*?)\)`", page, re.MULTILINE)
    assert named.replace("=…", "").split(", ") == [field.name for field in fields(Limits)]


def test_the_first_table_names_every_argument_and_no_other() -> None:
    """What `Sayso` takes."""
    taken = [
        parameter.name
        for parameter in signature(Sayso).parameters.values()
        if parameter.kind is Parameter.KEYWORD_ONLY
    ]
    assert [name for name, _, _ in documented(Sayso)] == taken


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: str(group.__name__))
def test_a_table_names_every_option_of_its_group_and_no_other(group: type[Any]) -> None:
    """In the order in which they are declared."""
    assert [name for name, _, _ in documented(group)] == [field.name for field in fields(group)]


@pytest.mark.parametrize(
    ("group", "field"),
    [
        pytest.param(group, field, id=f"{group.__name__}-{field.name}")
        for group in GROUPS
        for field in fields(group)
    ],
)
def test_the_table_tells_the_default(group: type[Any], field: Field[Any]) -> None:
    """A default that changes in one place only would be a lie in the other."""
    told = {name: text for name, _, text in documented(group)}[field.name].strip("`")
    default = field.default
    if default is MISSING:
        made = field.default_factory
        assert told == ("needed" if made is MISSING else f"{type(made()).__name__}()")
    elif default in (None, ()):
        assert told in ("None", "none", "the system's")
    elif isinstance(default, float):
        assert float(told) == default
    else:
        assert told == str(default)
