"""The older dialect, answering: `forwardedProps.command` goes through the gate like any other."""

import logging
from typing import Any

import pytest

from sayso import Legacy, Question, Turn
from tests.contract.legacy import ABSENT, LegacyClient, asked_of, command, ids, open_on
from tests.contract.optional import client_of, interrupt_of
from tests.contract.requirements import requirement
from tests.contract.server import Server, answer, approve, cancel, eventually
from tests.contract.tools import Kit

YES = {"approved": True}
TEXT = {"type": "string"}
OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}


def asker(server: Server, schema: Any, **options: Any) -> LegacyClient:
    """A legacy client of an agent that asks one question and notes what it got."""

    async def agent(turn: Turn) -> None:
        got = await turn.interrupt("input_required", "What?", schema=schema)
        server.effects.append(got.value)

    return asked_of(client_of(server, agent, **options))


@requirement("LG-05", "TR-27")
@pytest.mark.parametrize(
    ("schema", "resume", "got"),
    [
        *[({}, value, value) for value in (False, 0, "", {}, [], "yes", {"a": 1}, [1], 3)],
        (TEXT, "123", "123"),
        (TEXT, "true", "true"),
        (TEXT, '"quoted"', '"quoted"'),
        (OBJECT, '{"a":1}', {"a": 1}),
        (OBJECT, {"a": 1}, {"a": 1}),
        ({"type": "boolean"}, "true", True),
        ({"type": ["integer", "null"]}, "null", None),
        ({"anyOf": [{"type": "integer"}, TEXT]}, "7", "7"),
    ],
)
async def test_a_person_s_answer_reaches_the_agent_as_it_was_meant(
    server: Server, schema: Any, resume: Any, got: Any
) -> None:
    """G1, G2, G3: presence counts, types stay; a string is JSON only where no string fits."""
    for about in (True, False):
        client = asker(server, schema)
        await client.say()
        done = await client.run(forwardedProps=command(resume, client.event if about else ABSENT))
        assert done.outcome == "success"
        assert server.effects.pop() == got


@requirement("LG-04", "LG-06")
async def test_an_answer_without_a_payload_is_null(server: Server) -> None:
    """LG-04: `resume` is absent when the user gave none; with the event, null says the same."""
    for given in (ABSENT, None):
        client = asker(server, {"type": ["string", "null"]})
        await client.say()
        assert (await client.reply(given)).outcome == "success"
        assert server.effects.pop() is None


async def test_neither_member_is_no_answer(server: Server) -> None:
    """LG-05: a null `resume` alone, a command that is no object: plain input, refused as such."""
    props: Any
    for props in (
        command(None),
        {"command": {}},
        {"command": None},
        {"command": "resume"},
        {"command": [{"resume": 1}]},
        {"command": {"interruptEvent": None}},
    ):
        client = asker(server, {})
        client.mode = "standard"
        await client.say()
        client.user("and?")
        assert (await client.run(forwardedProps=props)).outcome == "interrupts_pending"
    assert server.effects == []


@requirement("LG-14")
async def test_a_wrong_answer_changes_nothing_and_says_what_is_wrong(
    server: Server, tools: Kit
) -> None:
    """LG-14, G4: the text "false", "yes" or 1 approves nothing; neither does an unknown member."""
    client = asked_of(server.client(tools.refunding))
    await client.say()
    stored, event = server.dump(), client.event
    for resume in ("x", "false", "true", "yes", True, 1, {"approved": "true"}, {}, ABSENT):
        run = await client.reply(resume, event=event)
        assert run.outcome == "invalid_payload"
        assert run.details["interrupts"][0]["interruptId"] == ids([event])[0]
        assert server.dump() == stored
    assert server.effects == []
    assert (await client.reply('{"approved": true}', event=event)).outcome == "success"
    assert len(server.effects) == 1


