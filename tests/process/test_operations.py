"""What operators see of real processes: an end that is announced, and replicas that die."""

import signal
from pathlib import Path

import httpx
import orjson
import pytest

from tests import plain
from tests.patience import PATIENCE
from tests.process.test_serve import serving
from tests.server import DemoServer, interrupts, resolved, run_input, until
from tests.stores.backends import NETWORKED, SHARED

AGENTS = """
from sayso import Sayso, ServerOptions, Turn

app = Sayso(store="memory:", server=ServerOptions(console=False))

@app.agent("greeter")
async def greeter(turn: Turn) -> None:
    await turn.say("Hello.")
"""


def greet(url: str) -> httpx.Response:
    body = run_input("t", text="go", run_id="r")
    return plain.post(f"{url}/agents/greeter", json=body, timeout=PATIENCE)


def test_a_server_that_ends_says_so_first_and_serves_on_meanwhile(tmp_path: Path) -> None:
    """TR-17: unready at once, and requests are still answered."""
    (tmp_path / "served_agents.py").write_text(AGENTS)
    options = ("--drain", f"{2 * PATIENCE}")
    with serving(tmp_path, "served_agents:app", *options) as (url, process):
        assert plain.get(f"{url}/readyz", timeout=PATIENCE).status_code == 200
        process.send_signal(signal.SIGTERM)

        def unready() -> bool:
            return plain.get(f"{url}/readyz", timeout=PATIENCE).status_code == 503

        until("the server says that it ends", unready)
        assert plain.get(f"{url}/readyz", timeout=PATIENCE).json()["code"] == "shutting_down"
        assert "RUN_FINISHED" in greet(url).text


def test_a_server_is_gone_once_it_has_served_on_for_long_enough(tmp_path: Path) -> None:
    """TR-17: with exit code 0; its log is JSON."""
    (tmp_path / "served_agents.py").write_text(AGENTS)
    options = ("--drain", "0.5", "--log-format", "json", "--log-level", "info")
    with serving(tmp_path, "served_agents:app", *options) as (url, process):
        assert "RUN_FINISHED" in greet(url).text
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    lines = (tmp_path / "log").read_text("utf-8").splitlines()
    logged = [orjson.loads(line) for line in lines if line.startswith("{")]
    (ended,) = [line for line in logged if line["message"] == "ended"]
    told = (ended["thread"], ended["run"], ended["agent"], ended["code"])
    assert told == ("t", "r", "greeter", "success")
    assert not [line for line in lines if "Traceback" in line]


@pytest.mark.parametrize("kind", NETWORKED)
def test_replicas_survive_each_other(kind: str, tmp_path: Path) -> None:
    """Design 6: killed while a refund waits, and while slow work runs; each effect happens once."""
    store, data = SHARED[kind](tmp_path), tmp_path / "data"
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    one, two = (DemoServer(folder, store=store, data=data, watched=False) for folder in folders)
    with one, two:
        (waiting,) = interrupts(one.run("waits", text="refund"))
        (slow,) = interrupts(one.run("works", text="slow refund"))
        answer = [resolved(slow, {"approved": True})]
        try:
            with one.stream("works", resume=answer) as events:
                until("the slow work has begun", lambda: two.kinds("works") == ["refund", "slow"])
                one.kill()
                list(events)
        except httpx.TransportError:
            pass  # the stream dies with its server, before or after its last bytes were read
        assert two.connect("works")[-1]["outcome"] == {"type": "success"}
        assert interrupts(two.connect("waits")) == [waiting]
        approved = [resolved(waiting, {"approved": True})]
        assert two.run("waits", resume=approved)[-1]["outcome"] == {"type": "success"}
        assert two.run("waits", resume=approved)[-1]["outcome"] == {"type": "success"}
        assert two.kinds("works") == ["refund", "slow"]
        assert two.kinds("waits") == ["refund"]
        told = plain.get(f"{two.url}/metrics", timeout=PATIENCE).text
        assert "\nsayso_interrupts_open 0\n" in told
