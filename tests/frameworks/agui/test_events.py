"""What becomes of each event of an agent, and of what it asks."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from sayso import DidNotHappen, Happened, Principal, Sayso, Tool, Turn, agui, approval
from sayso.frameworks.agui.sdk import Producer
from sayso.frameworks.agui.source import NothingBegan
from sayso.testing import Conversation, Person, Refused
from tests.frameworks.agui import producers as far

REFUND = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "amount": {"type": "number", "maximum": 240},
    },
    "required": ["approved"],
}


class Agent:
    """An agent of a script, what it was told, and what it has done."""

    def __init__(self, script: far.Script) -> None:
        self.seen: list[far.Given] = []
        self.produce = far.agent(script, self.seen)

    def app(self, **options: Any) -> Sayso:
        """An app that serves it."""
        app = Sayso(store="memory:")
        agui.mount_events(app, "shop", self.produce, **options)
        return app

    def told(self, number: int = -1) -> list[str]:
        """Who said what in the messages that it was sent."""
        return [f"{m.role}: {m.content}" for m in self.seen[number].messages]


def refunds(given: far.Given) -> Iterator[Any]:
    """Looks something up by itself, asks, and tells what came of it."""
    if given.resume:
        answer = given.resume[0]
        words = answer.payload.get("amount", 240) if answer.status == "resolved" else "nothing"
        yield from far.text("m2", "Refunded ", f"{words}.")
        return
    yield from far.text(f"m1-{len(given.messages)}", "Let me", " see.")
    yield from far.call("c1", "lookup", {"order": "A-17"})
    yield far.result("c1", "A-17 is paid")
    yield far.StateSnapshotEvent(snapshot={"order": "A-17", "note": None})
    yield far.asks(
        {"id": "i1", "reason": "shop:refund", "message": "Refund it?", "response_schema": REFUND}
    )


def test_its_question_is_held_to_its_schema_and_answered_in_one_resume() -> None:
    agent = Agent(refunds)
    with Conversation(agent.app()) as talk:
        run = talk.say("refund A-17")
        assert run.outcome == "interrupt"
        assert run.text == "Let me see."
        assert len(run.of("TEXT_MESSAGE_CONTENT")) == 2
        assert talk.results == ["A-17 is paid"]
        assert talk.state == {"order": "A-17", "note": None}
        assert talk.question.reason == "shop:refund"
        talk.restart()
        with pytest.raises(Refused):  # the agent would have taken it
            talk.question.answer({"approved": True, "amount": 999})
        assert len(agent.seen) == 1
        run = talk.question.answer({"approved": True, "amount": 20})
        assert run.text == "Refunded 20."
        assert [entry.interrupt_id for entry in agent.seen[1].resume or ()] == ["i1"]
        assert talk.state == {"order": "A-17", "note": None}
        talk.say("again")
        assert agent.told() == [
            "user: refund A-17",
            "assistant: Let me see.",
            "assistant: None",
            "tool: A-17 is paid",
            "assistant: Refunded 20.",
            "user: again",
        ]
        assert agent.seen[-1].thread_id == agent.seen[0].thread_id
        assert len({given.run_id for given in agent.seen}) == 3


def test_all_that_it_asks_is_one_outcome_and_one_resume() -> None:
    def two(given: far.Given) -> Iterator[Any]:
        if given.resume:
            yield from far.text("m", str([entry.status for entry in given.resume]))
            return
        yield far.asks(
            {"id": "a", "reason": "shop:one", "message": "One?"},
            {"id": "b", "reason": "two", "message": "Two?"},
        )

    agent = Agent(two)
    with Conversation(agent.app()) as talk:
        talk.say("go")
        one, other = talk.questions
        assert (one.reason, other.reason) == ("shop:one", "far:two")
        assert one.answer("yes").outcome == "held"
        assert len(agent.seen) == 1
        assert other.cancel().text == "['resolved', 'cancelled']"
        assert len(agent.seen) == 2


def asks_to_pay(given: far.Given) -> Iterator[Any]:
    """Asks about a call of its own, by the protocol's reason for that."""
    if given.resume:
        yield far.result("c1", f"answered {given.resume[0].payload}")
        return
    yield from far.call("c1", "pay", {"n": 7})
    yield far.asks({"id": "i1", "reason": "tool_call", "message": "Pay 7?", "tool_call_id": "c1"})


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (approval.never, "{'approved': True}"),
        (approval.deny(lambda n: n > 5, name="large"), "'approved': False"),
    ],
)
def test_a_policy_answers_for_a_person_where_it_names_the_tool(
    policy: approval.Policy, says: str
) -> None:
    agent = Agent(asks_to_pay)
    with Conversation(agent.app(approve={"p*": policy})) as talk:
        assert talk.say("go").outcome == "success"
        assert says in talk.results[0]


