"""Pages of CopilotKit that ask what their user could say next: a hint may never run the agent.

What they send is what `@copilotkit/core` 1.74.0 sends for `useConfigureSuggestions`: a run of the
agent on a new thread, the conversation copied in, and one tool whose use is forced.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from sayso import (
    CopilotKit,
    DeclarationError,
    Limits,
    Quota,
    Suggestion,
    SuggestionRequest,
    Turn,
)
from sayso.engine import suggestions
from tests.contract.rest import get, post
from tests.contract.runtime import Page
from tests.contract.server import Client, Server, answer, approve, eventually, served
from tests.contract.tools import Kit
from tests.contract.wire import Run

Json = dict[str, Any]
Suggest = Callable[[SuggestionRequest], Awaitable[Any]]

NAME = "copilotkitSuggest"
PARAMETERS = {
    "type": "object",
    "properties": {"suggestions": {"type": "array", "items": {"type": "object"}}},
    "required": ["suggestions"],
}
WAYS = ("agents", "rest", "single", "path")
"""Where such a request can come in: the agent's own path, the mount's, and the one made for it."""


def wish(messages: tuple[Json, ...] = (), **members: Any) -> Json:
    """The body, on a thread that the page makes up."""
    named = uuid4().hex
    asked = {"id": named, "role": "user", "content": "Suggest what the user could say next."}
    return {
        "threadId": named,
        "runId": uuid4().hex,
        "tools": [{"name": NAME, "description": "Suggest", "parameters": PARAMETERS}],
        "context": [{"description": "Page", "value": "orders"}],
        "forwardedProps": {
            "plan": "pro",
            "toolChoice": {"type": "function", "function": {"name": NAME}},
        },
        "state": {"step": 1},
        "messages": [*messages, asked],
        **members,
    }


async def asks(server: Server, way: str, body: Json) -> Run:
    """One such request, judged like every stream."""
    if way == "agents":
        return await Client(server.app, "desk", version=None).run(body)
    if way == "path":
        run = await post(server, "/copilotkit/agent/desk/suggest", body)
        run.judged(body["threadId"], body["runId"])
        return run
    return await Page(server.app, "desk", transport=way).run(body)


def register(server: Server, agent: Any, suggest: Suggest | None = None) -> None:
    server.app.agent("desk", suggest=suggest)(agent)
    server.app.mount(CopilotKit())


def ideas(run: Run) -> Any:
    """The arguments of the one call of a run."""
    assert run.types == [
        "RUN_STARTED",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "RUN_FINISHED",
    ]
    assert run.events[1]["toolCallName"] == NAME
    return json.loads(run.events[2]["delta"])


@pytest.mark.every_store
async def test_suggestions_run_nothing_and_leave_no_trace(server: Server, tools: Kit) -> None:
    """A page asks at every load and after every message: each would be an effect and a card."""
    register(server, tools.refunding)
    for way in WAYS:
        run = await asks(server, way, wish())
        assert run.types == ["RUN_STARTED", "RUN_FINISHED"]
        assert run.outcome == "success"
    assert server.effects == []
    for path in ("/threads", "/interrupts", "/audit"):
        assert (await get(server, path))["items"] == []


@pytest.mark.parametrize("way", WAYS)
async def test_suggestions_beside_an_open_question_leave_it_alone(
    server: Server, tools: Kit, way: str
) -> None:
    """Also when a page asks on the very thread that waits."""
    register(server, tools.refunding)
    tab = Client(server.app, "desk")
    await tab.say("refund")
    for body in (wish(tuple(tab.model.messages)), wish(threadId=tab.thread)):
        assert (await asks(server, way, body)).types == ["RUN_STARTED", "RUN_FINISHED"]
    assert len((await get(server, "/threads"))["items"]) == 1
    assert (await tab.resume(approve())).outcome == "success"
    assert server.effects == [("refund", "A-17", 240.0)]


@pytest.mark.parametrize("way", WAYS)
async def test_an_author_suggests_and_the_page_gets_a_call(
    server: Server, tools: Kit, way: str
) -> None:
    """The function is told what the page knows; the agent itself is not entered."""
    told: list[SuggestionRequest] = []

    async def suggest(asked: SuggestionRequest) -> list[Suggestion]:
        told.append(asked)
        return [Suggestion("Track it", "Where is my order?"), Suggestion("Refund", "Refund it.")]

    register(server, tools.greeting, suggest)
    said = {"id": "u1", "role": "user", "content": "hello"}
    run = await asks(server, way, wish((said,)))
    assert ideas(run) == {
        "suggestions": [
            {"title": "Track it", "message": "Where is my order?"},
            {"title": "Refund", "message": "Refund it."},
        ]
    }
    (asked,) = told
    assert asked.messages == (said,)
    assert asked.instructions == "Suggest what the user could say next."
    assert asked.state == {"step": 1}
    assert asked.context == ({"description": "Page", "value": "orders"},)
    assert asked.principal.subject == "local"
    assert server.effects == []
    assert (await get(server, "/threads"))["items"] == []


async def failing(asked: SuggestionRequest) -> list[Suggestion]:
    raise RuntimeError("the model is away")


async def wrong(asked: SuggestionRequest) -> Any:
    return [{"title": "a", "message": "b"}]


async def endless(asked: SuggestionRequest) -> list[Suggestion]:
    return [Suggestion("a", "x" * suggestions.MAX_ANSWER_BYTES)]


async def without_an_end(asked: SuggestionRequest) -> list[Suggestion]:
    await asyncio.Event().wait()
    return []


async def cancelling(asked: SuggestionRequest) -> list[Suggestion]:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("suggest", "logged"),
    [
        (failing, "suggest= failed"),
        (wrong, "suggest= failed"),
        (endless, "suggest= failed"),
        (without_an_end, "was given up"),
        (cancelling, "was cancelled"),
    ],
)
async def test_suggestions_that_fail_are_logged_and_the_run_stays_empty(
    server: Server,
    tools: Kit,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    suggest: Suggest,
    logged: str,
) -> None:
    """A page shows no pill then, and no error either."""
    if suggest is without_an_end:
        monkeypatch.setattr(suggestions, "TIMEOUT_S", 0.01)
    register(server, tools.greeting, suggest)
    with caplog.at_level(logging.ERROR, "sayso.engine.suggestions"):
        run = await asks(server, "rest", wish())
    assert run.types == ["RUN_STARTED", "RUN_FINISHED"]
    assert [logged in record.getMessage() for record in caplog.records] == [True]


async def test_a_page_that_gives_up_ends_the_work(server: Server, tools: Kit) -> None:
    """Pages ask anew at every message; nobody would read what the model goes on to write."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def suggest(asked: SuggestionRequest) -> list[Suggestion]:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return []

    register(server, tools.greeting, suggest)
    exchange = Page(server.app, "desk", transport="rest").open(wish())
    await begun.wait()
    await exchange.disconnect()

    async def over() -> bool:
        return ended.is_set()

    await eventually(over)


