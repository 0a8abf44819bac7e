"""A bulk deletion that says what it would do, and offers ways to do less.

    cd examples && sayso serve bulk_delete:app

`decide` tells the reviewer what is planned, why, and to what effect. Each option says what follows
from it, and one of them asks for what it needs. What was chosen is done to exactly that, and a
question that was withdrawn or ran out of time is no choice.
"""

from pydantic import BaseModel, Field

from sayso import Option, Sayso, Turn, describe

app = Sayso(store="sqlite:///bulk_delete.db")

AGES = [10, 20, 40, 80, 160, 320, 640]
"""Stands for a disk: the age of each file, in days."""


class Older(BaseModel):
    """Which files to take."""

    than_days: int = Field(title="Older than (days)", ge=1)


async def find() -> list[int]:
    """What there is."""
    return AGES


async def delete(older_than: int) -> int:
    """Stands for the deletion; returns how many files are gone."""
    return sum(age > older_than for age in AGES)


async def stage(count: int) -> str:
    """Stands for moving files where they can come back from."""
    return f"{count} files are in the trash for 30 days."


@app.agent("cleaner")
async def cleaner(turn: Turn) -> None:
    """Looks first, asks with all that it knows, then does what was chosen."""
    ages = await turn.step(find)
    count = len(ages)
    decision = await turn.decide(
        planned_action=f"Delete {count} files.",
        why=f"The disk is full, and the oldest of them is {max(ages)} days old.",
        impact={"files": count, "reversible": False},
        options=[
            Option("Delete all", "all", f"All {count} files are gone for good."),
            Option("Delete the older ones", "older", "The others stay as they are.", schema=Older),
            Option("Move them to the trash", "trash", "They can come back for 30 days."),
            Option("Leave them", "leave", "Nothing changes, and the disk stays full."),
        ],
    )
    match decision.action:
        case "all":
            await turn.say(f"{await turn.step(delete, 0)} files deleted.")
        case "older":
            await turn.say(f"{await turn.step(delete, decision.params.than_days)} files deleted.")
        case "trash":
            await turn.say(await turn.step(stage, count))
        case _:
            await turn.say(f"Nothing was deleted. {describe(decision)}")
