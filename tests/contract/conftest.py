"""The server of the contract tests, on every backend."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contract.server import Server, served
from tests.contract.tools import Kit, kit
from tests.stores.backends import BACKENDS


@pytest.fixture(params=list(BACKENDS))
async def server(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A started server with nothing registered."""
    async with served(request.param, tmp_path) as started:
        yield started


@pytest.fixture
def tools(server: Server) -> Kit:
    """The tools of that server."""
    return kit(server)
