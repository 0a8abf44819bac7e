"""`sayso.testing.Conversation`: agents in plain, synchronous tests, without a server or a port."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from sayso import (
    AgentOptions,
    Breakpoints,
    DeclarationError,
    Limits,
    Principal,
    Sayso,
    Tool,
    Turn,
    approval,
    current_call,
)
from sayso.base.errors import Problem
from sayso.testing import Conversation, RanEffect, Refused
from tests.apps import app_with


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
        "input_required", "Close it?", schema=Closing, expires_in=3 * 86_400
    )
    return f"{done.status}, {answer.status}: {answer.value.note if answer.value else None}"


def test_an_agent_is_run_asked_answered_and_looked_at() -> None:
    """Issue and answer, in the words of the person who decides."""
    with Conversation(support, tools=[refund]) as agent:
        run = agent.say("refund A-17")
        assert (run.outcome, agent.status) == ("interrupt", "suspended")
        assert (agent.question.tool, agent.question.reason) == ("refund", "tool_call")
        assert agent.question.args == {"order_id": "A-17", "amount": 240.0}
        assert agent.effects == ["lookup"]
        asked = agent.question.edit(amount=100.0)
        assert asked.text.endswith("Refunded 100.00")
        assert agent.ran[0] == RanEffect("lookup", ("A-17",), {}, agent.ran[0].key, "test")
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
    with Conversation(support, tools=[refund]) as agent:
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

    with Conversation(patient, max_consecutive_expiries=None) as agent:
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
            turn.interrupt("input_required", "B?", schema=int),
        )
        return [answer.value for answer in answers]

    with Conversation(both) as agent:
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
    with Conversation(support, tools=[refund]) as agent:
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
    with Conversation(support, tools=[refund]) as agent:
        agent.say("go")
        agent.crash_after("refund")
        run = agent.question.approve()
        assert run.outcome == "crashed"
        agent.restart()
        assert agent.question.reason == "sayso:indeterminate"
        agent.answer({"action": "skip", "result": "Refunded 240.00"})
        assert agent.effects == ["lookup", "refund"]
        assert agent.question.message == "Close it?"


@pytest.mark.parametrize("seconds", [2.0, 0.0], ids=["idle machine", "busy machine"])
def test_after_a_crash_even_code_that_takes_its_time_has_come_to_its_question(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agents of frameworks take hundreds of turns of the loop, and may have no core for seconds."""
    monkeypatch.setattr("sayso.testing.world.TAKE_OVER_S", seconds)

    async def leisurely(turn: Turn) -> None:
        for _ in range(2_000):
            await asyncio.sleep(0)
        await support(turn)

    with Conversation(leisurely, tools=[refund]) as agent:
        agent.say("go")
        agent.crash_after("refund")
        agent.question.approve()
        agent.restart()
        assert agent.question.reason == "sayso:indeterminate"


def test_a_crash_that_never_comes_fails_the_test() -> None:
    """A name that nothing has would make a test that cannot fail."""
    with (
        pytest.raises(AssertionError, match=r"crash_after\('refnud'\) never came: .* lookup"),
        Conversation(support, tools=[refund]) as agent,
    ):
        agent.say("go")
        agent.crash_after("refnud")
        agent.question.approve()


def test_a_call_that_is_never_made_has_no_breakpoint() -> None:
    """Its arguments were asked for and not given, so nothing of the batch is left."""

    async def filling(turn: Turn) -> str:
        return (await turn.call("book", {"place": "here"})).status

    async def book(place: str, day: str) -> str:
        return f"{place} {day}"

    tool = Tool(book, complete=True)
    with Conversation(filling, tools=[tool], breakpoints=Breakpoints(before="*")) as agent:
        agent.say("go")
        run = agent.question.cancel()
        assert (run.outcome, agent.effects) == ("success", [])


