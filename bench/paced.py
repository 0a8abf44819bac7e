"""The harness's `run.py` with what it lacks: W1p, W2r, W6, and the CPU of resumes and of steps.

Run by `compare.py` inside a copy of the harness, with the harness's own options. W1p is W1 with one
delta per turn of the event loop (`bench pace`). W5s tells `res_cpu_ms` as well, the server's CPU
for the resume alone, and a point more: 32 turns at once of 0 and of 100 steps each. W2r is W2 on
one server and then on two that share its store, every trip interrupted at one and resumed at the
other. W6 is the memory of a server before and after 20,000 trips.
"""

import time
from itertools import cycle
from pathlib import Path
from typing import Any

import run as harness

MOST = 400
"""Trips of one point of W5s."""
HOURS = 7_200
"""Seconds that W6 may take."""


class Pacer(harness.Client):
    """Asks for paced deltas where W1 asks for ready ones."""

    def run_body(self, thread: str, run: str, messages: list[dict[str, Any]]) -> bytes:
        """The body of a run."""
        body: bytes = super().run_body(thread, run, messages)
        return body.replace(b"bench stream", b"bench pace")


class Replicas:
    """Servers of one store: what they use together."""

    def __init__(self, *servers: Any) -> None:
        self.servers = servers
        self.steal = servers[0].steal

    def cpu(self) -> float:
        """Seconds of CPU."""
        return sum(server.cpu() for server in self.servers)

    def rss(self) -> int:
        """Bytes of memory."""
        return sum(server.rss() for server in self.servers)

    def disk(self) -> int:
        """Bytes on disk."""
        return sum(server.disk() for server in self.servers)


class Turns:
    """Connections to several servers, of which each request takes the next."""

    def __init__(self, connections: list[Any]) -> None:
        self.tr = self
        self._connections = connections
        self._next = cycle(connections)

    def send(self, head: bytes, body: bytes, keep: bool) -> Any:
        """Send a request to whose turn it is."""
        return next(self._next).send(head, body, keep)

    def close(self) -> None:
        """Close all."""
        for connection in self._connections:
            connection.tr.close()


class Balanced(harness.Client):
    """Asks several servers in turn; half of its workers begin at the second."""

    def __init__(self, contender: Any, ports: list[int]) -> None:
        super().__init__(contender, ports[0])
        self._ports = ports

    async def connect(self) -> Turns:
        """Connect to all."""
        self._ports = [*self._ports[1:], self._ports[0]]
        connections = []
        for port in self._ports:
            self.port = port
            connections.append(await super().connect())
        return Turns(connections)


async def replicas(contender: Any, server: Any, given: Any) -> list[dict[str, Any]]:
    """W2 at 32 on one server, on two, and on one again."""
    single = harness.Client(contender, server.port)
    await harness.w2(single, server, 32, 1)  # warms up
    points = [{"replicas": 1} | await harness.w2(single, server, 32, given.seconds)]
    with harness.Server(contender, harness.free_port(), not given.no_pin) as second:
        both = Balanced(contender, [server.port, second.port])
        await harness.w2(both, Replicas(server, second), 32, 1)
        together = await harness.w2(both, Replicas(server, second), 32, given.seconds)
    points.append({"replicas": 2} | together)
    points.append({"replicas": 1} | await harness.w2(single, server, 32, given.seconds))
    return points


async def memory(contender: Any, server: Any) -> dict[str, Any]:
    """How much a server grows over 20,000 trips, after 2,000."""
    client = harness.Client(contender, server.port)
    await harness.w2(client, server, 32, HOURS, maxn=2_000)
    before = server.rss()
    point = await harness.w2(client, server, 32, HOURS, maxn=20_000)
    grown = (server.rss() - before) / 2**20
    return point | {"rss_before_mb": before / 2**20, "rss_grown_mb": grown}


def cpu_ns(pid: int) -> int:
    """Nanoseconds of CPU that the threads of a process have used, user and system."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks)


async def resumes(client: Any, server: Any, seconds: float, steps: int) -> dict[str, Any]:
    """One trip after the other; what a resume costs the server, in the mean."""
    connection = await client.connect()
    spent, trips, end = 0, 0, 0.0
    while trips < MOST and (not trips or time.perf_counter() < end):
        thread, name = client.ids()
        _, ids, messages = await harness.interrupt_run(
            client, connection, thread, name, 1, (), steps
        )
        before = cpu_ns(server.pid)
        await harness.resume_run(client, connection, thread, f"{name}-b", ids, messages)
        if end:
            spent += cpu_ns(server.pid) - before
            trips += 1
        else:
            # The first one warms up.
            end = time.perf_counter() + seconds
    connection.tr.close()
    return {"res_cpu_ms": spent / trips / 1e6}


async def run_workload(name: str, contender: Any, server: Any, given: Any, out: list[Any]) -> None:
    """As the harness's, with the additions."""
    if name == "W1p":
        client = Pacer(contender, server.port)
        out += [
            await harness.w1(client, server, concurrency, given.seconds, given.n, given.chars)
            for concurrency in given.conc
        ]
    elif name == "W2r":
        out += await replicas(contender, server, given)
    elif name == "W6":
        out.append(await memory(contender, server))
    elif name == "W5s":
        client = harness.Client(contender, server.port)
        for steps in given.history:
            point = await harness.w2(client, server, 1, given.seconds, steps=steps, warm=1)
            out.append(point | await resumes(client, server, given.seconds, steps))
        out += [
            await harness.w2(client, server, 32, given.seconds, steps=steps, warm=1)
            for steps in (0, 100)
        ]
    else:
        await plain(name, contender, server, given, out)


plain, harness.run_workload = harness.run_workload, run_workload

if __name__ == "__main__":
    harness.main()
