"""A real nginx with the documented settings, in front of a server."""

import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from tests import plain
from tests.patience import PATIENCE
from tests.ports import free_port
from tests.server import until
from tests.sources import ROOT

__all__ = ["Nginx"]

DOCUMENTED = ROOT / "docs" / "nginx.conf"
PROGRAMS = ("nginx", "/usr/sbin/nginx", str(ROOT / ".cache/nginx/usr/sbin/nginx"))
HOLDING = "proxy_ignore_headers X-Accel-Buffering; proxy_buffering on; proxy_buffer_size 4k;"
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def changed(text: str, old: str, new: str) -> str:
    """The settings with one thing changed, which must be there, once."""
    assert text.count(old) == 1, f"{DOCUMENTED.name} has {old!r} {text.count(old)} times"
    return text.replace(old, new)


class Nginx:
    """One process of whoever runs the tests, on a free port; `silence` is how long it waits.

    `holding`: it holds back what is shorter than a page of memory, as proxies do that do not listen
    to what a response says about that.
    """

    def __init__(
        self, folder: Path, upstream: int, *, silence: str = "60s", holding: bool = False
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        named = os.environ.get("SAYSO_NGINX")
        found = named or next((path for name in PROGRAMS if (path := shutil.which(name))), None)
        assert found, "no nginx here: run `npm test -- proxy`, which brings one"
        self._program = found
        settings = changed(DOCUMENTED.read_text("utf-8"), "127.0.0.1:8000", f"127.0.0.1:{upstream}")
        settings = changed(settings, "listen 8080;", f"listen 127.0.0.1:{self.port};")
        settings = changed(settings, "proxy_read_timeout 60s;", f"proxy_read_timeout {silence};")
        if holding:
            settings = changed(settings, "proxy_buffering off;", HOLDING)
            settings = changed(settings, "proxy_http_version 1.1;", "proxy_http_version 1.0;")
        paths = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in TEMPORARY)
        self._config = folder / "nginx.conf"
        self._config.write_text(
            f"daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\n"
            f"error_log {folder}/error.log;\nevents {{}}\n"
            f"http {{\naccess_log off;\n{paths}{settings}}}\n",
            "utf-8",
        )

    def __enter__(self) -> Self:
        errors = str(self._folder / "error.log")
        self._process = subprocess.Popen(
            [self._program, "-p", str(self._folder), "-e", errors, "-c", str(self._config)],
            stdin=subprocess.DEVNULL,
        )
        until(f"nginx answers at {self.url}", self._answers)
        return self

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "error.log").read_text("utf-8")
        try:
            return plain.get(f"{self.url}/healthz", timeout=PATIENCE).status_code == 200
        except httpx.TransportError:
            return False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE)
