"""The shop's server, while a test runs."""

from collections.abc import Iterator

import pytest

from tests.frameworks.mcp.shop import listening, server_of


@pytest.fixture
def effects() -> list[str]:
    """What the server did."""
    return []


@pytest.fixture
def url(effects: list[str]) -> Iterator[str]:
    """The server's address."""
    with listening(server_of(effects)) as port:
        yield f"http://127.0.0.1:{port}/mcp"
