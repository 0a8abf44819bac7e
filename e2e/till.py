"""An app of a shop's till: charges of which nobody knows whether they went through."""

import threading

from sayso import Sayso, Turn

app = Sayso(store="sqlite:///till.db")

ENDED = threading.Event()
"""Never set: a charge that was begun does not come back, as with a line that is dead."""
PATIENCE = 120
"""Seconds after which its thread ends: more than the process has to live."""
LIMIT = 2
"""Seconds after which it is given up: its thread has begun by then, however busy the machine is."""


def charge(order: str, amount: float) -> str:
    """Charge a card; whoever waits for it gives up first."""
    ENDED.wait(PATIENCE)
    return f"receipt {order} {amount}"


def count(order: str) -> str | None:
    """Count an order, without anything to say about it as a rule."""
    ENDED.wait(PATIENCE)
    return f"counted {order}"


@app.tool(timeout=LIMIT)
def refund(order: str, note: str) -> str:
    """Refund an order."""
    ENDED.wait(PATIENCE)
    return f"refunded {order}: {note}"


@app.agent("till")
async def till(turn: Turn) -> None:
    """Charge three orders and count them; or refund one, where it is told to."""
    if "refund" in turn.input.text:
        call = await turn.call(refund, order="A-17", note="The box was crushed.")
        return await turn.say(str(call))
    got = await turn.gather(
        turn.step.options(
            name="charge",
            timeout=LIMIT,
            arguments={"order": "A-17", "amount": 240.0},
            look="Payments of the day at bank.example, by the call key.",
        )(charge, "A-17", 240.0),
        turn.step.options(
            name="charge",
            timeout=LIMIT,
            arguments={"order": "B-4", "amount": 12.5},
            shown="charge of 12.50 for B-4",
        )(charge, "B-4", 12.5),
        turn.step.options(name="count", timeout=LIMIT)(count, "C-1"),
    )
    return await turn.say(f"The till says {list(got)}")
