"""Text of the checkout that is printed from code: compared, or written where asked to.

`SAYSO_WRITE=1 pytest tests/unit/test_codes.py` writes what that file checks.
"""

import os
import re
from pathlib import Path

import pytest

from tests.sources import ROOT

WRITES = os.environ.get("SAYSO_WRITE") == "1"


def check_file(path: Path, text: str) -> None:
    """Fail unless this whole file reads so; or write it."""
    if path.is_file() and path.read_text("utf-8") == text:
        return
    if not WRITES:
        name = path.relative_to(ROOT)
        pytest.fail(f"{name} is out of date: run this test with SAYSO_WRITE=1, and read the change")
    path.write_text(text, "utf-8")


def check_part(path: Path, name: str, text: str) -> None:
    """Fail unless the part of a page between `<!-- name … -->` and `<!-- /name -->` reads so."""
    page = path.read_text("utf-8")
    marked = re.compile(rf"(<!-- {name}\b[^>]*-->\n)(.*?)(<!-- /{name} -->)", re.DOTALL)
    assert len(marked.findall(page)) == 1, f"{path.name} has not one part {name}"
    check_file(path, marked.sub(lambda part: f"{part[1]}\n{text.strip()}\n\n{part[3]}", page))
