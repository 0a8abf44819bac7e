"""Events of an author's own."""

from typing import Any

import pytest

from sayso import NotRecordable, Turn
from tests.contract.requirements import requirement
from tests.contract.server import Server, approve


@requirement("PT-01", "PT-03")
async def test_a_custom_event_is_sent_once_with_its_value_whatever_it_is(server: Server) -> None:
    """PT-01: null is a value; replay and reload send nothing again."""
    values: list[Any] = [None, 0, "", [], {"a": None}]

    async def agent(turn: Turn) -> None:
        for value in values:
            await turn.custom("shop:stock", value)
        async with turn.message() as message:
            await message.write("Hm")
            await turn.custom("shop.beside/text", True)
            await message.write(".")
        await turn.interrupt("confirmation", "Go on?")
        await turn.custom("shop:after", 1)

    client = server.client(agent)
    run = await client.say()
    assert [e["value"] for e in run.of("CUSTOM")] == [*values, True]
    assert run.text == "Hm."
    assert [e["name"] for e in (await client.resume(approve())).of("CUSTOM")] == ["shop:after"]
    assert (await client.again().connect()).of("CUSTOM") == []


@requirement("PT-02", "PT-03")
@pytest.mark.parametrize(
    "name",
    ["stock", "", "on_interrupt", ":x", "a b:c", "shop:", "ag-ui:x", "AGUI.x", "sayso:x"],
)
async def test_a_name_without_a_vendor_is_refused(server: Server, name: str) -> None:
    """PT-03: such names are the protocol's; ours are ours."""
    refused: list[str] = []

    async def agent(turn: Turn) -> None:
        with pytest.raises(ValueError, match="custom event") as caught:
            await turn.custom(name, 1)
        refused.append(str(caught.value))

    run = await server.client(agent).say()
    assert run.outcome == "success"
    assert run.of("CUSTOM") == []
    assert len(refused) == 1


async def test_a_step_may_send_and_what_is_no_json_is_refused(server: Server) -> None:
    """Inside a step it goes out when that runs, and not on replay."""

    async def agent(turn: Turn) -> None:
        async def work() -> None:
            await turn.custom("shop:inside", 1)

        with pytest.raises(NotRecordable):
            await turn.custom("shop:file", object())
        await turn.step(work)
        await turn.interrupt("confirmation", "Go on?")

    client = server.client(agent)
    assert [e["name"] for e in (await client.say()).of("CUSTOM")] == ["shop:inside"]
    assert (await client.resume(approve())).of("CUSTOM") == []
