"""Two replicas of the demo behind one proxy, clients that approve, and processes that die.

    soak = Soak(store, folder, seed=7)
    soak.run(seconds=120)
    assert not soak.faults()

Effects are counted in the ledger, which hides no double. One thing no server can prevent: a process
that is stopped in the very middle of an effect finishes it when it wakes. So the sleepers of a soak
are stopped where no effect is under way that the ledger does not show yet.
"""

import asyncio
import json
import os
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import httpx

from sayso.stores import open_store
from sayso.turns.journal import identify
from tests.server import DemoServer, Event, events_of, is_running, resolved, run_input
from tests.stores.proxy import Proxy

__all__ = ["ROWS", "Soak"]

ROWS: dict[str, dict[str, int]] = {
    "refund": {"refund": 1},
    "email": {"email": 3},
    "order status and refund": {"lookup": 1, "refund": 1},
    "slow refund": {"refund": 1, "slow": 1},
    "nested": {"inner": 2},
}
"""What is said, and the effects that it must have had once all was approved."""

SLEEP = 12.0
"""Seconds for which a process is stopped: more than its lease."""
SILENCE = 15.0
"""Seconds without a byte after which a client tries again: more than a take-over takes."""
PATIENCE = 120.0
"""Seconds that a client needs at most for a turn once nothing breaks any more."""

Disaster = Literal["kill worker", "kill command", "sleep", "cut", "restart"]
DISASTERS: tuple[Disaster, ...] = ("kill worker", "kill command", "sleep", "cut", "restart")


