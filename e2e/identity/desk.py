"""An app whose people sign in at a provider, and again before they approve."""

import os

from sayso import Approvers, Oidc, Sayso, Turn, approval

app = Sayso(
    store="sqlite:///desk.db",
    sign_in=Oidc(os.environ["OIDC_ISSUER"], "sayso", os.environ["OIDC_SECRET"]),
)


@app.tool(approval=approval.always(approvers=Approvers(by="lead", not_by=None, step_up=300)))
async def pay(amount: float) -> str:
    """Pay."""
    return f"Paid {amount:g}."


@app.agent("desk")
async def desk(turn: Turn) -> None:
    """Pays what is asked for."""
    done = await turn.call(pay, amount=240.0)
    await turn.say(f"{done}")
