"""Turns that go on without a client: how many at once, and how often without a person."""

import asyncio
from functools import partial
from typing import Any

import pytest

from sayso import Principal, Turn
from tests.contract.optional import client_of, interrupt_of, past, thread_of, told
from tests.contract.requirements import requirement
from tests.contract.server import Server, answer, approve, eventually, served
from tests.contract.tools import Kit, kit
from tests.stores.backends import BACKENDS, EMBEDDED


def asking_again(server: Server) -> Any:
    """An agent that asks until somebody answers."""

    async def agent(turn: Turn) -> None:
        server.effects.append("entered")
        number = 0
        while True:
            number += 1
            got = await turn.interrupt("confirmation", f"Number {number}?", expires_in=10)
            if got.value:
                return

    return agent


@requirement("EX-06")
async def test_three_expiries_in_a_row_end_the_turn(server: Server) -> None:
    """Design 4: the third is not told to the agent; the outcome is cancelled, and says why."""
    client = client_of(server, asking_again(server))
    await client.say()
    for number in (2, 3):
        fresh = await past(server, client, 10)
        assert fresh.model.pending[0]["message"] == f"Number {number}?"
    entered = len(server.effects)
    fresh = await past(server, client, 10)
    assert fresh.model.pending == []
    assert len(server.effects) == entered
    view = await thread_of(server, client)
    assert view.turn is not None and view.run is not None
    assert view.turn.status == "cancelled"
    outcome = view.run.outcome or b""
    assert b'"cancelled"' in outcome
    assert b"3 times in a row nobody answered" in outcome
    assert [i.status for i in view.interrupts] == ["expired"] * 3
    # Nobody has seen how it ended: whoever asks without anything new is told, not run again.
    assert (await fresh.run()).outcome == "cancelled"
    assert len(server.effects) == entered
    assert (await fresh.say("again")).outcome == "interrupt"


async def test_an_answer_of_a_person_begins_the_count_anew(server: Server) -> None:
    """In a row, and without a person: a no is an answer too."""
    client = client_of(server, asking_again(server))
    await client.say()
    for _ in range(2):
        for _ in range(2):
            client = await past(server, client, 10)
        assert len(client.model.pending) == 1
        await client.resume(answer({"approved": False}))
    assert len(client.model.pending) == 1


@pytest.mark.parametrize("most", [1, None])
async def test_an_agent_may_have_another_limit_or_none(server: Server, most: Any) -> None:
    """`max_consecutive_expiries`."""
    client = client_of(server, asking_again(server), max_consecutive_expiries=most)
    await client.say()
    for _ in range(1 if most else 5):
        client = await past(server, client, 10)
    assert len(client.model.pending) == (0 if most else 1)


async def test_several_that_expire_together_count_as_one(server: Server, tools: Kit) -> None:
    """A batch is asked once, and expires once."""
    client = client_of(server, tools.mailing, expires_in=10)
    await client.say()
    fresh = await past(server, client, 10)
    assert fresh.model.messages[-1]["content"] == "executed, expired, expired, expired"


@requirement("TC-16")
async def test_a_turn_that_ends_so_leaves_no_call_without_a_result(
    server: Server, tools: Kit
) -> None:
    """D5, H1: the text says expired, whatever the rule; nothing ran, though it says approve."""

    @server.app.tool(approval=tools.email.approval, on_expire="approve", expires_in=10)
    async def pay(amount: float) -> str:
        server.effects.append(("pay", amount))
        return "Paid."

    async def agent(turn: Turn) -> None:
        await turn.call(pay, amount=1.0)

    client = client_of(server, agent, max_consecutive_expiries=1)
    first = await client.say()
    fresh = await past(server, client, 10)
    (text,) = told(fresh)
    assert "Not executed" in text and "expired" in text
    assert server.effects == []
    item = await interrupt_of(server, first.interrupts[0]["id"])
    assert (item.status, item.decided_by, item.channel) == ("expired", None, "expiry")


@pytest.mark.parametrize("kind", BACKENDS)
async def test_no_more_turns_go_on_at_once_than_are_allowed(tmp_path: Any, kind: str) -> None:
    """Design 4: `max_unattended`; the others have their turn when one of them has ended."""
    async with served(kind, tmp_path, max_unattended=2) as server:
        go = asyncio.Semaphore(0)
        running: list[str] = []

        async def agent(turn: Turn) -> None:
            got = await turn.interrupt("confirmation", "Sure?", expires_in=5)
            running.append(got.status)
            await go.acquire()

        clients = [client_of(server, agent) for _ in range(5)]
        for client in clients:
            await client.say()
        for allowed in (2, 4, 5):
            await server.clock.advance(2)

            async def are(count: int = allowed) -> bool:
                await server.clock.advance(0.5)
                return len(running) == count

            if allowed == 2:
                await server.clock.advance(4)
            await eventually(are)
            await server.clock.advance(1)
            assert len(running) == allowed
            for _ in range(2):
                go.release()
        assert running == ["expired"] * 5


