"""A tool without a policy of its own is as the app says, wherever it comes from (design 3, V6)."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from sayso import DeclarationError, Sayso, Tool, ToolCall, Turn, approval
from sayso.providers import ModelRequest, Reply, RequestedCall, Speaks
from tests.contract.rest import call as call_http
from tests.contract.server import Client, Server, approve

KINDS = ("memory",)
Declared = Callable[[Sayso, list[str]], None]
Called = Callable[[Turn], Awaitable[object]]


class Model:
    """A model that wants `drop` once, and then says so."""

    async def reply(self, request: ModelRequest, speak: Speaks) -> Reply:
        if request.rounds:
            await speak.text("Done.")
            return Reply("Done.")
        return Reply("", (RequestedCall("call_1", "drop", '{"table": "orders"}'),))


def dropping(effects: list[str]) -> Callable[[str], str]:
    def drop(table: str) -> str:
        """Drop a table."""
        effects.append(table)
        return f"{table} is gone"

    return drop


def schema_tool(effects: list[str], **options: Any) -> Tool[..., Any]:
    return Tool.of(
        "drop",
        parameters={"properties": {"table": {"type": "string"}}, "required": ["table"]},
        call=lambda arguments: dropping(effects)(arguments["table"]),
        **options,
    )


def decorated(app: Sayso, effects: list[str]) -> None:
    app.tool(dropping(effects))


def added(app: Sayso, effects: list[str]) -> None:
    app.add_tools(Tool(dropping(effects)))


def added_to_the_agent(app: Sayso, effects: list[str]) -> None:
    app.add_tools(Tool(dropping(effects)), agent="all")


def of_a_schema(app: Sayso, effects: list[str]) -> None:
    app.add_tools(schema_tool(effects))


def of_a_schema_to_the_agent(app: Sayso, effects: list[str]) -> None:
    app.add_tools(schema_tool(effects), agent="all")


async def called(turn: Turn) -> object:
    return await turn.call("drop", {"table": "orders"})


async def called_in_a_batch(turn: Turn) -> object:
    return await turn.call_all([ToolCall("drop", {"table": "orders"})])


async def wanted_by_a_model(turn: Turn) -> object:
    return await turn.chat(Model(), model="m", tools=["drop"])


WAYS = [decorated, added, added_to_the_agent, of_a_schema, of_a_schema_to_the_agent]
CALLS = [called, called_in_a_batch, wanted_by_a_model]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("call", CALLS)
async def test_it_asks_before_it_runs(server: Server, way: Declared, call: Called) -> None:
    app = server.another(default_approval=approval.always)
    way(app, server.effects)
    app.agent("all")(call)
    client = Client(app, "all")
    (asked,) = (await client.say()).interrupts
    assert (asked["reason"], server.effects) == ("tool_call", [])
    (shown,) = (await call_http(app, "GET", "/agents/all")).json["tools"]
    assert shown["approval"] == "always"
    assert (await client.resume(approve())).outcome == "success"
    assert server.effects == ["orders"]


@pytest.mark.parametrize("call", CALLS)
async def test_one_that_says_never_is_not_asked_about(server: Server, call: Called) -> None:
    app = server.another(default_approval=approval.always)
    app.add_tools(schema_tool(server.effects, approval=approval.never), agent="all")
    app.agent("all")(call)
    assert (await Client(app, "all").say()).outcome == "success"
    assert server.effects == ["orders"]


@pytest.mark.parametrize(
    "call",
    [
        lambda turn, tool: turn.call(tool, {"table": "orders"}),
        lambda turn, tool: turn.chat(Model(), model="m", tools=[tool]),
    ],
)
async def test_a_tool_that_the_app_does_not_know_runs_nowhere(
    server: Server, call: Callable[[Turn, Tool[..., Any]], Awaitable[object]]
) -> None:
    app = server.another(default_approval=approval.always)
    seen: list[str] = []

    @app.agent("all")
    async def agent(turn: Turn) -> None:
        with pytest.raises(DeclarationError) as refused:
            await call(turn, schema_tool(server.effects))
        seen.append(str(refused.value))

    assert (await Client(app, "all").say()).outcome == "success"
    assert "serve it with app.add_tools(drop)" in seen[0]
    assert server.effects == []


async def test_a_copy_of_the_app_may_be_stricter(server: Server) -> None:
    """A tool that was declared before has the policy of the app that serves it."""
    app = server.another()
    app.add_tools(schema_tool(server.effects))
    app.agent("all")(called)
    strict = app.replace(default_approval=approval.always)
    assert (await Client(strict, "all").say()).outcome == "interrupt"
    assert server.effects == []
    assert (await Client(app, "all").say()).outcome == "success"
    assert server.effects == ["orders"]


async def test_edits_are_held_against_it(server: Server) -> None:
    policy = approval.Policy(
        deny=[approval.calls("drop", lambda table: table == "people")], otherwise="ask"
    )
    app = server.another(default_approval=policy)
    app.add_tools(schema_tool(server.effects, editable=True), agent="all")
    app.agent("all")(called)
    client = Client(app, "all")
    await client.say()
    refused = await client.resume(approve(editedArgs={"table": "people"}))
    assert refused.outcome == "invalid_payload"
    assert "not allowed by rule" in str(refused.last)
    assert server.effects == []
    await client.resume(approve(editedArgs={"table": "carts"}))
    assert server.effects == ["carts"]


def test_a_policy_that_does_not_fit_a_tool_is_told_where_it_is_declared() -> None:
    app = Sayso(store="memory:", default_approval=approval.when(lambda amount: amount > 1))
    with pytest.raises(DeclarationError, match="names amount, but the tool takes table"):
        app.add_tools(schema_tool([]))
    app.add_tools(schema_tool([], approval=approval.never))


async def test_a_tool_of_a_stricter_app_is_not_let_go_by_another(server: Server) -> None:
    """Declared where all are asked about, it asks also where another app serves it."""
    strict = Sayso(store="memory:", default_approval=approval.always)
    drop = strict.tool(dropping(server.effects))
    lax = server.another()
    lax.add_tools(drop)
    lax.agent("all")(called)
    assert (await Client(lax, "all").say()).outcome == "interrupt"
    forbidding = server.another(default_approval=approval.Policy(deny=["drop"]))
    forbidding.add_tools(drop)
    forbidding.agent("all")(called)
    run = await Client(forbidding, "all").say()
    assert "do not allow this call" in str(run.results)
    assert server.effects == []
