"""Answers across processes, restarts and races: each is carried out once (cases L, Q)."""

import asyncio
from pathlib import Path

import pytest

from sayso import Turn
from tests.contract.replicas import replica
from tests.contract.requirements import requirement
from tests.contract.rest import at_once, at_rest, get, post, stop
from tests.contract.server import Client, Server, approve, deny, served
from tests.contract.tools import Kit, kit
from tests.patience import PATIENCE
from tests.stores.backends import BACKENDS

KINDS = tuple(BACKENDS)


@requirement("ID-07")
async def test_of_an_inbox_and_a_client_that_race_one_wins(server: Server, tools: Kit) -> None:
    """Q1, Q3, L5: two processes on one file; the tool runs once, or not at all if No came first."""
    for attempt in range(12):
        client = server.client(tools.refunding)
        await client.say()
        server.effects.clear()
        (one,) = [item["id"] for item in client.model.pending]
        async with replica(server, (client.agent, tools.refunding)) as other:
            by_inbox = post(server, f"/interrupts/{one}/answer", deny(), app=other)
            by_client = client.resume(approve())
            both = (by_inbox, by_client) if attempt % 2 else (by_client, by_inbox)
            done = await at_once(server, client, *both)
            answered, run = done if attempt % 2 else (done[1], done[0])
            await at_rest(server, client)
        item = await get(server, f"/interrupts/{one}")
        approved = item["answer"]["payload"]["approved"]
        assert server.effects == ([("refund", "A-17", 240.0)] if approved else [])
        assert item["answer"]["channel"] == ("run" if approved else "inbox")
        if approved:
            assert answered.status == 409
            assert run.outcome == "success"
        else:
            assert answered.status == 200
            assert run.outcome in ("already_resolved", "thread_busy")


@requirement("ID-07")
async def test_equal_answers_that_race_are_one(server: Server, tools: Kit) -> None:
    """Q2: both are told that it is done; the count is one."""
    for _ in range(8):
        client = server.client(tools.refunding)
        await client.say()
        server.effects.clear()
        (one,) = [item["id"] for item in client.model.pending]
        async with replica(server, (client.agent, tools.refunding)) as other:
            runs = await at_once(
                server,
                client,
                post(server, f"/interrupts/{one}/answer", approve()),
                post(server, f"/interrupts/{one}/answer", approve(), app=other),
                client.resume(approve()),
            )
            await at_rest(server, client)
        assert server.effects == [("refund", "A-17", 240.0)]
        assert [run.status for run in runs] == [200, 200, 200]
        assert runs[2].outcome == "success"


async def test_the_last_two_answers_of_a_set_that_race_start_one_run(
    server: Server, tools: Kit
) -> None:
    """Q3: neither is lost, and the set is settled once."""
    for _ in range(8):
        client = server.client(tools.mailing)
        await client.say()
        server.effects.clear()
        one, two, three = [item["id"] for item in client.model.pending]
        await post(server, f"/interrupts/{one}/answer", approve())
        async with replica(server, (client.agent, tools.mailing)) as other:
            runs = await asyncio.gather(
                post(server, f"/interrupts/{two}/answer", approve()),
                post(server, f"/interrupts/{three}/answer", approve(), app=other),
            )
            await at_rest(server, client)
        assert sorted(run.status for run in runs) == [200, 202]
        assert sorted(server.effects) == [("email", "ann"), ("email", "ben"), ("email", "cyd")]


@pytest.mark.parametrize("kind", ["sqlite"])
async def test_held_answers_outlive_a_restart(tmp_path: Path, kind: str) -> None:
    """L1, L2: each process takes one answer; the last one carries all of them out."""
    given = [approve(), deny(), approve()]
    client: Client | None = None
    for at, body in enumerate(given):
        async with served(kind, tmp_path) as server:
            tools = kit(server)
            server.app.agent("mailing")(tools.mailing)
            if client is None:
                client = Client(server.app, "mailing")
                await client.say()
            client.app = server.app
            one = client.model.pending[at]["id"]
            run = await post(server, f"/interrupts/{one}/answer", body)
            assert run.status == (200 if at == 2 else 202)
            if at == 2:
                await at_rest(server, client)
                assert server.effects == [("email", "ann"), ("email", "cyd")]


async def test_another_process_takes_over_a_run_that_an_answer_started(server: Server) -> None:
    """L5, L7: settled is settled, whoever goes on with it."""
    begun, wakes = asyncio.Event(), asyncio.Event()

    async def agent(turn: Turn) -> None:
        got = await turn.interrupt("confirmation", "Sure?")
        begun.set()
        if not wakes.is_set():
            await wakes.wait()
        await turn.step(server.effects.append, got.status)

    client = server.client(agent)
    await client.say()
    (one,) = [item["id"] for item in client.model.pending]
    answered = await post(server, f"/interrupts/{one}/answer", approve())
    async with asyncio.timeout(PATIENCE):
        await begun.wait()
    async with replica(server, (client.agent, agent)):
        server.store.fail("renew", times=1_000)
        wakes.set()
        await at_rest(server, client)
        assert server.effects == ["resolved"]
        again = await post(server, f"/interrupts/{one}/answer", approve())
        assert again.json == answered.json


async def test_a_stop_and_the_last_answer_that_race_leave_one_ending(
    server: Server, tools: Kit
) -> None:
    """E8: the mail went out, or the turn was stopped and it did not."""
    for _ in range(8):
        client = server.client(tools.mailing)
        await client.say()
        server.effects.clear()
        one, two, three = [item["id"] for item in client.model.pending]
        for held in (one, two):
            await post(server, f"/interrupts/{held}/answer", deny())
        async with replica(server, (client.agent, tools.mailing)) as other:
            stopped, answered = await asyncio.gather(
                stop(server, client),
                post(server, f"/interrupts/{three}/answer", approve(), app=other),
            )
            await at_rest(server, client)
        item = await get(server, f"/interrupts/{three}")
        if item["status"] == "resolved":
            assert answered.status == 200
        else:
            assert stopped
            assert answered.status == 409
            assert server.effects == []
        results = (await get(server, f"/threads/{client.thread}/history"))["messages"]
        calls = [m["toolCallId"] for m in results if m["role"] == "tool"]
        assert len(calls) == len(set(calls)) == 4
