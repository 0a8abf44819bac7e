"""What one process does is seen by another at once where the store tells (design 6).

The clock stands still in all of these: no poll ever comes.
"""

import asyncio

from sayso import Turn
from tests.contract.replicas import replica
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest, post, stop
from tests.contract.server import Server, approve, eventually
from tests.contract.test_inbox_stream import listening, told
from tests.contract.tools import Kit

KINDS = ("postgres", "redis")


async def hearing(server: Server) -> None:
    """Wait until what others do is heard."""

    async def hears() -> bool:
        return server.store.has_notifications

    await eventually(hears)


async def test_an_inbox_shows_at_once_what_was_asked_and_answered_elsewhere(
    server: Server, tools: Kit
) -> None:
    """Q4: the card comes and goes without a poll."""
    client = server.client(tools.refunding)
    async with (
        replica(server, (client.agent, tools.refunding)) as other,
        listening(server.app) as exchange,
    ):
        await hearing(server)
        there = client.again(app=other)
        await there.say()
        await exchange.until("opened")
        (one,) = [item["id"] for item in there.model.pending]
        await post(server, f"/interrupts/{one}/answer", approve(), app=other)
        await told(exchange, "opened", "settled")
        await at_rest(server, client)


@requirement("OU-07")
async def test_a_run_elsewhere_is_stopped_and_seen_to_end_at_once(server: Server) -> None:
    """I6, A4: its holder renews no lease and commits nothing, and hears of it all the same."""

    async def agent(turn: Turn) -> None:
        await turn.say("Thinking.")
        await asyncio.Event().wait()

    client = server.client(agent)
    client.user("go")
    exchange = client.open(client.body(runId="r"))
    await exchange.until("TEXT_MESSAGE_END")
    async with replica(server, (client.agent, agent)) as other:
        await hearing(server)
        follower = client.again(app=other)
        watching = follower.open(follower.body(messages=[], runId="w"), action="/connect")
        await watching.until("MESSAGES_SNAPSHOT")
        assert await stop(server, client, app=other)
        assert (await exchange.end()).judged(client.thread, "r").outcome == "cancelled"
        assert (await watching.end()).judged(client.thread, "w").outcome == "cancelled"
