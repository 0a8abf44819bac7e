"""CopilotKit's own Node runtime in front of a server: `examples/copilotkit/runtime.mjs`."""

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

__all__ = ["node_runtime"]


@contextmanager
def node_runtime(server: DemoServer, agent: str) -> Iterator[str]:
    """Run it in front of the agent at this path of a server; gives its address."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        ["node", "runtime.mjs"],  # noqa: S607 - the Node that runs the commands
        cwd=ROOT / "examples" / "copilotkit",
        env={
            **os.environ,
            "PORT": str(port),
            "SAYSO_URL": server.url,
            "SAYSO_AGENT": agent,
            "COPILOTKIT_TELEMETRY_DISABLED": "true",
        },
        stdin=subprocess.DEVNULL,
    )

    def answers() -> bool:
        assert process.poll() is None, "the runtime ended"
        try:
            return plain.get(f"{url}/copilotkit/info", timeout=PATIENCE).status_code == 200
        except httpx.TransportError:
            return False

    try:
        until(f"{url} answers", answers)
        yield url
    finally:
        process.terminate()
        process.wait(PATIENCE)
