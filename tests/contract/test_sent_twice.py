"""Answers without an id that are sent twice: the second never answers a question nobody saw.

A proxy retries, a button is clicked twice, a client did not get its response; the next question is
open by then, and takes the same answer (ID-01, cases Q).
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from sayso import Turn, approval
from tests.contract.legacy import ABSENT, LegacyClient, asked_of, command
from tests.contract.optional import client_of
from tests.contract.replicas import replica
from tests.contract.requirements import requirement
from tests.contract.rest import at_once
from tests.contract.server import Server
from tests.contract.sessions import PATH, frames_of, session_of
from tests.contract.wire import Exchange
from tests.stores.backends import BACKENDS

KINDS = tuple(BACKENDS)
YES = {"approved": True}


def payer(server: Server) -> Callable[[Turn], Awaitable[None]]:
    """An agent that asks about three payments, one after the other, in the same words."""

    @server.app.tool(approval=approval.always)
    async def pay(n: int) -> str:
        server.effects.append(n)
        return f"paid {n}"

    async def agent(turn: Turn) -> None:
        for n in (1, 2, 3):
            await turn.call(pay, n=n)

    return agent


async def questioner(turn: Turn) -> None:
    """Two questions in the same words."""
    for _ in range(2):
        answer = await turn.interrupt("confirmation", "Sure?")
        assert answer.value


def legacy(server: Server, agent: Callable[[Turn], Awaitable[None]]) -> LegacyClient:
    return asked_of(client_of(server, agent))


@requirement("ID-01", "LG-14")
async def test_a_legacy_answer_that_is_sent_again_is_not_for_the_next_question(
    server: Server,
) -> None:
    """The same bytes under the same run id: once one payment, and the thread as it stands."""
    client = legacy(server, payer(server))
    await client.say()
    body = client.body(runId="r-2", forwardedProps=command(YES))
    for _ in range(3):
        run = await client.again().run(body, action="?interrupts=legacy")
        assert run.asked
    assert server.effects == [1]
    await client.run(client.body(runId="r-3", forwardedProps=command(YES)))
    late = await client.again().run(body, action="?interrupts=legacy")
    assert late.asked
    assert server.effects == [1, 2]


@requirement("ID-01")
async def test_a_raw_value_that_is_sent_again_is_not_for_a_question_in_the_same_words(
    server: Server,
) -> None:
    """What it names was asked twice; the run id says which was meant."""
    client = legacy(server, questioner)
    client.mode = "legacy"
    await client.say()
    body = client.body(runId="r-2", forwardedProps=command(YES, "Sure?"))
    for _ in range(2):
        await client.again().run(body, action="?interrupts=legacy")
    view = await server.store.load("default", client.thread)
    assert view is not None
    assert [item.status for item in view.interrupts] == ["resolved", "open"]


@requirement("ID-01")
async def test_a_request_of_an_earlier_turn_answers_nothing_in_a_later_one(server: Server) -> None:
    """Its run is known, and over."""

    async def agent(turn: Turn) -> None:
        answer = await turn.interrupt("confirmation", "Sure?")
        server.effects.append(answer.value)

    client = legacy(server, agent)
    await client.say()
    body = client.body(runId="r-2", forwardedProps=command(YES))
    await client.again().run(body, action="?interrupts=legacy")
    await client.say()
    run = await client.again().run(body, action="?interrupts=legacy")
    assert run.outcome == "unknown_interrupt"
    assert len(server.effects) == 1


@requirement("ID-01", "LG-14")
async def test_another_answer_under_the_id_of_the_run_that_asked_still_counts(
    server: Server,
) -> None:
    """Design 2: some clients resume under the interrupted run's id, again and again."""
    client = legacy(server, payer(server))
    await client.say(runId="r-1")
    for payload in (YES, {"approved": False}, {"approved": True, "reason": "third"}):
        await client.run(client.body(runId="r-1", forwardedProps=command(payload, ABSENT)))
    assert server.effects == [1, 3]


@requirement("ID-01", "ID-08")
async def test_equal_legacy_answers_at_once_on_two_processes_are_one(server: Server) -> None:
    """Q2: whoever is first takes it; the others follow, and none answers what comes next."""
    agent = payer(server)
    client = legacy(server, agent)
    await client.say()
    body = client.body(runId="r-2", forwardedProps=command(YES))
    async with replica(server, (client.agent, agent)) as other:
        clients = [client.again(app=app) for app in (server.app, other) * 6]
        path = "?interrupts=legacy"
        await at_once(server, client, *(each.run(body, action=path) for each in clients))
    assert server.effects == [1]


class Slow(Exchange):
    """A request whose body comes after the rest of it."""

    def __init__(self, *args: Any) -> None:
        self.body_comes = asyncio.Event()
        super().__init__(*args)

    async def _receive(self) -> dict[str, Any]:
        await self.body_comes.wait()
        return await super()._receive()


@requirement("ID-01")
async def test_a_session_answer_that_came_before_its_question_is_not_for_it(server: Server) -> None:
    """Sent twice at once: the second is told the question that it never saw, and takes nothing."""
    session = session_of(server, payer(server))
    await session.say()
    body = json.dumps({"session_id": session.id, "answer": "yes"}).encode()
    twin = Slow(server.app, "POST", f"{PATH}/resume", body, session.headers)
    await asyncio.sleep(0)
    assert (await session.answer("yes"))[-1]["type"] == "interrupt"
    twin.body_comes.set()
    assert frames_of(await twin.end())[-1]["type"] == "interrupt"
    assert server.effects == [1]
    assert (await session.answer("yes"))[-1]["type"] == "interrupt"
    assert server.effects == [1, 2]


@requirement("ID-01")
async def test_equal_session_answers_at_once_answer_one_question(server: Server) -> None:
    """Whoever is first takes it; nobody answers what comes next."""
    agent = payer(server)
    for _ in range(4):
        server.effects.clear()
        session = session_of(server, agent)
        await session.say()
        runs = await asyncio.gather(*(session.send("yes") for _ in range(6)))
        assert server.effects == [1]
        assert {run.status for run in runs} <= {200, 409}
