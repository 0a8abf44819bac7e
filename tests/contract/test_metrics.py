"""What replicas tell of themselves: what happened once, and what the store holds (design 5)."""

from tests.contract.replicas import replica
from tests.contract.rest import call, post
from tests.contract.server import Client, Server, approve, eventually
from tests.contract.tools import Kit

KINDS = ("postgres", "redis")


async def told(app: object) -> dict[str, float]:
    """The samples of `/metrics`."""
    run = await call(app, "GET", "/metrics")
    assert run.status == 200
    lines = [line for line in run.body.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


async def test_replicas_tell_each_thing_once_and_all_what_is_open(
    server: Server, tools: Kit
) -> None:
    """Asked at one and answered at another: open for both, decided where it was."""
    client: Client = server.client(tools.refunding)
    async with replica(server, (client.agent, tools.refunding)) as other:
        await client.say()
        server.clock.jump(4)
        for app in (server.app, other):
            shown = await told(app)
            assert shown["sayso_interrupts_open"] == 1
            assert shown["sayso_interrupt_oldest_seconds"] == 4
            assert shown["sayso_store_up"] == 1
        (one,) = [item["id"] for item in client.model.pending]
        await post(server, f"/interrupts/{one}/answer", approve(), app=other)
        ended = 'sayso_run_seconds_count{outcome="success"}'

        async def counted() -> bool:
            # A run counts itself once its thread is free for others.
            return ended in await told(other)

        await eventually(counted)
        here, there = await told(server.app), await told(other)
        assert here["sayso_interrupts_open"] == there["sayso_interrupts_open"] == 0
        decided = 'sayso_interrupt_decision_seconds_count{status="resolved"}'
        assert (here.get(decided, 0), there[decided]) == (0, 1)
        assert there['sayso_interrupt_decision_seconds_sum{status="resolved"}'] == 4
        assert there['sayso_interrupts_settled_total{status="resolved"}'] == 1
        assert here['sayso_run_seconds_count{outcome="interrupt"}'] == 1
        assert there[ended] == 1
        assert here['sayso_store_seconds_count{operation="commit"}'] >= 1
        assert here['sayso_store_seconds_count{operation="load"}'] >= 1
        assert server.effects == [("refund", "A-17", 240.0)]
