"""The CopilotKit example as its README starts it: by Vite, in front of a server."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from tests import plain
from tests.patience import PATIENCE
from tests.ports import free_port
from tests.server import DemoServer, until
from tests.sources import ROOT

__all__ = ["developed"]

EXAMPLE = ROOT / "examples" / "copilotkit"


@contextmanager
def developed(server: DemoServer) -> Iterator[str]:
    """What `npm run dev` runs, on a port of its own; gives its origin."""
    port = free_port()
    origin = f"http://localhost:{port}"
    process = subprocess.Popen(
        [
            str(EXAMPLE / "node_modules/.bin/vite"),
            "--port",
            str(port),
            "--strictPort",
            "--clearScreen",
            "false",
        ],
        cwd=EXAMPLE,
        env={**os.environ, "SAYSO_URL": server.url},
        stdin=subprocess.DEVNULL,
    )

    def answers() -> bool:
        assert process.poll() is None, "the development server ended"
        try:
            return plain.get(origin, timeout=PATIENCE).status_code == 200
        except httpx.TransportError:
            return False

    try:
        until(f"{origin} answers", answers)
        yield origin
    finally:
        process.terminate()
        process.wait(PATIENCE)