@pytest.mark.parametrize("kind", BACKENDS)
async def test_slow_turns_of_one_user_do_not_keep_another_s_from_expiring(
    tmp_path: Any, kind: str
) -> None:
    """Of the turns that go on at once one user gets half."""

    async def who(scope: Any) -> Principal:
        return Principal(subject=dict(scope["headers"])[b"x-user"].decode())

    hold = asyncio.Event()
    expired: list[str] = []

    async def agent(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Sure?", expires_in=5)
        expired.append(turn.principal.subject)
        await hold.wait()

    async with served(kind, tmp_path, max_unattended=2, authenticate=who) as server:
        for user in ("ann", "ann", "ann", "lea"):
            client = client_of(server, agent)
            client.headers["x-user"] = user
            await client.say()

        async def are() -> bool:
            await server.clock.advance(2)
            return len(expired) == 2

        await eventually(are)
        assert sorted(expired) == ["ann", "lea"]
        hold.set()


@pytest.mark.parametrize("kind", EMBEDDED)
async def test_many_users_of_one_tenant_do_not_keep_another_tenant_waiting(
    tmp_path: Any, kind: str
) -> None:
    """Theirs are older, each has a share, and still a place that comes free is the other's."""

    async def who(scope: Any) -> Principal:
        user = dict(scope["headers"])[b"x-user"].decode()
        return Principal(subject=user, scope=user[0])

    go = asyncio.Semaphore(0)
    expired: list[str] = []

    async def agent(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Sure?", expires_in=5)
        expired.append(turn.principal.subject)
        await go.acquire()

    async with served(kind, tmp_path, max_unattended=2, authenticate=who) as server:
        for user in ("a1", "a2", "a3", "a4", "b1"):
            client = client_of(server, agent)
            client.headers["x-user"] = user
            await client.say()
            await server.clock.advance(0.01)

        async def have(count: int) -> bool:
            await server.clock.advance(2)
            return len(expired) == count

        async def b_waits() -> bool:
            await server.clock.advance(1)
            return "b" in server.app._engine._sweeper._waiting

        await eventually(lambda: have(2))
        await eventually(b_waits)
        for count in (3, 4, 5):
            go.release()
            await eventually(partial(have, count))
        assert expired.index("b1") == 2
        assert sorted(expired) == ["a1", "a2", "a3", "a4", "b1"]
        go.release()
        go.release()


async def test_eight_at_once_is_the_default_and_questions_expire_all_the_same(
    server: Server, tools: Kit
) -> None:
    """What only has to be settled waits for nobody: a reminder, one of several, a hold."""
    hold = asyncio.Event()

    async def slow(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Sure?", expires_in=2)
        server.effects.append("slow")
        await hold.wait()

    for _ in range(9):
        await client_of(server, slow).say()
    held = client_of(server, tools.refunding, expires_in=2, on_expire="hold")
    first = await held.say()

    async def all_that_may() -> bool:
        await server.clock.advance(0.5)
        item = await interrupt_of(server, first.interrupts[0]["id"])
        return server.effects.count("slow") == 8 and item.lapsed_at is not None

    await server.clock.advance(2)
    await eventually(all_that_may)
    await server.clock.advance(1)
    assert server.effects.count("slow") == 8
    hold.set()

    async def the_ninth() -> bool:
        await server.clock.advance(0.5)
        return server.effects.count("slow") == 9

    await eventually(the_ninth)


@pytest.mark.parametrize("kind", BACKENDS)
async def test_server_options_hold_for_agents_without_their_own(tmp_path: Any, kind: str) -> None:
    """Design 3: one table, set on `Sayso`, overridable per agent."""
    async with served(
        kind, tmp_path, expires_in=10, on_expire="cancel", max_consecutive_expiries=2
    ) as server:
        tools = kit(server)
        client = client_of(server, tools.refunding)
        await client.say()
        fresh = await past(server, client, 10)
        assert fresh.model.messages[-1]["content"].startswith("cancelled: ")
        own = client_of(server, tools.refunding, on_expire="deny")
        await own.say()
        fresh = await past(server, own, 10)
        assert fresh.model.messages[-1]["content"].startswith("denied: ")
        shown = (await server.request("GET", f"/agents/{own.agent}").end()).json["options"]
        assert shown == {
            "refusals": "error",
            "client": "any",
            "legacy": {"emission": "standard", "value": "interrupt", "answers": True},
            "unknownEntries": "refuse",
            "partial": "refuse",
            "onMessage": "refuse",
            "onDisconnect": "finish",
            "expiresIn": 10,
            "onExpire": "deny",
            "remindAt": 0.8,
            "unattendedTimeout": 900.0,
            "maxConsecutiveExpiries": 2,
            "runBreakpoints": "refuse",
            "interruptsEnabled": True,
            "subagents": False,
            "toolErrors": "type",
        }
        calm = client_of(server, tools.refunding, expires_in=None)
        assert "expiresAt" not in (await calm.say()).interrupts[0]
        assert (await calm.resume(approve())).outcome == "success"
