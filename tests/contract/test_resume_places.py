"""Where an answer may stand in a request, and that a request with one is nothing else (cases F)."""

from typing import Any

import pytest

from sayso import Turn
from tests.contract.server import Server, answer, approve, cancel
from tests.contract.tools import Kit


@pytest.mark.parametrize("history", ["whole", "last", "none"])
async def test_an_answer_is_not_new_input_whatever_history_comes_with_it(
    server: Server, history: str
) -> None:
    """F5, P1: no user message is read twice; the agent is given the answer alone."""
    asked: list[tuple[str, int]] = []

    async def agent(turn: Turn) -> None:
        typed = [m for m in turn.input.messages if m.get("content") in ("one", "two")]
        asked.append((turn.input.text, len(typed)))
        got = await turn.interrupt("input_required", "Which?", schema=str)
        await turn.say(f"{turn.input.text}: {got.value}")

    client = server.client(agent)
    await client.say("one")
    await client.resume(answer("a"))
    await client.say("two")
    held = list(client.model.messages)
    sent = {"whole": held, "last": held[-1:], "none": []}[history]
    run = await client.resume(answer("b"), messages=sent)
    assert run.outcome == "success"
    assert set(asked) == {("one", 1), ("two", 2)}
    texts = [m["content"] for m in client.model.messages if m["role"] in ("user", "assistant")]
    assert texts == ["one", "one: a", "two", "two: b"]
    shown = client.again()
    await shown.connect()
    assert [m["id"] for m in shown.model.messages] == [m["id"] for m in client.model.messages]


@pytest.mark.parametrize("version", ["1.0", None])
async def test_answers_may_come_in_the_forwarded_properties(
    server: Server, tools: Kit, version: str | None
) -> None:
    """F6: from SDKs that cannot send them at the top; the same checks, one effect."""
    client = server.client(tools.mailing, version=version)
    await client.say()
    entries = client.entries(approve(), cancel(), approve())
    stored = server.dump()
    for props, pointer in (
        ({"resume": entries[:2]}, None),
        (
            {"resume": [{**entries[0], "status": "denied"}, *entries[1:]]},
            "/forwardedProps/resume/0/status",
        ),
    ):
        refused = await client.run(forwardedProps=props)
        if pointer is None:
            assert refused.outcome == "partial_resume"
        else:
            assert (refused.status, refused.problem["code"]) == (422, "invalid_input")
            assert refused.problem["errors"][0]["pointer"] == pointer
        assert server.dump() == stored
    for _ in range(2):
        run = await client.run(forwardedProps={"resume": entries, "own": 1})
        assert run.outcome == "success"
    assert [e[1] for e in server.effects if e[0] == "email"] == ["ann", "cyd"]


async def test_the_list_at_the_top_wins_and_other_values_are_the_application_s(
    server: Server, tools: Kit
) -> None:
    """F6, FC-10: what names no interrupt passes untouched, and is no answer."""
    client = server.client(tools.refunding)
    await client.say()
    (yes,), (no,) = client.entries(approve()), client.entries(cancel())
    run = await client.run(resume=[no], forwardedProps={"resume": [yes]})
    assert (run.outcome, server.effects) == ("success", [])
    seen: list[Any] = []

    async def agent(turn: Turn) -> None:
        seen.append(turn.input.forwarded_props)

    other = server.client(agent)
    for value in ([], ["text"], [{"school": "x"}, yes], "yes", {"interruptId": "i"}, None):
        await other.say("go", forwardedProps={"resume": value})
        assert seen.pop() == {"resume": value}
