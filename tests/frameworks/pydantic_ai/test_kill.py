"""Real servers that are killed while an agent of Pydantic AI waits, or in the midst of a tool."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import plain
from tests.patience import PATIENCE
from tests.server import DemoServer, Event, interrupts, resolved, until

YES = {"approved": True}


class ShopServer(DemoServer):
    """`sayso serve` of the mortal shop."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, store=f"sqlite:///{folder / 'shop.db'}", agent="shop")
        self.command = [
            *(sys.executable, "-m", "sayso", "serve", "tests.frameworks.pydantic_ai.mortal:app"),
            *("--port", str(self.port), "--store", self.store, "--grace", "0.5"),
        ]
        root = str(Path(__file__).parents[3])
        self.environment = {"SAYSO_TEST_DATA": str(folder), "PYTHONPATH": f"{root}/server:{root}"}

    def done(self) -> list[str]:
        """The effects so far, in order."""
        path = self.folder / "effects"
        return path.read_text().splitlines() if path.exists() else []

    def open(self, thread_id: str) -> list[Event]:
        """The open questions of a thread."""
        items = plain.get(f"{self.url}/interrupts", timeout=PATIENCE).json()["items"]
        return [item for item in items if item["threadId"] == thread_id]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ShopServer]:
    """A server that runs."""
    with ShopServer(tmp_path) as server:
        yield server


def test_a_server_is_killed_while_two_cards_are_open(server: ShopServer) -> None:
    asked = interrupts(server.run("t1", text="refund A-17 and A-18 after status"))
    assert len(asked) == 2
    server.kill()
    server.start()
    events = server.run("t1", resume=[resolved(item, YES) for item in asked])
    assert events[-1]["outcome"]["type"] == "success"
    assert sorted(server.done()) == ["refund A-17 240", "refund A-18 240", "status A-17"]


def test_a_server_dies_after_an_effect_and_before_its_record(server: ShopServer) -> None:
    (asked,) = interrupts(server.run("t1", text="refund A-99"))
    with pytest.raises(Exception, match=r"peer closed|disconnected|reset"):
        server.run("t1", resume=[resolved(asked, YES)])
    server.process.wait(PATIENCE)
    server.start()
    until("the unclear call is asked about", lambda: bool(server.open("t1")))
    (unclear,) = server.open("t1")
    assert unclear["reason"] == "sayso:indeterminate"
    skip = {"action": "skip", "result": "it was refunded"}
    events = server.run("t1", resume=[resolved(unclear, skip)])
    assert events[-1]["outcome"]["type"] == "success"
    said = "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")
    assert "it was refunded" in said
    assert server.done() == ["refund A-99 240"]


def test_one_answer_sent_four_times_to_two_servers_has_one_effect(server: ShopServer) -> None:
    with ShopServer(server.folder) as other:
        for number in range(3):
            thread, order = f"t{number}", f"A-{number}"
            (asked,) = interrupts(server.run(thread, text=f"refund {order}"))
            entry = [resolved(asked, YES)]
            with ThreadPoolExecutor(4) as pool:
                sent = [pool.submit(each.run, thread, resume=entry) for each in (server, other) * 2]
                runs = [each.result(PATIENCE) for each in sent]
            outcomes = [events[-1].get("outcome", {}).get("type") for events in runs]
            assert outcomes == ["success"] * 4, [events[-1] for events in runs]
            assert server.done().count(f"refund {order} 240") == 1
