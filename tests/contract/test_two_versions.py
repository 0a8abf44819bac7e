"""Two replicas with different code on one store, as in the middle of a deployment."""

from typing import Any

import pytest

from sayso import Turn, approval
from tests.contract.replicas import replica
from tests.contract.rest import call, get
from tests.contract.server import Server, approve, eventually


def paying(arguments: dict[str, Any], tool: str = "pay") -> Any:
    """An agent that makes one call."""

    async def agent(turn: Turn) -> str:
        return str(await turn.call(tool, arguments))

    return agent


@pytest.mark.parametrize(
    "newer", [paying({"x": 6}), paying({"y": 5}), paying({"x": 5}, "send")], ids=["6", "y", "send"]
)
@pytest.mark.parametrize("door", ["run", "inbox"])
async def test_an_answer_that_reaches_newer_code_is_not_lost(
    server: Server, newer: Any, door: str
) -> None:
    """The replica that cannot go on leaves the question open; the one that began it goes on."""

    @server.app.tool(approval=approval.always)
    async def pay(x: int) -> str:
        server.effects.append(x)
        return "paid"

    client = server.client(paying({"x": 5}))
    (asked,) = (await client.say()).interrupts
    async with replica(server, (client.agent, newer)) as other:
        for _ in range(2):
            if door == "run":
                run = await client.again(app=other).resume(
                    {"interruptId": asked["id"], **approve()}
                )
                assert run.outcome == "replay_mismatch"
            else:
                path = f"/interrupts/{asked['id']}/answer"
                assert (await call(other, "POST", path, approve())).status == 200

            async def is_open_again() -> bool:
                shown = await get(server, f"/threads/{client.thread}")
                return bool(
                    not shown["running"]
                    and shown["problem"]["code"] == "replay_mismatch"
                    and [one["id"] for one in shown["interrupts"]] == [asked["id"]]
                )

            await eventually(is_open_again)
            assert server.effects == []
        run = await client.resume({"interruptId": asked["id"], **approve()})
        assert (run.outcome, run.last["result"]) == ("success", "paid")
        assert server.effects == [5]
        history = await get(server, f"/threads/{client.thread}/history")
        said = [one["content"] for one in history["messages"] if one["role"] == "tool"]
        assert said == ["paid"]
