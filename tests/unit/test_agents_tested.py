"""`sayso.testing.Agent`: agents in plain, synchronous tests, without a server or a port."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from sayso import (
    Breakpoints,
    DeclarationError,
    Principal,
    Sayso,
    Tool,
    Turn,
    approval,
    current_call,
)
from sayso.errors import Problem
from sayso.testing import Agent, Ran, Refused


class Closing(BaseModel):
    close: bool
    note: str | None = None


async def lookup(order_id: str) -> float:
    return 240.0


async def _refund(order_id: str, amount: float) -> str:
    return f"Refunded {amount:.2f}"


refund = Tool(_refund, name="refund", approval=approval.always, editable=True)


async def support(turn: Turn) -> str:
    """Looks an order up, refunds it, and asks to close."""
    amount = await turn.step(lookup, "A-17")
    await turn.set("/amount", amount)
    done = await turn.call(refund, order_id="A-17", amount=turn.state["amount"])
    await turn.say(str(done))
    answer = await turn.interrupt(
        "input_required", "Close it?", response=Closing, expires_in=3 * 86_400
    )
    return f"{done.status}, {answer.status}: {answer.value.note if answer.value else None}"


def test_an_agent_is_run_asked_answered_and_looked_at() -> None:
    """Issue and answer, in the words of the person who decides."""
    with Agent(support, tools=[refund]) as agent:
        run = agent.say("refund A-17")
        assert (run.outcome, agent.status) == ("interrupt", "suspended")
        assert (agent.question.tool, agent.question.reason) == ("refund", "tool_call")
        assert agent.question.args == {"order_id": "A-17", "amount": 240.0}
        assert agent.effects == ["lookup"]
        asked = agent.question.edit(amount=100.0)
        assert asked.text.endswith("Refunded 100.00")
        assert agent.ran[0] == Ran("lookup", ("A-17",), {}, agent.ran[0].key, "test")
        assert agent.ran[1].kwargs == {"order_id": "A-17", "amount": 100.0}
        assert agent.question.schema["properties"]["close"] == {"title": "Close", "type": "boolean"}
        ended = agent.answer(Closing(close=True, note="done"))
        assert (ended.outcome, ended.result) == ("success", "executed, resolved: done")
        assert agent.state == {"amount": 240.0}
        assert [m["role"] for m in agent.messages if m["role"] != "activity"] == [
            "user",
            "assistant",
            "tool",
            "assistant",
        ]
        assert agent.questions == []
        assert agent.status == "finished"


def test_the_server_restarts_between_any_two_lines() -> None:
    """What ran is not run again; the question has the same id."""
    with Agent(support, tools=[refund]) as agent:
        agent.say("go")
        asked = agent.question.id
        agent.restart()
        assert agent.question.id == asked
        agent.question.deny("too much")
        agent.restart()
        assert agent.effects == ["lookup"]
        assert "too much" in agent.results[0]


def test_days_pass_in_no_time_and_each_thing_at_its_own() -> None:
    """An expiry, and what the agent asks after it, which expires as well."""

    async def patient(turn: Turn) -> list[str]:
        found = []
        for _ in range(2):
            answer = await turn.interrupt("confirmation", "Well?", expires_in=86_400)
            found.append((await turn.now()).isoformat()[:16] + answer.status)
        return found

    with Agent(patient, expiries_in_a_row=None) as agent:
        agent.say("go")
        first = agent.question.expires_at
        assert first is not None
        agent.advance(86_399)
        assert agent.status == "suspended"
        agent.advance(3)
        second = agent.question.expires_at
        assert second is not None
        assert 0 <= (second - first).total_seconds() - 86_400 < 3
        agent.advance(400 * 86_400)
        assert (agent.status, agent.questions) == ("finished", [])


def test_several_answers_are_sent_together_with_the_last() -> None:
    """One by one, in any order; held until the set is complete."""

    async def both(turn: Turn) -> list[Any]:
        answers = await turn.gather(
            turn.interrupt("confirmation", "A?"),
            turn.interrupt("input_required", "B?", response=int),
        )
        return [answer.value for answer in answers]

    with Agent(both) as agent:
        agent.say("go")
        with pytest.raises(AssertionError, match="one open question was expected"):
            _ = agent.question
        second = agent.questions[1]
        assert second.answer(7).outcome == "held"
        assert [question.message for question in agent.questions] == ["A?"]
        run = agent.question.approve()
        assert run.result == [True, 7]


def test_what_is_not_taken_is_raised_and_changes_nothing() -> None:
    """A payload that breaks the schema, an edit that breaks the tool, a message in between."""
    with Agent(support, tools=[refund]) as agent:
        agent.say("go")
        with pytest.raises(Refused, match="interrupts_pending"):
            agent.say("hello?")
        with pytest.raises(Refused) as wrong:
            agent.question.edit(amount="lots")
        assert wrong.value.code == "invalid_payload"
        assert wrong.value.problems[0]["pointer"] == "/editedArgs/amount"
        with pytest.raises(Refused):
            agent.answer({"approved": "true"})
        agent.question.cancel()
        assert agent.effects == ["lookup"]


def test_a_crash_between_an_effect_and_its_record_is_played() -> None:
    """The effect ran; nobody knows; the person is asked, and nothing runs twice by itself."""
    with Agent(support, tools=[refund]) as agent:
        agent.say("go")
        agent.crash_after("refund")
        run = agent.question.approve()
        assert run.outcome == "crashed"
        agent.restart()
        assert agent.question.reason == "sayso:indeterminate"
        agent.answer({"action": "skip", "result": "Refunded 240.00"})
        assert agent.effects == ["lookup", "refund"]
        assert agent.question.message == "Close it?"


def test_a_crash_that_never_comes_fails_the_test() -> None:
    """A name that nothing has would make a test that cannot fail."""
    with (
        pytest.raises(AssertionError, match=r"crash_after\('refnud'\) never came: .* lookup"),
        Agent(support, tools=[refund]) as agent,
    ):
        agent.say("go")
        agent.crash_after("refnud")
        agent.question.approve()


def test_a_call_that_is_never_made_has_no_breakpoint() -> None:
    """Its arguments were asked for and not given, so nothing of the batch is left."""

    async def filling(turn: Turn) -> str:
        return (await turn.call("book", place="here")).status

    async def book(place: str, day: str) -> str:
        return f"{place} {day}"

    tool = Tool(book, complete=True)
    with Agent(filling, tools=[tool], breakpoints=Breakpoints(before="*")) as agent:
        agent.say("go")
        run = agent.question.cancel()
        assert (run.outcome, agent.effects) == ("success", [])


def test_no_time_passes_while_the_server_is_down() -> None:
    """It is said at once what to do."""
    with Agent(support, tools=[refund]) as agent:
        agent.say("go")
        agent.crash_after("refund")
        agent.question.approve()
        with pytest.raises(RuntimeError, match="restart"):
            agent.advance(60)


def test_the_state_is_edited_and_the_other_answer_tried() -> None:
    """As over HTTP; the copy is a thread of its own on the same server."""
    with Agent(support, tools=[refund]) as agent:
        agent.say("go")
        agent.edit_state(amount=50.0)
        assert agent.state == {"amount": 50.0}
        copy = agent.fork(agent.question)
        copy.question.deny()
        agent.question.approve()
        assert (copy.effects, agent.effects) == ([], ["lookup", "refund"])
        copy.answer({"close": False})
        assert copy.status == "finished"
        with pytest.raises(Problem, match="waits for nobody"):
            copy.edit_state(a=1)


def test_code_may_change_between_two_processes() -> None:
    """A mismatch is an outcome; the old code goes on."""

    async def other(turn: Turn) -> None:
        await turn.step(lookup, "B-18")

    with Agent(support, tools=[refund]) as agent:
        agent.say("go")
        agent.restart(other)
        run = agent.question.approve()
        assert run.outcome in ("replay_mismatch", "agent_version_missing")
        agent.restart(support)
        agent.question.approve()
        assert agent.question.message == "Close it?"


def test_an_app_is_tested_as_it_is_declared_and_its_store_is_not_touched(tmp_path: Any) -> None:
    """Its agents, tools and options; several need a name."""
    path = tmp_path / "shop.db"
    app = Sayso(store=f"sqlite:///{path}", may_ask=False)
    app.include(refund)
    app.agent("support")(support)

    @app.agent("who")
    async def who(turn: Turn) -> str:
        return turn.principal.subject

    with pytest.raises(DeclarationError, match="support, who"):
        Agent(app)
    with Agent(app, "who", principal=Principal(subject="ann")) as agent:
        assert agent.say("go").result == "ann"
        stranger = agent.on(agent.thread, Principal(subject="bob"))
        assert (stranger.messages, stranger.status) == ([], None)
        with pytest.raises(Problem, match="no such thread"):
            stranger.say("hello")
    with Agent(app, "support") as agent:
        assert agent.say("go").outcome == "interrupts_disabled"
    assert not path.exists()


def test_two_runs_of_a_test_find_the_same_world() -> None:
    """Nothing outlives its block: neither threads nor time."""
    for _ in range(2):
        with Agent(support, tools=[refund]) as agent:
            assert agent.messages == []
            assert agent.say("go").outcome == "interrupt"


def test_wrong_use_says_what_to_do() -> None:
    """Outside of its block, and inside of an event loop."""
    with pytest.raises(RuntimeError, match="with Agent"):
        _ = Agent(support).messages

    async def inside() -> None:
        with Agent(support, tools=[refund]) as agent:
            agent.say("go")

    with pytest.raises(RuntimeError, match="plain `def"):
        asyncio.run(inside())


def test_keys_of_effects_are_those_that_the_code_sees() -> None:
    """What a test looks at is what goes out into the world."""
    seen = []

    async def pay() -> None:
        seen.append(current_call().key)

    async def agent_function(turn: Turn) -> None:
        await turn.step(pay)

    with Agent(agent_function) as agent:
        agent.say("go")
        assert [ran.key for ran in agent.ran] == seen
