"""Draft, edit, send: a person reads the mail, changes what they like, and sends it or does not.

    cd examples && sayso serve draft_edit_send:app

The draft is the argument of a gated tool, so the card shows it in full and its form is made of the
tool's own types. `redraft` goes round: the reviewer's words go back to whoever writes.
"""

from sayso import Option, Sayso, Turn, approval, describe

app = Sayso(store="sqlite:///draft_edit_send.db")


async def write(to: str, wishes: list[str]) -> str:
    """Stands for a model that writes the mail, given what the reviewers wished so far."""
    added = "".join(f" ({wish})" for wish in wishes)
    return f"Dear {to}, your order is on its way.{added}"


@app.tool(approval=approval.always, editable=True)
async def send_mail(to: str, body: str) -> str:
    """Stands for the mail server."""
    return f"Sent to {to}: {body}"


@app.agent("writer")
async def writer(turn: Turn) -> None:
    """Writes until the draft is wanted, then sends it once a person says so."""
    to = turn.input.text or "Ada"
    wishes: list[str] = []
    while True:
        body = await turn.step(write, to, wishes)
        decision = await turn.decide(
            planned_action=f"Send this to {to}: {body}",
            why="The order left the warehouse.",
            options=[
                Option("Go on to sending", "send", "You can still change every word of it."),
                Option("Write it anew", "redraft", "Say in the note what should be different."),
                Option("Send nothing", "drop", "The draft is thrown away."),
            ],
        )
        if decision.action == "redraft":
            wishes.append(decision.note or "in other words")
            continue
        if decision.action != "send":  # dropped, withdrawn, or out of time
            return await turn.say(f"Nothing was sent. {describe(decision)}")
        mail = await turn.call(send_mail, to=to, body=body)
        return await turn.say(str(mail))
