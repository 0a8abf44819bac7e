"""`on_expire` by its values: per server, agent, tool and question; what the model is told."""

from typing import Any

import pytest

from sayso import DeclarationError, FallbackAnswer, Question, Tool, Turn, approval
from tests.contract.optional import client_of, interrupt_of, late, past, told
from tests.contract.requirements import requirement
from tests.contract.server import Server, answer, approve, cancel, deny
from tests.contract.tools import Kit


def paying(server: Server, **declared: Any) -> Any:
    """An agent that makes one gated call, and says what it got."""

    @server.app.tool(approval=approval.always, **declared)
    async def pay(amount: float) -> str:
        server.effects.append(("pay", amount))
        return "Paid."

    async def agent(turn: Turn) -> None:
        done = await turn.call(pay, amount=5.0)
        await turn.say(f"{done.status}, {done.reason}, by {done.by}")

    return agent


@pytest.mark.every_store
@requirement("EX-06", "OC-05")
@pytest.mark.parametrize(
    ("rule", "status", "row", "words"),
    [
        ("expire", "expired, None, by None", "expired", ("expired", "asked for again")),
        (
            "deny",
            "denied, the request for approval expired before anyone decided, by None",
            "expired",
            ("counts as denied", "expired", "asked for again"),
        ),
        (
            "cancel",
            "cancelled, the request for approval expired before anyone decided, by None",
            "cancelled",
            ("expired", "withdrawn", "asked for again"),
        ),
        (
            FallbackAnswer({"approved": False, "reason": "closed"}),
            "denied, closed, by None",
            "resolved",
            ("counts as denied", "expired", "Reason: closed"),
        ),
        ("approve", "executed, None, by None", "resolved", ("Paid.",)),
    ],
)
async def test_a_gated_call_ends_by_its_tools_rule(
    server: Server, rule: Any, status: str, row: str, words: Any
) -> None:
    """R3, R4, D5: one result that tells the truth, nobody decided, and the thread is usable."""
    client = client_of(server, paying(server, on_expire=rule, expires_in=60))
    first = await client.say()
    assert first.interrupts[0]["expiresAt"] == "2023-11-14T22:14:20.000Z"
    fresh = await past(server, client, 60)
    assert fresh.model.messages[-1]["content"] == status
    (text,) = told(fresh)
    assert all(word in text for word in words)
    assert "reviewer" not in text
    item = await interrupt_of(server, first.interrupts[0]["id"])
    assert (item.status, item.decided_by, item.channel) == (row, None, "expiry")
    assert server.effects == ([("pay", 5.0)] if rule == "approve" else [])
    assert (await fresh.say("again")).outcome == "interrupt"


@requirement("EX-05")
async def test_a_held_call_stays_open_and_can_only_be_cancelled(server: Server) -> None:
    """`hold`: nothing happens by itself; no late approval runs it (design 4)."""
    client = client_of(server, paying(server), expires_in=60, on_expire="hold")
    first = await client.say()
    fresh = await past(server, client, 60)
    assert fresh.model.pending == first.interrupts
    item = await interrupt_of(server, first.interrupts[0]["id"])
    assert item.lapsed_at is not None
    stored = server.dump()
    await server.clock.advance(30)
    assert server.dump() == stored
    assert (await fresh.resume(approve())).outcome == "interrupt_expired"
    assert (await fresh.resume(deny())).outcome == "interrupt_expired"
    done = await fresh.resume(cancel())
    assert done.text == "cancelled, None, by local"
    assert server.effects == []


@requirement("EX-06")
@pytest.mark.parametrize(
    ("rule", "status", "value"),
    [
        ("expire", "expired", None),
        ("hold", None, None),
        ("cancel", "cancelled", None),
        (FallbackAnswer("Q1"), "resolved", "Q1"),
    ],
)
async def test_a_question_ends_by_its_own_rule(
    server: Server, rule: Any, status: Any, value: Any
) -> None:
    """Design 4, "Expiry": per question, before the agent's and the server's."""

    async def agent(turn: Turn) -> None:
        got = await turn.interrupt(
            "input_required", "Which?", schema=str, expires_in=60, on_expire=rule
        )
        server.effects.append((got.status, got.value, got.by, got.request))

    client = client_of(server, agent, on_expire="deny", expires_in=5)
    await client.say()
    server.effects.clear()
    fresh = await past(server, client, 60)
    if status is None:
        assert len(fresh.model.pending) == 1
        assert server.effects == []
    else:
        assert server.effects == [(status, value, None, None)]


