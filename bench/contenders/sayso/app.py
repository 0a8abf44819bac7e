"""Sayso as a contender of the harness: the agent behind `bench stream` and `bench interrupt`.

Everything is on, as in production: the gate, the journal, leases, the guard. The profile picks the
store.
"""

import asyncio
import os
from collections.abc import AsyncIterator

import benchlib

from sayso import Sayso, ServerOptions, ToolCall, Turn, approval
from sayso.ops.serving import settle_memory

STORES = {
    "memory": "memory:",
    "sqlite": f"sqlite:///{os.environ.get('BENCH_TMP', '.')}/bench.db",
    "postgres": os.environ.get("BENCH_PG", ""),
    "redis": os.environ.get("BENCH_REDIS", ""),
}

served = Sayso(
    store=STORES[os.environ.get("BENCH_PROFILE", "memory")], server=ServerOptions(console=False)
)


@served.tool(approval=approval.always)
async def act(i: int) -> str:
    """Ask, then do nothing."""
    return "ok"


async def nothing() -> str:
    """A step that costs nothing itself."""
    return "ok"


async def at_once(pieces: list[str]) -> AsyncIterator[str]:
    """All pieces without ever waiting."""
    for piece in pieces:
        yield piece


async def one_by_one(pieces: list[str]) -> AsyncIterator[str]:
    """One piece per turn of the event loop."""
    for piece in pieces:
        yield piece
        await asyncio.sleep(0)


@served.agent("bench")
async def bench(turn: Turn) -> None:
    """What the last user message asks for."""
    kind, numbers = benchlib.parse(turn.input.text)
    if kind == "stream":
        await turn.stream(at_once(benchlib.deltas(*numbers)))
        return
    if kind == "pace":
        await turn.stream(one_by_one(benchlib.deltas(*numbers)))
        return
    questions, steps = numbers
    for number in range(steps):
        await turn.step.options(name=f"step {number}")(nothing)
    await turn.call_all([ToolCall(act, {"i": i}) for i in range(questions)])
    await turn.stream(at_once(benchlib.deltas(4, 12)))


app = served
# As `sayso serve` does, once all is loaded.
settle_memory()
