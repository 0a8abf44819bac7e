"""A settled question in the history: one activity message, and no words that nobody typed (P2)."""

from typing import Any

import pytest
from pydantic import BaseModel, Field

from sayso import Option, Turn
from tests.contract.optional import client_of, past
from tests.contract.requirements import requirement
from tests.contract.rest import get, stop
from tests.contract.server import Client, Server, answer, approve, cancel
from tests.contract.tools import Kit

Json = dict[str, Any]


class Login(BaseModel):
    """A form with a secret in it."""

    user: str = Field(title="User")
    password: str = Field(json_schema_extra={"format": "password"})


def told(client: Client) -> list[Json]:
    """What the client's history says of settled questions."""
    return [m["content"] for m in client.model.messages if m["role"] == "activity"]


async def asking(turn: Turn) -> Any:
    """Asks three times in three ways, and tells a later turn what its model would get."""
    if turn.input.text == "later":
        return [dict(message) for message in turn.input.messages]
    await turn.interrupt("input_required", "Who?", schema=Login)
    await turn.interrupt("confirmation", "Sure?")
    await turn.decide(
        planned_action="Delete it",
        why="it is old",
        options=[Option("Now", "now", "It is gone."), Option("Later", "later")],
    )
    await turn.say("Done.")
    return None


@requirement("AC-02", "MS-01", "MS-08")
@pytest.mark.parametrize("version", ["1.0", None])
async def test_each_settled_question_is_one_activity_of_the_history(
    server: Server, version: str | None
) -> None:
    """P2, design 3: asked what, answered what, by whom; where it happened, for each client."""
    client = server.client(asking, version=version)
    (who,) = (await client.say("go")).interrupts
    (sure,) = (await client.resume(answer({"user": "ann", "password": "hunter2"}))).interrupts
    (decided,) = (await client.resume(answer({"approved": False}))).interrupts
    await client.resume(answer({"action": "now", "note": "quick"}))
    first, second, third = told(client)
    assert first["interruptId"] == who["id"]
    assert first["answer"] == {"user": "ann", "password": "(not shown)"}
    assert first["said"] == "User: ann; Password: (not shown)"
    assert second == {
        "interruptId": sure["id"],
        "reason": "confirmation",
        "question": "Sure?",
        "status": "resolved",
        "answer": {"approved": False},
        "said": "no",
        "sentence": 'Asked "Sure?", local answered: no.',
        "by": "local",
        "at": second["at"],
        "channel": "run",
    }
    assert third["interruptId"] == decided["id"]
    assert third["question"] == "Delete it"
    assert third["said"] == "Now (now); Note: quick"
    roles = [message["role"] for message in client.model.messages]
    assert roles == ["user", "activity", "activity", "activity", "assistant"]
    ids = [message["id"] for message in client.model.messages]
    fresh = client.again()
    await fresh.connect()
    assert [message["id"] for message in fresh.model.messages] == ids
    assert "hunter2" not in str(fresh.model.messages)
    history = await get(server, f"/threads/{client.thread}/history")
    assert [m["id"] for m in history["messages"]] == ids


@requirement("MS-08")
async def test_a_later_model_reads_the_answers_as_user_text(server: Server) -> None:
    """B10, design 3: exactly what was decided, between what was said before and after."""
    client = server.client(asking)
    await client.say("go")
    await client.resume(answer({"user": "ann", "password": "x"}))
    await client.resume(cancel())
    await client.resume(answer({"action": "now"}))
    run = await client.say("later")
    assert [(m["role"], m["content"]) for m in run.last["result"]] == [
        ("user", "go"),
        ("user", 'Asked "Who?", local answered: User: ann; Password: (not shown).'),
        (
            "user",
            'Asked "Sure?", local withdrew the question without an answer. Nothing was decided.',
        ),
        ("user", 'Asked "Delete it", local answered: Now (now). That means: It is gone.'),
        ("assistant", "Done."),
        ("user", "later"),
    ]


