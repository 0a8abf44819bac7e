"""`on_message`: what a message does while something is open, by each value."""

from typing import Any

from sayso import Turn
from tests.contract.optional import client_of, interrupt_of
from tests.contract.requirements import requirement
from tests.contract.server import Server, approve
from tests.contract.tools import Kit
from tests.contract.wire import Run


def shown(run: Run) -> list[Any]:
    """What the history says, role by role."""
    return [(m["role"], m.get("content")) for m in run.snapshot]


def asking(server: Server) -> Any:
    async def agent(turn: Turn) -> None:
        server.effects.append(turn.input.text)
        await turn.say("Hi.")
        town = await turn.interrupt("input_required", "Which town?", schema=str)
        await turn.say(f"{town.status}: {town.value}")

    return agent


@requirement("CR-4")
async def test_refuse_answers_nothing(server: Server) -> None:
    """E1: the default; the flow does not begin again."""
    client = client_of(server, asking(server))
    first = await client.say("travel")
    stored = server.dump()
    tab = client.again()
    tab.model.messages = list(client.model.messages)
    assert (await tab.say("Paris")).outcome == "interrupts_pending"
    assert server.dump() == stored
    assert server.effects == ["travel"]
    assert (await client.again().connect()).interrupts == first.interrupts


@requirement("CR-4", "LC-12")
async def test_answer_takes_the_text_for_the_one_question(server: Server) -> None:
    """E2: "Paris" resolves it; the user's words stay in the history, before what came of them."""
    client = client_of(server, asking(server), on_message="answer")
    first = await client.say("travel")
    run = await client.say("Paris")
    assert (run.outcome, run.text) == ("success", "resolved: Paris")
    assert shown(await client.again().connect()) == [
        ("user", "travel"),
        ("assistant", "Hi."),
        ("user", "Paris"),
        ("assistant", "resolved: Paris"),
    ]
    item = await interrupt_of(server, first.interrupts[0]["id"])
    assert (item.decided_by, item.channel) == ("local", "message")
    assert server.effects == ["travel", "travel"]
    assert (await client.say("trains")).outcome == "interrupt"
    assert server.effects[-1] == "trains"


@requirement("ID-01")
async def test_the_same_text_sent_again_answers_once(server: Server) -> None:
    """A retried POST shows what became of it (A5)."""

    async def agent(turn: Turn) -> None:
        for number in (1, 2):
            got = await turn.interrupt("input_required", f"{number}?", schema=str)
            server.effects.append(got.value)

    client = client_of(server, agent, on_message="answer")
    await client.say("go")
    client.user("Paris")
    body = client.body()
    second = await client.run(body)
    again = await client.again().run(body)
    assert again.interrupts == second.interrupts
    assert server.effects == ["Paris"]


async def test_answer_leaves_approvals_and_forms_alone(server: Server, tools: Kit) -> None:
    """TB-08: no text approves anything, "yes" and "true" included."""
    for agent in (tools.refunding, tools.filing):
        client = client_of(server, agent, on_message="answer")
        await client.say()
        for text in ("yes", "true", '{"approved": true}'):
            tab = client.again()
            tab.model.messages = list(client.model.messages)
            assert (await tab.say(text)).outcome == "interrupts_pending"
    assert server.effects == []


async def test_answer_says_what_is_wrong_with_a_text_that_does_not_fit(server: Server) -> None:
    """The problem is at the payload, as for any other answer."""

    async def agent(turn: Turn) -> None:
        schema = {"type": "string", "pattern": "^[A-Z]+$"}
        got = await turn.interrupt("input_required", "Code?", schema=schema)
        await turn.say(str(got.value))

    client = client_of(server, agent, on_message="answer")
    await client.say("go")
    stored = server.dump()
    tab = client.again()
    tab.model.messages = list(client.model.messages)
    run = await tab.say("abc")
    assert run.outcome == "invalid_payload"
    assert run.details["interrupts"][0]["problems"][0]["pointer"] == ""
    assert server.dump() == stored
    assert (await client.say("ABC")).text == "ABC"


@requirement("OC-12", "RE-09")
async def test_cancel_ends_the_questions_and_then_takes_the_message(
    server: Server, tools: Kit
) -> None:
    """E9, OC-12, I1: one request; every call has its result; nothing comes up again later."""
    texts = []

    async def agent(turn: Turn) -> None:
        texts.append(turn.input.text)
        if turn.input.text == "go":
            await tools.mailing(turn)
        else:
            await turn.say("as you like")

    client = client_of(server, agent, on_message="cancel")
    first = await client.say("go")
    run = await client.say("never mind")
    assert run.outcome == "success"
    assert run.text == "executed, cancelled, cancelled, cancelled\nas you like"
    assert texts == ["go", "go", "never mind"]
    assert [e for e in server.effects if e[0] == "email"] == []
    assert all("cancelled" in text for text in run.results.values())
    item = await interrupt_of(server, first.interrupts[0]["id"])
    assert (item.status, item.decided_by, item.channel) == ("cancelled", "local", "message")
    roles = [m["role"] for m in (await client.again().connect()).snapshot]
    assert roles[-3:] == ["assistant", "user", "assistant"]


async def test_cancel_lets_a_message_wait_when_the_agent_asks_again(server: Server) -> None:
    """Design 4: the message waits, stored, if the turn interrupts again; the next cancels too."""

    async def agent(turn: Turn) -> None:
        server.effects.append(turn.input.text)
        for number in (1, 2):
            await turn.interrupt("confirmation", f"{number}?")
        await turn.say("done")

    client = client_of(server, agent, on_message="cancel")
    await client.say("go")
    asked = await client.say("one")
    assert asked.outcome == "interrupt"
    assert shown(asked)[-1] == ("user", "one")
    await client.say("two")
    assert server.effects[-1] in ("one", "two")
    assert "go" not in server.effects[3:]


async def test_answers_mean_what_they_say_whatever_the_value(server: Server, tools: Kit) -> None:
    """RE-09, D2: a message beside an answer waits for the turn to end, it does not cancel it."""
    for value in ("answer", "cancel"):
        client = client_of(server, tools.refunding, on_message=value)
        await client.say()
        (entry,) = client.entries(approve())
        run = await client.say("thanks", resume=[entry])
        assert "executed" in run.text
    assert len(server.effects) == 2
