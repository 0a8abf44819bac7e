"""A call that lacks arguments: a form asks for them, before anything is proposed or run.

    cd examples && sayso serve parameter_completion:app

Say "leave from 2026-07-06 to 2026-07-17" or just "I need some days off". What can be read out of
the message is taken; for the rest the tool, declared with `complete=True`, asks with a form made
from its own types. Only a whole call is then proposed, here to the one who has to approve it.
"""

import re
from datetime import date
from typing import Literal

from sayso import Sayso, Turn, approval

app = Sayso(store="sqlite:///parameter_completion.db")

Kind = Literal["holiday", "parental", "unpaid"]


@app.tool(complete=True, approval=approval.when(lambda kind: kind != "holiday"))
async def book_leave(first: date, last: date, kind: Kind) -> str:
    """Book days off; all but holidays need a yes."""
    return f"{kind} leave from {first:%d %B} to {last:%d %B}"


@app.agent("leave")
async def leave(turn: Turn) -> None:
    """Books days off, with what the message says and what a form adds to it."""
    # Stands for a model that fills in what it knows, and leaves out what it would have to invent.
    said = re.findall(r"\d{4}-\d{2}-\d{2}", turn.input.text)
    known = dict(zip(("first", "last"), said, strict=False))
    booked = await turn.call(book_leave, known)
    if booked.executed:
        await turn.say(f"Booked: {booked.value}.")
    else:  # denied; or nobody gave what was missing, and nothing was proposed at all
        await turn.say(f"Nothing is booked. {booked}")
