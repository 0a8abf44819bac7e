"""`sayso serve`: an app by import path or a file of agents, on an address, as its own process."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests import plain
from tests.patience import PATIENCE
from tests.ports import free_port
from tests.process.conftest import Sayso
from tests.server import run_input, until
from tests.sources import ROOT

AGENTS = """
import asyncio
import gc
import time

from sayso import Principal, Sayso, ServerOptions, Turn

app = Sayso(store="sqlite:///kept.db", server=ServerOptions(console=False))

@app.agent("greeter")
async def greeter(turn: Turn) -> None:
    await turn.say(f"Hello, {turn.principal.subject}.")
    await turn.interrupt("confirmation", "Well?")

@app.agent("memory")
async def memory(turn: Turn) -> None:
    await turn.say(f"{gc.get_freeze_count() > 1000}, every {gc.get_threshold()[0]}")

async def swallow() -> None:
    while True:
        try:
            await asyncio.sleep(3600)
        except BaseException:
            continue

@app.agent("retries")
async def retries(turn: Turn) -> None:
    while True:
        try:
            await turn.interrupt("confirmation", "Well?")
        except BaseException:
            continue

@app.agent("swallows")
async def swallows(turn: Turn) -> None:
    await turn.step(swallow)

@app.agent("blocks")
async def blocks(turn: Turn) -> None:
    await turn.step(time.sleep, 3600)

@app.agent("borrows")
async def borrows(turn: Turn) -> None:
    await asyncio.to_thread(time.sleep, 3600)

async def who(scope):
    given = dict(scope["headers"]).get(b"authorization")
    return Principal(subject="ann") if given == b"Bearer open" else None

guarded = app.replace(authenticate=who)
other = 7
"""
STARTING = """
from sayso import Sayso

async def listing(app):
    raise OSError("nobody answers")

app = Sayso(store="memory:", on_start=[listing])
"""
ANYWHERE = "0.0.0.0"  # noqa: S104 - to be refused, or for who says who is calling
YAML = """
agents:
  - name: hello
    import: served_agents:greeter
    spec: {interrupt: {checkpoint: {backend: memory}}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "served_agents.py").write_text(AGENTS)
    (tmp_path / "agents.yaml").write_text(YAML)
    (tmp_path / "colon.yaml").write_text("store: memory:\n")
    (tmp_path / "starting.py").write_text(STARTING)
    (tmp_path / "misspelt.py").write_text("from sayso import Sayso\n\napp = Sayso(stor=1)\n")
    return tmp_path


