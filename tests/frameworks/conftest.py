"""Each framework has an environment of its own: where one is missing its tests are none."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.stores.backends import BACKENDS

pytest.register_assert_rewrite("tests.frameworks.contract", "tests.frameworks.example")

FRAMEWORKS = {
    "agent_framework": "agent_framework",
    "langgraph": "langgraph",
    "mcp": "mcp",
    "openai_agents": "agents",
    "pydantic_ai": "pydantic_ai",
    "strands": "strands",
}
"""The module of each framework, by the folder of its tests."""

HERE = Path(__file__).parent
collect_ignore = [
    str(HERE / folder) for folder, module in FRAMEWORKS.items() if not find_spec(module)
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """What a store may lose, double or bring late is tried on all that there are."""
    if "kind" in metafunc.fixturenames:
        marked = metafunc.definition.get_closest_marker("every_store") is not None
        metafunc.parametrize("kind", list(BACKENDS) if marked else ["memory"])


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that does not end when it is cancelled gets less time than in production."""
    monkeypatch.setattr("sayso.engine.runner.UNWIND_TIMEOUT_S", 1.0)
    monkeypatch.setattr("sayso.engine.runner.GRACE_S", 0.02)
