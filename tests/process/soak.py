"""Two replicas of the demo behind one proxy, people who approve, and processes that die.

    soak = Soak(store, folder, seed=7)
    soak.run(seconds=600)
    assert not soak.faults()

Effects are counted in the ledger, which hides no double.
"""

import random
import threading
import time
from collections import Counter
from pathlib import Path

from tests.process.ledger import Ledger
from tests.process.people import PATIENCE, Person
from tests.process.replicas import Disaster, Replicas
from tests.server import DemoServer

__all__ = ["Soak", "two_demos"]

SLEEP = 12.0
"""Seconds for which a process is stopped: more than its lease."""
SILENCE = 15.0
"""Seconds without a byte after which a client tries again: more than a take-over takes."""
DISASTERS: tuple[Disaster, ...] = ("kill", "kill command", "sleep", "cut", "cut store", "restart")


def two_demos(store: str, folder: Path) -> Replicas:
    """Two `sayso demo` on one store, with one ledger."""
    data = folder / "data"
    servers = []
    for name in ("one", "two"):
        (folder / name).mkdir()
        servers.append(DemoServer(folder / name, store=store, data=data))
    return Replicas(store, servers, Ledger(data))


class Soak:
    """What was done, what broke meanwhile, and what must have come of it."""

    def __init__(self, store: str, folder: Path, *, seed: int, clients: int = 6) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a soak, not a secret
        self.replicas = two_demos(store, folder)
        self.clients = clients
        self.people: list[Person] = []
        """Everybody so far."""
        self._over = threading.Event()
        self._unfinished: list[str] = []

    def run(self, seconds: float, *, every: tuple[float, float] = (1.0, 4.0)) -> None:
        """Let things break for so long, with such pauses; then let all turns come to their end."""
        threads = [
            threading.Thread(target=self._come_and_go, args=(self.random.getrandbits(32),))
            for _ in range(self.clients)
        ]
        with self.replicas:
            for thread in threads:
                thread.start()
            try:
                self._break(time.monotonic() + seconds, every)
            finally:
                self._over.set()
                self.replicas.settle()
                for thread in threads:
                    thread.join(2 * PATIENCE)
            self._unfinished = [f"{one.name} never ended" for one in threads if one.is_alive()]

    def _break(self, end: float, every: tuple[float, float]) -> None:
        plan: list[Disaster] = []
        while time.monotonic() < end:
            self.replicas.wake_in_time()
            self._over.wait(self.random.uniform(*every))
            if not plan:
                plan = self.random.sample(DISASTERS, len(DISASTERS))
            server = self.replicas.someone(self.random)
            self.replicas.strike(plan.pop(), server, sleep=SLEEP)

    def _come_and_go(self, seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311 - as above
        while not self._over.is_set():
            person = Person(
                self.replicas.proxy.url,
                self.replicas.ledger,
                chance.getrandbits(32),
                calm=self.replicas.calm,
                silence=SILENCE,
            )
            self.people.append(person)
            person.see_through()

    @property
    def happened(self) -> Counter[str]:
        """Disasters, and what people met."""
        return sum((one.happened for one in self.people), self.replicas.happened)

    def effects(self) -> int:
        """How many there were."""
        return sum(sum(kinds.values()) for kinds in self.replicas.ledger.effects().values())

    def faults(self) -> list[str]:
        """Effects that happened twice or were lost, and people who never came to an end."""
        return [*self._unfinished, *(fault for one in self.people for fault in one.faults())]
