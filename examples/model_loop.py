"""A model that calls tools in a loop: it proposes, a policy decides, and it hears what happened.

    cd examples && sayso serve model_loop:app

Say "void what is unpaid". The model looks at the invoices, then wants to void two of them, and both
cards come up at once. `str(call)` is what it is told of each: the result, or that a person said no
and why. A tool that it made up, or arguments that do not fit, are told to it as well; then nothing
was shown to anybody, and nothing ran.
"""

from typing import Any

from pydantic import BaseModel, ValidationError

from sayso import Sayso, ToolCall, Turn, approval, strip_keywords

app = Sayso(store="sqlite:///model_loop.db")

INVOICES = {"R-1": "unpaid", "R-2": "paid", "R-3": "unpaid"}
ROUNDS = 8
"""Answers of the model in one turn, after which it has had its chance."""


class Wish(BaseModel):
    """A call as a model asks for it: a name and arguments, either of which may be nonsense."""

    name: str
    args: dict[str, Any]


class Reply(BaseModel):
    """What a model answers: words, or calls that it wants made first."""

    text: str = ""
    wishes: list[Wish] = []


async def think(heard: list[str], tools: list[dict[str, Any]]) -> Reply:
    """Stands for a model. A real one gets the tools and the conversation in its own format."""
    match len(heard):
        case 1:
            return Reply(wishes=[Wish(name="list_invoices", args={})])
        case 2:
            unpaid = [number for number, status in INVOICES.items() if status == "unpaid"]
            return Reply(wishes=[Wish(name="void_invoice", args={"number": n}) for n in unpaid])
        case 3:
            return Reply(wishes=[Wish(name="write_off", args={})])  # there is no such tool
        case _:
            return Reply(text="Done. " + " ".join(heard[2:]))


@app.tool(effect="read")
async def list_invoices() -> dict[str, str]:
    """All invoices, with their status."""
    return INVOICES


@app.tool(approval=approval.always, effect="irreversible")
async def void_invoice(number: str) -> str:
    """Void an invoice, for good."""
    return f"{number} is void."


@app.agent("clerk")
async def clerk(turn: Turn) -> None:
    """Asks the model, makes the calls that it wants, and tells it what came of them."""
    # Some providers refuse keywords that a form needs; the cards keep the schema as it is.
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": strip_keywords(tool.parameters, "additionalProperties"),
        }
        for tool in (list_invoices, void_invoice)
    ]
    heard = [turn.input.text]  # earlier turns are in turn.input.messages
    for _ in range(ROUNDS):
        # A step: on a resume the recorded answer comes back, and the model is not paid twice. It
        # changes nothing outside, so it may run again after a crash, and a stop cuts it off.
        reply: Reply = await turn.step.options(idempotent=True)(think, heard, tools)
        if not reply.wishes:
            await turn.say(reply.text)
            return
        try:  # one batch: free calls run, gated ones ask together
            calls = [ToolCall(wish.name, wish.args) for wish in reply.wishes]
            heard.append(" ".join(str(call) for call in await turn.call_all(calls)))
        except (LookupError, ValidationError) as error:
            heard.append(f"(Not called: {error}.)")
    await turn.say("I stop here: this takes too many rounds.")
