"""How much slower a run gets for one user while another one is at all of his limits.

    python bench/neighbours.py --rounds 5 --runs 40

A server of its own is started, and asked for runs with a synchronous tool by `lea`. In each round
they are timed twice: alone, then while `ann` has 16 slow tools, 60 runs and 300 streams asked for.
Prints as JSON the p95 of both in milliseconds and the CPU of the server for a run, likewise, with
their ratios, and how many requests of `ann` were taken and refused. On a machine that does other
work the CPU says more. Reads `/proc`, so it runs on Linux.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import orjson

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.process.test_serve import serving

AGENTS = """
import asyncio, time
from sayso import Principal, Sayso, ServerOptions, Turn

async def who(scope):
    given = dict(scope["headers"]).get(b"authorization", b"").decode()
    return Principal(subject=given) if given else None

app = Sayso(authenticate=who, server=ServerOptions(console=False))

@app.tool
def nap(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"

@app.agent("naps")
async def naps(turn: Turn) -> None:
    await turn.say("going to sleep")
    await turn.call(nap, seconds=600)

@app.agent("waits")
async def waits(turn: Turn) -> None:
    await turn.say("waiting")
    await asyncio.sleep(600)

@app.agent("hello")
async def hello(turn: Turn) -> None:
    await turn.call(nap, seconds=0)
    await turn.say("hello")
"""


def body() -> dict[str, Any]:
    """A run on a thread of its own."""
    message = {"id": uuid4().hex, "role": "user", "content": "go"}
    ids = {"threadId": uuid4().hex, "runId": uuid4().hex, "protocolVersion": "1.0"}
    return {**ids, "messages": [message]}


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    """The address of a server, and the id of its process."""
    (folder / "neighbours_app.py").write_text(AGENTS)
    options = ("--store", f"sqlite:///{folder / 'x.db'}", "--behind-proxy")
    with serving(folder, "neighbours_app:app", *options) as (url, process):
        yield url, process.pid


def client(url: str, who: str) -> httpx.AsyncClient:
    """A client of one user, who may have any number of connections."""
    limits = httpx.Limits(max_connections=None)
    return httpx.AsyncClient(
        base_url=url, headers={"authorization": who}, limits=limits, timeout=120
    )


def cpu_of(process: int) -> float:
    """The seconds of CPU that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def timed(http: httpx.AsyncClient, process: int, runs: int) -> dict[str, float]:
    """The p95 of so many runs one after another, and the server's CPU for one; milliseconds."""
    took, before = [], cpu_of(process)
    for _ in range(runs):
        began = time.perf_counter()
        answer = await http.post("/agents/hello", json=body())
        took.append((time.perf_counter() - began) * 1000)
        if "RUN_FINISHED" not in answer.text:
            raise SystemExit(f"a run was not answered: {answer.status_code} {answer.text:.300}")
    cpu = (cpu_of(process) - before) * 1000 / runs
    return {"p95": statistics.quantiles(took, n=20)[-1], "cpu": cpu}


@asynccontextmanager
async def crowded(http: httpx.AsyncClient) -> AsyncIterator[Counter[str]]:
    """One user at his limits; counts what was taken and what was refused."""
    seen: Counter[str] = Counter()
    kept = []
    async with AsyncExitStack() as stack:

        async def opened(method: str, path: str, json_body: Any, what: str) -> None:
            stream = http.stream(method, path, json=json_body)
            answer = await stack.enter_async_context(stream)
            refused = answer.status_code == httpx.codes.TOO_MANY_REQUESTS
            seen[f"{what} {'refused' if refused else 'taken'}"] += 1
            if not refused:
                chunks = answer.aiter_bytes()
                await anext(chunks)
                kept.append(chunks)  # else it is closed

        for path, count in (("/agents/naps", 16), ("/agents/waits", 60)):
            for _ in range(count):
                await opened("POST", path, body(), "runs")
        for _ in range(300):
            await opened("GET", "/interrupts/stream", None, "streams")
        yield seen


async def measure(rounds: int, runs: int) -> dict[str, Any]:
    """Measure so many rounds of so many runs, each round on a server of its own."""
    results, seen = [], Counter[str]()
    for _ in range(rounds):
        with (
            tempfile.TemporaryDirectory() as folder,
            served(Path(folder)) as (url, process),
        ):
            async with client(url, "lea") as lea:
                await timed(lea, process, 5)
                alone = await timed(lea, process, runs)
                async with client(url, "ann") as ann, crowded(ann) as seen:
                    beside = await timed(lea, process, runs)
            results.append({"alone": alone, "beside": beside})
    ratios = {
        what: statistics.median(
            result["beside"][what] / result["alone"][what] for result in results
        )
        for what in ("p95", "cpu")
    }
    return {"rounds": results, "ratios": ratios, "ann": dict(seen)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=40)
    given = parser.parse_args()
    result = asyncio.run(measure(given.rounds, given.runs))
    sys.stdout.write(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode() + "\n")