class Soak:
    """What was done, what broke meanwhile, and what must have come of it."""

    def __init__(self, store: str, folder: Path, *, seed: int, clients: int = 6) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a soak, not a secret
        self.store = store
        self.data = folder / "data"
        self.servers = []
        for name in ("one", "two"):
            (folder / name).mkdir()
            self.servers.append(DemoServer(folder / name, store=store, data=self.data))
        self.clients = clients
        self.happened: Counter[str] = Counter()
        """Disasters, and what clients met."""
        self.said: dict[str, str] = {}
        """What was said in each thread."""
        self.told: dict[str, list[str]] = {}
        """What the last answer of each thread told of its calls."""
        self.broken: list[str] = []
        """Clients that failed."""
        self._over = threading.Event()
        self._asleep: DemoServer | None = None

    def run(self, seconds: float, *, every: tuple[float, float] = (1.0, 4.0)) -> None:
        """Let things break for so long, with such pauses; then let all turns come to their end."""
        for server in self.servers:
            server.start()
        self.proxy = Proxy(*(f"{server.url}/" for server in self.servers))
        threads = [
            threading.Thread(target=self._client, args=(self.random.getrandbits(32),))
            for _ in range(self.clients)
        ]
        try:
            for thread in threads:
                thread.start()
            self._break(time.monotonic() + seconds, every)
            self._over.set()
            for server in self.servers:
                server.wait_healthy()
            for thread in threads:
                thread.join(PATIENCE)
            self.broken += [f"{one.name} never ended" for one in threads if one.is_alive()]
        finally:
            self._over.set()
            self.proxy.close()
            for server in self.servers:
                server.kill()

    # What breaks

    def _break(self, end: float, every: tuple[float, float]) -> None:
        waking = 0.0
        turns: list[Disaster] = []
        while (now := time.monotonic()) < end:
            if self._asleep is not None and now >= waking:
                self._wake()
            self._over.wait(self.random.uniform(*every))
            if not turns:
                turns = self.random.sample(DISASTERS, len(DISASTERS))
            disaster = turns.pop()
            awake = [one for one in self.servers if one is not self._asleep]
            server = self.random.choice(awake)
            if disaster == "sleep":
                if self._asleep is None and self._stop(server):
                    waking = time.monotonic() + SLEEP
            else:
                self._strike(disaster, server)
        if self._asleep is not None:
            self._over.wait(max(0.0, waking - time.monotonic()))
            self._wake()

    def _strike(self, disaster: Disaster, server: DemoServer) -> None:
        self.happened[disaster] += 1
        if disaster == "cut":
            self.proxy.cut()
        elif disaster == "kill worker":
            with suppress(ProcessLookupError, ValueError):  # it may be starting just now
                server.kill_worker()
        elif disaster == "kill command":
            server.restart()
        else:
            server.stop()
            server.start()

    def _stop(self, server: DemoServer) -> bool:
        """Stop the process that serves where it is not in the middle of an effect."""
        for _ in range(40):
            with suppress(ProcessLookupError, ValueError):
                worker = server.worker
                os.kill(worker, signal.SIGSTOP)
                if not asyncio.run(self._in_the_middle()):
                    self._asleep, self._sleeper = server, worker
                    self.happened["sleep"] += 1
                    return True
                os.kill(worker, signal.SIGCONT)
            self._over.wait(0.05)
        return False

    def _wake(self) -> None:
        if is_running(self._sleeper):
            os.kill(self._sleeper, signal.SIGCONT)
        self._asleep = None

    async def _in_the_middle(self) -> bool:
        """Whether an effect has been begun that is not in the ledger."""
        store = open_store(self.store)
        await store.open()
        try:
            running = await store.threads("default", status="running", limit=1_000)
            for thread in running.items:
                view = await store.load("default", thread.id)
                assert view is not None
                assert view.turn is not None
                for entry in await store.journal("default", view.turn.key):
                    key = identify(view.turn.key, "key", entry.place)
                    if entry.status == "started" and not self._counted(key):
                        return True
            return False
        finally:
            await store.close()

    # What clients do

    def _client(self, seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311 - as above
        while not self._over.is_set():
            thread = f"t-{uuid4().hex}"
            self.said[thread] = chance.choice(list(ROWS))
            try:
                self._see_through(thread, chance)
            except Exception as error:  # a thread's error would be lost
                self.broken.append(f"{thread} ({self.said[thread]}): {error!r}")
                return

    def _see_through(self, thread: str, chance: random.Random) -> None:
        """Say it, approve what is asked, and try again whenever something breaks."""
        body = run_input(thread, text=self.said[thread])
        events = self._post("", body)
        end = None
        while True:
            if self._over.is_set():
                end = end or time.monotonic() + PATIENCE
                assert time.monotonic() < end, f"never came to an end: {events[-1:]}"
            last: Event = events[-1] if events else {"type": "nothing"}
            outcome: Event = last.get("outcome") or {}
            if outcome.get("type") == "interrupt":
                events = self._approve(thread, outcome["interrupts"], chance)
            elif outcome.get("type") == "success" and not self._is_empty(events):
                self.told[thread] = self._results(events)
                return
            else:
                self.happened[f"tried again after {last.get('code', last['type'])}"] += 1
                time.sleep(0.1)
                events = self._post("/connect", run_input(thread))
                if self._is_empty(events):
                    events = self._post("", body)

    def _approve(self, thread: str, asked: list[Event], chance: random.Random) -> list[Event]:
        entries = [resolved(one, self._payload(one)) for one in asked]
        if chance.random() < 0.7:
            self.happened["resumed"] += 1
            return self._post("", run_input(thread, resume=entries))
        for entry in entries:
            path = f"{self.proxy.url}interrupts/{entry.pop('interruptId')}/answer"
            with suppress(httpx.TransportError):
                self.happened["answered in the inbox"] += 1
                httpx.post(path, json=entry, timeout=SILENCE)
        return self._post("/connect", run_input(thread))

    def _payload(self, asked: Event) -> Any:
        if asked["reason"] != "sayso:indeterminate":
            return {"approved": True}
        self.happened["asked what happened"] += 1
        result = self._counted(asked["metadata"]["sayso"]["key"])
        if result is None:
            return {"action": "run_again"}
        return {"action": "skip", "result": json.loads(result)}

    def _post(self, path: str, body: Event) -> list[Event]:
        """The events of a run, as far as they came."""
        events: list[Event] = []
        url = f"{self.proxy.url}agents/ops{path}"
        with (
            suppress(httpx.TransportError),
            httpx.stream("POST", url, json=body, timeout=SILENCE) as response,
        ):
            if response.status_code == 200:
                events.extend(events_of(response.iter_lines()))
            else:
                self.happened[f"status {response.status_code}"] += 1
        return events

    def _is_empty(self, events: list[Event]) -> bool:
        """Whether they tell of a thread that has not begun to exist."""
        shown = [m for e in events if e["type"] == "MESSAGES_SNAPSHOT" for m in e["messages"]]
        frame = {"RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"}
        return not shown and {event["type"] for event in events} <= frame

    def _results(self, events: list[Event]) -> list[str]:
        shown = [m for e in events if e["type"] == "MESSAGES_SNAPSHOT" for m in e["messages"]]
        told = [m for m in shown if m["role"] == "tool"]
        told += [event for event in events if event["type"] == "TOOL_CALL_RESULT"]
        return [one["content"] for one in told]

    # What came of it

    def _counted(self, key: str) -> str | None:
        """The result of the effect of that key as the ledger has it."""
        with closing(sqlite3.connect(self.data / "ledger.db", timeout=10)) as ledger:
            query = "SELECT result FROM effects WHERE call_key = ?"
            found = ledger.execute(query, (key,)).fetchone()
        return None if found is None else str(found[0])

    def effects(self) -> dict[str, Counter[str]]:
        """The kinds of the effects of each thread."""
        with closing(sqlite3.connect(self.data / "ledger.db", timeout=10)) as ledger:
            rows = ledger.execute("SELECT thread_id, kind FROM effects").fetchall()
        found: dict[str, Counter[str]] = {}
        for thread, kind in rows:
            found.setdefault(thread, Counter())[kind] += 1
        return found

    def faults(self) -> list[str]:
        """Effects that happened twice or were lost, and clients that never came to an end."""
        effects = self.effects()
        found = list(self.broken)
        for thread, said in self.said.items():
            seen, wanted = effects.get(thread, Counter()), Counter(ROWS[said])
            if more := seen - wanted:
                found.append(f"{thread} ({said}): done too often: {dict(more)}")
            if less := wanted - seen:
                found.append(f"{thread} ({said}): lost: {dict(less)}; {self.told.get(thread)}")
        return found
