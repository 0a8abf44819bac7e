"""A server whose agents outlast it or end with it: `-m tests.process.long_agent PORT GRACE`."""

import asyncio
import sys

from sayso import Sayso, ServerOptions, Turn
from sayso.ops.binding import bind
from sayso.ops.serving import serve

__all__ = ["KEEP_ALIVE"]

KEEP_ALIVE = 0.2

app = Sayso(store="memory:", server=ServerOptions(console=False, keep_alive=KEEP_ALIVE))


@app.agent("long")
async def long(turn: Turn) -> None:
    """Works for longer than anybody waits."""
    await turn.say("It takes ten minutes.")
    await turn.step.options(name="work")(asyncio.sleep, 600)


async def gone() -> None:
    """Until the server has begun to end."""
    while not app._edge._operations.draining:  # noqa: ASYNC110 - a server tells nobody
        await asyncio.sleep(0.005)


@app.agent("last")
async def last(turn: Turn) -> None:
    """Ends in the time that a server gives to what is going on."""
    await turn.say("One moment.")
    await turn.step(gone)
    await turn.say("Done.")


if __name__ == "__main__":
    serve(
        app,
        bind("127.0.0.1", int(sys.argv[1]), insecure=False),
        ready=lambda: None,
        grace=float(sys.argv[2]),
    )
