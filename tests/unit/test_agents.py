"""Agents that cannot be served are refused where they are declared."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sayso import (
    AgentOptions,
    CopilotKit,
    DeclarationError,
    KeepAlive,
    Limits,
    Option,
    Sayso,
    ServerOptions,
    Sessions,
    Tool,
    Turn,
    approval,
    describe,
)
from sayso.testing import Conversation
from tests.apps import app_with


async def fine(turn: Turn) -> None:
    """An agent."""


def plain(turn: Turn) -> None:
    """No coroutine."""


async def lonely() -> None:
    """Takes no turn."""


@pytest.mark.parametrize(
    ("declare", "says"),
    [
        (lambda app: app.agent(fine), '@app.agent("name")'),
        (lambda app: app.tool("look"), "@app.tool(name="),
        (lambda app: app.agent("a")(plain), "async def"),
        (lambda app: app.agent("a")(lonely), "one argument"),
        (lambda app: app.agent("a/b")(fine), "leave out"),
        (lambda app: app.agent("a b?c#%")(fine), "leave out"),
        (lambda app: app.agent("a\tb")(fine), "leave out"),
        (lambda app: app.agent("..")(fine), "path"),
        (lambda app: app.agent("")(fine), "path"),
        (lambda app: app.agent(" a")(fine), "spaces"),
        (lambda app: [app.agent("a")(fine), app.agent("a")(fine)], "version="),
    ],
    ids=[
        *("bare", "bare tool", "sync", "no turn", "slash", "odd", "tab", "dots", "no name"),
        *("space", "twice"),
    ],
)
def test_an_agent_that_cannot_be_served_fails_its_declaration(
    declare: Callable[[Any], object], says: str
) -> None:
    """The message names what to write instead."""
    with pytest.raises(DeclarationError) as caught:
        declare(Sayso(store="memory:", server=ServerOptions(console=False)))
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "values",
    [
        {"tool_threads": 0},
        {"tool_threads": True},
        {"lease": 0.5},
        {"lease": "10"},
        {"lease": float("nan")},
        {"store": None},
        {"default_approval": True},
        {"hosts": "example.org"},
        {"limits": 5},
        {"max_unattended": 0},
    ],
    ids=str,
)
def test_a_server_that_could_not_work_fails_its_declaration(values: dict[str, Any]) -> None:
    """With the name of what is wrong, not with what it would break later."""
    with pytest.raises(DeclarationError, match=next(iter(values))):
        app_with(**{"store": "memory:", "console": False, **values})


@pytest.mark.parametrize("value", [-1, 0, 1.5, True, "4 MB", None])
def test_a_limit_that_lets_nothing_through_fails_its_declaration(value: Any) -> None:
    """A limit is a whole number from 1."""
    with pytest.raises(DeclarationError, match="body of Limits"):
        Limits(body=value)


@pytest.mark.parametrize("value", [0, -1, True, "15", KeepAlive])
def test_a_keep_alive_that_is_none_fails_its_declaration(value: Any) -> None:
    """Seconds above zero, a `KeepAlive`, or None."""
    with pytest.raises(DeclarationError, match="keep_alive must be seconds"):
        Sayso(store="memory:", server=ServerOptions(console=False, keep_alive=value))


@pytest.mark.parametrize("size", [-1, 65_537, 1.5, True])
def test_a_keep_alive_of_no_size_fails_its_declaration(size: Any) -> None:
    """M3: a number of bytes that a connection can bear."""
    with pytest.raises(DeclarationError, match="size of KeepAlive"):
        KeepAlive(15.0, size=size)


def test_a_body_in_which_a_thread_could_not_come_back_fails_its_declaration() -> None:
    """Clients send what they were shown with each answer; who cannot send it cannot answer."""
    assert Limits(body=2_100, history=1_000, payload=100).body == 2_100
    with pytest.raises(DeclarationError, match=r"at least 2 \* history \+ payload, 2100 bytes"):
        Limits(body=2_099, history=1_000, payload=100)


def test_a_history_that_no_client_could_be_shown_is_refused() -> None:
    """EN-09: a thread is shown in one frame."""
    assert Limits(history=9_000_000).history == 9_000_000
    with pytest.raises(DeclarationError, match="at most 9000000 bytes"):
        Limits(history=9_000_001)


def test_a_name_may_have_letters_of_any_script() -> None:
    """Clients encode them in a path."""
    Sayso(store="memory:", server=ServerOptions(console=False)).agent("détective-二")(fine)


def test_a_declared_agent_is_the_function_it_was() -> None:
    """The decorator takes nothing from who wants to test the function itself."""
    app = Sayso(store="memory:", server=ServerOptions(console=False))
    assert app.agent("a")(fine) is fine
    assert app.agent("a", version="2")(fine) is fine


def test_a_tool_is_declared_with_brackets_and_without() -> None:
    """Without, it has the defaults of every option, and no policy of its own."""
    app = Sayso(
        store="memory:", default_approval=approval.always, server=ServerOptions(console=False)
    )

    @app.tool
    async def look() -> str:
        return "seen"

    assert isinstance(look, Tool)
    assert (look.name, look.approval) == ("look", None)
    with pytest.raises(DeclarationError, match="nobody is ever asked"):
        Sayso(store="memory:").tool(editable=True)(lambda: "seen")


def test_an_answer_in_a_text_is_its_sentence() -> None:
    """Not the record with the whole request in it: `f"You said {answer}"` is what people write."""

    async def agent(turn: Turn) -> None:
        answer = await turn.interrupt("input_required", "Which size?", schema=str)
        await turn.say(f"{answer}")
        options = [Option("Ship it", "ship", "It leaves today."), Option("Wait", "wait")]
        decision = await turn.decide(why="late", planned_action="Ship it now.", options=options)
        await turn.say(f"{decision}")
        assert (str(answer), str(decision)) == (describe(answer), describe(decision))

    with Conversation(agent) as person:
        person.say("go")
        person.answer("large")
        person.answer({"action": "ship"})
        first, second = person.texts
    assert "Which size?" in first
    assert "large" in first
    assert "It leaves today." in second
    assert "TurnInput" not in first + second


def test_a_further_app_has_all_that_the_first_was_given() -> None:
    """Options, agents, tools and mounts; what is changed, and nothing else, is another."""
    app = Sayso(
        store="memory:",
        server=ServerOptions(tool_threads=3),
        agent_defaults=AgentOptions(refusals="recover"),
    )
    app.mount(CopilotKit("/kit"))
    app.mount(Sessions("/talk", ttl=60))

    @app.tool()
    async def look() -> str:
        return "seen"

    @app.agent("a", version="2")
    async def agent(turn: Turn) -> None: ...

    other = app.replace(server=replace(app.server, tool_threads=4, hosts=("box",)))
    assert other.server == ServerOptions(tool_threads=4, hosts=("box",))
    assert other._arguments == {**app._arguments, "server": other.server}
    assert other.agent_defaults == AgentOptions(refusals="recover")
    assert other._agents.all() == app._agents.all()
    assert other._tools.all() == app._tools.all()
    assert other._mounted == app._mounted
    assert other.store is not app.store
