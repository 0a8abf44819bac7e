"""Examples as they stand: loaded from their files, served, each in a folder of its own."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from sayso import Sayso
from tests.examples.loading import module_of

Serve = Callable[[str], Any]
Load = Callable[[str], Sayso]


def app_of(name: str) -> Sayso:
    """The app of an example by its file's name, loaded anew."""
    app: Sayso = module_of(name).app
    return app


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """The app of an example by its file's name, for a test that serves nothing."""
    monkeypatch.chdir(tmp_path)
    return app_of


@pytest.fixture
async def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Serve]:
    """Starts the app of an example by its file's name; a second time is a restart on its data."""
    monkeypatch.chdir(tmp_path)
    async with AsyncExitStack() as served:

        async def start(name: str) -> Sayso:
            await served.aclose()
            app = app_of(name)
            await served.enter_async_context(app.lifespan())
            return app

        yield start