@pytest.mark.parametrize(
    "changes",
    [
        {"tools": [{"name": "pick", "description": "", "parameters": {}}]},
        {"forwardedProps": {}},
        {"forwardedProps": {"toolChoice": "auto"}},
        {"forwardedProps": {"toolChoice": {"type": "function", "function": {"name": "pick"}}}},
        {
            "tools": [
                {"name": NAME, "description": "", "parameters": {}},
                {"name": "pick", "description": "", "parameters": {}},
            ]
        },
    ],
)
@pytest.mark.parametrize("way", ["agents", "rest", "single"])
async def test_other_tools_and_other_choices_run_the_agent(
    server: Server, tools: Kit, way: str, changes: Json
) -> None:
    """A tool whose use is forced is an ordinary thing to ask for."""
    register(server, tools.greeting)
    run = await asks(server, way, wish(**changes))
    assert run.outcome == "success"
    assert server.effects == ["greeted"]


@pytest.mark.parametrize("way", ["agents", "rest", "single"])
async def test_an_answer_under_that_tool_is_an_answer(server: Server, tools: Kit, way: str) -> None:
    """A `resume` list, or the older dialect's command, is never read as a wish for suggestions."""
    register(server, tools.refunding)
    tab = Client(server.app, "desk", version=None)
    await tab.say("refund")
    (asked,) = tab.model.pending
    entry = {"interruptId": asked["id"], **answer({"approved": True})}
    body = wish(threadId=tab.thread, resume=[entry]) | {"messages": []}
    assert (await asks(server, way, body)).outcome == "success"
    assert server.effects == [("refund", "A-17", 240.0)]


async def test_the_mount_says_that_it_takes_requests_for_suggestions(
    server: Server, tools: Kit
) -> None:
    """So pages ask by a path of its own instead of running the agent."""
    register(server, tools.greeting)
    assert (await get(server, "/copilotkit/info"))["suggestions"] is True
    run = await post(server, "/copilotkit/agent/nobody/suggest", wish())
    assert run.status == 404


async def test_what_cannot_suggest_is_refused_where_it_is_declared(server: Server) -> None:
    """Not at the first page that asks."""

    async def too_many(asked: Any, more: Any) -> list[Suggestion]:
        return []

    cannot: list[Any] = [lambda asked: [], too_many, "no function"]
    for suggest in cannot:
        with pytest.raises(DeclarationError, match="suggest= of agent 'desk'"):
            server.app.agent("desk", suggest=suggest)


async def test_the_agent_is_served_with_its_suggestions_by_another_app_too(
    server: Server,
) -> None:
    """`again` takes along what the agent was declared with."""

    async def suggest(asked: SuggestionRequest) -> list[Suggestion]:
        return [Suggestion("a", "b")]

    async def silent(turn: Turn) -> None:
        """Says nothing."""

    register(server, silent, suggest)
    other = server.app.replace()
    async with other.lifespan():
        run = await Page(other, "desk", transport="rest").run(wish())
    assert ideas(run) == {"suggestions": [{"title": "a", "message": "b"}]}


@pytest.mark.parametrize("way", WAYS)
async def test_suggestions_are_runs_of_whoever_asks(tmp_path: Path, way: str) -> None:
    """The author's function costs what a run costs, so as many go on at the same time."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(asked: SuggestionRequest) -> list[Suggestion]:
        if not begun.is_set():
            begun.set()
            await go_on.wait()
        return []

    async def desk(turn: Turn) -> None:
        await turn.say("Hello.")

    limits = Limits(per_user=Quota(runs=1))
    async with served("memory", tmp_path, limits=limits) as server:
        register(server, desk, slow)
        first = asyncio.create_task(asks(server, way, wish()))
        await begun.wait()
        refused = await post(server, "/agents/desk", wish())
        assert (refused.status, refused.problem["limit"]) == (429, "runs")
        go_on.set()
        assert (await first).outcome == "success"
        assert (await asks(server, way, wish())).outcome == "success"