@contextmanager
def serving(
    folder: Path, *arguments: str, **environment: str
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server in a folder; its address and its process."""
    port = free_port()
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "sayso", "serve", "--port", str(port), *arguments],
            cwd=folder,
            env={"PYTHONPATH": str(ROOT / "server"), **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    url = f"http://127.0.0.1:{port}"
    try:

        def answers() -> bool:
            assert process.poll() is None, log.read_text("utf-8")
            try:
                return plain.get(f"{url}/healthz", timeout=PATIENCE).status_code == 200
            except httpx.TransportError:
                return False

        until("the server answers", answers)
        yield url, process
    finally:
        process.kill()
        process.wait(PATIENCE)


@pytest.mark.parametrize("target", ["served_agents:app", "served_agents"])
def test_an_app_is_served_until_it_is_stopped(folder: Path, target: str) -> None:
    """Issue and answer over HTTP, a quick orderly end, and the store that the app names."""
    with serving(folder, target) as (url, process):
        body = run_input("t", text="go")
        run = plain.post(f"{url}/agents/greeter", json=body, timeout=PATIENCE)
        assert "Hello, local." in run.text
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert (folder / "kept.db").exists()
    told = (folder / "log").read_text("utf-8")
    assert told.startswith(f"Sayso {url}\n")
    assert "only this machine" in told


@pytest.mark.parametrize("agent", ["retries", "swallows", "blocks", "borrows"])
def test_code_that_does_not_end_does_not_keep_the_process(folder: Path, agent: str) -> None:
    """Design 3, rule 1: it is given its time, told of and left, be it in a task or in a thread."""
    with serving(folder, "served_agents:app", "--grace", "0.1", "--store", "memory:") as (url, end):
        body = run_input("t", text="go")
        with plain.stream("POST", f"{url}/agents/{agent}", json=body, timeout=PATIENCE) as run:
            lines = run.iter_lines()
            assert "RUN_STARTED" in next(lines)
            asked = time.monotonic()
            end.send_signal(signal.SIGTERM)
            assert list(lines)
        assert end.wait(PATIENCE) == 0
        assert time.monotonic() - asked < PATIENCE / 2
    assert "leaving" in (folder / "log").read_text("utf-8")


def test_a_server_does_not_look_for_garbage_in_what_it_has_loaded(folder: Path) -> None:
    """Its modules stay, and it looks for cycles seldom; an app in another server decides itself."""
    with serving(folder, "served_agents:app") as (url, _):
        body = run_input("t", text="go")
        run = plain.post(f"{url}/agents/memory", json=body, timeout=PATIENCE)
        assert "True, every 10000" in run.text


def test_a_file_of_agents_is_served(folder: Path) -> None:
    """By the names that it gives, over the backend that it names; its decisions are logged."""
    with serving(folder, "agents.yaml") as (url, _):
        assert [
            a["name"] for a in plain.get(f"{url}/agents", timeout=PATIENCE).json()["items"]
        ] == ["hello"]
        run = plain.post(f"{url}/agents/hello", json=run_input("t", text="go"), timeout=PATIENCE)
        assert '"interrupt"' in run.text
    assert " asked [" in (folder / "log").read_text("utf-8")
    assert not (folder / "sayso.db").exists()


def test_an_app_that_asks_who_is_calling_may_be_served_anywhere(folder: Path) -> None:
    """Design 7: loopback only without authentication; by the name of the host, and no other.

    The store is that of SAYSO_STORE, not the app's own.
    """
    arguments = ("served_agents:guarded", "--host", ANYWHERE)
    with serving(folder, *arguments, SAYSO_STORE="memory:") as (url, _):
        assert plain.get(f"{url}/threads", timeout=PATIENCE).status_code == 401
        known = {"authorization": "Bearer open"}
        assert plain.get(f"{url}/threads", headers=known, timeout=PATIENCE).json() == {"items": []}
        foreign = plain.get(
            f"{url}/threads", headers={**known, "host": "evil.example"}, timeout=PATIENCE
        )
        assert foreign.json()["code"] == "forbidden_host"
    assert not (folder / "kept.db").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument 'target'"),
        (["nowhere:app"], "there is no module 'nowhere'"),
        (["served_agents:nobody"], "there is no 'nobody'"),
        (["served_agents:other"], "is of type int"),
        (["no path"], "not an import path"),
        (["nope.yaml"], "nope.yaml cannot be read"),
        (["colon.yaml"], 'quote a value that has a colon, as in store: "memory:"'),
        (["misspelt:app"], "misspelt.py line 3)"),
        (["starting:app"], "on_start: listing failed with OSError: nobody answers"),
        (["served_agents:app", "--host", ANYWHERE], "--insecure-no-auth"),
        (["served_agents:app", "--store", "mongo://x"], "there is no store for mongo:"),
        (["served_agents:app", "--allow-host", "a/b"], "no host name"),
        (["served_agents:app", "--cors", "app.example"], "https://app.example.org"),
        (["served_agents:app", "--log-level", "loud"], "must be one of"),
        (["served_agents:app", "--grace", "0"], "0.1 or more"),
    ],
    ids=" ".join,
)
def test_what_is_wrong_is_said_in_one_line(
    sayso: Sayso, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    """Exit code 2, no traceback, nothing served."""
    monkeypatch.syspath_prepend(folder)
    told = sayso("serve", *arguments, *(["--port", "0"] if arguments else []))
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("sayso: ")
    assert told.err.count("\n") == 1
    assert said in told.err
