"""Interrupts as they go out, and forms as they come back (rules, sections 9, 10, 11)."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sayso import Question, Turn
from tests.contract.requirements import requirement
from tests.contract.server import Server, answer, approve, cancel, deny
from tests.contract.tools import Filing, Kit
from tests.contract.wire import undigested
from tests.judge import capability_faults


@requirement("OU-01", "OU-04", "OU-05", "OU-06", "IN-01", "IN-06", "IN-08", "IN-10", "IN-11")
async def test_four_kinds_of_questions_stand_in_one_outcome(server: Server) -> None:
    """C1, P4, IN-01 to IN-11: each with reason, message and schema; none with an empty member."""

    async def agent(turn: Turn) -> None:
        answers = await turn.interrupt_all(
            [
                Question(reason="input_required", message="Which?", schema=Filing),
                Question(reason="confirmation", message="Sure?"),
                Question(reason="shop:pick", message="Pick one.", schema=int),
                Question(reason="shop:note", message="<b>Note</b>", metadata={"level": 3}),
            ]
        )
        server.effects += [a.value for a in answers]

    client = server.client(agent)
    run = await client.say()
    form, sure, pick, note = run.interrupts
    assert [i["reason"] for i in run.interrupts] == [
        "input_required",
        "confirmation",
        "shop:pick",
        "shop:note",
    ]
    assert form["responseSchema"]["required"] == ["quarter", "year"]
    assert sure["responseSchema"]["properties"]["approved"]["type"] == "boolean"
    assert pick["responseSchema"] == {"type": "integer"}
    assert "responseSchema" not in note
    assert undigested(note) == {"level": 3}
    assert note["message"] == "<b>Note</b>"
    given = [{"quarter": "Q2", "year": 2026}, {"approved": False}, 7, "anything"]
    done = await client.resume(*map(answer, given))
    assert done.outcome == "success"
    assert server.effects == [Filing(quarter="Q2", year=2026), False, 7, "anything"]


@requirement("CR-6", "CR-8", "ER-07", "ER-04")
async def test_a_form_that_was_filled_in_wrongly_can_be_corrected(
    server: Server, tools: Kit
) -> None:
    """CR-6, ER-07: each fault with its pointer, nothing consumed; the correction is taken."""
    client = server.client(tools.filing)
    await client.say()
    stored = server.dump()
    run = await client.resume(answer({"quarter": "Q5", "year": 1999, "extra": 1}))
    assert run.outcome == "invalid_payload"
    pointers = {p["pointer"] for p in run.details["interrupts"][0]["problems"]}
    assert {"/quarter", "/year"} <= pointers
    assert (server.dump(), server.effects) == (stored, [])
    done = await client.resume(answer({"quarter": "Q4", "year": 2000}))
    assert done.outcome == "success"
    assert server.effects == [("filing", "Q4", 2000)]


@requirement("RE-03", "RE-04", "RE-16")
async def test_the_payload_of_a_cancelled_entry_says_nothing(server: Server, tools: Kit) -> None:
    """RE-04: it is neither checked nor an answer."""
    client = server.client(tools.filing)
    await client.say()
    run = await client.resume(cancel(payload={"quarter": "Q1", "year": 2026}))
    assert run.text == "filed: cancelled"
    assert server.effects == []


@requirement("RE-05", "TR-18", "FC-04")
@pytest.mark.parametrize("entry", [{"status": "resolved"}, answer(None)])
async def test_null_and_absent_payloads_are_one(server: Server, entry: dict[str, Any]) -> None:
    """RE-05: both satisfy a schema that takes null, and repeat each other."""

    async def agent(turn: Turn) -> None:
        got = await turn.interrupt("shop:nick", "Nickname?", schema=str | None)
        server.effects.append((got.status, got.value))

    client = server.client(agent)
    await client.say()
    (sent,) = client.entries(entry)
    assert (await client.resume(sent)).outcome == "success"
    assert server.effects == [("resolved", None)]
    for same in ({**sent, "payload": None}, {k: v for k, v in sent.items() if k != "payload"}):
        assert (await client.run(resume=[same])).outcome == "success"
    assert len(server.effects) == 1


@requirement("RE-06")
async def test_entry_metadata_reaches_the_author_and_is_no_part_of_the_answer(
    server: Server,
) -> None:
    """RE-06: on either status, nulls inside it kept."""

    async def agent(turn: Turn) -> None:
        for _ in range(2):
            got = await turn.interrupt("shop:any", "?", schema=dict[str, int])
            server.effects.append((got.value, got.metadata))

    client = server.client(agent)
    await client.say()
    await client.resume(answer({"a": 1}, metadata={"from": "inbox", "x": None}))
    server.effects.clear()
    await client.resume(cancel(metadata={"why": "lunch"}))
    assert server.effects == [
        ({"a": 1}, {"from": "inbox", "x": None}),
        (None, {"why": "lunch"}),
    ]


@requirement("RE-09")
async def test_what_comes_with_an_answer_is_read_at_the_interrupt(server: Server) -> None:
    """RE-09, design 3 rule 8: tools and context of the resuming request; the turn's stay."""
    offered = {"name": "paint", "description": "Paints.", "parameters": {}}

    async def agent(turn: Turn) -> None:
        got = await turn.interrupt("confirmation", "Sure?")
        assert got.request is not None
        server.effects.append(([t["name"] for t in got.request.tools], got.request.context))
        server.effects.append((turn.input.tools, turn.input.forwarded_props))

    client = server.client(agent)
    await client.say(forwardedProps={"a": None})
    context = [{"description": "Where", "value": "here"}]
    await client.resume(answer({"approved": True}), tools=[offered], context=context)
    assert server.effects == [(["paint"], (context[0],)), ((), {"a": None})]