def test_a_tool_that_no_policy_names_is_asked_about() -> None:
    agent = Agent(asks_to_pay)
    with Conversation(agent.app(approve={"other": approval.never})) as talk:
        talk.say("go")
        assert talk.question.reason == "far:tool_call"
        assert talk.question.metadata["arguments"] == {"n": 7}
        with pytest.raises(Refused):
            talk.question.answer({"approved": "yes"})
        talk.question.answer({"approved": True})
        assert talk.results == ["answered {'approved': True}"]


def test_a_policy_that_asks_says_who_answers() -> None:
    agent = Agent(asks_to_pay)
    app = agent.app(approve={"pay": approval.always(by="lead", expires_in=60)})
    with Conversation(app) as talk:
        talk.say("go")
        assert talk.question.metadata["sayso"]["approvers"]["by"] == ["lead"]
        with pytest.raises(Refused):
            talk.question.answer({"approved": True})
        talk.advance(61)
        assert "None" in talk.results[0] or talk.status != "suspended"


EDITABLE = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "editedArgs": {"type": "object"}},
    "required": ["approved"],
}


def asks_to_pay_or_less(given: far.Given) -> Iterator[Any]:
    """Asks about a call whose arguments may be edited."""
    if given.resume:
        yield far.result("c1", f"answered {given.resume[0].payload}")
        return
    yield from far.call("c1", "pay", {"n": 7})
    asked = {"id": "i1", "reason": "tool_call", "message": "Pay 7?", "tool_call_id": "c1"}
    yield far.asks({**asked, "response_schema": EDITABLE})


BOTH = approval.all_of(
    approval.always(by="finance"),
    approval.when(lambda n: n > 5, by="lead"),
    approval.deny(lambda n: n > 100, name="large"),
)


def person(talk: Conversation, role: str) -> Person:
    return talk.as_(Principal(subject=f"one of {role}", roles=(role,)))


def waits_for(talk: Conversation) -> list[str]:
    by: list[str] = talk.question.metadata["sayso"]["approvers"]["by"]
    return by


def test_each_rule_that_asks_has_its_people_say_yes() -> None:
    agent = Agent(asks_to_pay)
    with Conversation(agent.app(approve={"pay": BOTH})) as talk:
        fay, lea = person(talk, "finance"), person(talk, "lead")
        talk.say("go")
        assert waits_for(talk) == ["finance"]
        fay.question.answer({"approved": True})
        assert len(agent.seen) == 1
        talk.restart()
        assert waits_for(talk) == ["lead"]
        assert fay.inbox == []
        lea.question.answer({"approved": True})
        assert len(agent.seen) == 2
        assert talk.results == ["answered {'approved': True}"]


def test_one_no_is_the_answer_of_all() -> None:
    agent = Agent(asks_to_pay)
    with Conversation(agent.app(approve={"pay": BOTH})) as talk:
        talk.say("go")
        person(talk, "finance").question.answer({"approved": False})
        assert talk.results == ["answered {'approved': False}"]


def test_who_edits_takes_the_yes_of_others_away() -> None:
    agent = Agent(asks_to_pay_or_less)
    with Conversation(agent.app(approve={"pay": BOTH})) as talk:
        fay, lea = person(talk, "finance"), person(talk, "lead")
        talk.say("go")
        fay.question.answer({"approved": True})
        lea.question.answer({"approved": True, "editedArgs": {"n": 9}})
        assert waits_for(talk) == ["finance"]
        assert talk.question.metadata["arguments"] == {"n": 9}
        fay.question.answer({"approved": True})
        assert talk.results == ["answered {'editedArgs': {'n': 9}, 'approved': True}"]


