"""CPU of a gated trip, asked, approved and done, on an encrypted store and on one in clear.

    python bench/encryption.py [TRIPS] [--before CHECKOUT]

Over raw ASGI, without sockets, each trip on a new thread. Rounds of both take turns, each in a
process of its own, and the figure is the ratio of their medians, in CPU time of the process. With
`--before`, trips in clear by the code of another checkout take turns with them as well: what
encryption costs who does not use it.
"""

import argparse
import asyncio
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any

import orjson

from sayso import Sayso, ServerOptions, Turn, approval

ROUNDS = 7
STORES = ("memory", "sqlite")
_numbers = count()


def app_on(store: str, *, encrypted: bool) -> Sayso:
    """An agent with one gated call between two texts."""
    options: dict[str, Any] = {}
    if encrypted:
        from sayso import AesGcm  # noqa: PLC0415 - another checkout may not have it

        options = {"codec": AesGcm({"1": b"1" * 32})}
    app = Sayso(store=store, server=ServerOptions(console=False), **options)

    @app.tool(approval=approval.always)
    async def issue_refund(order_id: str, amount: float) -> str:
        return f"refunded {amount:.2f} for {order_id}"

    @app.agent("a")
    async def clerk(turn: Turn) -> None:
        await turn.say("Looking it up.")
        call = await turn.call(issue_refund, order_id="A-17", amount=240.0)
        await turn.say(str(call))

    return app


async def post(app: Sayso, **members: Any) -> list[dict[str, Any]]:
    """The events of one run."""
    base = {"runId": f"r{next(_numbers)}", "protocolVersion": "1.0", "state": {}, "tools": []}
    body = {**base, "context": [], "forwardedProps": {}, "messages": [], **members}
    sent, received, done = [orjson.dumps(body)], list[bytes](), asyncio.Event()

    async def receive() -> dict[str, Any]:
        if sent:
            return {"type": "http.request", "body": sent.pop(), "more_body": False}
        await done.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            received.append(message.get("body", b""))
            if not message.get("more_body"):
                done.set()

    scope = {
        **{"type": "http", "http_version": "1.1", "method": "POST", "scheme": "http"},
        **{"asgi": {"version": "3.0"}, "path": "/agents/a", "raw_path": b"/agents/a"},
        **{"root_path": "", "query_string": b""},
        **{"server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1)},
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
    }
    await app(scope, receive, send)
    lines = b"".join(received).replace(b"\r", b"").split(b"\n")
    return [orjson.loads(line[6:]) for line in lines if line.startswith(b"data: ")]


async def trip(app: Sayso) -> None:
    """Ask, approve, be done."""
    thread = f"t{next(_numbers)}"
    said = [{"id": f"u{next(_numbers)}", "role": "user", "content": "refund A-17"}]
    events = await post(app, threadId=thread, messages=said)
    (asked,) = events[-1]["outcome"]["interrupts"]
    yes = {"interruptId": asked["id"], "status": "resolved", "payload": {"approved": True}}
    events = await post(app, threadId=thread, resume=[yes])
    assert b"refunded" in orjson.dumps(events)  # noqa: S101 - a figure of a failure is none


async def microseconds(store: str, trips: int, *, encrypted: bool) -> float:
    """CPU of one trip, of so many."""
    with tempfile.TemporaryDirectory() as folder:
        url = "memory:" if store == "memory" else f"sqlite:///{folder}/sayso.db"
        app = app_on(url, encrypted=encrypted)
        async with app.lifespan():
            for _ in range(trips // 5):
                await trip(app)
            gc.collect()
            gc.disable()
            begun = time.process_time()
            for _ in range(trips):
                await trip(app)
            return 1e6 * (time.process_time() - begun) / trips


def measured(kind: str, store: str, trips: int, checkout: Path) -> float:
    """The same in a process of its own, by the code of a checkout."""
    command = [sys.executable, __file__, str(trips), "--one", kind, "--store", store]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "server")}
    return float(subprocess.check_output(command, env=environment))  # noqa: S603 - ourselves


def main() -> None:
    """Print a line for each store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trips", type=int, nargs="?", default=300)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--one", choices=("clear", "encrypted"))
    parser.add_argument("--store", choices=STORES, default="memory")
    chosen = parser.parse_args()
    if chosen.one:
        encrypted = chosen.one == "encrypted"
        print(asyncio.run(microseconds(chosen.store, chosen.trips, encrypted=encrypted)))  # noqa: T201
        return
    here = Path(__file__).parents[1]
    ways = {"clear": ("clear", here), "encrypted": ("encrypted", here)}
    if chosen.before:
        ways["before"] = ("clear", chosen.before)
    for store in STORES:
        rounds = [
            {name: measured(kind, store, chosen.trips, at) for name, (kind, at) in ways.items()}
            for _ in range(ROUNDS)
        ]
        middle = {name: statistics.median(one[name] for one in rounds) for name in ways}
        figures = ", ".join(f"{name} {value:,.0f} us" for name, value in middle.items())
        costs = f"encryption {middle['encrypted'] / middle['clear'] - 1:+.1%} (target +25%)"
        if "before" in middle:
            costs += f", defaults {middle['clear'] / middle['before'] - 1:+.1%} (target +3%)"
        print(f"{store}: {figures}; {costs}")  # noqa: T201


if __name__ == "__main__":
    main()
