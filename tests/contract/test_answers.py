"""Answers from the inbox, one by one or together (design 4, 5; cases L5, Q)."""

import asyncio
from typing import Any

import pytest

from sayso import Turn
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest, call, delete, get, inbox, post, reached
from tests.contract.server import Client, Server, answer, approve, cancel, deny, eventually
from tests.contract.tools import Kit


async def ids(client: Client) -> list[str]:
    """The ids of what a client was asked just now."""
    return [item["id"] for item in client.model.pending]


async def outcome_of(server: Server, interrupt_id: str, body: Any) -> Any:
    """Give an answer that is taken; what came of it."""
    run = await post(server, f"/interrupts/{interrupt_id}/answer", body)
    assert run.status in (200, 202), run.body
    return run.json


@requirement("ER-13")
async def test_the_last_answer_starts_the_run_with_no_client_there(
    server: Server, tools: Kit
) -> None:
    """L5: the tool runs once; who connects later finds what came of it."""
    client = server.client(tools.refunding)
    await client.say()
    (one,) = await ids(client)
    run = await post(server, f"/interrupts/{one}/answer", approve())
    assert run.status == 200
    assert list(run.json) == ["runId"]
    await at_rest(server, client)
    assert server.effects == [("refund", "A-17", 240.0)]
    fresh = client.again()
    assert (await fresh.connect()).outcome == "success"
    assert fresh.model.messages[-1]["content"] == "executed: Refunded 240.00."
    past = await get(server, f"/threads/{client.thread}/history")
    assert past["runs"][-1]["runId"] == run.json["runId"]
    assert past["interrupts"][0]["answer"]["channel"] == "inbox"


async def test_a_client_that_watches_sees_the_run(server: Server) -> None:
    """L5: attached while it goes on, it gets what follows; the tool ran once."""
    wakes = asyncio.Event()
    begun = asyncio.Event()

    async def agent(turn: Turn) -> None:
        got = await turn.interrupt("confirmation", "Sure?")
        begun.set()
        await wakes.wait()
        await turn.say(got.status)

    client = server.client(agent)
    await client.say()
    await outcome_of(server, (await ids(client))[0], approve())
    await reached(begun)
    fresh = client.again()
    exchange = fresh.open(fresh.body(messages=[], runId="w"), action="/connect")
    await exchange.until("MESSAGES_SNAPSHOT")
    wakes.set()
    run = (await exchange.end()).judged(client.thread, "w")
    assert (run.outcome, run.text) == ("success", "resolved")


async def test_answers_are_held_until_the_set_is_complete(server: Server, tools: Kit) -> None:
    """Design 2: nothing runs before; each keeps who gave it and when."""
    client = server.client(tools.mailing)
    await client.say()
    one, two, three = await ids(client)
    assert await outcome_of(server, two, deny("no")) == {"remaining": 2}
    await server.clock.advance(5)
    assert await outcome_of(server, one, approve()) == {"remaining": 1}
    item = await get(server, f"/interrupts/{two}")
    assert item["status"] == "open"
    assert item["answer"] == {
        "held": True,
        "status": "resolved",
        "payload": {"approved": False, "reason": "no"},
        "by": "local",
        "at": "2023-11-14T22:13:20.000Z",
        "channel": "inbox",
    }
    assert server.effects == [("lookup", "A-17")]
    await server.clock.advance(5)
    assert list(await outcome_of(server, three, cancel())) == ["runId"]
    await at_rest(server, client)
    assert server.effects == [("lookup", "A-17"), ("email", "ann")]
    given = [(await get(server, f"/interrupts/{key}"))["answer"] for key in (one, two, three)]
    assert [a["at"][17:19] for a in given] == ["25", "20", "30"]
    assert [(a["held"], a["status"]) for a in given] == [
        (False, "resolved"),
        (False, "resolved"),
        (False, "cancelled"),
    ]


async def test_a_held_answer_can_be_replaced_and_withdrawn(server: Server, tools: Kit) -> None:
    """Design 2: until the set is complete a person may think again."""
    client = server.client(tools.mailing)
    await client.say()
    one, two, three = await ids(client)
    await outcome_of(server, one, approve())
    assert await outcome_of(server, one, deny()) == {"remaining": 2}
    await outcome_of(server, two, approve())
    run = await delete(server, f"/interrupts/{two}/answer")
    assert (run.status, run.json) == (200, {"remaining": 2})
    assert (await delete(server, f"/interrupts/{two}/answer")).json == {"remaining": 2}
    assert "answer" not in await get(server, f"/interrupts/{two}")
    await outcome_of(server, three, deny())
    await outcome_of(server, two, approve())
    await at_rest(server, client)
    assert server.effects == [("lookup", "A-17"), ("email", "ben")]
    run = await delete(server, f"/interrupts/{two}/answer")
    assert (run.status, run.problem["code"]) == (409, "already_resolved")


