"""An app whose questions are whatever a test says: calls, schemas to fill in, breakpoints."""

import json
from typing import Annotated, Any

from pydantic import BaseModel, Field

from sayso import Breakpoints, Sayso, Turn, approval

app = Sayso(store="sqlite:///forms.db")


@app.tool(approval=approval.always, editable=True)
async def transfer(account_id: int, amount: float) -> str:
    """Move money."""
    return f"moved {amount} to {account_id}"


@app.tool(approval=approval.always, editable=True)
async def send_mail(to: str, body: str) -> str:
    """Send a mail."""
    return f"sent {json.dumps(body)} to {to}"


@app.tool(approval=approval.always, editable=True)
async def keep(
    text: str,
    line: Annotated[str, Field(max_length=80)],
    mail: Annotated[str, Field(json_schema_extra={"format": "email"})],
    link: Annotated[str, Field(json_schema_extra={"format": "uri"})],
    day: Annotated[str, Field(json_schema_extra={"format": "date"})],
    moment: Annotated[str, Field(json_schema_extra={"format": "date-time"})],
    whole: int,
    part: float,
    wholes: list[int],
    either: int | str,
    anything: Any,
) -> str:
    """Keep one of everything."""
    return "kept"


@app.agent("desk")
async def desk(turn: Turn) -> None:
    """`{"call": tool, "args": {…}}` or `{"ask": schema}`, perhaps `keep`; says what came of it."""
    told = json.loads(turn.input.text)
    if "keep" in told:
        await turn.set("/kept", told["keep"])
    if "call" in told:
        call = await turn.call(told["call"], told["args"])
        await turn.say(f"{call}")
    else:
        answer = await turn.interrupt("input_required", "What?", schema=told["ask"])
        await turn.say(f"got {json.dumps(answer.value)}")


@app.tool()
async def publish(text: str, copies: int = 1) -> str:
    """Publish a text."""
    return f"published {json.dumps(text)} in {copies}"


class Weighed(BaseModel):
    """What a parcel weighs."""

    parcel: str
    grams: int


async def weigh(parcel: str) -> Weighed:
    """What a parcel weighs."""
    return Weighed(parcel=parcel, grams=9007199254740993)


@app.agent("stops", breakpoints=Breakpoints(before=["publish"], after=["weigh"]))
async def stops(turn: Turn) -> None:
    """Weighs what it is told, then publishes; it stops behind the one and before the other."""
    weighed = await turn.step.options(name="weigh")(weigh, turn.input.text)
    await turn.say(f"{weighed.parcel} has {weighed.grams} g")
    call = await turn.call(publish, text="a draft\nof two lines")
    await turn.say(f"{call}")
