"""The documented nginx in front of a real server: nothing is held back, cut off or sent twice."""

import copy
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from e2e.proxy import Nginx
from tests import plain
from tests.contract.requirements import requirement
from tests.patience import PATIENCE
from tests.process.replicas import Replica
from tests.server import DemoServer, interrupts, resolved, run_input, until

Lines = Iterator[str]
Seen = TypeVar("Seen", bound=DemoServer)

MOUNTS = ("agents", "copilotkit", "single", "session")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replica]:
    """A demo that breaks its silence twice a second, and whose slow work can be held."""
    folder = tmp_path_factory.mktemp("demo")
    server = Replica(folder, store=f"sqlite:///{folder / 'demo.db'}", data=folder / "data")
    server.command.append("--insecure-no-auth")
    with server:
        yield server


@pytest.fixture(scope="module")
def proxied(demo: Replica, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replica]:
    """The demo behind nginx as it is documented."""
    with Nginx(tmp_path_factory.mktemp("nginx"), demo.port) as nginx:
        yield through(nginx, demo)


@pytest.fixture(scope="module")
def impatient(demo: Replica, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replica]:
    """The demo behind an nginx that bears two seconds of silence."""
    with Nginx(tmp_path_factory.mktemp("impatient"), demo.port, silence="2s") as nginx:
        yield through(nginx, demo)


def through(nginx: Nginx, server: Seen) -> Seen:
    """The server as it is seen through that proxy."""
    seen = copy.copy(server)
    seen.url = nginx.url
    return seen


def request_of(mount: str, thread: str, text: str) -> tuple[str, Any]:
    """Where to say something on each mount, and in which words."""
    body = run_input(thread, text=text)
    return {
        "agents": ("/agents/ops", body),
        "copilotkit": ("/copilotkit/agent/ops/run", body),
        "single": (
            "/copilotkit",
            {"method": "agent/run", "params": {"agentId": "ops"}, "body": body},
        ),
        "session": ("/api/v1/chat", {"message": text, "session_id": thread}),
    }[mount]


@contextmanager
def lines_of(server: DemoServer, mount: str, thread: str, text: str) -> Iterator[Lines]:
    """The lines of a stream, as they come."""
    path, body = request_of(mount, thread, text)
    with plain.stream("POST", server.url + path, json=body, timeout=PATIENCE) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        assert "no-cache" in response.headers["cache-control"]
        yield response.iter_lines()


def is_running(server: DemoServer, thread: str) -> bool:
    answer = plain.get(f"{server.url}/threads/{thread}", timeout=PATIENCE)
    return bool(answer.raise_for_status().json()["status"] == "running")


def is_text(line: str) -> bool:
    return '"TEXT_MESSAGE_CONTENT"' in line or '"type":"message"' in line


@requirement("EN-06")
@pytest.mark.parametrize("mount", MOUNTS)
def test_events_come_at_once_and_silence_is_outlived(impatient: Replica, mount: str) -> None:
    """M1, M2: the first words are here while the run goes on, for longer than nginx waits."""
    thread = f"silent-{mount}"
    impatient.hold()
    with lines_of(impatient, mount, thread, "slow") as lines:
        first = next(line for line in lines if is_text(line))
        assert is_running(impatient, thread), f"{first} was held back until the run was over"
        for _ in range(6):  # half a second each
            next(line for line in lines if line.startswith(":"))
        impatient.release()
        rest = list(lines)
    events = [json.loads(line[6:]) for line in rest if line.startswith("data: ")]
    assert events[-1]["type"] in ("RUN_FINISHED", "done")
    assert impatient.kinds(thread) == ["slow"]


@requirement("ER-13")
@pytest.mark.parametrize("mount", MOUNTS)
def test_who_leaves_finds_the_run_at_its_end(proxied: Replica, mount: str) -> None:
    """N1, N4: the run goes on without its client; all of it is there for whoever comes back."""
    thread = f"left-{mount}"
    proxied.hold()
    with lines_of(proxied, mount, thread, "slow") as lines:
        next(line for line in lines if is_text(line))
    assert is_running(proxied, thread)
    proxied.release()
    if mount == "session":
        answer = plain.get(
            f"{proxied.url}/api/v1/chat", params={"session_id": thread}, timeout=PATIENCE
        )
        frames = [json.loads(line[6:]) for line in answer.text.splitlines() if line[:5] == "data:"]
        assert frames[-1]["type"] == "done"
        told = [frame["content"] for frame in frames if frame["type"] == "message"]
    else:
        assert proxied.connect(thread)[-1]["type"] == "RUN_FINISHED"
        (shown,) = [e for e in proxied.connect(thread) if e["type"] == "MESSAGES_SNAPSHOT"]
        told = [message["content"] for message in shown["messages"]]
    assert [text.split(" ")[0] for text in told] == ["slow", "I", "The"]
    assert proxied.kinds(thread) == ["slow"]


