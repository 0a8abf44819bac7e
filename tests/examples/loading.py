"""Modules of `examples`, as they stand."""

import importlib.util
from types import ModuleType

from tests.sources import ROOT


def module_of(name: str) -> ModuleType:
    """An example by its file's name, loaded anew."""
    found = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
