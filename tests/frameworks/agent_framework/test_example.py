"""`examples/agent_framework_support.py` as it stands."""

from pathlib import Path

import pytest

from tests.examples.loading import module_of
from tests.frameworks.example import refunds_once


def test_the_example_asks_and_refunds_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refunds_once(module_of("agent_framework_support").app)