def test_no_time_passes_while_the_server_is_down() -> None:
    """It is said at once what to do."""
    with Conversation(support, tools=[refund]) as agent:
        agent.say("go")
        agent.crash_after("refund")
        agent.question.approve()
        with pytest.raises(RuntimeError, match="restart"):
            agent.advance(60)


def test_the_state_is_edited_and_the_other_answer_tried() -> None:
    """As over HTTP; the copy is a thread of its own on the same server."""
    with Conversation(support, tools=[refund]) as agent:
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

    with Conversation(support, tools=[refund]) as agent:
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
    app = Sayso(store=f"sqlite:///{path}", agent_defaults=AgentOptions(interrupts_enabled=False))
    app.add_tools(refund)
    app.agent("support")(support)

    @app.agent("who")
    async def who(turn: Turn) -> str:
        return turn.principal.subject

    with pytest.raises(DeclarationError, match="support, who"):
        Conversation(app)
    with Conversation(app, "who", principal=Principal(subject="ann")) as agent:
        assert agent.say("go").result == "ann"
        stranger = agent.on(agent.thread, Principal(subject="bob"))
        assert (stranger.messages, stranger.status) == ([], None)
        with pytest.raises(Problem, match="no such thread"):
            stranger.say("hello")
    with Conversation(app, "support") as agent:
        assert agent.say("go").outcome == "interrupts_disabled"
    assert not path.exists()


def test_two_runs_of_a_test_find_the_same_world() -> None:
    """Nothing outlives its block: neither threads nor time."""
    for _ in range(2):
        with Conversation(support, tools=[refund]) as agent:
            assert agent.messages == []
            assert agent.say("go").outcome == "interrupt"


def test_wrong_use_says_what_to_do() -> None:
    """Outside of its block, and inside of an event loop."""
    with pytest.raises(RuntimeError, match="with Conversation"):
        _ = Conversation(support).messages

    async def inside() -> None:
        with Conversation(support, tools=[refund]) as agent:
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

    with Conversation(agent_function) as agent:
        agent.say("go")
        assert [ran.key for ran in agent.ran] == seen


LEA, LEO = (Principal(subject=name, roles=("lead",)) for name in ("lea", "leo"))
MIA = Principal(subject="mia")


def payments(of: int = 1, **options: Any) -> Sayso:
    """An agent that pays once, when as many leads have agreed."""
    payer = app_with(store="memory:", console=False, **options)

    @payer.tool(approval=approval.always(by="lead", approvals=of, remember=True), editable=True)
    async def pay(amount: float) -> str:
        return f"paid {amount:.2f}"

    @payer.agent("payer")
    async def agent(turn: Turn) -> str:
        return (await turn.call(pay, amount=5.0)).status

    return payer


def test_others_approve_from_their_own_inbox() -> None:
    """A quorum: one yes waits for the other, and the second lets the turn go on."""
    with Conversation(payments(of=2)) as agent:
        agent.say("pay")
        lea, leo, mia = agent.as_(LEA), agent.as_(LEO), agent.as_(MIA)
        assert (lea.question.tool, mia.inbox) == ("pay", [])
        assert lea.question.approve().outcome == "held"
        assert agent.effects == []
        run = leo.question.approve()
        assert (run.outcome, run.result) == ("success", "executed")
        assert (agent.effects, leo.inbox) == (["pay"], [])


def test_one_no_of_another_is_enough() -> None:
    with Conversation(payments(of=2)) as agent:
        agent.say("pay")
        agent.as_(LEA).question.approve()
        assert agent.as_(LEO).question.deny("no budget").result == "denied"
        assert "no budget" in agent.results[0]


def test_what_another_may_not_do_is_raised() -> None:
    """By code, as over HTTP; and nothing has changed."""
    with Conversation(payments()) as agent:
        agent.say("pay")
        question = agent.as_(LEA).question
        question.edit(amount=1.0)
        with pytest.raises(Refused) as refused:
            question.deny()
        assert refused.value.code == "already_resolved"
        assert agent.ran[-1].kwargs == {"amount": 1.0}


