"""A server whose one agent works for a minute: `python -m tests.process.long_agent PORT GRACE`."""

import asyncio
import sys

from sayso import Sayso, Turn
from sayso.binding import bind
from sayso.serving import serve

app = Sayso(store="memory:", console=False, keep_alive=0.2)


@app.agent("long")
async def long(turn: Turn) -> None:
    """Works for longer than anybody waits."""
    await turn.say("It takes a minute.")
    await turn.step(asyncio.sleep, 60, name="work")


if __name__ == "__main__":
    serve(
        app,
        bind("127.0.0.1", int(sys.argv[1]), insecure=False),
        ready=lambda: None,
        grace=float(sys.argv[2]),
    )
