"""An app with two people: ann pays, and a lead has to agree; the token is the name."""

from typing import Any

from sayso import Principal, Sayso, Turn, approval

PEOPLE = {
    "ann": Principal(subject="ann"),
    "lea": Principal(subject="lea", roles=("lead",)),
    "fay": Principal(subject="fay", roles=("finance",)),
    "bob": Principal(subject="bob"),
}


async def authenticate(scope: Any) -> Principal | None:
    """Whoever a token names."""
    token = dict(scope["headers"]).get(b"authorization", b"").decode()
    return PEOPLE.get(token.removeprefix("Bearer "))


app = Sayso(store="sqlite:///company.db", authenticate=authenticate)


@app.tool(effect="read")
async def look_up(order: str) -> str:
    """What is known of an order."""
    return f"{order} came damaged"


@app.tool(approval=approval.always(by="lead"))
async def pay(amount: float) -> str:
    """Pay."""
    return f"Paid {amount:g}."


@app.tool(
    approval=approval.always(by=["lead", "finance"], approvals={"lead": 1, "finance": 1}),
    editable=True,
)
async def wire(amount: float) -> str:
    """Wire a larger sum."""
    return f"Wired {amount:g}."


@app.agent("desk")
async def desk(turn: Turn) -> None:
    """`wire` asks two people, `both` the owner besides, anything else one."""
    await turn.call(look_up, order="A-17")
    await turn.say("Order A-17 arrived damaged, so it is paid back.")
    if "both" in turn.input.text:
        _, done = await turn.gather(
            turn.interrupt("confirmation", "Tell the customer?"), turn.call(pay, amount=240.0)
        )
        await turn.say(f"{done}")
        return
    done = await turn.call(wire if "wire" in turn.input.text else pay, amount=240.0)
    await turn.say(f"{done}")