def test_an_answer_through_the_proxy_counts_once(proxied: DemoServer) -> None:
    """B1, M4: nothing is open while a person thinks; the same POST again has no second effect."""
    (asked,) = interrupts(proxied.run("t-3", text="refund please"))
    for _ in range(2):
        events = proxied.run("t-3", resume=[resolved(asked, {"approved": True})])
        assert events[-1]["type"] == "RUN_FINISHED"
    assert proxied.kinds("t-3") == ["refund"]


def test_the_inbox_is_followed_through_the_proxy(impatient: DemoServer) -> None:
    """M1: a change is told while the stream is open, however long it was silent before."""
    with plain.stream("GET", f"{impatient.url}/interrupts/stream", timeout=PATIENCE) as response:
        lines = response.iter_lines()
        assert "connected" in next(line for line in lines if line.startswith("data: "))
        for _ in range(5):
            next(line for line in lines if line.startswith(":"))
        (asked,) = interrupts(impatient.run("t-4", text="refund please"))
        told = json.loads(next(line for line in lines if line.startswith("data: "))[6:])
        assert (told["type"], told["interruptId"]) == ("opened", asked["id"])


SLOW = """
import asyncio
from pathlib import Path

from sayso import KeepAlive, Sayso, ServerOptions, Turn

server = ServerOptions(console=False, keep_alive=KeepAlive(0.5, size={size}))
app = Sayso(store="memory:", server=server)

async def work() -> None:
    await asyncio.sleep(4)
    while Path("hold").exists():
        await asyncio.sleep(0.02)

@app.agent("ops")
async def ops(turn: Turn) -> None:
    await turn.step(asyncio.sleep, 0.3)  # what comes with the head of an answer passes anyway
    await turn.say("first")
    await turn.step(work)
"""


@pytest.mark.parametrize("size", [0, 8192])
def test_long_comments_bring_events_through_a_proxy_that_holds_back_what_is_short(
    size: int, tmp_path: Path
) -> None:
    """M3: without them the words are here when the run is over, with them while it goes on.

    Such a proxy is farther out: nginx holds back nothing of what comes to it in chunks.
    """
    (tmp_path / "slow.py").write_text(SLOW.format(size=size), "utf-8")
    hold = tmp_path / "hold"
    if size > 0:
        hold.touch()
    for name in ("inner", "outer"):
        (tmp_path / name).mkdir()
    server = DemoServer(tmp_path, watched=False)
    server.command = [sys.executable, "-m", "sayso", "serve", "slow:app", "--insecure-no-auth"]
    server.command += ["--port", str(server.port)]
    with (
        server,
        Nginx(tmp_path / "inner", server.port) as inner,
        Nginx(tmp_path / "outer", inner.port, holding=True) as outer,
        lines_of(through(outer, server), "agents", "held", "go") as lines,
    ):
        next(line for line in lines if is_text(line))
        assert is_running(server, "held") is (size > 0)
        hold.unlink(missing_ok=True)
        assert '"RUN_FINISHED"' in [line for line in lines if line][-1]


def test_large_requests_pass_and_too_large_ones_are_told_so(proxied: DemoServer) -> None:
    """Design 4: up to 32 MiB is the server's to judge, and not the proxy's."""
    for size, status in ((7_000_000, 200), (33_800_000, 413)):
        body = run_input("t-5", text="hello " + "x" * size)
        answer = plain.post(f"{proxied.url}/agents/ops", json=body, timeout=PATIENCE)
        assert answer.status_code == status
        if status == 413:
            assert answer.json()["code"] == "body_too_large"


def test_pages_of_the_proxy_s_own_origin_may_call(proxied: DemoServer) -> None:
    """Design 7: Host goes through with its port, so its pages are no strangers; others are."""
    url = f"{proxied.url}/agents"
    for origin, status in ((proxied.url, 200), ("http://evil.example", 403)):
        assert plain.get(url, headers={"origin": origin}, timeout=PATIENCE).status_code == status


def test_a_stopped_run_ends_at_once_behind_the_proxy(proxied: DemoServer) -> None:
    """Design 4: a stop is a request of its own, and the stream ends with the run."""
    (_,) = interrupts(proxied.run("t-6", text="refund please"))

    def waits() -> bool:
        return (proxied.connect("t-6")[-1].get("outcome") or {}).get("type") == "interrupt"

    assert waits()
    stopped = plain.post(f"{proxied.url}/threads/t-6/stop", timeout=PATIENCE)
    assert stopped.json() == {"stopped": True}
    until("it waits for nothing", lambda: not waits())
    assert proxied.effects("t-6") == []
