"""A stop in the middle of an answer: the connection closes, and nothing more is paid for."""

from pathlib import Path
from typing import Any

from sayso import Turn
from sayso.testing import FakeProvider, FakeReply
from tests.contract.rest import call
from tests.models.shop import CLIENTS, every_client
from tests.turns.driver import Conversation, World, until


@every_client
async def test_a_stop_closes_the_connection_to_the_provider(client: str, tmp_path: Path) -> None:
    with FakeProvider([FakeReply("word " * 400, pause=0.05)]) as provider:
        asks = CLIENTS[client](provider)

        async def agent(turn: Turn, world: World) -> Any:
            await turn.chat(asks, model="fake-1")

        async with World.of("memory", tmp_path, agent) as world:
            talk = Conversation(world)
            talk.client.user("go")
            reader = talk.client.open()
            await reader.when(lambda events: any("word" in e.get("delta", "") for e in events))
            stopped = await call(world.app, "POST", f"/threads/{talk.thread}/stop")
            assert stopped.status in (200, 202, 204)
            await until(lambda: provider.left == 1)
            run = await reader.end()
            assert run.outcome == "cancelled"
            assert len(provider.requests) == 1