async def test_a_retry_of_a_held_answer_changes_nothing(server: Server, tools: Kit) -> None:
    """ID-01: neither when it was given nor how many are left."""
    client = server.client(tools.mailing)
    await client.say()
    one, *_ = await ids(client)
    await outcome_of(server, one, approve())
    stored = server.dump()
    await server.clock.advance(5)
    assert await outcome_of(server, one, approve()) == {"remaining": 2}
    assert server.dump() == stored


async def test_a_client_s_answers_go_before_held_ones(server: Server, tools: Kit) -> None:
    """Design 4: a resume of all that is open means what it says."""
    client = server.client(tools.mailing)
    await client.say()
    for one in await ids(client):
        if one != (await ids(client))[-1]:
            await outcome_of(server, one, approve())
    run = await client.resume(deny(), deny(), deny())
    assert run.outcome == "success"
    assert server.effects == [("lookup", "A-17")]


@requirement("ID-01", "ID-05")
async def test_a_retry_of_a_settled_answer_names_the_same_run(server: Server, tools: Kit) -> None:
    """ID-01: 200, no second effect; also long after, when other runs have followed."""
    client = server.client(tools.refunding)
    await client.say()
    (one,) = await ids(client)
    first = await outcome_of(server, one, approve())
    await at_rest(server, client)
    assert await outcome_of(server, one, approve()) == first
    assert (await client.again().say("next")).outcome == "interrupt"
    assert await outcome_of(server, one, approve()) == first
    assert server.effects == [("refund", "A-17", 240.0)]


@requirement("ID-06")
async def test_another_answer_than_the_settled_one_is_409(server: Server, tools: Kit) -> None:
    """Q1, Q4: by whom and when it was decided."""
    client = server.client(tools.refunding)
    await client.say()
    (one,) = await ids(client)
    await client.resume(deny())
    run = await post(server, f"/interrupts/{one}/answer", approve())
    assert (run.status, run.problem["code"]) == (409, "already_resolved")
    told = {"interruptId": one, "by": "local", "at": "2023-11-14T22:13:20.000Z"}
    assert run.problem["interrupts"] == [told]
    assert (run.problem["by"], run.problem["at"]) == (told["by"], told["at"])
    assert server.effects == []


@requirement("CR-6", "TB-07")
async def test_a_payload_that_does_not_fit_is_422_and_stays_open(
    server: Server, tools: Kit
) -> None:
    """CR-6: pointers into the request, and for a form's fields from the payload on."""
    form, gated = server.client(tools.filing), server.client(tools.refunding)
    await form.say()
    await gated.say()
    stored = server.dump()
    (one,) = await ids(form)
    run = await post(server, f"/interrupts/{one}/answer", answer({"quarter": "Q9", "year": 1}))
    assert (run.status, run.problem["code"]) == (422, "invalid_payload")
    assert sorted(error["pointer"] for error in run.problem["errors"]) == [
        "/payload/quarter",
        "/payload/year",
    ]
    (detail,) = run.problem["interrupts"]
    assert sorted(p["pointer"] for p in detail["problems"]) == ["/quarter", "/year"]
    (two,) = await ids(gated)
    edited = approve(editedArgs={"order_id": "A-17", "amount": "much"})
    run = await post(server, f"/interrupts/{two}/answer", edited)
    assert run.problem["errors"][0]["pointer"] == "/payload/editedArgs/amount"
    assert (server.dump(), server.effects) == (stored, [])
    await outcome_of(server, one, answer({"quarter": "Q1", "year": 2020}))