@requirement("TR-25", "IN-07")
@pytest.mark.parametrize("payload", [True, {"approved": True}, {"approved": "yes"}, None, {}])
async def test_a_confirmation_publishes_its_schema_and_keeps_to_it(
    server: Server, payload: Any
) -> None:
    """TR-25, IN-07: always a schema, and only a strict boolean in it answers."""

    async def agent(turn: Turn) -> None:
        got = await turn.interrupt("confirmation", "Sure?")
        server.effects.append(got.value)

    client = server.client(agent)
    await client.say()
    run = await client.resume(answer(payload))
    fits = payload == {"approved": True}
    assert run.outcome == ("success" if fits else "invalid_payload")
    assert server.effects == ([True] if fits else [])


@requirement("IN-09", "EX-07", "TR-19")
async def test_expiry_goes_out_in_utc_with_z(server: Server) -> None:
    """IN-09, TR-19: whatever zone the author thinks in."""
    at = datetime(2030, 1, 2, 3, 4, 5, 678_900, tzinfo=UTC)

    async def agent(turn: Turn) -> None:
        await turn.interrupt_all(
            [
                Question(reason="confirmation", message="?", expires_at=at),
                Question(reason="confirmation", message="?", expires_in=90),
                Question(reason="confirmation", message="?"),
            ]
        )

    run = await server.client(agent).say()
    dates = [i.get("expiresAt") for i in run.interrupts]
    assert dates[0] == "2030-01-02T03:04:05.678Z"
    assert datetime.fromisoformat(dates[1] or "").timestamp() * 1000 == server.clock.now() + 90_000
    assert dates[2] is None


@requirement("IN-03", "IN-04", "IN-05", "IN-06", "EX-07", "IN-08")
@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"reason": "core:secret"}, "reserved"),
        ({"reason": ""}, "reason"),
        ({"reason": "tool_call"}, "turn.call"),
        ({"reason": "input_required"}, "schema="),
        ({"reason": "confirmation", "expires_at": datetime(2030, 1, 1)}, "time zone"),  # noqa: DTZ001
        ({"reason": "confirmation", "expires_in": 0}, "above zero"),
        ({"reason": "a:b", "schema": {"$ref": "https://example.org/s"}}, "outside itself"),
        ({"reason": "a:b", "schema": {"type": "nothing"}}, "schema"),
    ],
)
async def test_a_question_that_cannot_work_fails_where_it_is_asked(
    server: Server, members: dict[str, Any], says: str
) -> None:
    """IN-03 to IN-09: an error to the author, nothing on the wire but a failed run."""

    async def agent(turn: Turn) -> None:
        try:
            await turn.interrupt(
                members["reason"],
                "?",
                **{key: value for key, value in members.items() if key != "reason"},
            )
        except Exception as error:
            server.effects.append(str(error))
            raise

    client = server.client(agent)
    run = await client.say()
    assert run.outcome == "agent_error"
    assert says in server.effects[0]
    assert (await client.connect()).outcome == "success"


