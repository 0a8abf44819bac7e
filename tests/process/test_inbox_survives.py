"""Two processes of the demo, somebody who kills them, and somebody who clears an inbox."""

import random
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests import plain
from tests.contract.requirements import requirement
from tests.patience import PATIENCE
from tests.process.ledger import Ledger
from tests.process.soak import two_demos
from tests.server import Event, run_input, until
from tests.stores.backends import NETWORKED, SHARED

SAID = {**{f"refund {n}": "refund" for n in range(4)}, "mail 1": "email", "mail 2": "email"}
"""What is said in each thread: ten questions in all."""
EFFECTS = {"refund": Counter(refund=1), "email": Counter(email=3)}
KILLS = 5


class Reviewer:
    """Looks at the inbox again and again and approves what is there, through whatever breaks."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.seen: set[str] = set()

    def ask(self, method: str, path: str, body: Event | None = None) -> Event:
        """An answer of a server; nothing if there is none, or no good one."""
        with suppress(httpx.TransportError):
            given = plain.request(method, f"{self._url}{path}", json=body, timeout=5)
            if given.status_code in (200, 202):
                found: Event = given.json()
                return found
        return {}

    def look(self) -> list[str]:
        """The ids of what is open."""
        found = [item["id"] for item in self.ask("GET", "interrupts?status=open").get("items", ())]
        self.seen.update(found)
        return found

    def approve(self, most: int) -> None:
        """Approve some of what is shown."""
        for one in self.look()[:most]:
            yes = {"status": "resolved", "payload": {"approved": True}}
            self.ask("POST", f"interrupts/{one}/answer", yes)

    def clear(self) -> bool:
        """Approve what is shown; whether every thread has come to its end."""
        self.approve(most=len(SAID) * 3)
        threads = self.ask("GET", "threads?limit=100").get("items", ())
        return [one["status"] for one in threads] == ["finished"] * len(SAID)


@requirement("ID-07")
@pytest.mark.parametrize("kind", NETWORKED)
def test_an_inbox_is_cleared_while_processes_are_killed(kind: str, tmp_path: Path) -> None:
    """Design 6, L5: each of ten approvals is carried out once; half of the deaths meet a run."""
    chance = random.Random(10)  # noqa: S311 - a play, not a secret
    with two_demos(SHARED[kind](tmp_path), tmp_path) as replicas:
        for thread, said in SAID.items():
            body = run_input(thread, text=said)
            plain.post(f"{replicas.proxy.url}agents/ops", json=body, timeout=PATIENCE)
        reviewer = Reviewer(replicas.proxy.url)
        until("ten questions are listed", lambda: len(reviewer.look()) == 10)
        assert replicas.ledger.effects() == {}

        def kill() -> None:
            replicas.proxy.wait_for(chance.randint(1, 12), 2.0)
            replicas.strike("kill", replicas.someone(chance), sleep=0)

        for _ in range(KILLS):
            killer = threading.Thread(target=kill)
            killer.start()
            reviewer.approve(most=2)
            while killer.is_alive():
                reviewer.look()
        until("the inbox is cleared", reviewer.clear)
    assert replicas.happened["kill"] == KILLS
    assert len(reviewer.seen) == 10, "nothing was asked twice"
    assert Ledger(tmp_path / "data").effects() == {
        thread: EFFECTS[said] for thread, said in SAID.items()
    }
