"""Real servers of an adapter's agent that are killed while it waits, or in the midst of its work.

    class TestKilled(Killed):
        app = "tests.frameworks.langgraph.mortal:app"
        loads = ("tests.frameworks.langgraph.models",)

The app serves the agent of a `Ledger` as `shop`. To import a framework takes seconds of CPU: the
servers are forks of a process that has done so.
"""

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests import plain
from tests.frameworks.mortal import DEADLY, LAST_WORDS
from tests.patience import PATIENCE
from tests.server import DemoServer, Event, interrupts, resolved, until
from tests.sources import ROOT

YES = {"approved": True}


class ShopServer(DemoServer):
    """`sayso serve` of an app, over a file."""

    def __init__(self, folder: Path, app: str, loads: Sequence[str]) -> None:
        store = f"sqlite:///{folder / 'shop.db'}"
        super().__init__(folder, store=store, agent="shop", watched=False)
        self.preloaded = loads
        self.command = [
            *(sys.executable, "-m", "sayso", "serve", app),
            *("--port", str(self.port), "--store", self.store, "--grace", "0.5"),
        ]
        self.environment = {"SAYSO_TEST_DATA": str(folder), "PYTHONPATH": f"{ROOT}/server:{ROOT}"}

    def done(self) -> list[str]:
        """The effects so far, in order."""
        path = self.folder / "effects"
        return path.read_text().splitlines() if path.exists() else []

    def open(self, thread_id: str) -> list[Event]:
        """The open questions of a thread."""
        items = plain.get(f"{self.url}/interrupts", timeout=PATIENCE).json()["items"]
        return [item for item in items if item["threadId"] == thread_id]

    def dies(self, thread_id: str, **parts: object) -> None:
        """Send a request in which it dies, and start it again."""
        with pytest.raises(httpx.TransportError):
            self.run(thread_id, **parts)
        self.process.wait(PATIENCE)
        self.start()


def text_of(events: list[Event]) -> str:
    """What was said in a run."""
    return "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")


class Killed:
    """The tests."""

    app: str
    """The app, as `sayso serve` takes it."""
    loads: Sequence[str]
    """What it imports of the framework, but not the app itself."""

    @pytest.fixture
    def server(self, tmp_path: Path) -> Iterator[ShopServer]:
        """A server that runs."""
        with ShopServer(tmp_path, self.app, self.loads) as server:
            yield server

    def test_a_server_is_killed_while_two_cards_are_open(self, server: ShopServer) -> None:
        asked = interrupts(server.run("t1", text="refund A-17 and A-18 after status"))
        assert len(asked) == 2
        server.kill()
        server.start()
        events = server.run("t1", resume=[resolved(item, YES) for item in asked])
        assert events[-1]["outcome"]["type"] == "success"
        assert sorted(server.done()) == ["refund A-17 240", "refund A-18 240", "status A-17"]

    def test_a_server_dies_after_an_effect_and_before_its_record(self, server: ShopServer) -> None:
        (asked,) = interrupts(server.run("t1", text=f"refund {DEADLY}"))
        server.dies("t1", resume=[resolved(asked, YES)])
        until("the unclear call is asked about", lambda: bool(server.open("t1")))
        (unclear,) = server.open("t1")
        assert unclear["reason"] == "sayso:indeterminate"
        skip = {"action": "skip", "result": "it was refunded"}
        events = server.run("t1", resume=[resolved(unclear, skip)])
        assert events[-1]["outcome"]["type"] == "success"
        assert "it was refunded" in text_of(events)
        assert server.done() == [f"refund {DEADLY} 240"]

    def test_a_server_dies_while_it_asks_a_model_which_is_asked_again(
        self, server: ShopServer
    ) -> None:
        server.dies("t1", text=LAST_WORDS)
        until("the turn is over", lambda: self._ends(server))
        assert server.open("t1") == []

    @staticmethod
    def _ends(server: ShopServer) -> bool:
        events = server.connect("t1")
        shown = [m for e in events if e["type"] == "MESSAGES_SNAPSHOT" for m in e["messages"]]
        said = text_of(events) + "".join(m["content"] for m in shown if m["role"] == "assistant")
        return "Hello, this is turn 1." in said

    def test_one_answer_sent_four_times_to_two_servers_has_one_effect(
        self, server: ShopServer
    ) -> None:
        with ShopServer(server.folder, self.app, self.loads) as other:
            for number in range(3):
                thread, order = f"t{number}", f"A-{number}"
                (asked,) = interrupts(server.run(thread, text=f"refund {order}"))
                entry = [resolved(asked, YES)]
                with ThreadPoolExecutor(4) as pool:
                    sent = [pool.submit(s.run, thread, resume=entry) for s in (server, other) * 2]
                    runs = [each.result(PATIENCE) for each in sent]
                outcomes = [events[-1].get("outcome", {}).get("type") for events in runs]
                assert outcomes == ["success"] * 4, [events[-1] for events in runs]
                assert server.done().count(f"refund {order} 240") == 1
