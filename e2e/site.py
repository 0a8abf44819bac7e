"""The built page of an example, served on a port of its own."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.sources import ROOT

__all__ = ["site"]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def site(example: str) -> Iterator[str]:
    """Serve the page of the example of that name; gives its origin."""
    built = ROOT / "examples" / example / "dist"
    assert (built / "index.html").exists(), f"build it: npm test -- {example}"
    handler = partial(_Quiet, directory=str(built))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        serving.join()
