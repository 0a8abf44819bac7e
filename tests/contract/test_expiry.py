"""Deadlines: the server's clock rules, silence is never an answer of a person (section 15)."""

from typing import Any

import pytest

from sayso import Question, Turn
from tests.contract.requirements import requirement
from tests.contract.server import Client, Server, answer, approve, cancel, eventually, served
from tests.contract.tools import Kit, kit


async def asking(turn: Turn) -> None:
    """One question that lasts a minute."""
    got = await turn.interrupt("confirmation", "Sure?", expires_in=60)
    await turn.say(f"{got.status} {got.expired} by {got.by}")


async def until_idle(server: Server, client: Client) -> None:
    """Let time pass until the thread is idle with nothing open."""

    async def idle() -> bool:
        await server.clock.advance(1)
        run = await client.again().connect()
        return run.last["type"] == "RUN_FINISHED" and run.outcome == "success"

    await eventually(idle)


@requirement("EX-04", "EX-09", "CR-7", "RE-17", "EX-01")
async def test_at_its_deadline_an_answer_is_refused_and_a_cancel_is_taken(server: Server) -> None:
    """EX-04, EX-05: `now == expiresAt` is expired; one late answer refuses the batch."""

    async def agent(turn: Turn) -> None:
        answers = await turn.interrupt_all(
            [
                Question(reason="confirmation", message="short", expires_in=60),
                Question(reason="confirmation", message="long"),
            ]
        )
        server.effects += [a.status for a in answers]

    client = server.client(agent)
    await client.say()
    server.store.fail("due_threads", times=1000)
    await server.clock.advance(60)
    stored = server.dump()
    run = await client.resume(answer({"approved": True}), answer({"approved": True}))
    assert run.outcome == "interrupt_expired"
    (named,) = run.details["interrupts"]
    assert named["interruptId"] == client.model.pending[0]["id"]
    assert named["at"] == client.model.pending[0]["expiresAt"]
    assert (server.dump(), server.effects) == (stored, [])
    done = await client.resume(cancel(), answer({"approved": True}))
    assert done.outcome == "success"
    assert server.effects == ["cancelled", "resolved"]


@requirement("EX-01")
async def test_a_moment_before_its_deadline_an_answer_is_taken(server: Server) -> None:
    """EX-01: the last millisecond counts."""
    client = server.client(asking)
    await client.say()
    await server.clock.advance(59.999)
    run = await client.resume(answer({"approved": True}))
    assert run.text == "resolved False by local"


@pytest.mark.every_store
@requirement("EX-06", "OC-05", "EX-05")
async def test_past_its_deadline_the_turn_goes_on_without_a_client(server: Server) -> None:
    """EX-06 as design 10 has it, D5, D7, R3: expired, by nobody; plain input is taken again."""
    client = server.client(asking)
    await client.say()
    await server.clock.advance(62)
    await until_idle(server, client)
    fresh = client.again()
    await fresh.connect()
    assert fresh.model.messages[-1]["content"] == "expired True by None"
    late = await client.resume(answer({"approved": True}))
    assert late.outcome == "interrupt_expired"
    assert (await client.resume(cancel())).outcome == "success"
    assert (await client.say("again")).outcome == "interrupt"


@pytest.mark.every_store
@requirement("EX-06", "TB-09", "TC-16")
async def test_a_gated_call_that_expired_has_a_result_that_says_so(
    server: Server, tools: Kit
) -> None:
    """D5, H1: not run, and not refused by anybody; it must be asked for again."""

    @server.app.agent("hasty", expires_in=60)
    async def hasty(turn: Turn) -> None:
        await tools.refunding(turn)

    client = server.client("hasty")
    first = await client.say()
    assert first.interrupts[0]["expiresAt"].endswith("Z")
    await server.clock.advance(62)
    await until_idle(server, client)
    fresh = client.again()
    await fresh.connect()
    (result,) = [m["content"] for m in fresh.model.messages if m["role"] == "tool"]
    assert "expired" in result and "asked for again" in result
    assert "denied" not in result
    assert server.effects == []


async def test_an_expired_one_among_others_waits_for_them(server: Server) -> None:
    """EX-06: it is settled as expired; the other still blocks, alone."""

    async def agent(turn: Turn) -> None:
        answers = await turn.interrupt_all(
            [
                Question(reason="confirmation", message="short", expires_in=60),
                Question(reason="confirmation", message="long"),
            ]
        )
        server.effects += [(a.status, a.by) for a in answers]

    client = server.client(agent)
    first = await client.say()
    await server.clock.advance(62)
    fresh = client.again()

    async def one_is_left() -> bool:
        await server.clock.advance(1)
        return len((await fresh.connect()).interrupts) == 1

    await eventually(one_is_left)
    assert fresh.model.pending == first.interrupts[1:]
    assert (await fresh.resume(answer({"approved": False}))).outcome == "success"
    assert server.effects == [("expired", None), ("resolved", "local")]


@pytest.mark.every_store
@requirement("EX-08")
async def test_nothing_expires_unless_it_was_asked_to(server: Server, tools: Kit) -> None:
    """EX-08, R2: no deadline is announced; answerable after a year."""
    client = server.client(tools.refunding)
    first = await client.say()
    assert "expiresAt" not in first.interrupts[0]
    await server.clock.advance(0)
    server.clock._elapsed += 365 * 86_400 * 1_000_000_000
    await server.clock.advance(1)
    assert (await client.resume(approve())).outcome == "success"


@pytest.mark.every_store
@requirement("EX-08")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_default_lifetime_holds_for_every_question(tmp_path: Any, kind: str) -> None:
    """D7: the server's default; an agent's own goes before it."""
    async with served(kind, tmp_path, expires_in=1.0) as server:
        client = server.client(kit(server).refunding)
        run = await client.say()
        assert run.interrupts[0]["expiresAt"] == "2023-11-14T22:13:21.000Z"
        await server.clock.advance(2)
        await until_idle(server, client)
        assert (await client.again().say("next")).outcome == "interrupt"


async def test_what_was_settled_before_its_deadline_is_left_alone(server: Server) -> None:
    """R3: the sweep does not touch an answered question."""
    client = server.client(asking)
    await client.say()
    (entry,) = client.entries(answer({"approved": False}))
    await client.resume(entry)
    stored = server.dump()
    await server.clock.advance(120)
    assert server.dump() == stored
    assert (await client.run(resume=[entry])).text == ""


@pytest.mark.every_store
@requirement("EX-04")
async def test_expiry_outlives_a_restart(server: Server, tools: Kit) -> None:
    """L2, L4: another app on the store refuses the late answer and settles only what is due."""
    client, patient = server.client(asking), server.client(tools.filing)
    await client.say()
    waiting = await patient.say()
    (entry,) = client.entries(answer({"approved": True}))
    await server.app._engine.stop()
    await server.clock.advance(61)
    other = server.another()
    other.agent(client.agent)(asking)
    other.agent(patient.agent)(tools.filing)
    async with other.lifespan():
        fresh = client.again(app=other)
        await until_idle(server, fresh)
        assert (await fresh.run(resume=[entry])).outcome == "interrupt_expired"
        assert (await patient.again(app=other).connect()).interrupts == waiting.interrupts
