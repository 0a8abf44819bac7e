"""`examples/openai_agents_support.py` as it stands: a real client, over HTTP."""

from pathlib import Path

import pytest

from tests.examples.loading import module_of
from tests.frameworks.example import refunds_once


def test_the_example_asks_and_refunds_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = module_of("openai_agents_support")
    try:
        refunds_once(module.app, "Let me see.")
    finally:
        module.provider.__exit__(None, None, None)
