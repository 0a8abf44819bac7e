"""The package's front door: everything in it is on purpose, and explained."""

import inspect
from importlib.metadata import version
from types import ModuleType

import sayso


def test_all_is_sorted_and_without_repetition() -> None:
    """A reader finds a name where it belongs."""
    assert list(sayso.__all__) == sorted(set(sayso.__all__))


def test_all_lists_exactly_what_the_package_exports() -> None:
    """Adding a public name is a decision, and leaving one out a mistake."""
    public = {
        name
        for name, value in vars(sayso).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    exported = {name for name in sayso.__all__ if not name.startswith("__")}
    # `approval` is exported as a module: its functions read as `approval.when(...)`.
    modules = {name for name in exported if isinstance(getattr(sayso, name), ModuleType)}
    assert exported - modules == public


def test_every_public_name_is_explained() -> None:
    """What a name is, stands in its own docstring."""
    silent = [
        name
        for name in sayso.__all__
        if not name.startswith("__") and not inspect.getdoc(getattr(sayso, name))
    ]
    assert not silent, f"without docstring: {', '.join(silent)}"


def test_the_version_is_the_distribution_s() -> None:
    """One place states the version: pyproject.toml."""
    assert sayso.__version__ == version("sayso")
