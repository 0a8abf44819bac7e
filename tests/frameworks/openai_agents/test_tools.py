"""Function tools and hosted tools of the OpenAI Agents SDK as calls of a turn."""

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest
from agents import (
    Agent,
    CodeInterpreterTool,
    FunctionTool,
    HostedMCPTool,
    LocalShellTool,
    ToolOutputImage,
    ToolOutputText,
    WebSearchTool,
    function_tool,
)
from openai.types.responses import (
    ResponseCodeInterpreterToolCall,
    ResponseFileSearchToolCall,
    ResponseFunctionWebSearch,
    ResponseOutputItem,
)
from openai.types.responses.mcp_tool_call_error import McpProtocolError
from openai.types.responses.response_code_interpreter_tool_call import OutputLogs
from openai.types.responses.response_function_web_search import ActionSearch
from openai.types.responses.response_output_item import ImageGenerationCall, McpCall
from pydantic import Field

from sayso import DeclarationError, approval
from sayso.testing import Conversation
from tests.frameworks.openai_agents.models import Items, Planned, once, results_of, says
from tests.frameworks.openai_agents.served import app_of
from tests.frameworks.shop import Reply, Wanted

PNG = b"\x89PNG"
IMAGE = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"


def served(tool: Any, arguments: dict[str, Any], *more: Wanted) -> Conversation:
    """A thread of an agent that calls one tool."""
    model = once(tool.name, arguments, *more)
    return Conversation(app_of(Agent(name="a", model=model, tools=[tool])), errors="return")


def test_a_tool_that_fails_tells_the_model_what_it_would_without_this_server() -> None:
    @function_tool
    def look(n: int) -> str:
        """Look."""
        raise ValueError(f"no {n}")

    with served(look, {"n": 3}) as talk:
        assert "An error occurred while running the tool" in talk.say("go").text


def test_a_tool_without_words_for_its_failure_has_failed() -> None:
    @function_tool(failure_error_function=None)
    def look(n: int) -> str:
        """Look."""
        raise ValueError(f"no {n}")

    with served(look, {"n": 3}) as talk:
        assert talk.say("go").text.startswith("Done: Failed: ")


def test_a_tool_that_takes_too_long_is_cut_off_and_not_the_person_who_is_asked() -> None:
    started = asyncio.Event()

    @function_tool(timeout=0.01, needs_approval=True)
    async def look(n: int) -> str:
        """Look."""
        started.set()
        await asyncio.Event().wait()
        return "never"

    with served(look, {"n": 3}) as talk:
        assert talk.say("go").outcome == "interrupt"
        talk.advance(60)
        assert "TimeoutError" in talk.question.approve().text


def test_what_does_not_fit_is_told_and_costs_the_others_nothing() -> None:
    seen: list[int] = []

    @function_tool
    def look(n: int) -> str:
        """Look."""
        seen.append(n)
        return f"looked at {n}"

    misfit, made_up = Wanted("c2", "look", {"n": "x"}), Wanted("c3", "lok", {"n": 1})
    huge = Wanted("c4", "look", {"n": 10**30})
    with served(look, {"n": 3}, misfit, made_up, huge) as talk:
        text = talk.say("go").text
        assert "looked at 3" in text
        assert "Not called: " in text
        assert "beyond 64 bits" in text
        assert "lok" in text
        assert len(talk.results) == 1
    assert seen == [3]


def test_a_tool_that_its_server_changes_is_held_to_its_own_form() -> None:
    """Servers of tools are deployed while questions are open."""
    members = {"n": {"type": "integer"}}

    async def invoke(context: Any, written: str) -> str:
        return f"looked at {written}"

    class Connected(Agent[Any]):
        async def get_mcp_tools(self, run_context: Any) -> list[Any]:
            schema = {"type": "object", "properties": dict(members)}
            return [FunctionTool("look", "Look.", schema, invoke, strict_json_schema=False)]

    given = {"n": 3}
    agent = Connected(name="a", model=once("look", given))
    app = app_of(agent, app={"default_approval": approval.always})
    with Conversation(app) as talk:
        talk.say("go")
        members["m"] = {"type": "string"}
        assert 'looked at {"n":3}' in talk.question.approve().text
        given["m"] = 5
        assert "/m must be a string" in talk.say("go").text


def test_pictures_reach_the_model_and_clients_and_survive_a_restart() -> None:
    seen: list[Any] = []

    pin = Annotated[str, Field(json_schema_extra={"writeOnly": True})]

    @function_tool(needs_approval=True)
    def draw(n: int, pin: pin) -> list[Any]:
        """Draw."""
        return [ToolOutputText(text=f"{n} pictures"), ToolOutputImage(image_url=IMAGE)]

    def plan(items: Items) -> Reply:
        outputs = [i["output"] for i in items if i.get("type") == "function_call_output"]
        seen.extend(outputs)
        return (
            Reply("Done.") if outputs else Reply("", (Wanted("c1", "draw", {"n": 1, "pin": "0"}),))
        )

    agent = Agent[Any](name="a", model=Planned(plan), tools=[draw])
    with Conversation(app_of(agent)) as talk:
        talk.say("go")
        talk.restart()
        talk.question.edit(n=2, pin="pin-4711")
        first, text, image = seen[-1]
        assert "the call ran with" in first["text"]
        assert "pin-4711" not in str(seen) + str(talk.messages), (
            "a secret is told to the tool alone"
        )
        assert (text["type"], text["text"]) == ("input_text", "2 pictures")
        assert (image["type"], image["image_url"]) == ("input_image", IMAGE)
        (result,) = [m for m in talk.messages if m["role"] == "tool"]
        assert [part["type"] for part in result["content"]] == ["text", "text", "image"]
        assert result["content"][-1]["source"]["value"] == base64.b64encode(PNG).decode()
        talk.say("again")
        text, image = seen[-1][1:]
        assert (text["text"], image["image_url"]) == ("2 pictures", IMAGE)


