"""An app whose agent does two things, and begins none of them without a reader.

While the folder `SAYSO_TEST_DATA` has a file `hold`, what was begun goes on; `begun` names it.
"""

import asyncio
import os
from pathlib import Path

from sayso import CopilotKit, Sayso, Turn

_data = Path(os.environ["SAYSO_TEST_DATA"])
app = Sayso(store="sqlite:///pieces.db")
app.mount(CopilotKit())


async def piece(name: str) -> str:
    """Begun at once, and then it takes its time."""
    with (_data / "begun").open("a") as begun:
        begun.write(f"{name}\n")
    while (_data / "hold").exists():  # noqa: ASYNC110 - a file tells nobody
        await asyncio.sleep(0.02)
    return name


@app.agent("ops", on_disconnect="cancel")
async def ops(turn: Turn) -> None:
    """`work`: one piece after the other; else a greeting."""
    if turn.input.text == "work":
        await turn.say("There are two pieces.")
        for name in ("first", "second"):
            await turn.say(f"Done: {await turn.step(piece, name)}.")
    else:
        await turn.say("Hello! I do things for your shop.")
