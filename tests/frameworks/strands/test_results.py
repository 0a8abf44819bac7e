"""What comes of the tools and models of an agent: for its model, for clients, on replay."""

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel
from strands import Agent, tool

from sayso import approval
from sayso.frameworks.strands.contents import history_of
from sayso.testing import Conversation
from tests.frameworks.shop import Reply, Wanted
from tests.frameworks.strands.models import Message, Planned, once, results_of
from tests.frameworks.strands.served import app_of, desk

PNG = b"\x89PNG\r\n"


class City(BaseModel):
    """A city."""

    name: str


def test_an_error_is_told_and_the_agent_goes_on() -> None:
    def pay() -> str:
        """Pay."""
        raise ValueError("the password is hunter2")

    with Conversation(app_of(desk(once("pay", {}), pay))) as talk:
        assert talk.say("pay").outcome == "success"
        assert "ValueError" in talk.texts[-1]
        assert "hunter2" not in talk.texts[-1]


@pytest.mark.parametrize("amount", ["much", 10**30])
def test_arguments_that_do_not_fit_and_unknown_tools_cost_nothing(amount: Any) -> None:
    def pay(amount: int) -> str:
        """Pay."""
        raise AssertionError("it does not fit")

    model = once("pay", {"amount": amount}, Wanted("c2", "none_such", {}))
    with Conversation(app_of(desk(model, pay))) as talk:
        assert talk.say("pay").outcome == "success"
        assert "Not called: " in talk.texts[-1]
        assert "Unknown tool" in talk.texts[-1]


def test_an_image_is_an_image_for_clients_and_comes_back_whole() -> None:
    seen: list[bytes] = []

    @tool
    def draw() -> dict[str, Any]:
        """Draw."""
        image = {"image": {"format": "png", "source": {"bytes": PNG}}}
        return {"status": "success", "content": [{"text": "a dot"}, image]}

    def plan(messages: Sequence[Message]) -> Reply:
        results = results_of(messages)
        if not results:
            return Reply("", (Wanted("c1", "draw", {}),))
        (block,) = [b["toolResult"] for b in messages[-1]["content"]]
        seen.append(block["content"][1]["image"]["source"]["bytes"])
        return Reply(f"Done: {results[0]}")

    with Conversation(app_of(desk(Planned(plan), draw), approve={"draw": approval.always})) as talk:
        talk.say("draw")
        run = talk.question.approve()
        (result,) = run.of("TOOL_CALL_RESULT")
        assert [part["type"] for part in result["content"]] == ["text", "image"]
        assert run.text == "Done: a dot"
    assert seen == [PNG]


def test_structured_output_is_the_result_of_the_run() -> None:
    def plan(messages: Sequence[Message]) -> Reply:
        return Reply("", (Wanted("c1", "City", {"name": "Rome"}),))

    make = desk(Planned(plan), structured_output_model=City)
    with Conversation(app_of(make)) as talk:
        run = talk.say("where?")
        assert run.result == {"name": "Rome"}
        assert run.of("TOOL_CALL_START") == []


def test_thoughts_come_back_with_their_signatures_and_tokens_are_counted() -> None:
    seen: list[Any] = []

    def plan(messages: Sequence[Message]) -> Reply:
        seen.append([dict(m) for m in messages])
        return Reply("It is a cat.")

    with Conversation(app_of(desk(Planned(plan, "hm, a cat", "sealed")))) as talk:
        run = talk.say("what is it?")
        assert run.text == "It is a cat."
        said = "".join(event["delta"] for event in run.of("REASONING_MESSAGE_CONTENT"))
        assert said == "hm, a cat"
        assert "'inputTokens': 7" in str(run.events)
        talk.say("sure?")
    thought, words = seen[1][1]["content"]
    assert thought["reasoningContent"]["reasoningText"] == {
        "text": "hm, a cat",
        "signature": "sealed",
    }
    assert words == {"text": "It is a cat."}


def test_neighbours_of_one_side_are_one_message() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"n":1}'}}
    data = {"type": "data", "value": "AAAA", "mimeType": "image/png"}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "look"}]},
        {"role": "assistant", "content": "I look."},
        {"role": "assistant", "toolCalls": [call]},
        {"role": "tool", "toolCallId": "c1", "content": "a cat"},
        {"role": "tool", "toolCallId": "gone", "content": "of no call"},
        {"role": "user", "content": [{"type": "image", "source": data}]},
        {"role": "reasoning", "content": "without its seal"},
        {"role": "assistant", "content": "A cat."},
    ]
    use = {"toolUseId": "c1", "name": "look", "input": {"n": 1}}
    result = {"toolUseId": "c1", "status": "success", "content": [{"text": "a cat"}]}
    image = {"format": "png", "source": {"bytes": b"\0\0\0"}}
    assert history_of(messages) == [
        {"role": "user", "content": [{"text": "look"}]},
        {"role": "assistant", "content": [{"text": "I look."}, {"toolUse": use}]},
        {"role": "user", "content": [{"toolResult": result}, {"image": image}]},
        {"role": "assistant", "content": [{"text": "A cat."}]},
    ]


def test_an_inner_agent_asks_and_its_effect_happens_once() -> None:
    effects: list[str] = []

    def pay(n: int) -> str:
        """Pay."""
        effects.append("paid")
        return "it is paid"

    inner = Agent(
        model=once("pay", {"n": 1}), name="cashier", tools=[tool(pay)], callback_handler=None
    )

    def make(turn: Any) -> Agent:
        tools = [inner.as_tool(name="ask_cashier")]
        return Agent(
            model=once("ask_cashier", {"input": "pay"}),
            name="desk",
            tools=tools,
            callback_handler=None,
        )

    with Conversation(app_of(make, approve={"pay": approval.always})) as talk:
        run = talk.say("pay")
        assert (run.outcome, effects) == ("interrupt", [])
        assert talk.question.tool == "pay"
        assert run.of("SUBAGENT_STARTED")[0]["name"] == "cashier"
        talk.restart()
        talk.crash_after("pay")
        assert talk.question.approve().outcome == "crashed"
        talk.restart()
        assert talk.question.reason == "sayso:indeterminate"
        talk.answer({"action": "skip", "result": "it was paid"})
        assert talk.texts[-1].split() == ["Done:", "Done:", "it", "was", "paid"]
    assert effects == ["paid"]
    inner("pay")  # outside of a turn it runs as before
    assert effects == ["paid", "paid"]
