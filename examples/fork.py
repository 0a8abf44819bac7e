"""The other answer, tried beside the first: a thread copied at a question.

    cd examples && sayso serve fork:app

Say "100 chairs" in the console and choose a discount. The offer that comes of it waits for its last
word. To see what the other discount would have led to, copy the thread at the first question, which
`GET /threads/THREAD/history` names:

    curl -X POST localhost:8000/threads/THREAD/fork -H 'content-type: application/json' \
         -d '{"interruptId": "int_…"}'

The answer is the id of a new thread that waits there again, under a new id. What had been done by
then, the look at the stock, is in its journal and is not done again; what came later, the quote,
is not in it. Both threads go on from here, and neither knows of the other. The same works once the
first thread is done, until its next message.
"""

from typing import Literal

from sayso import Sayso, Turn

app = Sayso(store="sqlite:///fork.db")


async def stock(order: str) -> int:
    """Stands for a slow look into the stock: the price of one piece, in euros."""
    return 40


async def quote(order: str, price: float) -> str:
    """Stands for a quote that gets a number of its own."""
    return f"{order} at {price:.2f} each"


@app.agent("sales")
async def sales(turn: Turn) -> None:
    """Makes an offer with the discount that somebody chooses."""
    order = turn.input.text
    price = await turn.step(stock, order)
    discount = await turn.interrupt(
        "input_required", f"{order}: which discount, in percent?", schema=Literal[0, 10, 25]
    )
    if discount.value is None:  # cancelled, or expired: nobody decided
        await turn.say("No offer without a decision on the discount.")
        return
    offer = await turn.step(quote, order, price * (100 - discount.value) / 100)
    sure = await turn.interrupt("confirmation", f"Send the offer: {offer}?")
    await turn.say(f"Sent: {offer}." if sure.value else "The offer stays a draft.")
