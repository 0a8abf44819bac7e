"""The harness's `run.py` with what it lacks: W1p, and the CPU of a resume and of a step in W5s.

Run by `compare.py` inside a copy of the harness, with the harness's own options. W1p is W1 with one
delta per turn of the event loop (`bench pace`). W5s tells `res_cpu_ms` as well, the server's CPU
for the resume alone, and a point more: 32 turns at once of 0 and of 100 steps each.
"""

import time
from pathlib import Path
from typing import Any

import run as harness

MOST = 400
"""Trips of one point of W5s."""


class Pacer(harness.Client):
    """Asks for paced deltas where W1 asks for ready ones."""

    def run_body(self, thread: str, run: str, messages: list[dict[str, Any]]) -> bytes:
        """The body of a run."""
        body: bytes = super().run_body(thread, run, messages)
        return body.replace(b"bench stream", b"bench pace")


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
