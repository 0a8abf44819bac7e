"""Things by import path, `package.module:name`: errors say what to change, and where."""

import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

_OURS = Path(__file__).parents[1]


class ImportPathError(Exception):
    """A path that leads nowhere; the message says which part of it, and why."""


def load_object(path: str, *, default: str | None = None) -> Any:
    """Load the object of an import path; `default` is the name for a path that has none.

    Files of the working directory are found as well.

    Raises:
        ImportPathError: the path names nothing, or its module cannot be imported.
    """
    module_name, _, name = path.partition(":")
    name = name or default or ""
    if not name or not all(part.isidentifier() for part in module_name.split(".")):
        raise ImportPathError(f"{path!r} is not an import path; write one like package.module:name")
    target: Any = module_of(module_name)
    for part in name.split("."):
        try:
            target = getattr(target, part)
        except AttributeError:
            names = (
                [item for item in vars(target) if not item.startswith("_")] if vars(target) else []
            )
            near = [item for item in names if item.lower() == part.lower()]
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ImportPathError(f"there is no {part!r} in {module_name!r}{hint}") from None
    return target


def module_of(name: str) -> ModuleType:
    """A module by its name; files of the working directory are found first."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name == missing or name.startswith(f"{missing}."):
            raise ImportPathError(
                f"there is no module {missing!r}: start from the folder that holds it, or install "
                "its package"
            ) from None
        raise ImportPathError(
            f"{name!r} cannot be imported: it needs the module {missing!r}, which is not "
            f"installed ({_place(error)})"
        ) from None
    except Exception as error:
        raise ImportPathError(
            f"{name!r} cannot be imported: {type(error).__name__}: {error} ({_place(error)})"
        ) from error


def _place(error: BaseException) -> str:
    """The failed line of the author's code: the last outside ours and the import system."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen")
        and not Path(frame.filename).is_relative_to(_OURS)
        and not frame.filename.endswith("importlib/__init__.py")
    ]
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{error.filename} line {error.lineno}"
    return f"{frames[-1].filename} line {frames[-1].lineno}" if frames else "on import"
