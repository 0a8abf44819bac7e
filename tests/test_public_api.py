"""The package's front door: everything in it is on purpose, and explained."""

import inspect
import re
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import sayso


def test_all_is_sorted_and_without_repetition() -> None:
    """A reader finds a name where it belongs; a constant comes first."""
    expected = sorted(set(sayso.__all__), key=lambda name: (not name.isupper(), name))
    assert list(sayso.__all__) == expected


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


def test_only_a_public_package_lists_its_names() -> None:
    """In a private module the underscore says it, and a list is one more thing to keep."""
    package = Path(sayso.__file__).parent
    listing = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"^__all__\b", path.read_text("utf-8"), re.MULTILINE)
    }
    packages = ("client", "stores", "testing")
    public = {"__init__.py", "providers.py", *(f"{name}/__init__.py" for name in packages)}
    assert listing == public


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
