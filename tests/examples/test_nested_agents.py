"""`examples/nested_agents.py`: two bookers of one name, and one who fails."""

from tests.contract.server import Client, approve, deny
from tests.examples.conftest import Serve


async def test_each_booker_gets_its_own_answer(serve: Serve) -> None:
    """K4: by path and not by name; the failure of one inner agent is not the turn's."""
    client = Client(await serve("nested_agents"), "travel")
    run = await client.say("Lisbon, please")
    asked = [item["metadata"]["sayso"]["arguments"]["what"] for item in run.interrupts]
    assert asked == ["a flight to Lisbon", "a room in Lisbon"]
    assert all("expiresAt" in item for item in run.interrupts)
    run = await client.resume(deny(), approve())
    assert run.text.splitlines() == [
        "The bookers say: no a flight to Lisbon: denied; booked a room in Lisbon for 89.00.",
        "Ask about the visa yourself: no answer about Portugal.",
    ]
    assert [event["message"] for event in run.of("SUBAGENT_ERROR")] == [
        "visa_clerk failed with StepFailed"
    ]


async def test_the_bookers_wait_through_a_restart(serve: Serve) -> None:
    """K2: nothing of them lives in memory only."""
    client = Client(await serve("nested_agents"), "travel")
    await client.say("Lisbon, please")
    tab = client.again(app=await serve("nested_agents"))
    await tab.connect()
    run = await tab.resume(approve(), approve())
    assert "booked a flight to Lisbon for 240.00; booked a room" in run.text