@pytest.mark.parametrize(
    ("edited", "answered"),
    [
        ({"n": 3}, "answered {'approved': True, 'editedArgs': {'n': 3}}"),
        ({"n": 900}, "answered {'approved': False, 'reason': \"rule 'large' denies it\"}"),
    ],
)
def test_rules_see_the_arguments_as_edited(edited: dict[str, Any], answered: str) -> None:
    """Fewer people where less is at stake; nobody gets round a rule that denies."""
    agent = Agent(asks_to_pay_or_less)
    with Conversation(agent.app(approve={"pay": BOTH})) as talk:
        fay = person(talk, "finance")
        talk.say("go")
        fay.question.answer({"approved": True, "editedArgs": edited})
        assert talk.results == [answered]


def test_a_schema_that_cannot_be_compiled_is_asked_without_a_form() -> None:
    def broken(given: far.Given) -> Iterator[Any]:
        if given.resume:
            yield from far.text("m", str(given.resume[0].payload))
            return
        schema = {"type": "no type"}
        yield far.asks({"id": "i", "reason": "shop:q", "message": "?", "response_schema": schema})

    with Conversation(Agent(broken).app()) as talk:
        talk.say("go")
        assert talk.question.metadata["sayso"]["unchecked"] is True
        assert talk.question.answer(["anything"]).text == "['anything']"


def test_calls_that_it_leaves_open_are_made_here_or_by_the_page() -> None:
    ran: list[float] = []

    async def issue_refund(order_id: str, amount: float) -> str:
        """Refund an order."""
        ran.append(amount)
        return f"refunded {amount:g}"

    def script(given: far.Given) -> Iterator[Any]:
        results = [str(m.content) for m in given.messages if m.role == "tool"]
        if results:
            yield from far.text("m", " | ".join(results))
            return
        yield from far.call("c1", "issue_refund", {"order_id": "A-17", "amount": 240})
        yield from far.call("c2", "confetti", {"color": "red"})
        yield from far.call("c3", "nothing", {})
        yield from far.call("c4", "issue_refund", {"amount": "much"})

    agent = Agent(script)
    tool = Tool(issue_refund, approval=approval.always, editable=True)
    with Conversation(agent.app(tools=[tool])) as talk:
        page = [{"name": "confetti", "description": "", "parameters": {}}]
        run = talk.send(messages=[{"id": "u", "role": "user", "content": "go"}], tools=page)
        assert run.outcome == "interrupt"
        assert {tool.name for tool in agent.seen[0].tools} == {"issue_refund", "confetti"}
        shown = {e["toolCallName"]: e["toolCallId"] for e in run.of("TOOL_CALL_START")}
        talk.restart()
        done = [
            *talk.messages,
            {
                "id": "t",
                "role": "tool",
                "toolCallId": shown["confetti"],
                "content": "it rained",
            },
        ]
        payload = {"approved": True, "editedArgs": {"order_id": "A-17", "amount": 5.0}}
        entry = {"interruptId": talk.question.id, "status": "resolved", "payload": payload}
        run = talk.send(messages=done, resume=[entry])
        assert ran == [5.0]
        first, second, third, fourth = run.text.split(" | ")
        assert first.endswith("refunded 5")
        assert second == "it rained"
        assert "there is no tool 'nothing'" in third
        assert "do not fit" in fourth


def test_changes_of_the_state_are_changes_of_the_thread_s() -> None:
    patch: list[Any] = [
        {"op": "replace", "path": "/a", "value": 2},
        {"op": "add", "path": "/c", "value": 3},
    ]

    def script(given: far.Given) -> Iterator[Any]:
        if not given.resume:
            yield far.StateDeltaEvent(delta=patch)
            yield far.asks({"id": "i", "reason": "shop:q", "message": "Well?"})

    agent = Agent(script)
    with Conversation(agent.app()) as talk:
        talk.send(messages=[{"id": "u", "role": "user", "content": "go"}], state={"a": 1, "b": 1})
        assert talk.state == {"a": 2, "b": 1, "c": 3}
        talk.edit_state(b=7)
        talk.restart()
        talk.question.answer("yes")
        assert agent.seen[1].state == {"a": 2, "b": 7, "c": 3}
        assert talk.state == {"a": 2, "b": 7, "c": 3}


def test_the_default_policy_counts_for_tools_without_one() -> None:
    async def pay() -> str:
        """Pay."""
        return "paid"

    def script(given: far.Given) -> Iterator[Any]:
        if given.messages[-1].role == "user":
            yield from far.call("c1", "pay", {})

    app = Sayso(store="memory:", default_approval=approval.always)
    agui.mount_events(app, "shop", far.agent(script), tools=[Tool(pay)])
    with Conversation(app) as talk:
        assert talk.say("go").outcome == "interrupt"


