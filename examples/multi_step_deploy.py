"""A deployment in stages, with as many people asked as there is risk.

    cd examples && sayso serve multi_step_deploy:app

Every stage is a step that never runs twice, whatever dies in between. Small changes go straight to
staging; production always asks, and a change of the database asks a second time. A breakpoint
before `migrate` lets somebody look before the one step that cannot be taken back; remove it, or
ask for more of them with a request, without touching the code:

    {"forwardedProps": {"sayso": {"breakpoints": {"after": ["roll out"]}}}}
"""

from pydantic import BaseModel

from sayso import Answer, Breakpoints, Sayso, Turn

app = Sayso(store="sqlite:///multi_step_deploy.db")


class Change(BaseModel):
    """What is to be deployed."""

    build: str
    lines: int
    touches_database: bool


class Go(BaseModel):
    """A yes or no, with a word about it."""

    approved: bool
    note: str | None = None


async def inspect(text: str) -> Change:
    """Stands for the build server."""
    lines = 900 if "large" in text else 20
    return Change(build="2.4.1", lines=lines, touches_database="database" in text)


async def roll_out(build: str, to: str) -> str:
    """Stands for the cluster."""
    return f"{build} is on {to}."


async def migrate(build: str) -> str:
    """Stands for the database."""
    return f"The database is at {build}."


async def agreed(turn: Turn, question: str) -> bool:
    """Asks, and says why it stops here if it does."""
    answer: Answer[Go] = await turn.interrupt("confirmation", question, schema=Go, expires_in=3600)
    if answer.value is not None and answer.value.approved:
        return True
    note = answer.value.note if answer.value else None
    await turn.say(f"Stopped: {note or ('you said no' if answer.resolved else answer.status)}.")
    return False


@app.agent("deployer", breakpoints=Breakpoints(before=["migrate"]), run_breakpoints="allow")
async def deployer(turn: Turn) -> None:
    """Staging, then production, each when it has been agreed to."""
    change = await turn.step(inspect, turn.input.text)
    async with turn.phase("staging"):
        if change.lines > 500 and not await agreed(
            turn, f"{change.lines} lines have changed. Put {change.build} on staging?"
        ):
            return
        await turn.say(await turn.step.options(name="roll out")(roll_out, change.build, "staging"))
    async with turn.phase("production"):
        if not await agreed(turn, f"Put {change.build} on production?"):
            return
        if change.touches_database:
            if not await agreed(turn, "It changes the database, for good. Really?"):
                return
            await turn.say(await turn.step.options(name="migrate")(migrate, change.build))
        await turn.say(
            await turn.step.options(name="roll out")(roll_out, change.build, "production")
        )
