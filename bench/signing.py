"""What a decision costs that is recorded and signed, in processor time: `python bench/signing.py`.

A round trip is one gated call: a run that asks, and a resume that answers. Three apps on one kind
of store take turns, so that whatever else the machine does meets all of them alike: `bare` computes
no digest of questions, `shown` is the default, `signed` also signs (Ed25519). Printed are the
medians, and what they are of `bare` and of `shown`.
"""

import argparse
import asyncio
import gc
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import orjson
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sayso import Ed25519, Sayso, ServerOptions, Turn, approval

TARGETS = {"shown": 1.03, "signed": 1.15}
"""The most that a trip may cost: of one without digests, and of one without signatures."""
NAMES = ("bare", "shown", "signed")


@contextmanager
def _undigested() -> Iterator[None]:
    """As it would be if nobody computed what a question is like."""
    with ExitStack() as stack:
        for module in ("protocol.interrupts", "base.audit", "gate.ladder"):
            stack.enter_context(patch(f"sayso.{module}.digest_of", lambda _: "0" * 64))
        yield


def _signer(folder: Path) -> Ed25519:
    pem = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "key.pem").write_bytes(pem)
    return Ed25519.from_file(folder / "key.pem")


@asynccontextmanager
async def _client(store: str, signer: Ed25519 | None) -> AsyncIterator[httpx.AsyncClient]:
    app = Sayso(store=store, signer=signer, server=ServerOptions(console=False))

    @app.tool(approval=approval.always)
    async def pay(amount: int, to: str) -> str:
        return f"paid {amount} to {to}"

    @app.agent("payer")
    async def payer(turn: Turn) -> None:
        await turn.say(str(await turn.call(pay, amount=5, to="acme")))

    transport = httpx.ASGITransport(app)
    async with (
        app.lifespan(),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        yield client


async def _run(client: httpx.AsyncClient, thread: str, run: str, **more: Any) -> Any:
    message = {"id": f"m-{thread}", "role": "user", "content": "go"}
    body = {"threadId": thread, "runId": run, "protocolVersion": "1.0", "messages": [message]}
    answer = await client.post("/agents/payer", json=body | more)
    answer.raise_for_status()
    return orjson.loads(answer.text.rstrip().rpartition("data: ")[2])


async def _trip(client: httpx.AsyncClient, thread: str) -> None:
    """Ask and answer, as our own clients do."""
    (question,) = (await _run(client, thread, "1"))["outcome"]["interrupts"]
    entry: dict[str, Any] = {"interruptId": question["id"], "status": "resolved"}
    entry |= {"payload": {"approved": True}}
    entry |= {"metadata": {"sayso": {"shown": question["metadata"]["sayso"]["digest"]}}}
    if (await _run(client, thread, "2", resume=[entry]))["outcome"] != {"type": "success"}:
        raise SystemExit("the trip did not end")


async def measure(kind: str, rounds: int, trips: int) -> dict[str, float]:
    """The processor time of a trip in ms, by app; the first round is for warming up."""
    spent: dict[str, list[float]] = {name: [] for name in NAMES}
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            clients = {}
            for name in NAMES:
                store = "memory:" if kind == "memory" else f"sqlite:///{folder}/{name}.db"
                signer = _signer(Path(folder)) if name == "signed" else None
                clients[name] = await stack.enter_async_context(_client(store, signer))
            for number in range(rounds + 1):
                for name in NAMES if number % 2 else reversed(NAMES):
                    gc.collect()
                    with _undigested() if name == "bare" else nullcontext():
                        begun = time.process_time()
                        for trip in range(trips):
                            await _trip(clients[name], f"{number}-{trip}")
                        spent[name].append((time.process_time() - begun) / trips * 1000)
    return {name: statistics.median(each[1:]) for name, each in spent.items()}


def main() -> None:
    """Print the costs; exit code 1 if one is above its target."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--store", choices=("memory", "sqlite"), default="sqlite")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--trips", type=int, default=50)
    options = parser.parse_args()
    cost = asyncio.run(measure(options.store, options.rounds, options.trips))
    over = False
    sys.stdout.write(f"bare: {cost['bare']:.3f} ms of CPU a trip on {options.store}\n")
    for name, base in (("shown", "bare"), ("signed", "shown")):
        ratio = cost[name] / cost[base]
        over |= ratio > TARGETS[name]
        wanted = f"wanted: at most {TARGETS[name]}"
        sys.stdout.write(f"{name}: {cost[name]:.3f} ms, {ratio:.3f} of {base} ({wanted})\n")
    sys.exit(over)


if __name__ == "__main__":
    main()
