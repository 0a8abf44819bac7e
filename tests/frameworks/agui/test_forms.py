"""Policies about what an agent asks, whatever its form, and whoever may say that it runs again."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from sayso import Sayso, agui, approval
from sayso.testing import Conversation, Refused
from tests.frameworks.agui import producers as far
from tests.frameworks.agui.scripted import BOTH, Agent, person, waits_for

WORDS = {"enum": ["pay", "leave"]}
"""A form whose yes and no nobody knows here."""


def asks_in(schema: Any, *, told: bool = True) -> far.Script:
    """Asks about a call in a form of its own; `told`: it has told of the call before."""

    def script(given: far.Given) -> Iterator[Any]:
        if given.resume:
            answer = given.resume[0]
            yield from far.text("m", f"{answer.status} {answer.payload}")
            return
        if told:
            yield from far.call("c1", "pay", {"n": 7})
        asked = {"id": "i1", "reason": "tool_call", "message": "Pay 7?", "tool_call_id": "c1"}
        yield far.asks({**asked, "response_schema": schema})

    return script


@pytest.mark.parametrize(
    ("schema", "allowed", "denied"),
    [
        ({"type": "boolean"}, "resolved True", "resolved False"),
        (
            {"properties": {"approved": {"type": "boolean"}}, "additionalProperties": False},
            "resolved {'approved': True}",
            "resolved {'approved': False}",
        ),
        (WORDS, None, "cancelled None"),
    ],
)
def test_a_policy_answers_in_the_agents_form(schema: Any, allowed: str | None, denied: str) -> None:
    """A no that its form has no words for takes the question back; a yes is then a person's."""
    agent = Agent(asks_in(schema))
    deny = approval.deny(lambda n: n > 5, name="large")
    with Conversation(agent.app(approve={"pay": deny})) as talk:
        assert talk.say("go").text == denied
    with Conversation(agent.app(approve={"pay": approval.never})) as talk:
        run = talk.say("go")
        if allowed is None:
            run = talk.question.answer("pay")
        assert run.text == (allowed or "resolved pay")


@pytest.mark.parametrize(("schema", "yes"), [({"type": "boolean"}, True), (WORDS, "pay")])
def test_each_rule_has_its_people_say_the_same_in_any_form(schema: Any, yes: Any) -> None:
    """Nobody says alone what others have to say as well, whatever a yes is called."""
    agent = Agent(asks_in(schema))
    with Conversation(agent.app(approve={"pay": BOTH})) as talk:
        talk.say("go")
        person(talk, "finance").question.answer(yes)
        assert waits_for(talk) == ["lead"]
        assert len(agent.seen) == 1
        person(talk, "lead").question.answer(yes)
        assert talk.texts == [f"resolved {yes}"]


def test_who_says_something_else_begins_anew() -> None:
    agent = Agent(asks_in(WORDS))
    with Conversation(agent.app(approve={"pay": BOTH})) as talk:
        fay, lea = person(talk, "finance"), person(talk, "lead")
        talk.say("go")
        fay.question.answer("pay")
        lea.question.answer("leave")
        assert waits_for(talk) == ["finance"]
        fay.question.answer("leave")
        assert talk.texts == ["resolved leave"]


@pytest.mark.parametrize("edited", [[1], "less", 3])
def test_arguments_that_no_rule_can_read_are_a_no(edited: Any) -> None:
    agent = Agent(asks_in({"type": "object"}))
    with Conversation(agent.app(approve={"pay": BOTH})) as talk:
        talk.say("go")
        person(talk, "finance").question.answer({"approved": True, "editedArgs": edited})
        reason = "the edited arguments are no object"
        assert talk.texts == [f"resolved {{'approved': False, 'reason': {reason!r}}}"]


@pytest.mark.parametrize(
    ("last", "sent"),
    [
        ({"approved": True, "editedArgs": None}, {"editedArgs": {"n": 6}, "approved": True}),
        (
            {"decision": "yes"},
            {"approved": False, "reason": "the answer says nothing of the edited arguments"},
        ),
    ],
)
def test_nobody_takes_an_edit_back_unseen(last: Any, sent: Any) -> None:
    """The agent gets the arguments that all have seen, or a no."""
    agent = Agent(asks_in({"type": "object"}))
    with Conversation(agent.app(approve={"pay": BOTH})) as talk:
        talk.say("go")
        fay, lea = person(talk, "finance"), person(talk, "lead")
        fay.question.answer({"approved": True, "editedArgs": {"n": 6}})
        assert talk.question.metadata["arguments"] == {"n": 6}
        lea.question.answer(last)
        assert talk.texts == [f"resolved {sent}"]


