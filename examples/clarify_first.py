"""Ask before work starts: when it is unclear what is meant, or much would be touched.

    cd examples && sayso serve clarify_first:app

Nothing has happened yet when `clarify` asks, so the answer costs nothing. It says what the request
could cover and how far a mistake would reach; a request that is clear and small is not held up.
"""

from sayso import Option, Sayso, Turn, describe

app = Sayso(store="sqlite:///clarify_first.db")

CUSTOMERS = {"Ada": "ada@example.com", "Ada B.": "ada.b@example.com", "Sam": "sam@example.com"}
MANY = 2


async def matching(text: str) -> list[str]:
    """Stands for a search: whom the words could mean."""
    if "everyone" in text:
        return list(CUSTOMERS)
    return [name for name in CUSTOMERS if name.split()[0].lower() in text.lower()]


async def close_account(name: str) -> str:
    """Stands for something that is hard to take back."""
    return f"The account of {name} is closed."


@app.agent("accounts")
async def accounts(turn: Turn) -> None:
    """Closes accounts, once it knows which."""
    found = await turn.step(matching, turn.input.text)
    if not found:
        which = await turn.clarify("Whose account do you mean?")  # a text
        found = await turn.step(matching, which.value or "")
    elif len(found) >= MANY:
        chosen = await turn.clarify(
            "Which accounts do you mean?",
            scope=", ".join(found),
            blast_radius={"accounts": len(found), "reversible": False},
            options=[
                Option("All of them", "all", f"{len(found)} people lose their access."),
                *(Option(f"Only {name}", name) for name in found),
                Option("None", "none"),
            ],
        )
        if chosen.action in (None, "none"):
            await turn.say(f"I closed nothing. {describe(chosen)}")
            return
        found = found if chosen.action == "all" else [str(chosen.action)]
    for name in found:
        await turn.say(await turn.step(close_account, name))
    if not found:
        await turn.say("I know nobody of that name, so I closed nothing.")
