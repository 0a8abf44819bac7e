"""Agents inside agents: a travel desk that sends the same booker out twice.

    cd examples && sayso serve nested_agents:app        # then open the address that it prints

Write anything to `travel`. Two questions come up at once, one of each booker. They may be answered
in any order, days apart, from the chat or the inbox, and after a restart of the server: each answer
finds the booker that waits for it, although both are called the same.
"""

from sayso import Sayso, StepFailed, Turn, approval

app = Sayso(store="sqlite:///nested_agents.db")


async def find_price(what: str) -> float:
    """Stands for a search that takes a while; as a step it runs once, whatever happens."""
    return 89.0 if "room" in what else 240.0


async def ask_embassy(country: str) -> str:
    """Stands for a service that is down."""
    raise ConnectionError(f"no answer about {country}")


@app.tool(approval=approval.always)
async def book(what: str, price: float) -> str:
    """Book something, once a person agrees."""
    return f"{what} for {price:.2f}"


# An agent like any other: it could be called at POST /agents/booker. Inside another one its
# questions still have its own time limit.
@app.agent("booker", expires_in=3600)
async def booker(turn: Turn) -> str:
    """Finds what it was told to find, and books it if somebody says yes."""
    what = turn.input.text  # what `delegate` told it
    await turn.say(f"Looking for {what}.")
    price = await turn.step(find_price, what)
    booked = await turn.call(book, what=what, price=price)  # waits here, for as long as it takes
    return f"booked {booked.value}" if booked.executed else f"no {what}: {booked.status}"


# No agent of the app, and none needed: any async function of a turn can be delegated to.
async def visa_clerk(turn: Turn) -> str:
    """Fails, as services do."""
    answer: str = await turn.step(ask_embassy, "Portugal")
    return answer


@app.agent("travel")
async def travel(turn: Turn) -> None:
    """Puts a journey together."""
    flight, room = await turn.gather(  # side by side: both ask before either waits
        turn.delegate("booker", "a flight to Lisbon"),
        turn.delegate("booker", "a room in Lisbon"),
    )
    await turn.say(f"The bookers say: {flight}; {room}.")
    try:
        await turn.say(await turn.delegate(visa_clerk, description="Asks about visas."))
    except StepFailed as failed:  # an inner agent that fails does not take the turn with it
        await turn.say(f"Ask about the visa yourself: {failed.message}.")