async def test_deny_and_cancel_of_an_agent_hold_for_all_that_it_asks(
    server: Server, tools: Kit
) -> None:
    """`deny` is for gated calls, any other question expires; `cancel` is for both."""
    asked: list[Any] = []

    async def agent(turn: Turn) -> None:
        got = await turn.interrupt_all(
            [
                Question(reason="confirmation", message="Sure?"),
                Question(reason="input_required", message="Which?", schema=str),
            ]
        )
        asked.append([one.status for one in got])
        mail = await turn.call(tools.email, to="ann")
        asked.append(mail.status)

    for rule, statuses, status in (
        ("deny", ["expired", "expired"], "denied"),
        ("cancel", ["cancelled", "cancelled"], "cancelled"),
    ):
        asked.clear()
        client = client_of(server, agent, on_expire=rule, expires_in=10)
        await client.say()
        await past(server, client, 10)
        await past(server, client, 10)
        assert asked[-2:] == [statuses, status]
    assert server.effects == []


async def test_a_tool_or_a_question_may_live_for_ever_under_a_default(server: Server) -> None:
    """R2: None is allowed, announces nothing and costs nothing while it waits."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Sure?", expires_in=None)

    for one in (agent, paying(server, expires_in=None)):
        client = client_of(server, one, expires_in=60)
        first = await client.say()
        assert "expiresAt" not in first.interrupts[0]
        stored = server.dump()
        server.clock._elapsed += 365 * 86_400 * 1_000_000_000
        await server.clock.advance(3)
        assert server.dump() == stored
        assert (await client.resume(answer({"approved": True}))).outcome == "success"


@pytest.mark.every_store
@requirement("EX-05", "EX-06")
async def test_a_late_refusal_is_recorded_as_one(server: Server) -> None:
    """D6: both are kept, the expiry and who refused after it; it changes nothing else."""
    client = client_of(server, paying(server), expires_in=60)
    first = await client.say()
    (asked,) = first.interrupts
    yes, no, gone = ({"interruptId": asked["id"], **one} for one in (approve(), deny(), cancel()))
    fresh = await past(server, client, 61)
    assert (await fresh.run(resume=[yes])).outcome == "interrupt_expired"
    assert await late(server, asked["id"]) == []
    assert (await fresh.run(resume=[no])).outcome == "interrupt_expired"
    assert await late(server, asked["id"]) == [("local", "denied")]
    assert (await fresh.run(resume=[gone])).outcome == "success"
    assert await late(server, asked["id"]) == [("local", "denied")]
    item = await interrupt_of(server, asked["id"])
    assert (item.status, item.decided_by) == ("expired", None)
    assert server.effects == []


@requirement("EX-05")
async def test_a_refusal_before_the_sweep_is_noted_and_a_cancel_is_the_answer(
    server: Server,
) -> None:
    """D6: a second after `expiresAt`, whichever the server notices first."""
    client = client_of(server, paying(server), expires_in=60)
    first = await client.say()
    server.store.fail("due_threads", times=1000)
    await server.clock.advance(61)
    assert (await client.resume(deny())).outcome == "interrupt_expired"
    assert await late(server, first.interrupts[0]["id"]) == [("local", "denied")]
    done = await client.resume(cancel())
    assert done.text == "cancelled, None, by local"
    item = await interrupt_of(server, first.interrupts[0]["id"])
    assert (item.status, item.decided_by) == ("cancelled", "local")
    assert item.expires_at is not None and item.decided_at is not None
    assert item.decided_at > item.expires_at


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"on_expire": "never"}, "'expire', 'hold', 'deny', 'cancel', 'approve'"),
        ({"on_expire": FallbackAnswer({"approved": True})}, "on_expire='approve'"),
        ({"on_expire": FallbackAnswer({"approved": "no"})}, "/approved"),
        ({"on_expire": FallbackAnswer({"reason": "x"})}, "approved"),
        ({"on_expire": FallbackAnswer(object())}, "JSON"),
        ({"expires_in": 0}, "above zero"),
        ({"expires_in": "1h"}, "above zero"),
    ],
)
def test_a_tool_refuses_a_rule_that_cannot_work(declared: Any, said: str) -> None:
    """Found where it is declared; a yes is spelled out as such (R4)."""

    async def pay(amount: float) -> str:
        return str(amount)

    with pytest.raises(DeclarationError) as caught:
        Tool(pay, approval=approval.always, **declared)
    assert said in str(caught.value)
    assert "'pay'" in str(caught.value)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("deny", "are for tools"),
        ("approve", "are for tools"),
        (FallbackAnswer(5), "does not answer its question"),
        (FallbackAnswer({1, 2}), "FallbackAnswer"),
    ],
)
async def test_a_question_refuses_a_rule_that_cannot_work(
    server: Server, rule: Any, said: str
) -> None:
    """Before anything of its batch is asked."""

    async def agent(turn: Turn) -> None:
        try:
            await turn.interrupt("input_required", "Which?", schema=str, on_expire=rule)
        except Exception as error:
            await turn.say(str(error))

    client = client_of(server, agent)
    run = await client.say()
    assert run.outcome == "success"
    assert said in run.text