def test_a_question_is_assigned_and_extended_in_a_test() -> None:
    """By the one who has to answer it."""
    with Conversation(payments(expires_in=60)) as agent:
        agent.say("pay")
        lea = agent.as_(LEA)
        before = lea.question.expires_at
        lea.question.extend(60)
        lea.question.assign("leo")
        after = lea.question.expires_at
        assert before is not None
        assert after is not None
        assert (after - before).total_seconds() == 60
        agent.advance(90)
        assert lea.question.approve().result == "executed"


def test_a_remembered_yes_is_listed_and_taken_back_in_a_test() -> None:
    """By the one who gave it."""
    with Conversation(payments()) as agent:
        agent.say("pay")
        lea = agent.as_(LEA)
        remember = {"arguments": "any", "scope": "user"}
        lea.question.answer({"approved": True, "remember": remember})
        assert agent.say("again").result == "executed"
        (standing,) = lea.approvals
        lea.revoke(standing)
        assert (lea.approvals, agent.approvals) == ([], [])
        assert agent.say("once more").outcome == "interrupt"


def test_answers_that_the_server_holds_wait_for_the_rest() -> None:
    """An answer by request and the others in words: the last one resumes."""

    async def three(turn: Turn) -> list[str]:
        calls = [turn.call(refund, order_id=str(n), amount=1.0) for n in range(3)]
        return [done.status for done in await turn.gather(*calls)]

    with Conversation(three, tools=[refund], partial="accumulate") as agent:
        agent.say("go")
        first = agent.questions[0]
        yes = {"interruptId": first.id, "status": "resolved", "payload": {"approved": True}}
        agent.send(resume=[yes])
        assert [question.args["order_id"] for question in agent.questions] == ["1", "2"]
        assert agent.questions[0].approve().outcome == "held"
        assert agent.question.approve().result == ["executed"] * 3


@pytest.mark.parametrize("refusals", ["error", "recover"])
def test_whatever_the_thread_does_not_take_is_raised(refusals: Any) -> None:
    """Roles, breakpoints and sizes as well, in each manner of refusing."""
    with Conversation(payments(refusals=refusals)) as agent:
        with pytest.raises(Refused) as refused:
            agent.say("pay", forwardedProps={"sayso": {"breakpoints": {"before": ["pay"]}}})
        assert refused.value.code == "breakpoints_refused"
        agent.say("pay")
        with pytest.raises(Refused) as refused:
            agent.question.approve()
        assert refused.value.code == "not_an_approver"
        assert refused.value.details["interrupts"][0]["interruptId"] == agent.question.id
        with pytest.raises(Refused) as refused:
            agent.say("and again")
        assert refused.value.code == "interrupts_pending"
    with Conversation(payments(limits=Limits(history=10_000))) as agent:
        with pytest.raises(Refused) as refused:
            agent.say("x" * 20_000)
        assert refused.value.code == "thread_too_large"


def test_a_breakpoint_that_was_never_met_is_told_to_the_test() -> None:
    """Steps are not known ahead: a misspelt name stops nothing."""

    async def publishing(turn: Turn) -> None:
        await turn.step.options(name="publish")(lambda: None)

    with Conversation(publishing, breakpoints=Breakpoints(before=["publsih"])) as agent:
        assert agent.say("go").unmet == ["publsih"]


def test_an_app_that_cannot_start_leaves_no_loop_open() -> None:
    async def fails(app: Sayso) -> None:
        raise RuntimeError("no such server")

    app = Sayso(store="memory:", on_start=[fails])
    app.agent("a")(_silent)
    talk = Conversation(app)
    with pytest.raises(DeclarationError, match="no such server"):
        talk.__enter__()
    assert talk._world is not None
    with pytest.raises(RuntimeError, match="closed"):
        talk._world._runner.get_loop()


async def _silent(turn: Turn) -> None:
    pass
