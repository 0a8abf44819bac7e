"""What all tests of deaths stand on: all backends, and little patience with bad code."""

import pytest

from tests.stores.backends import BACKENDS


@pytest.fixture(params=list(BACKENDS))
def kind(request: pytest.FixtureRequest) -> str:
    """The name of a backend."""
    name: str = request.param
    return name


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that does not end when it is cancelled gets less time than in production."""
    monkeypatch.setattr("sayso.engine.runner.UNWIND_TIMEOUT_S", 1.0)
    monkeypatch.setattr("sayso.engine.runner.GRACE_S", 0.02)