def test_a_call_that_it_has_not_told_of_is_not_the_owners_to_approve() -> None:
    """No rule can be read about it, so nobody is asked; without rules the owner is."""
    agent = Agent(asks_in({}, told=False))
    with Conversation(agent.app(approve={"*": BOTH}), errors="return") as talk:
        run = talk.say("go")
        assert "of which it has not told" in str(run.error)
        assert len(agent.seen) == 1
    with Conversation(agent.app()) as talk:
        assert talk.say("go").outcome == "interrupt"


@pytest.mark.parametrize("written", ['{"n": 1e999}', '{"n": NaN}', f'{{"n": {10**30}}}'])
def test_people_see_what_the_agent_wrote_where_json_would_not_keep_it(written: str) -> None:
    """Rules cannot read it either, so whoever they ask is asked."""

    def script(given: far.Given) -> Iterator[Any]:
        if given.resume:
            yield from far.text("m", f"{given.resume[0].payload}")
            return
        yield from far.call("c1", "pay", written)
        yield far.asks({"id": "i", "reason": "tool_call", "message": "?", "tool_call_id": "c1"})

    large = approval.deny(lambda n: n > 100, name="large")
    small = approval.when(lambda n: n < 100, by="lead")
    with Conversation(Agent(script).app(approve={"pay": approval.all_of(large, small)})) as talk:
        run = talk.say("go")
        assert run.outcome == "interrupt"
        assert talk.question.metadata["arguments"] == {"arguments": written}
        assert waits_for(talk) == ["lead"]


def test_a_policy_that_was_changed_meanwhile_has_its_own_people_asked() -> None:
    """The yes of those who were asked before is not theirs; what was sent is not asked again."""

    def twice(given: far.Given) -> Iterator[Any]:
        name = f"c{len(given.messages)}"
        if given.resume:
            yield from far.text(f"m-{name}", f"{given.resume[0].payload}")
        if sum(m.role == "assistant" and bool(m.content) for m in given.messages) > 0:
            return
        yield from far.call(name, "pay", {"n": 7})
        yield far.asks({"id": name, "reason": "tool_call", "message": "?", "tool_call_id": name})

    agent = Agent(twice)
    by_lead, by_boss = ({"pay": approval.always(by=role)} for role in ("lead", "boss"))
    with Conversation(agent.app(approve=by_lead)) as talk:
        lea, bo = person(talk, "lead"), person(talk, "boss")
        talk.say("go")
        lea.question.answer({"approved": True})
        assert len(agent.seen) == 2
        talk.restart(agent.app(approve=by_boss))
        lea.question.answer({"approved": True})
        assert waits_for(talk) == ["boss"]
        assert len(agent.seen) == 2
        assert len(bo.inbox) == 1
        talk.restart(agent.app(approve=by_boss))
        bo.question.answer({"approved": True})
        assert talk.status == "finished"
        assert len(agent.seen) == 3


def test_who_approved_says_whether_it_runs_again() -> None:
    """An owner who could not approve it does not have it done twice."""
    acted: list[Any] = []

    async def breaks(given: far.Given) -> AsyncIterator[Any]:
        async for event in far.agent(asks_in({}))(given):
            if given.resume and event.type == "TEXT_MESSAGE_START" and len(acted) < 2:
                acted.append(given.resume[0].payload)
                raise OSError("gone")
            yield event

    app = Sayso(store="memory:")
    agui.mount_events(app, "shop", breaks, approve={"pay": BOTH})
    again = {"action": "run_again"}
    with Conversation(app) as talk:
        fay, lea = person(talk, "finance"), person(talk, "lead")
        talk.say("go")
        fay.question.answer({"approved": True})
        lea.question.answer({"approved": True})
        for times in (1, 2):
            assert waits_for(talk) == ["finance"]
            with pytest.raises(Refused, match="not_an_approver"):
                talk.question.answer(again)
            fay.question.answer(again)
            talk.restart()
            assert waits_for(talk) == ["lead"]
            assert len(acted) == times
            lea.question.answer(again)
        assert talk.texts == ["resolved {'approved': True}"]