@pytest.mark.parametrize(
    "bad",
    [{"expires_in": -1}, {"expires_at": datetime(2030, 1, 1)}, {"metadata": {"a": object()}}],  # noqa: DTZ001
)
async def test_one_question_that_cannot_work_puts_none_of_its_batch(
    server: Server, bad: dict[str, Any]
) -> None:
    """RE-17 from the other side: the author's error is told, and nobody is asked half a batch."""

    async def agent(turn: Turn) -> None:
        good = Question(reason="confirmation", message="?")
        await turn.interrupt_all([good, Question(reason="confirmation", message="?", **bad)])

    client = server.client(agent)
    assert (await client.say()).outcome == "agent_error"
    assert (await client.connect()).outcome == "success"


@requirement("OU-11")
@pytest.mark.parametrize("result", [{"a": [None]}, 0, False, "", [], None])
async def test_the_agent_s_value_is_the_run_s_result(server: Server, result: Any) -> None:
    """OU-11: any JSON value, a whole null left out."""

    async def agent(turn: Turn) -> Any:
        return result

    run = await server.client(agent).say()
    assert run.last.get("result", "absent") == ("absent" if result is None else result)
    assert type(run.last.get("result")) is type(result)


@requirement("OC-14")
async def test_a_resumed_run_may_ask_again(server: Server, tools: Kit) -> None:
    """C5, C11, OC-14: a new id for the new question; the first answer is not used twice."""
    client = server.client(tools.asking_twice)
    first = await client.say()
    second = await client.resume(answer({"approved": True}))
    assert second.interrupts[0]["id"] != first.interrupts[0]["id"]
    assert server.effects == ["staged"]
    done = await client.resume(answer({"approved": False}))
    assert done.text == "True False"
    assert server.effects == ["staged"]


async def test_work_before_a_pause_is_not_done_again(server: Server) -> None:
    """B3: a counter, three questions, three answers: the counter is one."""

    async def agent(turn: Turn) -> None:
        await turn.step(server.effects.append, "counted")
        for number in range(3):
            await turn.interrupt("confirmation", f"{number}?")

    client = server.client(agent)
    await client.say()
    for _ in range(3):
        run = await client.resume(answer({"approved": True}))
    assert run.outcome == "success"
    assert server.effects == ["counted"]


async def test_of_two_branches_that_ask_the_unanswered_one_keeps_its_id(server: Server) -> None:
    """B4: A asks twice, B once; both first questions are answered, A's second is new."""

    async def ask(turn: Turn, name: str, times: int) -> None:
        for number in range(times):
            got = await turn.interrupt("confirmation", f"{name}{number}?")
            await turn.step(server.effects.append, f"{name}{number}={got.value}")

    async def agent(turn: Turn) -> None:
        await turn.gather(ask(turn, "A", 2), ask(turn, "B", 1))

    client = server.client(agent)
    run = await client.say()
    assert sorted(i["message"] for i in run.interrupts) == ["A0?", "B0?"]
    run = await client.resume(answer({"approved": True}), answer({"approved": False}))
    assert [i["message"] for i in run.interrupts] == ["A1?"]
    run = await client.resume(answer({"approved": True}))
    assert run.outcome == "success"
    assert sorted(server.effects) == ["A0=True", "A1=True", "B0=False"]


@requirement("CP-01", "CP-02", "CP-04", "CP-05", "CP-08", "TR-35", "OC-08")
async def test_the_declaration_is_well_formed_and_true(server: Server, tools: Kit) -> None:
    """CP-01, CP-04: what it says is what the tests above have seen; nothing else is said."""
    client = server.client(tools.refunding)
    path = f"/agents/{client.agent}/capabilities"
    response = await server.request("GET", path, headers={}).end()
    declared = response.json
    assert capability_faults(declared) == []
    assert declared["humanInTheLoop"] == {
        "supported": True,
        "interrupts": True,
        "approvals": True,
        "approveWithEdits": True,
    }
    assert declared["transport"] == {"streaming": True}
    assert {tool["name"] for tool in declared["tools"]["items"]} == {
        "issue_refund",
        "send_email",
        "lookup_order",
    }
    assert (await client.say()).outcome == "interrupt"
    assert (await client.resume(deny())).outcome == "success"
    assert approve()["payload"] == {"approved": True}
