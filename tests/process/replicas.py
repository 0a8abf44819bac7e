"""Servers on one store behind one proxy, and what may befall them.

A process that is stopped in the very middle of an effect finishes it when it wakes, which no server
can prevent. So a sleeper is stopped where no effect is under way that the ledger does not show yet;
from there on it must not act.
"""

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Literal, Self
from urllib.parse import urlsplit

from tests.patience import PATIENCE
from tests.process.ledger import Ledger, in_the_middle
from tests.server import DemoServer, is_running, until
from tests.sources import ROOT
from tests.stores.proxy import Proxy

__all__ = ["LEASE", "Disaster", "Replica", "Replicas", "Serving"]

LEASE = 10.0
"""Seconds after which a `Replica` that says nothing has lost its threads.

A process that a busy machine holds up for longer than that in the middle of an effect is as one
that was stopped there, and the effect happens twice. Nothing but a long lease prevents that.
"""

Disaster = Literal["kill", "kill command", "sleep", "cut", "cut store", "restart"]
"""Kill -9 of what serves, or of the command above it; SIGSTOP past the lease; all connections of
clients, or those to the store, that end; SIGTERM and a new start."""


class Serving(DemoServer):
    """`sayso serve` of an app that is found in a folder: one process, which nobody watches."""

    def __init__(
        self, folder: Path, target: str, *, store: str, agent: str = "ops", **environment: str
    ) -> None:
        super().__init__(folder, store=store, agent=agent, watched=False)
        self.command = [
            *(self.command[0], "-m", "sayso", "serve", target),
            *("--port", str(self.port), "--store", store, "--grace", "0.5"),
        ]
        self.environment = environment

    def kill_worker(self) -> None:
        """Kill -9, and begin to start again."""
        self.kill()
        self.spawn()


class Replica(Serving):
    """`sayso serve` of the demo's agent, with a short lease as a rule."""

    def __init__(self, folder: Path, *, store: str, data: Path, lease: float = LEASE) -> None:
        super().__init__(
            folder,
            "tests.process.served:app",
            store=store,
            PYTHONPATH=os.pathsep.join([str(ROOT / "server"), str(ROOT)]),
            SAYSO_TEST_DATA=str(data),
            SAYSO_TEST_LEASE=str(lease),
        )
        self._hold = data / "hold"

    def hold(self) -> None:
        """Slow work is not over before `release`."""
        self._hold.parent.mkdir(exist_ok=True)
        self._hold.touch()

    def release(self) -> None:
        """Let it end."""
        self._hold.unlink()


class Replicas:
    """Two or more servers behind a round-robin proxy; nothing of them is left at the end."""

    def __init__(self, store: str, servers: Sequence[DemoServer], ledger: Ledger) -> None:
        """`store` is the way to the store that nothing befalls."""
        self.store = store
        self.servers = list(servers)
        self.ledger = ledger
        self.happened: Counter[str] = Counter()
        self.calm = threading.Event()
        """Set while nothing breaks."""
        self._asleep: DemoServer | None = None
        self._sleeper = 0
        self._waking = 0.0
        through = servers[0].store
        self.store_proxy: Proxy | None = None
        if through != store:
            raise ValueError("the servers have a store of their own")
        if urlsplit(store).hostname:
            self.store_proxy = Proxy(store)
            for server in servers:
                server.command = [
                    self.store_proxy.url if part == store else part for part in server.command
                ]

    def __enter__(self) -> Self:
        self.proxy = Proxy(*(f"{server.url}/" for server in self.servers))
        for server in self.servers:
            server.spawn()
        try:
            for server in self.servers:
                server.wait_healthy(PATIENCE)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def _end(self) -> None:
        self.calm.set()
        self.proxy.close()
        for server in self.servers:
            server.kill()
        if self.store_proxy is not None:
            self.store_proxy.close()

    def someone(self, chance: random.Random) -> DemoServer:
        """One that serves: that nobody has stopped, and that has come up since it was killed."""
        awake = [one for one in self.servers if one is not self._asleep]
        chance.shuffle(awake)
        serving: list[DemoServer] = []

        def serves() -> bool:
            serving.extend(one for one in awake if one.is_healthy())
            return bool(serving)

        until("a server is up", serves, patience=PATIENCE)
        return serving[0]

    def strike(self, disaster: Disaster, server: DemoServer, *, sleep: float) -> None:
        """Let it befall a server that is awake; `sleep` is how many seconds one is stopped for."""
        if disaster == "sleep":
            if self._asleep is not None or not self._stop(server, sleep):
                return
        elif disaster == "cut":
            self.proxy.cut()
        elif disaster == "cut store":
            if self.store_proxy is None:
                return
            self.store_proxy.cut()
        elif disaster == "kill":
            with suppress(ProcessLookupError, ValueError):  # it may be starting just now
                server.kill_worker()
        elif disaster == "kill command":
            server.kill()
            server.spawn()
        else:
            server.stop(patience=PATIENCE)
            server.spawn()
        self.happened[disaster] += 1

    def wake_in_time(self) -> None:
        """Wake who has slept long enough."""
        if self._asleep is not None and time.monotonic() >= self._waking:
            self._wake()

    def settle(self) -> None:
        """Nothing breaks any more: the sleeper wakes when it has slept enough, all serve again."""
        if self._asleep is not None:
            time.sleep(max(0.0, self._waking - time.monotonic()))  # it has to outlast its lease
            self._wake()
        for server in self.servers:
            server.wait_healthy(PATIENCE)
        self.calm.set()

    def _stop(self, server: DemoServer, sleep: float) -> bool:
        """Stop the process that serves where it is not in the middle of an effect."""
        for _ in range(40):
            with suppress(ProcessLookupError, ValueError):
                worker = server.worker
                os.kill(worker, signal.SIGSTOP)
                try:
                    sleeps = not in_the_middle(self.store, self.ledger)
                except BaseException:
                    os.kill(worker, signal.SIGCONT)
                    raise
                if sleeps:
                    self._asleep, self._sleeper = server, worker
                    self._waking = time.monotonic() + sleep
                    return True
                os.kill(worker, signal.SIGCONT)
            time.sleep(0.02)  # let it come out of it
        return False

    def _wake(self) -> None:
        if is_running(self._sleeper):
            os.kill(self._sleeper, signal.SIGCONT)
        self._asleep = None
