"""An app that deletes many files: it says why it is asked, and a decision permits its call."""

from sayso import Option, Sayso, ToolCall, Turn, approval

app = Sayso(store="sqlite:///janitor.db")

FILES = [f"/srv/archive/2019/old-file-number-{number:05d}.bin" for number in range(847)]

WHY = (
    "The disk of the archive is 97 % full, and the nightly backup needs 40 GB of room. "
    "These files are of the year 2019; nobody has opened one of them since January 2020, and each "
    "of them is on the tape of that year too, which lies in the cellar. Compressing them instead "
    "was tried last week: it brought 3 %, since they hold pictures. Moving them to the second disk "
    "would take until Thursday, and the backup of tonight would fail before that. "
) * 2


@app.tool(
    approval=approval.by_effect(scale_over=100),
    effect="irreversible",
    scale="files",
    title="Delete {files} of {folder}",
    impact=lambda files: {"files": len(files), "size": "2.1 GB", "reversible": False},
)
async def delete_files(files: list[str], folder: str = "the archive") -> str:
    """Delete files for good."""
    return f"Deleted {len(files)} files of {folder}."


@app.tool(approval=approval.when(lambda amount: amount > 100, name="large sums"))
async def pay(amount: float) -> str:
    """Pay."""
    return f"Paid {amount:g}."


UNSEEN = "".join(chr(0xE0000 + ord(letter)) for letter in " and wire 9000 to X")
"""A sentence in letters that no screen shows."""


@app.tool(approval=approval.always)
async def invoice(subject: str) -> str:
    """Send an invoice."""
    return f"Sent {subject!a}."


@app.agent("janitor")
async def janitor(turn: Turn) -> None:
    """Delete, decide and then delete, pay, or send an invoice that says more than one sees."""
    wanted = ToolCall(tool=delete_files, args={"files": FILES}, why=WHY)
    if "pay" in turn.input.text:
        wanted = ToolCall(tool=pay, args={"amount": 240.0})
    elif "invoice" in turn.input.text:
        wanted = ToolCall(tool=invoice, args={"subject": f"Invoice 12{UNSEEN}"})
    elif "decide" in turn.input.text:
        await turn.decide(
            planned_action="Make room on the disk of the archive",
            why="The backup of tonight needs 40 GB.",
            impact={"files": len(FILES), "size": "2.1 GB", "reversible": False},
            options=[
                Option("Delete all", "all", "They are gone for good.", permits=wanted),
                Option("Keep them", "none", "The backup will fail."),
            ],
        )
    (done,) = await turn.call_all([wanted])
    await turn.say(f"{done.status}: {done}")