@requirement("EX-04", "EX-05")
async def test_an_expired_one_takes_a_cancellation_only(server: Server) -> None:
    """EX-04, EX-05, D6: an approval is 410; so is a denial, which is noted."""

    async def asking(turn: Turn) -> None:
        got = await turn.interrupt("confirmation", "Sure?", expires_in=60)
        server.effects.append(got.status)

    client = server.client(asking)
    await client.say()
    (one,) = await ids(client)
    server.clock._elapsed += 60 * 1_000_000_000
    for body in (answer({"approved": True}), answer({"approved": False})):
        run = await post(server, f"/interrupts/{one}/answer", body)
        assert (run.status, run.problem["code"]) == (410, "interrupt_expired")
    (noted,) = (await get(server, f"/interrupts/{one}"))["lateRefusals"]
    assert (noted["by"], noted["said"], noted["channel"]) == ("local", "denied", "inbox")
    assert list(await outcome_of(server, one, cancel())) == ["runId"]
    await at_rest(server, client)
    assert server.effects == ["cancelled"]


async def test_an_answer_that_was_held_in_time_outlives_the_expiry(server: Server) -> None:
    """Design 2: given in time; the other expires, and the turn goes on with both."""

    async def asking(turn: Turn) -> None:
        answers = await turn.gather(
            turn.interrupt("confirmation", "one", expires_in=60),
            turn.interrupt("confirmation", "two", expires_in=60),
        )
        server.effects.extend(a.status for a in answers)

    client = server.client(asking)
    await client.say()
    one, _ = await ids(client)
    assert await outcome_of(server, one, answer({"approved": True})) == {"remaining": 1}
    await server.clock.advance(62)

    async def went_on() -> bool:
        await server.clock.advance(1)
        return bool(server.effects)

    await eventually(went_on)
    assert server.effects == ["resolved", "expired"]


async def test_an_answer_for_a_thread_that_runs_is_409(server: Server) -> None:
    """ID-08: while another set of answers is being carried out, a new question does not exist."""
    begun, wakes = asyncio.Event(), asyncio.Event()

    async def agent(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Sure?")
        begun.set()
        await wakes.wait()

    client = server.client(agent)
    await client.say()
    (one,) = await ids(client)
    await outcome_of(server, one, answer({"approved": True}))
    await reached(begun)
    assert "runId" in await outcome_of(server, one, answer({"approved": True}))
    run = await post(server, f"/interrupts/{one}/answer", answer({"approved": False}))
    assert (run.status, run.problem["code"]) == (409, "already_resolved")
    run = await delete(server, f"/interrupts/{one}/answer")
    assert (run.status, run.problem["code"]) == (409, "already_resolved")
    wakes.set()
    await at_rest(server, client)


@requirement("RE-02", "RE-04")
@pytest.mark.parametrize(
    ("body", "status", "code", "pointer"),
    [
        (b"", 400, "malformed_json", None),
        (b"{", 400, "malformed_json", None),
        (b"[]", 422, "invalid_input", ""),
        (b"{}", 422, "invalid_input", "/status"),
        (b'{"status":"approved"}', 422, "invalid_input", "/status"),
        (b'{"status":"resolved","metadata":1}', 422, "invalid_input", "/metadata"),
        (
            b'{"status":"resolved","payload":' + b"[" * 80 + b"]" * 80 + b"}",
            422,
            "invalid_input",
            "",
        ),
    ],
)
async def test_a_malformed_answer_is_refused_whole(
    server: Server, tools: Kit, body: bytes, status: int, code: str, pointer: str | None
) -> None:
    """ER-01, I2: nothing is kept of it."""
    client = server.client(tools.refunding)
    await client.say()
    stored = server.dump()
    (one,) = await ids(client)
    run = await post(server, f"/interrupts/{one}/answer", body)
    assert (run.status, run.problem["code"]) == (status, code)
    if pointer is not None:
        assert run.problem["errors"][0]["pointer"] == pointer
    assert server.dump() == stored
    bare = await call(server.app, "POST", f"/interrupts/{one}/answer")
    assert bare.status in (400, 415)


async def test_an_answer_whose_agent_version_is_missing_stays_untaken(
    server: Server, tools: Kit
) -> None:
    """Design 3, rule 9: it is still open when the code is back."""
    client = server.client(tools.refunding)
    await client.say()
    (one,) = await ids(client)
    versions = dict(server.app._agents._versions)
    server.app._agents._versions.clear()
    stored = server.dump()
    run = await post(server, f"/interrupts/{one}/answer", approve())
    assert (run.status, run.problem["code"]) == (409, "agent_version_missing")
    assert server.dump() == stored
    server.app._agents._versions.update(versions)
    await outcome_of(server, one, approve())
    await at_rest(server, client)
    assert len(await inbox(server)) == 0
