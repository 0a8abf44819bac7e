"""The server of the contract tests: on the embedded stores, or on the `KINDS` of a module.

What is marked `every_store` is tried on all: what may be lost, doubled or late depends on them.
"""

import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from sayso.http.signin import provider as provider_module
from sayso.testing import FakeClock
from tests.contract.server import Server, served
from tests.contract.tools import Kit, kit
from tests.http.fake_provider import FakeProvider, fake_provider
from tests.stores.backends import BACKENDS, EMBEDDED


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """What several processes do to one store is tried on all that there are."""
    if "server" in metafunc.fixturenames:
        kinds = getattr(metafunc.module, "KINDS", EMBEDDED)
        if metafunc.definition.get_closest_marker("every_store") is not None:
            kinds = tuple(BACKENDS)
        metafunc.parametrize("server", kinds, indirect=True)


@pytest.fixture
async def server(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A started server with nothing registered."""
    async with served(request.param, tmp_path) as started:
        yield started


@pytest.fixture
def tools(server: Server) -> Kit:
    """The tools of that server."""
    return kit(server)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """A provider of sign-ins, asked again without a pause."""
    monkeypatch.setattr(provider_module, "PAUSE_S", 0.0)
    with fake_provider() as provider:
        yield provider


@pytest.fixture
def clock() -> FakeClock:
    """A clock that stands at the hour of now, as the tokens of a provider do."""
    return FakeClock(now=int(time.time() * 1000))
