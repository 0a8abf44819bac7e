"""Scheduling with a tool that the page runs itself; where it has none, with a question.

    cd examples && sayso serve front_end_tool:app

A page offers its tools with the message that begins the turn, here as the body of a
`POST /agents/scheduler`:

    {"threadId": "t", "runId": "r1",
     "messages": [{"id": "1", "role": "user", "content": "Meet Ada"}],
     "tools": [{"name": "pick_slot", "description": "Lets the user pick a slot.",
                "parameters": {"type": "object"}}]}

The run streams the call and ends: its outcome is a success that leaves the call to the page
(`pendingToolCallIds`). Once the user has picked, the page sends what came of it:

    {"threadId": "t", "runId": "r2",
     "messages": [{"id": "2", "role": "tool", "toolCallId": "front_…",
                   "content": "<a Slot, as JSON text>"}]}

Clients of AG-UI and CopilotKit's `useFrontendTool` do both by themselves. The console offers no
tools, so there the same agent asks a question instead.
"""

from datetime import datetime

from pydantic import BaseModel

from sayso import Sayso, Turn

app = Sayso(store="sqlite:///front_end_tool.db")


class Slot(BaseModel):
    """A time in the calendar."""

    start: datetime


async def invite(start: datetime) -> str:
    """Stands for the calendar's API."""
    return f"Invited for {start:%d %B, %H:%M}."


async def find_slot(turn: Turn) -> Slot | None:
    """Lets the user choose; None, and a word about it, if that did not happen."""
    if "pick_slot" in [tool["name"] for tool in turn.input.tools]:
        # `returns` is checked: a result that is no Slot counts as a failed call.
        picked = await turn.client_tool(
            "pick_slot", {"minutes": 30}, schema=Slot, expires_in=86_400
        )
        if not picked.executed:
            # failed: the page said so. cancelled: the user wrote something else instead.
            # expired: a day went by, and the turn went on without anybody.
            await turn.say(f"I sent no invitation. {picked}")
        return picked.value
    answer = await turn.interrupt("input_required", "When shall we meet?", schema=Slot)
    if not answer.resolved:
        await turn.say("I sent no invitation: the question was withdrawn.")
    return answer.value


@app.agent("scheduler")
async def scheduler(turn: Turn) -> None:
    """Finds a time with the user, then sends the invitation."""
    slot = await find_slot(turn)
    if slot is not None:
        await turn.say(await turn.step(invite, slot.start))