def test_a_result_that_a_person_gives_reaches_the_model() -> None:
    effects: list[str] = []

    @function_tool
    def pay(n: int) -> str:
        """Pay."""
        effects.append("paid")
        return "paid"

    with served(pay, {"n": 3}) as talk:
        talk.crash_after("pay")
        talk.say("go")
        talk.restart()
        run = talk.answer({"action": "skip", "result": "it was paid"})
        assert run.text == "Done: it was paid"
    assert effects == ["paid"]


# Hosted tools


def _hosted() -> list[ResponseOutputItem]:
    """What hosted tools leave in an answer, one of each kind."""
    return [
        ResponseFunctionWebSearch(
            id="ws_1",
            action=ActionSearch(type="search", query="paper"),
            status="completed",
            type="web_search_call",
        ),
        ResponseFileSearchToolCall(
            id="fs_1", queries=["paper"], status="completed", type="file_search_call"
        ),
        ResponseCodeInterpreterToolCall(
            id="ci_1",
            code="1 + 1",
            container_id="c",
            outputs=[OutputLogs(logs="2", type="logs")],
            status="completed",
            type="code_interpreter_call",
        ),
        ImageGenerationCall(
            id="ig_1",
            result=base64.b64encode(PNG).decode(),
            status="completed",
            type="image_generation_call",
        ),
        McpCall(
            id="mc_1",
            arguments='{"q":"paper"}',
            name="find",
            server_label="shop",
            type="mcp_call",
            error=McpProtocolError(code=404, message="gone", type="mcp_protocol_error"),
        ),
    ]


def test_hosted_calls_are_reported_once_with_what_came_of_them() -> None:
    hosted = _hosted()
    asked = 0

    def plan(items: Items) -> Reply:
        nonlocal asked
        asked += 1
        model.extra = hosted if asked == 1 else []
        results = results_of(items)
        return Reply("Paid.") if results else Reply("", (Wanted("c1", "pay", {"n": 1}),))

    @function_tool(needs_approval=True)
    def pay(n: int) -> str:
        """Pay."""
        return "paid"

    model = Planned(plan)
    tools = [
        WebSearchTool(),
        CodeInterpreterTool(
            tool_config={"type": "code_interpreter", "container": {"type": "auto"}}
        ),
        pay,
    ]
    with Conversation(app_of(Agent(name="a", model=model, tools=tools))) as talk:
        talk.say("go")
        talk.restart()
        talk.question.approve()
        calls = [
            (call["function"]["name"], call["function"]["arguments"])
            for message in talk.messages
            for call in message.get("toolCalls", ())
        ]
        assert calls == [
            ("web_search", '{"type":"search","query":"paper"}'),
            ("file_search", '{"queries":["paper"]}'),
            ("code_interpreter", '{"code":"1 + 1"}'),
            ("image_generation", "{}"),
            ("shop.find", '{"q":"paper"}'),
            ("pay", '{"n":1}'),
        ]
        results = [m["content"] for m in talk.messages if m["role"] == "tool"]
        assert results[0] == results[1] == "completed"
        assert results[2] == [{"type": "text", "text": "2"}]
        assert results[3][0]["type"] == "image"
        assert results[4:] == ["Failed: gone", "paid"]
    assert asked == 2


@pytest.mark.parametrize(
    ("tool", "says_so"),
    [
        (LocalShellTool(executor=lambda request: ""), "runs here and cannot be recorded"),
        (
            HostedMCPTool(
                tool_config={
                    "type": "mcp",
                    "server_label": "shop",
                    "server_url": "https://shop.example/mcp",
                    "require_approval": "always",
                }
            ),
            "asks for approvals of its own",
        ),
    ],
)
def test_a_tool_that_no_turn_can_record_is_refused(tool: Any, says_so: str) -> None:
    with pytest.raises(DeclarationError, match=says_so):
        app_of(Agent(name="a", model=says("x"), tools=[tool]))


def test_two_tools_of_a_name_that_differ_are_refused() -> None:
    @function_tool
    def pay(n: int) -> str:
        """Pay."""
        return "paid"

    @function_tool(name_override="pay")
    def other(amount: float) -> str:
        """Pay."""
        return "paid"

    till = Agent[Any](name="till", model=says("x"), tools=[other])
    with pytest.raises(DeclarationError, match="two tools are named 'pay'"):
        app_of(Agent(name="a", model=says("x"), tools=[pay], handoffs=[till]))


# Models


class Broken(Planned):
    """A model whose stream ends in the middle."""

    async def stream_response(self, *args: Any, **more: Any) -> AsyncIterator[Any]:
        """Some words, and no end."""
        async for event in super().stream_response(*args, **more):
            if event.type == "response.completed":
                return
            yield event


def test_an_answer_that_breaks_off_fails_the_turn_and_is_asked_for_again() -> None:
    model = Broken(lambda items: Reply("Half an answer"))
    with Conversation(app_of(Agent(name="a", model=model)), errors="return") as talk:
        assert talk.say("go").outcome == "agent_error"
    assert model.asked == 1
