"""The wheel: what `pip install` brings is the whole product, and it needs no Node."""

import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from tests import plain
from tests.patience import PATIENCE
from tests.ports import free_port

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "web" / "console" / "dist"
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet")
BUILD = ("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir")
LINKED = re.compile(r'(?:src|href)="(?:\./|/)?([^":]+\.[a-z0-9]+)"')


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, *PIP, *BUILD, str(folder), str(ROOT)], check=True)
    (built,) = folder.glob("sayso-*.whl")
    return built


@pytest.fixture(scope="module")
def installation(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean environment with the runtime lock and the wheel, and nothing else."""
    home = tmp_path_factory.mktemp("installation")
    venv.create(home, with_pip=True)
    python = str(home / "bin" / "python")
    lock = str(ROOT / "requirements.lock")
    subprocess.run([python, *PIP, "install", "--require-hashes", "-r", lock], check=True)
    subprocess.run([python, *PIP, "install", "--no-deps", "--no-index", str(wheel)], check=True)
    return home


@pytest.fixture
def demo(installation: Path, tmp_path: Path) -> Iterator[str]:
    """The address of `sayso demo`, run from an empty folder with no other program in reach."""
    port = free_port()
    command = [str(installation / "bin" / "sayso"), "demo", "--port", str(port), "--no-open"]
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            yield _answering(server, f"http://127.0.0.1:{port}", tmp_path / "log")
        finally:
            server.terminate()
            server.wait(timeout=PATIENCE)


def _answering(server: subprocess.Popen[bytes], address: str, log: Path) -> str:
    @retry(
        stop=stop_after_delay(PATIENCE),
        wait=wait_fixed(0.1),
        retry=retry_if_exception_type(httpx.TransportError),
        reraise=True,
    )
    def ask() -> str:
        assert server.poll() is None, log.read_text("utf-8")
        plain.get(address, timeout=PATIENCE)
        return address

    return ask()


def test_the_wheel_carries_the_package_and_the_console(wheel: Path) -> None:
    """All of `server/sayso` and all of the built console, and nothing else (design 10)."""
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    console = {
        f"sayso/_console/{path.relative_to(BUILT)}" for path in BUILT.rglob("*") if path.is_file()
    }
    package = {
        f"sayso/{path.relative_to(ROOT / 'server' / 'sayso')}"
        for path in (ROOT / "server" / "sayso").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert inside == console | package


def test_an_installed_demo_serves_the_console_without_node(demo: str) -> None:
    """The page, with its links made to fit its place, and every file byte for byte (design 9)."""
    page = plain.get(demo, timeout=PATIENCE)
    assert page.status_code == 200
    assert set(LINKED.findall((BUILT / "index.html").read_text("utf-8"))) == set(
        LINKED.findall(page.text)
    )
    files = [path.relative_to(BUILT) for path in BUILT.rglob("*") if path.is_file()]
    assert len(files) > 1
    for path in files:
        if path.name != "index.html":
            served = plain.get(f"{demo}/{path}", timeout=PATIENCE).content
            assert served == (BUILT / path).read_bytes(), path


def test_an_installed_demo_runs_an_agent(demo: str) -> None:
    """One whole run, from message to terminal event (design 9, `hello`)."""
    message = {"id": "m-1", "role": "user", "content": "hello"}
    request = {"threadId": "t-1", "runId": "r-1", "messages": [message]}
    answer = plain.post(f"{demo}/agents/ops", json=request, timeout=PATIENCE)
    assert answer.status_code == 200
    assert '"RUN_STARTED"' in answer.text
    assert '"RUN_FINISHED"' in answer.text


def test_a_wheel_without_a_console_is_refused(tmp_path: Path) -> None:
    """Better no wheel than one that serves no page; the message says what to do."""
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "server", tmp_path / "server")
    command = [sys.executable, *PIP, *BUILD, str(tmp_path / "out"), str(tmp_path)]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "web/console/dist/index.html is missing" in refused.stdout + refused.stderr