def test_progress_parts_and_thoughts_are_shown_as_they_come() -> None:
    patch: list[Any] = [{"op": "replace", "path": "/steps", "value": 2}]

    def script(given: far.Given) -> Iterator[Any]:
        yield far.StepStartedEvent(step_name="look")
        yield from far.thought("t1", "hm", "m")
        yield far.ReasoningEncryptedValueEvent(
            subtype="message", entity_id="t1", encrypted_value="sealed"
        )
        yield far.ActivitySnapshotEvent(message_id="a1", activity_type="PLAN", content={"steps": 1})
        yield far.ActivityDeltaEvent(
            message_id="a1",
            activity_type="PLAN",
            patch=patch,
        )
        yield far.StepFinishedEvent(step_name="look")
        yield far.SubagentStartedEvent(subagent_run_id="s1", name="helper")
        yield from far.text("m1", "Inner.", subagent_run_id="s1")
        yield far.SubagentFinishedEvent(subagent_run_id="s1")
        yield far.CustomEvent(name="progress", value=None)
        yield far.CustomEvent(name="shop:stock", value={"left": 3})
        yield far.CustomEvent(name="sayso:fake", value=1)
        yield far.RawEvent(event={"x": 1})
        yield far.TextMessageChunkEvent(message_id="m2", delta="Chunk")
        yield far.TextMessageChunkEvent(message_id="m2", delta="ed.")

    with Conversation(Agent(script).app(raw=True)) as talk:
        run = talk.say("go")
        assert run.outcome == "success"
        assert [e["stepName"] for e in run.of("STEP_FINISHED")] == ["look"]
        assert run.of("REASONING_ENCRYPTED_VALUE")[0]["encryptedValue"] == "sealed"
        assert run.of("ACTIVITY_SNAPSHOT")[-1]["content"] == {"steps": 2}
        assert run.of("SUBAGENT_STARTED")[0]["name"] == "helper"
        inner = run.of("TEXT_MESSAGE_START")[0]
        assert inner["subagentRunId"] == run.of("SUBAGENT_FINISHED")[0]["subagentRunId"]
        assert [(e["name"], e["value"]) for e in run.of("CUSTOM")] == [
            ("far:progress", None),
            ("shop:stock", {"left": 3}),
            ("far:fake", 1),
            ("far:raw", {"x": 1}),
        ]
        assert talk.texts[-1] == "Chunked."


def test_a_call_that_is_announced_again_begins_anew_and_is_told_once() -> None:
    def script(given: far.Given) -> Iterator[Any]:
        again = {"again": True} if given.resume else {}
        yield from far.call("c1", "pay", {"n": 7, **again})
        if given.resume:
            yield far.result("c1", "paid")
        else:
            yield far.asks({"id": "i", "reason": "tool_call", "tool_call_id": "c1"})

    agent = Agent(script)
    with Conversation(agent.app()) as talk:
        talk.say("go")
        assert talk.question.metadata["arguments"] == {"n": 7}
        talk.restart()
        run = talk.question.answer({"approved": True})
        assert run.of("TOOL_CALL_START") == []
        assert talk.results == ["paid"]
        talk.say("and now")
        calls = [c for m in agent.seen[-1].messages for c in getattr(m, "tool_calls", None) or ()]
        assert [c.function.arguments for c in calls] == ['{"n": 7, "again": true}']


def test_what_a_snapshot_has_and_was_not_streamed_is_said_once() -> None:
    def script(given: far.Given) -> Iterator[Any]:
        yield from far.text("m1", "Streamed.")
        mine: list[Any] = [{"id": "other", "role": "assistant", "content": "Streamed."}]
        more: list[Any] = [{"id": "m9", "role": "assistant", "content": "Only here."}]
        told: list[Any] = [
            m.model_dump(mode="json", by_alias=True, exclude_none=True) for m in given.messages
        ]
        yield far.MessagesSnapshotEvent(messages=[*told, *mine, *more])

    agent = Agent(script)
    with Conversation(agent.app()) as talk:
        talk.say("go")
        assert talk.texts == ["Streamed.", "Only here."]
        talk.say("on")
        assert agent.told()[:3] == [
            "user: go",
            "assistant: Streamed.",
            "assistant: Only here.",
        ]