@requirement("LG-14")
async def test_an_answer_is_audited_and_expires_like_any_other(server: Server) -> None:
    """D5, U2: who and when, by the channel `legacy`; a late one is refused."""
    client = asker(server, {}, expires_in=60, on_expire="hold")
    asked = await client.say()
    event = client.event
    await server.clock.advance(61)
    assert (await client.reply("late")).outcome == "interrupt_expired"
    assert server.effects == []
    assert (await client.resume({"interruptId": ids(asked.asked)[0], **cancel()})).outcome == (
        "success"
    )
    intime = asker(server, {})
    event = (await intime.say()).asked[0]
    await intime.reply("in time")
    item = await interrupt_of(server, ids([event])[0])
    assert (item.status, item.decided_by, item.channel) == ("resolved", "local", "legacy")


@requirement("LG-14")
async def test_the_same_answer_twice_has_one_effect(server: Server, tools: Kit) -> None:
    """ID-01, Q2: equal is a replay, with or without the event; another one is refused."""
    for about in (True, False):
        server.effects.clear()
        client = asked_of(server.client(tools.refunding))
        await client.say()
        body = client.body(
            forwardedProps=command({"approved": True}, client.event if about else ABSENT)
        )
        first = await client.run(body)
        stored = server.dump()
        for again in (body, {**body, "runId": "another"}):
            run = await asked_of(client).run(again)
            assert (run.outcome, run.asked) == ("success", [])
            assert run.snapshot == first.snapshot or run.types[1] == "MESSAGES_SNAPSHOT"
        other = command(
            {"approved": False}, body["forwardedProps"]["command"].get("interruptEvent", ABSENT)
        )
        refused = await asked_of(client).run({**body, "forwardedProps": other})
        assert refused.outcome == ("already_resolved" if about else "unknown_interrupt")
        assert server.dump() == stored
        assert len(server.effects) == 1


async def test_a_retry_while_the_run_goes_on_follows_it(server: Server) -> None:
    """ID-03: the second POST of one answer is attached to what the first began."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("input_required", "What?", schema={})
        await turn.say("going on")
        await server.clock.sleep(5)
        await turn.say("done")

    for about in (True, False):
        client = asked_of(server.client(agent))
        await client.say()
        body = client.body(forwardedProps=command("x", client.event if about else ABSENT))
        first = client.open(body)
        await first.until("TEXT_MESSAGE_END")
        second = client.open({**body, "runId": "again"})
        await second.until("MESSAGES_SNAPSHOT")
        wrong = await asked_of(client).run({**body, "forwardedProps": command("y")})
        assert wrong.outcome == "thread_busy"
        await server.clock.advance(5)
        assert (await first.end()).outcome == (await second.end()).outcome == "success"


@requirement("LG-07")
async def test_the_list_wins_over_the_command(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """F2: one warning; an empty list counts as absent."""
    client = asker(server, {})
    client.mode = "both"
    run = await client.say()
    entry = {"interruptId": run.interrupts[0]["id"], **answer("by list")}
    props = command("by command", client.event)
    with caplog.at_level(logging.WARNING, "sayso"):
        assert (await client.run(resume=[entry], forwardedProps=props)).outcome == "success"
    assert server.effects == ["by list"]
    assert len([r for r in caplog.records if "forwardedProps" in r.getMessage()]) == 1
    second = asker(server, {})
    await second.say()
    assert (await second.run(resume=[], forwardedProps=command("by command"))).outcome == "success"
    assert server.effects == ["by list", "by command"]


@requirement("LG-11", "TR-28")
async def test_several_questions_come_one_after_another(server: Server, tools: Kit) -> None:
    """LG-11: such a client sees the last; after each answer the rest is asked again."""
    client = asked_of(server.client(tools.mailing))
    first = await client.say()
    asked = ids(first.asked)
    assert len(asked) == 3
    for left in (2, 1):
        run = await client.reply({"approved": True})
        assert (run.silent, ids(run.asked)) == (True, asked[:left])
        assert [e for e in server.effects if e[0] == "email"] == []
    done = await client.reply({"approved": False})
    assert done.outcome == "success"
    assert sorted(e[1] for e in server.effects if e[0] == "email") == ["ben", "cyd"]


async def test_an_answer_that_is_kept_can_be_repeated_or_changed(
    server: Server, tools: Kit
) -> None:
    """Design 2: held until the set is complete, so the last one said counts."""
    client = asked_of(server.client(tools.mailing))
    first = await client.say()
    event = first.asked[-1]
    for resume in ({"approved": True}, {"approved": True}, {"approved": False}):
        run = await client.reply(resume, event=event)
        assert ids(run.asked) == ids(first.asked)[:2]
    await client.reply({"approved": True})
    assert (await client.reply({"approved": True})).outcome == "success"
    assert [e[1] for e in server.effects if e[0] == "email"] == ["ann", "ben"]


async def test_what_was_typed_meanwhile_waits_for_the_last_answer(
    server: Server, tools: Kit
) -> None:
    """E5: it stands in the client's list and comes with each answer; it has one turn in the end."""
    texts: list[str] = []

    async def agent(turn: Turn) -> None:
        texts.append(turn.input.text)
        if turn.input.text == "go":
            await tools.mailing(turn)

    client = asked_of(server.client(agent))
    await client.say("go")
    client.user("hurry")
    for _ in range(2):
        assert (await client.reply({"approved": True})).silent
        assert client.model.messages[-1]["content"] == "hurry"
    assert (await client.reply({"approved": True})).outcome == "success"
    assert texts == ["go", "go", "hurry"]


