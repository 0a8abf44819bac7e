"""`examples/front_end_tool.py`: the page's own tool, and what stands in for it."""

from typing import Any

from tests.contract.frontend import left, put
from tests.contract.server import Client, answer
from tests.examples.conftest import Serve

OFFERED: list[dict[str, Any]] = [
    {"name": "pick_slot", "description": "Lets the user pick.", "parameters": {"type": "object"}}
]
SLOT = '{"start": "2027-03-01T09:00:00Z"}'


async def test_the_page_picks_and_the_invitation_goes_out(serve: Serve) -> None:
    """TC-11, TC-14: a run that leaves the call, and one that goes on with its result."""
    client = Client(await serve("front_end_tool"), "scheduler")
    (call,) = left(await client.say("Meet Ada", tools=OFFERED))
    client.app = await serve("front_end_tool")  # a restart in between changes nothing
    put(client, call, SLOT)
    assert (await client.run(tools=OFFERED)).text == "Invited for 01 March, 09:00."


async def test_what_is_no_slot_sends_nothing(serve: Serve) -> None:
    """The example's own comments: a misfit has failed, and talk instead of it has cancelled it."""
    app = await serve("front_end_tool")
    client = Client(app, "scheduler")
    (call,) = left(await client.say("Meet Ada", tools=OFFERED))
    put(client, call, "tomorrow")
    assert (await client.run()).text == "I sent no invitation. tomorrow"
    client = Client(app, "scheduler")
    await client.say("Meet Ada", tools=OFFERED)
    run = await client.say("Meet Bob")
    assert run.text.startswith("I sent no invitation. Unanswered")
    assert run.outcome == "interrupt"  # of the turn about Bob, whose message brought no tools


async def test_without_the_tool_a_question_does(serve: Serve) -> None:
    """The same type makes the form, validates and types the answer."""
    client = Client(await serve("front_end_tool"), "scheduler")
    run = await client.say("Meet Ada")
    assert run.interrupts[0]["responseSchema"]["required"] == ["start"]
    run = await client.resume(answer({"start": "2027-03-01T09:00:00Z"}))
    assert run.text == "Invited for 01 March, 09:00."
