"""An app for pages of other libraries: a lookup and a call about digits, and work that fails."""

from sayso import CopilotKit, Sayso, Turn, approval

app = Sayso(store="sqlite:///accounts.db")
app.mount(CopilotKit())


@app.tool(effect="read")
async def look_up(account: int) -> str:
    """Whose account it is."""
    return f"{account} is Ada's"


@app.tool(approval=approval.always, editable=True)
async def transfer(account: int, amount: float) -> str:
    """Move money; no double holds the account."""
    return f"moved {amount:g} to {account}"


@app.agent("ops")
async def ops(turn: Turn) -> None:
    """`transfer`, `count`, `break`: an answer that is followed by an error; else a greeting."""
    if turn.input.text == "transfer":
        await turn.say("I look whose account it is.")
        await turn.call(look_up, account=2**53 + 1)
        await turn.say(str(await turn.call(transfer, account=2**53 + 1, amount=10.5)))
    elif turn.input.text == "count":
        await turn.set("/counted", turn.state.get("counted", 0) + 1)
    elif turn.input.text == "break":
        await turn.interrupt("confirmation", "Go on?")
        raise RuntimeError("out of order")
    else:
        await turn.say("Hello! I do things for your shop.")