@requirement("LG-14")
async def test_an_answer_to_one_of_several_says_which(server: Server, tools: Kit) -> None:
    """C4: without the event it is refused, naming those open; a map keyed by id is understood."""
    client = asked_of(server.client(tools.mailing))
    first = await client.say()
    asked, stored = ids(first.asked), server.dump()
    for resume in ({"approved": True}, True, "yes", {"int_nobody": {"approved": True}}, {}):
        run = await client.run(forwardedProps=command(resume))
        assert run.outcome == "partial_resume"
        assert [one["interruptId"] for one in run.details["interrupts"]] == asked
        assert server.dump() == stored
    strange = {asked[0]: {"approved": True}, "int_nobody": {"approved": True}}
    assert (await client.run(forwardedProps=command(strange))).outcome == "unknown_interrupt"
    some = {asked[0]: {"approved": True}, asked[2]: {"approved": False}}
    run = await client.run(forwardedProps=command(some))
    assert ids(run.asked) == [asked[1]]
    # One is left, so it needs no name; the map still works, and so does the whole of it again.
    whole = command({**some, asked[1]: {"approved": True}})
    assert (await client.run(forwardedProps=whole)).outcome == "success"
    assert (await client.run(forwardedProps=whole)).outcome == "success"
    assert [e[1] for e in server.effects if e[0] == "email"] == ["ann", "ben"]


async def test_an_event_names_its_interrupt_whatever_is_open(server: Server, tools: Kit) -> None:
    """D1: a stale card never answers another question, also when that is the only one."""
    client = asked_of(server.client(tools.asking_twice))
    first = await client.say()
    second = await client.reply(YES)
    stored = server.dump()
    for event, resume, code in (
        (first.asked[0], {"approved": False}, "already_resolved"),
        ({"id": "int_nobody"}, True, "unknown_interrupt"),
        ('{"id": "int_nobody", "message": "Deploy it?"}', True, "unknown_interrupt"),
        ("Stage it?", True, "already_resolved"),
        ("anything", True, "unknown_interrupt"),
        (7, True, "unknown_interrupt"),
        ({"id": 7}, True, "unknown_interrupt"),
        ({"id": ""}, True, "unknown_interrupt"),
        ([], True, "unknown_interrupt"),
    ):
        run = await client.reply(resume, event=event)
        assert run.outcome == code, event
        assert server.dump() == stored
    # The answer that is settled already is shown what came of it: the second question.
    assert ids((await client.reply(YES, event=first.asked[0])).asked) == ids(second.asked)
    done = await client.reply('{"approved": true}', event="Deploy it?")
    assert done.outcome == "success"
    assert server.effects == ["staged"]