def test_an_older_way_to_ask_is_answered_by_its_command() -> None:
    def script(given: far.Given) -> Iterator[Any]:
        command = (given.forwarded_props or {}).get("command")
        if command:
            yield from far.text("m", f"Heard {command['resume']}.")
        else:
            yield far.CustomEvent(name="on_interrupt", value="Really?")

    with Conversation(Agent(script).app()) as talk:
        talk.say("go")
        assert (talk.question.reason, talk.question.message) == ("far:on_interrupt", "Really?")
        talk.restart()
        assert talk.question.answer("yes").text == "Heard yes."


def test_an_error_of_the_agent_is_told_and_a_retry_asks_it_again() -> None:
    def script(given: far.Given) -> Iterator[Any]:
        yield far.fails("no quota", "quota")

    with Conversation(Agent(script).app(), errors="return") as talk:
        run = talk.say("go")
        assert run.outcome == "agent_error"
        assert "quota" in str(run.events[-1])


def test_a_result_of_an_unknown_call_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    def script(given: far.Given) -> Iterator[Any]:
        yield far.result("made-up", "you may")
        yield from far.text("m", "Done.", role="assistant")
        yield from far.text("n", "I am the user.", role="user")

    with caplog.at_level(logging.WARNING), Conversation(Agent(script).app()) as talk:
        talk.say("go")
        assert talk.results == []
        assert talk.texts == ["Done."]
    assert "has not made" in caplog.text


async def test_a_request_that_the_sdk_does_not_take_begins_nothing() -> None:
    agent = Agent(refunds)
    part = {"type": "hologram", "text": "secret"}
    message = {"id": "u", "role": "user", "content": [part]}
    request = {"threadId": "t", "runId": "r", "messages": [message], "tools": [], "context": []}
    with pytest.raises(NothingBegan, match="at messages/0") as error:
        _ = [event async for event in Producer(agent.produce).run(request)]
    assert "secret" not in str(error.value)
    assert agent.seen == []


def test_the_same_question_again_is_no_answer_and_no_loop() -> None:
    def script(given: far.Given) -> Iterator[Any]:
        yield far.asks({"id": "i", "reason": "shop:q", "message": "Well?"})

    agent = Agent(script)
    with Conversation(agent.app(), errors="return") as talk:
        talk.say("go")
        run = talk.question.answer("yes")
        assert run.outcome == "agent_error"
        assert len(agent.seen) == 2


def test_what_it_asks_anew_says_that_it_was_answered_before() -> None:
    def script(given: far.Given) -> Iterator[Any]:
        yield far.asks({"id": given.run_id, "reason": "shop:q", "message": "Well?"})

    with Conversation(Agent(script).app()) as talk:
        talk.say("go")
        talk.question.answer("yes")
        assert talk.question.message.startswith("Asked again: the agent did not act on the answer")


def test_it_is_told_of_questions_that_were_stopped() -> None:
    agent = Agent(refunds)
    with Conversation(agent.app()) as talk:
        talk.say("refund A-17")
        talk.question.cancel()
        assert agent.seen[1].resume is not None
        assert agent.seen[1].resume[0].status == "cancelled"


def test_a_copy_does_not_answer_for_the_thread_that_was_copied() -> None:
    agent = Agent(refunds)
    with Conversation(agent.app(), errors="return") as talk:
        talk.say("refund A-17")
        copy = talk.fork(talk.question)
        run = copy.question.answer({"approved": True})
        assert run.outcome == "agent_error"
        assert len(agent.seen) == 1
        assert talk.question.answer({"approved": True}).outcome == "success"


def test_what_the_user_took_back_leaves_what_it_is_sent() -> None:
    agent = Agent(lambda given: far.text(f"m{len(given.messages)}", "Yes."))
    with Conversation(agent.app()) as talk:
        talk.say("first")
        talk.say("second")
        kept = talk.messages[:2]
        talk.send(messages=[*kept, {"id": "new", "role": "user", "content": "third"}])
        assert agent.told() == ["user: first", "assistant: Yes.", "user: third"]


def breaks(given: far.Given) -> Iterator[Any]:
    """Says something, and breaks the first time."""
    yield from far.text("m1", "Half.")
    if not EFFECTS:
        EFFECTS.append(given.run_id)
        raise OSError("connection reset")
    EFFECTS.append(given.run_id)


EFFECTS: list[str] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    """Nothing has happened yet."""
    EFFECTS.clear()


