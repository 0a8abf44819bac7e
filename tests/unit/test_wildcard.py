"""Patterns over text from outside: each costs in proportion to what it reads, whatever that is."""

import importlib
import inspect
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import sayso
from sayso.agents.wildcard import matches
from sayso.base.errors import DeclarationError

SHORT, LONG = 6_000, 24_000
MOST = 8
"""How many times the CPU four times the text may take; a quadratic search takes sixteen."""
TRIES = 3
"""How often a search has to be slow: other work on the machine may make it so once."""
NOTICED = 0.02
"""Seconds below which a measurement says nothing."""
ALLOWED = 60
"""Seconds of CPU for everything; one quadratic search of old would need most of it alone."""
PIECES = (
    "@",
    "a",
    "*",
    ".",
    "-",
    "/",
    ":",
    "[",
    " ",
    "\n",
    "0",
    "a.",
    "a@",
    "a:",
    "%2e",
    "\\",
    "x=y&",
)


def test_no_pattern_reads_a_text_again_and_again() -> None:
    """In a child with a limit, as the faults that this looks for would not end within a test."""
    done = subprocess.run(
        [sys.executable, "-c", "from tests.unit import test_wildcard; test_wildcard.measure()"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_a_url_with_two_users_or_an_endless_authority_fits_nothing() -> None:
    """Readers differ about where the host of such a one begins."""
    assert matches("https://u@x.org/*", "https://u@x.org/a")
    assert not matches("https://u@v@x.org/*", "https://u@v@x.org/a")
    assert not matches("https://*/*", f"https://{'a' * 4_097}/a")
    assert matches("https://*/*", f"https://{'a' * 4_096}/a")


def measure() -> None:
    """Write out each search whose cost grows faster than its text."""
    resource.setrlimit(resource.RLIMIT_CPU, (ALLOWED, ALLOWED))
    for name, search in searches():
        for text in texts():
            if all(is_slow(search, text) for _ in range(TRIES)):
                sys.stdout.write(f"{name} on {text(4)!r}\n")


def is_slow(search: Callable[[str], Any], text: Callable[[int], str]) -> bool:
    long = spent(search, text(LONG))
    return long > NOTICED and long > MOST * spent(search, text(SHORT))


def searches() -> Iterator[tuple[str, Callable[[str], Any]]]:
    for module in modules():
        for name, value in vars(module).items():
            # Those over bytes read JSON that was written or parsed before.
            if not isinstance(value, re.Pattern) or not isinstance(value.pattern, str):
                continue
            yield f"{module.__name__}.{name}.fullmatch", value.fullmatch
            yield f"{module.__name__}.{name}.match", value.match
            if re.search(rf"\b{name}\.(?!(?:full)?match\b)", inspect.getsource(module)):
                yield f"{module.__name__}.{name}.search", value.search
    for wanted in ("https://x*", "https://*@x/*", "*@x", "*a*a*", "*/*", "*.*"):
        yield f"is_like({wanted!r}, …)", partial(matches, wanted)
    yield "is_like(…, 'https://x')", lambda text: matches(text, "https://x")
    yield "is_like(…, …)", lambda text: matches(text, text)


def modules() -> Iterator[ModuleType]:
    """All of the package but adapters of frameworks that are in other environments."""
    folder = Path(sayso.__path__[0])
    for path in sorted(folder.rglob("*.py")):
        name = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
        if path.stem != "__main__":
            with suppress(DeclarationError):
                yield importlib.import_module(name.removesuffix(".__init__"))


def texts() -> Iterator[Callable[[int], str]]:
    for before in ("", "https://", "list files in "):
        for piece in PIECES:
            for behind in ("", "[*", "@x*"):
                yield partial(repeated, before, piece, behind)


def repeated(before: str, piece: str, behind: str, length: int) -> str:
    return before + piece * (length // len(piece)) + behind


def spent(search: Callable[[str], Any], text: str) -> float:
    began = time.process_time()
    search(text)
    return time.process_time() - began
