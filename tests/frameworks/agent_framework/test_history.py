"""A thread as the messages of Agent Framework."""

from collections.abc import Sequence
from typing import Any

from agent_framework import Agent, Content, Message

from sayso.frameworks.agent_framework.contents import history_of
from sayso.testing import Conversation
from tests.frameworks.agent_framework.models import Planned
from tests.frameworks.agent_framework.served import app_of
from tests.frameworks.shop import Reply


def test_neighbours_of_one_role_are_one_message() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"n":1}'}}
    messages: list[dict[str, Any]] = [
        {"id": "1", "role": "developer", "content": "Be kind."},
        {"id": "2", "role": "user", "content": "look"},
        {"id": "3", "role": "assistant", "content": "I look."},
        {"id": "4", "role": "assistant", "toolCalls": [call]},
        {"id": "5", "role": "tool", "toolCallId": "c1", "content": "a cat"},
        {"id": "6", "role": "tool", "toolCallId": "gone", "content": "of no call"},
        {"id": "7", "role": "reasoning", "content": "without its seal"},
        {"id": "8", "role": "assistant", "content": "A cat."},
    ]
    history = history_of(messages)
    assert [m.role for m in history] == ["system", "user", "assistant", "tool", "assistant"]
    assert [each.type for each in history[2].contents] == ["text", "function_call"]
    (result,) = history[3].contents
    assert (result.call_id, result.result) == ("c1", "a cat")
    assert history[4].text == "A cat."


def test_an_image_of_the_user_reaches_the_model() -> None:
    seen: list[Any] = []

    def plan(messages: Sequence[Message]) -> Reply:
        seen.extend((each.type, each.uri or each.text) for each in messages[-1].contents)
        return Reply("a cat")

    data = {"type": "data", "value": "AAAA", "mimeType": "image/png"}
    url = {"type": "url", "value": "https://a.example/cat.png"}
    content = [
        {"type": "text", "text": "what?"},
        {"type": "image", "source": data},
        {"type": "image", "source": url},
        {"type": "image", "source": {"type": "file", "value": "file_1"}},
    ]
    with Conversation(app_of(Agent(Planned(plan), name="desk"))) as talk:
        talk.send(messages=[{"id": "u1", "role": "user", "content": content}])
    assert seen == [
        ("text", "what?"),
        ("data", "data:image/png;base64,AAAA"),
        ("uri", "https://a.example/cat.png"),
        ("text", "[image: file_1]"),
    ]


def test_thoughts_come_back_with_their_seals() -> None:
    """A provider wants its thoughts back as they were, also in a later turn."""
    seen: list[list[Message]] = []

    def plan(messages: Sequence[Message]) -> Reply:
        seen.append(list(messages))
        return Reply("It is a cat.")

    thought = Content.from_text_reasoning(id="r1", text="hm, a cat", protected_data="sealed")
    with Conversation(app_of(Agent(Planned(plan, [thought]), name="desk"))) as talk:
        run = talk.say("what is it?")
        assert run.text == "It is a cat."
        said = "".join(event["delta"] for event in run.of("REASONING_MESSAGE_CONTENT"))
        assert said == "hm, a cat"
        talk.say("sure?")
    kept, words = seen[1][1].contents
    assert (kept.type, kept.text, kept.protected_data, kept.id) == (
        "text_reasoning",
        "hm, a cat",
        "sealed",
        "r1",
    )
    assert words.text == "It is a cat."


def test_the_history_that_a_model_gets_can_be_cut() -> None:
    seen: list[int] = []

    def plan(messages: Sequence[Message]) -> Reply:
        seen.append(len(messages))
        return Reply("well")

    agent = Agent(Planned(plan), name="desk")
    with Conversation(app_of(agent, history=lambda messages: messages[-2:])) as talk:
        for _ in range(3):
            talk.say("hello")
    assert seen == [1, 2, 2]
