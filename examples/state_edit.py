"""A plan that somebody corrects while the agent waits: the state edited before it goes on.

    cd examples && sayso serve state_edit:app

Say "Rome" in the console. The agent has written its plan into the shared state and waits. Whoever
runs the desk looks at it, and changes what is wrong, with a merge patch (null removes a member):

    curl localhost:8000/threads/THREAD/state
    curl -X PATCH localhost:8000/threads/THREAD/state -H 'content-type: application/json' \
         -d '{"values": {"nights": 2, "extras": {"breakfast": true}}}'

The edit is held against `Trip`, noted in the journal with who and when, and what the turn goes on
with: also when a page that was open meanwhile answers with the state as it was.
"""

from pydantic import BaseModel, Field

from sayso import Sayso, Turn

app = Sayso(store="sqlite:///state_edit.db")


class Trip(BaseModel):
    """What the agent plans with; an edit has to leave one of these."""

    city: str
    nights: int = Field(ge=1, le=30)
    price: float = Field(gt=0)
    extras: dict[str, bool] = {}


async def find_room(city: str) -> float:
    """Stands for a booking system; runs once, whatever is edited later."""
    return 80.0 if city == "Rome" else 120.0


async def book(trip: Trip) -> str:
    """Stands for the booking itself."""
    extras = [name for name, wanted in trip.extras.items() if wanted]
    with_extras = f" with {', '.join(extras)}" if extras else ""
    return f"{trip.city}, {trip.nights} nights{with_extras}: {trip.nights * trip.price:.2f}"


@app.agent("travel", state_schema=Trip)
async def travel(turn: Turn) -> None:
    """Plans a trip, waits for a yes, and books what the plan says by then."""
    price = await turn.step(find_room, turn.input.text)
    plan = Trip(city=turn.input.text, nights=3, price=price)
    await turn.set("", plan.model_dump())
    agreed = await turn.interrupt("confirmation", f"Book {plan.nights} nights in {plan.city}?")
    if agreed.resolved and agreed.value:
        # Read after the question: what stands here now may be another one's plan.
        booked = await turn.step(book, Trip.model_validate(dict(turn.state)))
        await turn.say(f"Booked {booked}.")
    else:
        await turn.say("Nothing is booked.")
