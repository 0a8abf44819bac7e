"""A thread as the messages of Pydantic AI."""

from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, FunctionModel

from sayso.frameworks.pydantic_ai.history import history_of, prompt_and_history
from sayso.testing import Conversation
from tests.frameworks.pydantic_ai.models import planned
from tests.frameworks.pydantic_ai.served import app_of
from tests.frameworks.shop import Reply


def test_neighbours_of_one_side_are_one_message() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"n":1}'}}
    messages: list[dict[str, Any]] = [
        {"id": "1", "role": "system", "content": "Be kind."},
        {"id": "2", "role": "user", "content": "look"},
        {"id": "3", "role": "assistant", "content": "I look."},
        {"id": "4", "role": "assistant", "toolCalls": [call]},
        {"id": "5", "role": "tool", "toolCallId": "c1", "content": "a cat"},
        {"id": "6", "role": "tool", "toolCallId": "gone", "content": "of no call"},
        {"id": "7", "role": "assistant", "content": "A cat."},
    ]
    first, second, third, fourth = history_of(messages)
    assert [type(m) for m in (first, third)] == [ModelRequest, ModelRequest]
    assert [type(p).__name__ for p in first.parts] == ["SystemPromptPart", "UserPromptPart"]
    assert second.parts == [TextPart("I look."), ToolCallPart("look", '{"n":1}', tool_call_id="c1")]
    (result,) = third.parts
    assert isinstance(result, ToolReturnPart)
    assert (result.tool_name, result.content, result.tool_call_id) == ("look", "a cat", "c1")
    assert fourth.parts == [TextPart("A cat.")]


def test_what_is_said_now_is_no_history() -> None:
    parts = [
        {"type": "text", "text": "what is it?"},
        {"type": "image", "source": {"type": "url", "value": "https://a.example/cat.png"}},
        {
            "type": "image",
            "source": {"type": "data", "value": "AAAA", "mimeType": "image/png"},
        },
        {"type": "image", "source": {"type": "file", "value": "file_1"}},
    ]
    prompt, earlier = prompt_and_history([{"id": "1", "role": "user", "content": parts}])
    assert earlier == []
    assert prompt == [
        "what is it?",
        ImageUrl("https://a.example/cat.png"),
        BinaryContent(b"\0\0\0", media_type="image/png"),
        "[image: file_1]",
    ]


def test_an_image_of_the_user_reaches_the_model() -> None:
    seen: list[Any] = []

    def plan(messages: list[ModelMessage]) -> Reply:
        seen.extend(p.content for m in messages for p in m.parts if isinstance(p, UserPromptPart))
        return Reply("a cat")

    source = {"type": "data", "value": "AAAA", "mimeType": "image/png"}
    content = [{"type": "text", "text": "what?"}, {"type": "image", "source": source}]
    with Conversation(app_of(Agent(planned(plan), name="desk"))) as talk:
        talk.send(messages=[{"id": "u1", "role": "user", "content": content}])
    assert seen == [["what?", BinaryContent(b"\0\0\0", media_type="image/png")]]


def test_thoughts_come_back_with_their_signatures() -> None:
    """A provider wants its thoughts back as they were, also in a later turn."""
    seen: list[list[ModelMessage]] = []

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        seen.append(list(messages))
        yield {0: DeltaThinkingPart(content="hm, ")}
        yield {0: DeltaThinkingPart(content="a cat", signature="sig-1")}
        yield "It is a cat."

    agent = Agent(FunctionModel(stream_function=stream), name="desk")
    with Conversation(app_of(agent)) as talk:
        run = talk.say("what is it?")
        assert run.text == "It is a cat."
        thought = "".join(event["delta"] for event in run.of("REASONING_MESSAGE_CONTENT"))
        assert thought == "hm, a cat"
        talk.say("sure?")
    response = seen[1][1]
    assert isinstance(response, ModelResponse)
    first = response.parts[0]
    assert isinstance(first, ThinkingPart)
    assert (first.content, first.signature) == ("hm, a cat", "sig-1")
    assert response.parts[1] == TextPart("It is a cat.")
