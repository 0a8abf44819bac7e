"""An app whose tool takes a password that whoever answers may look at."""

from sayso import AesGcm, Sayso, Secret, Turn, approval

PHRASE = "hunter2 & more"

app = Sayso(store="sqlite:///bank.db", codec=AesGcm({"2026": bytes(32)}))


@app.tool(approval=approval.always, editable=True, reveal=True)
async def sign_in(user: str, password: Secret[str]) -> str:
    """Sign in at the bank."""
    return f"Signed in as {user}."


@app.agent("teller")
async def teller(turn: Turn) -> None:
    """Asks before it signs in."""
    await turn.say(str(await turn.call(sign_in, {"user": "ann", "password": PHRASE})))