async def test_the_newest_user_message_stays_the_users(server: Server) -> None:
    """E3, design 3: an answer is nothing that the user typed."""
    seen: list[str] = []

    async def agent(turn: Turn) -> None:
        seen.append(turn.input.text)
        await turn.interrupt("confirmation", "Sure?")

    client = server.client(agent)
    await client.say("go")
    await client.resume(answer({"approved": True}))
    assert seen == ["go", "go"]
    assert [m["content"] for m in client.model.messages if m["role"] == "user"] == ["go"]


async def test_a_gated_call_has_its_result_and_no_activity(server: Server, tools: Kit) -> None:
    """H1: what became of an approval stands in the call's own result."""
    client = server.client(tools.refunding)
    await client.say()
    await client.resume(approve())
    assert told(client) == []
    assert [m["role"] for m in client.model.messages if m["role"] == "tool"] == ["tool"]


async def test_an_expired_question_is_told_as_that(server: Server) -> None:
    """R3: nobody is named, nothing is called a refusal."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Sure?", expires_in=5)

    client = server.client(agent)
    await client.say()
    (only,) = told(await past(server, client, 6))
    assert (only["status"], only["channel"]) == ("expired", "expiry")
    assert "by" not in only
    assert "answer" not in only
    assert only["sentence"] == 'Asked "Sure?", nobody answered in time. Nothing was decided.'


@requirement("OU-07")
async def test_a_stop_withdraws_what_was_asked_in_the_history_too(server: Server) -> None:
    """I1, I6: by who stopped it; and the thread goes on from there."""

    async def agent(turn: Turn) -> None:
        if turn.input.text == "go":
            await turn.interrupt("confirmation", "Sure?")

    client = server.client(agent)
    await client.say("go")
    assert await stop(server, client)
    fresh = client.again()
    await fresh.connect()
    (only,) = told(fresh)
    assert (only["status"], only["by"], only["channel"]) == ("cancelled", "local", "stop")
    assert (await fresh.say("more")).outcome == "success"


async def test_an_answer_that_was_typed_stands_there_as_it_was_typed(server: Server) -> None:
    """E2: the user's own message is the answer, so nothing is added to it."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("input_required", "Where?", schema=str)

    client = client_of(server, agent, on_message="answer")
    await client.say("go")
    await client.say("Paris")
    fresh = client.again()
    await fresh.connect()
    assert [(m["role"], m["content"]) for m in fresh.model.messages] == [
        ("user", "go"),
        ("user", "Paris"),
    ]


async def test_a_very_long_answer_does_not_fill_the_history(server: Server) -> None:
    """Limits: the beginning is there, and the whole of it with the interrupt."""

    async def agent(turn: Turn) -> int:
        got = await turn.interrupt("input_required", "Story?", schema=str)
        return len(got.value or "")

    client = server.client(agent)
    (asked,) = (await client.say()).interrupts
    run = await client.resume(answer("x" * 200_000))
    assert run.last["result"] == 200_000
    (only,) = told(client)
    assert "answer" not in only
    assert only["said"].endswith("x…")
    assert len(only["said"]) < 20_000
    stored = await get(server, f"/interrupts/{asked['id']}")
    assert len(stored["answer"]["payload"]) == 200_000


async def test_questions_answered_together_are_told_in_the_order_of_asking(
    server: Server,
) -> None:
    """C4: whatever the order of the answers."""

    async def agent(turn: Turn) -> None:
        async def one(text: str) -> None:
            await turn.interrupt("confirmation", text)

        await turn.gather(one("A?"), one("B?"))

    client = server.client(agent)
    await client.say()
    a, b = client.model.pending
    await client.resume(
        {"interruptId": b["id"], **cancel()},
        {"interruptId": a["id"], **answer({"approved": True})},
    )
    assert [one["question"] for one in told(client)] == ["A?", "B?"]
