"""Real servers, one of which mounts the other's agent: either is killed."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import plain
from tests.patience import PATIENCE
from tests.server import DemoServer, Event, interrupts, resolved, until

YES = {"approved": True}


class Mortal(DemoServer):
    """`sayso serve` of one of the two."""

    def __init__(self, folder: Path, name: str, far: str = "") -> None:
        agent = {"far": "payer", "near": "partner"}[name]
        super().__init__(folder, store=f"sqlite:///{folder / name}.db", agent=agent, watched=False)
        self.preloaded = ("httpx", "sayso.agui")
        self.command = [
            *(sys.executable, "-m", "sayso", "serve", f"tests.frameworks.agui.mortal:{name}"),
            *("--port", str(self.port), "--store", self.store, "--grace", "0.5"),
        ]
        root = str(Path(__file__).parents[3])
        self.environment = {
            "SAYSO_TEST_DATA": str(folder),
            "SAYSO_TEST_FAR": far,
            "PYTHONPATH": f"{root}/server:{root}",
        }

    def done(self) -> list[str]:
        """The effects so far."""
        path = self.folder / "effects"
        return path.read_text().splitlines() if path.exists() else []

    def open(self) -> list[Event]:
        """All open questions."""
        items: list[Event] = plain.get(f"{self.url}/interrupts", timeout=PATIENCE).json()["items"]
        return items


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Mortal]:
    """The server elsewhere."""
    with Mortal(tmp_path, "far") as server:
        yield server


@pytest.fixture
def near(far: Mortal) -> Iterator[Mortal]:
    """The server that mounts its agent."""
    with Mortal(far.folder, "near", far.url) as server:
        yield server


@pytest.mark.parametrize("killed", ["near", "far"])
def test_either_is_killed_while_a_question_is_open(near: Mortal, far: Mortal, killed: str) -> None:
    (asked,) = interrupts(near.run("t1", text="pay 7"))
    server = {"near": near, "far": far}[killed]
    server.kill()
    server.start()
    events = near.run("t1", resume=[resolved(asked, YES)])
    assert events[-1]["outcome"]["type"] == "success"
    assert near.done() == ["pay 7"]


def test_the_far_one_dies_after_its_effect(near: Mortal, far: Mortal) -> None:
    """It asks on its own card, through ours, whether it had happened."""
    (asked,) = interrupts(near.run("t1", text="pay 99"))
    (unsure,) = interrupts(near.run("t1", resume=[resolved(asked, YES)]))
    assert unsure["reason"] == "sayso:decision"
    far.process.wait(PATIENCE)
    far.start()
    until("it asks what became of its call", lambda: bool(far.open()))
    events = near.run("t1", resume=[resolved(unsure, {"action": "run_again"})])
    (unclear,) = interrupts(events)
    assert unclear["reason"] == "far:indeterminate"
    done = resolved(unclear, {"action": "skip", "result": "it was paid"})
    events = near.run("t1", resume=[done])
    assert events[-1]["outcome"]["type"] == "success"
    assert near.done() == ["pay 99"]


def test_the_near_one_dies_while_the_answer_is_acted_on(near: Mortal, far: Mortal) -> None:
    (asked,) = interrupts(near.run("t1", text="pay 98"))
    with pytest.raises(Exception, match=r"peer closed|disconnected|reset"):
        near.run("t1", resume=[resolved(asked, YES)])
    near.process.wait(PATIENCE)
    near.start()
    until("the unsure run is asked about", lambda: bool(near.open()))
    (unsure,) = near.open()
    events = near.run("t1", resume=[resolved(unsure, {"action": "run_again"})])
    assert events[-1]["outcome"]["type"] == "success"
    assert near.done() == ["pay 98"]