async def test_two_alike_are_told_apart_by_id_alone(server: Server) -> None:
    """C3: a raw value that two open questions share is refused, naming both."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt_all(
            [Question(reason="input_required", message="Which?", schema={}) for _ in range(2)]
        )

    client = asked_of(
        client_of(server, agent, legacy=Legacy(emission="legacy", value="message")), None
    )
    run = await client.say()
    assert run.asked == ["Which?", "Which?"]
    refused = await client.reply("this")
    assert refused.outcome == "partial_resume"
    assert len(refused.details["interrupts"]) == 2


@pytest.mark.parametrize("said", [None, "and this"])
async def test_an_answer_where_nothing_is_open_is_never_plain_input(
    server: Server, tools: Kit, said: str | None
) -> None:
    """D2: on a new thread and on a finished one, with a message beside it and without."""
    for known in (False, True):
        client = asked_of(server.client(tools.greeting))
        if known:
            await client.say("hi")
        stored, effects = server.dump(), list(server.effects)
        if said is not None:
            client.user(said)
        for props in (
            command(True),
            command(False),
            command("x", {"id": "int_x"}),
            command(1, "?"),
        ):
            run = await client.run(forwardedProps=props)
            assert run.outcome == "unknown_interrupt"
            assert (server.dump(), server.effects) == (stored, effects)


async def test_a_settled_answer_beside_a_new_message_starts_it(server: Server, tools: Kit) -> None:
    """Design 4: a command that a page keeps sending along does not keep its user from talking."""
    client = asked_of(server.client(tools.refunding))
    await client.say()
    event = client.event
    await client.reply({"approved": True})
    client.user("again")
    run = await client.reply({"approved": True}, event=event)
    assert run.silent
    assert ids(run.asked) != ids([event])
    assert len(server.effects) == 1


async def test_switched_off_a_command_is_the_author_s(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """LG-15: then it has no effect of its own, and the log says so."""
    seen: list[Any] = []

    async def agent(turn: Turn) -> None:
        seen.append(turn.input.forwarded_props)
        await turn.interrupt("input_required", "What?", schema={})

    client = asked_of(client_of(server, agent, legacy=Legacy(answers=False)))
    props = command("x")
    client.user("go")
    run = await client.run(forwardedProps=props)
    assert run.silent
    assert seen == [props]
    with caplog.at_level(logging.WARNING, "sayso"):
        again = await client.say("x", forwardedProps=command("x", client.event))
    assert ids(again.asked) == ids(run.asked)
    assert "Legacy(answers=False)" in caplog.text
    assert len(await open_on(server, client)) == 1


async def test_another_agent_s_path_takes_no_answer(server: Server, tools: Kit) -> None:
    """Design 4: `wrong_agent`, also for one that could not be attributed."""
    client = asked_of(server.client(tools.mailing))
    await client.say()
    other = asked_of(server.client(tools.greeting))
    other.thread = client.thread
    for props in (command(True), command({"approved": True}, client.event)):
        assert (await other.run(forwardedProps=props)).outcome == "wrong_agent"


async def test_the_inbox_sees_what_the_older_dialect_keeps(server: Server, tools: Kit) -> None:
    """A thread opened in one dialect is answered in another: here the last one, by REST."""
    client = asked_of(server.client(tools.mailing))
    asked = ids((await client.say()).asked)
    await client.reply({"approved": True})
    for left, interrupt_id in enumerate(reversed(asked[:2])):
        run = await server.request("POST", f"/interrupts/{interrupt_id}/answer", approve()).end()
        assert run.status == (202, 200)[left]

    async def over() -> bool:
        return (await asked_of(client).connect()).last.get("outcome") == {"type": "success"}

    await eventually(over)
    assert len([e for e in server.effects if e[0] == "email"]) == 3