@pytest.mark.parametrize(
    ("action", "outcome", "runs"),
    [("run_again", "success", 2), ("skip", "success", 1), ("stop", "cancelled", 1)],
)
def test_a_run_that_breaks_off_is_unsure(action: str, outcome: str, runs: int) -> None:
    with Conversation(Agent(breaks).app()) as talk:
        run = talk.say("go")
        assert run.outcome == "interrupt"
        assert "OSError" in talk.question.message
        assert "connection reset" not in talk.question.message  # of that the log has the text
        talk.restart()
        assert talk.question.answer({"action": action}).outcome == outcome
        assert len(EFFECTS) == runs
        assert len(set(EFFECTS)) == 1
        assert talk.texts == ["Half."]


def test_what_a_broken_run_has_said_is_not_sent_twice() -> None:
    agent = Agent(breaks)
    with Conversation(agent.app()) as talk:
        talk.say("go")
        talk.question.answer({"action": "run_again"})
        talk.say("on")
        assert agent.told() == ["user: go", "assistant: Half.", "user: on"]


def test_one_that_may_begin_again_fails_and_does_so_when_it_is_retried() -> None:
    with Conversation(Agent(breaks).app(again=True), errors="return") as talk:
        assert talk.say("go").outcome == "agent_error"


@pytest.mark.parametrize("happened", [True, False])
def test_a_hook_can_look_whether_it_happened(happened: bool) -> None:
    async def verify(request: dict[str, Any]) -> Happened | DidNotHappen:
        assert request["messages"][-1]["content"] == "go"
        return Happened({"type": "success"}) if happened else DidNotHappen()

    with Conversation(Agent(breaks).app(verify=verify)) as talk:
        assert talk.say("go").outcome == "success"
        assert len(EFFECTS) == (1 if happened else 2)


@pytest.mark.parametrize(
    "events",
    [
        [],
        [{"type": "TEXT_MESSAGE_END", "messageId": "x"}],
        [{"type": "CUSTOM"}],
        [{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}],
    ],
)
def test_a_stream_that_breaks_the_protocol_did_not_end(events: list[dict[str, Any]]) -> None:
    class Plain:
        def __init__(self, members: dict[str, Any]) -> None:
            self.members = members

        def model_dump(self, **_: Any) -> dict[str, Any]:
            return self.members

    Plain.model_fields = {}  # type: ignore[attr-defined]

    async def produce(given: Any) -> Any:
        for event in events:
            yield Plain(event)

    app = Sayso(store="memory:")
    agui.mount_events(app, "shop", produce)
    with Conversation(app) as talk:
        assert talk.say("go").outcome == "interrupt"
        assert talk.question.reason == "sayso:decision"


def test_parts_of_an_agent_of_ones_own_go_on_with_their_thread() -> None:
    agent = Agent(refunds)
    app = Sayso(store="memory:")

    @app.agent("own")
    async def own(turn: Turn) -> None:
        for text in ("refund A-17", "refund A-18"):
            await turn.say(f"I say: {text}")
            await agui.run(turn, agent.produce, text)
        await turn.say("Last.")

    said = ["I say: refund A-17", "Let me see.", "Refunded 240.", "I say: refund A-18"]
    with Conversation(app) as talk:
        for _ in range(2):
            talk.say("go")
            talk.restart()
            talk.question.answer({"approved": True})
            talk.restart()
            talk.question.answer({"approved": True})
        assert talk.texts == [*said, "Let me see.", "Refunded 240.", "Last."] * 2
        assert [line for line in agent.told() if line.startswith("user")] == [
            "user: refund A-17",
            "user: refund A-18",
        ] * 2


def test_questions_and_open_calls_stand_in_one_outcome() -> None:
    async def pay() -> str:
        """Pay."""
        return "paid"

    def script(given: far.Given) -> Iterator[Any]:
        if given.resume:
            results = [m.content for m in given.messages if m.role == "tool"]
            yield from far.text("m", f"{results} {given.resume[0].payload}")
            return
        yield from far.call("c1", "pay", {})
        yield far.asks({"id": "i", "reason": "shop:q", "message": "Well?"})

    agent = Agent(script)
    tool = Tool(pay, approval=approval.always)
    with Conversation(agent.app(tools=[tool])) as talk:
        talk.say("go")
        gated, asked = sorted(talk.questions, key=lambda question: question.reason == "shop:q")
        assert gated.reason == "tool_call"
        assert asked.answer("yes").outcome == "held"
        talk.restart()
        assert talk.question.approve().text == "['paid'] yes"
