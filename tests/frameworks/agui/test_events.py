"""What becomes of each event of an agent: shown as it comes, stored, and told once."""

import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from sayso import Sayso, Tool, Turn, agui, approval
from sayso.frameworks.agui.sdk import Producer
from sayso.frameworks.agui.source import NothingBegan
from sayso.testing import Conversation
from tests.frameworks.agui import producers as far
from tests.frameworks.agui.scripted import Agent, refunds


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


def test_calls_and_results_of_a_snapshot_are_told_once_under_whatever_ids() -> None:
    def script(given: far.Given) -> Iterator[Any]:
        yield from far.text("m1", "Streamed.")
        yield from far.call("c1", "lookup", {"order": "A-17"})
        yield far.result("c1", "A-17 is paid")
        yield from far.call("c2", "pay", {"n": 7})
        function = {"name": "ship", "arguments": "{}"}
        shipped = {"id": "c3", "type": "function", "function": function}
        mine: list[Any] = [
            {"id": "x1", "role": "assistant", "content": "Streamed."},
            *(
                {"id": f"x{call}", "role": "tool", "toolCallId": call, "content": content}
                for call, content in (("c1", "A-17 is paid"), ("c2", "paid 7"))
            ),
            {"id": "x4", "role": "assistant", "toolCalls": [shipped]},
            {"id": "x5", "role": "tool", "toolCallId": "c3", "content": "shipped"},
        ]
        told: list[Any] = [
            m.model_dump(mode="json", by_alias=True, exclude_none=True) for m in given.messages
        ]
        calls: list[Any] = [
            {"id": call, "type": "function", "function": {"name": name, "arguments": "{}"}}
            for call, name in (("c1", "lookup"), ("c2", "pay"))
        ]
        mine.insert(1, {"id": "x2", "role": "assistant", "toolCalls": calls})
        yield far.MessagesSnapshotEvent(messages=[*told, *mine])

    with Conversation(Agent(script).app()) as talk:
        talk.say("go")
        assert talk.results == ["A-17 is paid", "paid 7", "shipped"]
        assert talk.texts == ["Streamed."]
        names = [call["function"]["name"] for m in talk.messages for call in m.get("toolCalls", ())]
        assert names == ["lookup", "pay", "ship"]


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


@pytest.mark.parametrize("more", [{}, {"timestamp": 7}, {"metadata": {"n": 1}}, {"shop": "own"}])
async def test_an_event_is_read_with_all_that_it_holds(more: dict[str, Any]) -> None:
    """Also a delta, which is read without its model where it is nothing else."""
    held = {"delta": "two words", **more}
    events = [
        far.TextMessageContentEvent(message_id="m", **held),
        far.ReasoningMessageContentEvent(message_id="t", subagent_run_id="s", **held),
        far.ReasoningMessageContentEvent(message_id="t", **held),
        far.ToolCallArgsEvent(tool_call_id="c", **held),
    ]

    async def produce(_: far.RunAgentInput) -> AsyncIterator[far.BaseEvent]:
        for event in events:
            yield event

    request = {"threadId": "t", "runId": "r", "messages": [], "tools": [], "context": []}
    read = [event async for event in Producer(produce).run(request)]
    assert read == [event.model_dump(mode="json", by_alias=True) for event in events]


def test_what_the_user_took_back_leaves_what_it_is_sent() -> None:
    agent = Agent(lambda given: far.text(f"m{len(given.messages)}", "Yes."))
    with Conversation(agent.app()) as talk:
        talk.say("first")
        talk.say("second")
        kept = talk.messages[:2]
        talk.send(messages=[*kept, {"id": "new", "role": "user", "content": "third"}])
        assert agent.told() == ["user: first", "assistant: Yes.", "user: third"]


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
