"""Reminders before a question expires: once, by one process, and for nothing that never does."""

import asyncio
from typing import Any

import pytest

from sayso import Question, Reminder, Turn
from tests.contract.optional import client_of, interrupt_of, past
from tests.contract.server import Server, answer, eventually
from tests.contract.tools import Kit


class Bell:
    """A hook that writes down what it is told."""

    def __init__(self, *failing: str) -> None:
        self.told: list[Reminder] = []
        self.failing = failing

    async def __call__(self, reminder: Reminder) -> None:
        self.told.append(reminder)
        if self.failing:
            raise RuntimeError(self.failing[0])

    async def has_rung(self) -> bool:
        return bool(self.told)


async def asking(turn: Turn) -> None:
    got = await turn.interrupt("confirmation", "Deploy?", expires_in=100)
    await turn.say(f"{got.status}")


@pytest.mark.every_store
async def test_a_hook_is_told_once_at_eighty_percent_of_the_lifetime(server: Server) -> None:
    """R1: with what is needed to find the question and the person."""
    bell = Bell()
    client = client_of(server, asking, on_reminder=bell)
    first = await client.say()
    (asked,) = first.interrupts
    await server.clock.advance(78)
    assert bell.told == []
    await server.clock.advance(5)
    await eventually(bell.has_rung)
    (reminder,) = bell.told
    assert (reminder.interrupt_id, reminder.thread_id) == (asked["id"], client.thread)
    assert (reminder.agent, reminder.owner, reminder.scope) == (client.agent, "local", "default")
    assert (reminder.reason, reminder.message) == ("confirmation", "Deploy?")
    assert reminder.expires_at.isoformat() == asked["expiresAt"].replace(".000Z", "+00:00")
    assert (await interrupt_of(server, asked["id"])).reminded_at is not None
    stored = server.dump()
    await server.clock.advance(10)
    assert (len(bell.told), server.dump()) == (1, stored)
    assert (await client.resume(answer({"approved": True}))).text == "resolved"


@pytest.mark.every_store
async def test_of_several_processes_one_reminds(server: Server) -> None:
    """R1: also after a restart; the store says who is first."""
    bell = Bell()
    client = client_of(server, asking, on_reminder=bell)
    others = [server.another() for _ in range(2)]
    for other in others:
        other.agent(client.agent, on_reminder=bell)(asking)
    await client.say()
    async with others[0].lifespan(), others[1].lifespan():
        await server.clock.advance(90)
        await eventually(bell.has_rung)
    late = server.another()
    late.agent(client.agent, on_reminder=bell)(asking)
    async with late.lifespan():
        await server.clock.advance(4)
    assert len(bell.told) == 1


async def test_an_agent_reminds_at_its_own_time_or_not_at_all(server: Server) -> None:
    """`remind_at` per agent, a part of the lifetime; None for none."""
    bells = {0.5: Bell(), 0.9: Bell(), None: Bell()}
    for share, bell in bells.items():
        await client_of(server, asking, remind_at=share, on_reminder=bell).say()
    await server.clock.advance(60)
    assert [len(bell.told) for bell in bells.values()] == [1, 0, 0]
    await server.clock.advance(35)
    assert [len(bell.told) for bell in bells.values()] == [1, 1, 0]


async def test_what_was_answered_before_is_not_reminded_of(server: Server, tools: Kit) -> None:
    """Settled, held, or of a question without an end (R2)."""
    bell = Bell()

    async def two(turn: Turn) -> None:
        await turn.interrupt_all(
            [Question(reason="confirmation", message=m, expires_in=100) for m in "ab"]
        )

    done = client_of(server, asking, on_reminder=bell)
    await done.say()
    await done.resume(answer({"approved": True}))
    part = client_of(server, two, on_reminder=bell, partial="accumulate")
    await part.say()
    await part.resume(answer({"approved": True}))
    endless = client_of(server, tools.refunding, on_reminder=bell)
    await endless.say()
    await server.clock.advance(90)
    assert [reminder.message for reminder in bell.told] == ["b"]


async def test_a_hook_that_fails_or_hangs_holds_nothing_up(server: Server) -> None:
    """Its failure is logged; the question expires in its time."""

    async def hang(_: Reminder) -> None:
        await asyncio.Event().wait()

    clients = [client_of(server, asking, on_reminder=hook) for hook in (Bell("broken"), hang)]
    for client in clients:
        await client.say()
    await server.clock.advance(80)
    for client in clients:
        fresh = await past(server, client, 20)
        assert fresh.model.messages[-1]["content"] == "expired"


async def test_the_inbox_hears_of_a_reminder_without_any_hook(server: Server) -> None:
    """The change is noted once, for whoever follows the inbox."""
    mark = (await server.store.changes("default", None)).mark
    client = client_of(server, asking)
    await client.say()
    await server.clock.advance(85)

    async def kinds() -> list[Any]:
        return [one.kind for one in (await server.store.changes("default", mark)).items]

    async def noted() -> bool:
        return "reminded" in await kinds()

    await eventually(noted)
    await server.clock.advance(5)
    assert (await kinds()).count("reminded") == 1
