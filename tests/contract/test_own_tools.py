"""Tools of one agent alone: another policy, another function, under a name that others have too."""

import json
from typing import Any

import pytest

from sayso import DeclarationError, Sayso, Tool, Turn, approval
from tests.contract.rest import get
from tests.contract.server import Client, Server, approve, deny

Json = dict[str, Any]
KINDS = ("memory",)


def paying(server: Server, who: str, schema: str = "number", **options: Any) -> Tool[..., Any]:
    """A tool called `pay`, which writes down whose it is."""

    async def pay(arguments: Json) -> str:
        server.effects.append(f"{who} pays {arguments['amount']}")
        return who

    parameters = {"properties": {"amount": {"type": schema}}, "required": ["amount"]}
    return Tool.of("pay", parameters=parameters, call=pay, **options)


async def calls(turn: Turn) -> Any:
    done = await turn.call("pay", {"amount": 5})
    return [done.status, done.value, done.args]


def two_agents(server: Server) -> tuple[Client, Client]:
    """Two agents with a `pay` each, and a third for all others."""
    app = server.app
    app.add_tools(paying(server, "everybody"))
    gated = approval.all_of(
        approval.always, approval.deny(lambda amount: amount > 100, name="limit")
    )
    app.add_tools(paying(server, "till", approval=gated, editable=True), agent="till")
    app.add_tools(paying(server, "clerk", "integer", approval=approval.always), agent="clerk")
    for name in ("till", "clerk", "guest"):
        app.agent(name)(calls)
    return server.client("till"), server.client("clerk")


async def test_each_agent_has_its_own_and_others_that_of_all(server: Server) -> None:
    """Policy, form and function."""
    till, clerk = two_agents(server)
    run = await server.client("guest").say()
    assert run.last["result"] == ["executed", "everybody", {"amount": 5}]
    first, second = await till.say(), await clerk.say()
    assert "editedArgs" in first.interrupts[0]["responseSchema"]["properties"]
    assert "editedArgs" not in second.interrupts[0]["responseSchema"]["properties"]
    await till.resume(approve())
    await clerk.resume(deny("no"))
    assert server.effects == ["everybody pays 5", "till pays 5"]


async def test_an_answer_is_held_against_the_tool_of_the_agent_that_asks(server: Server) -> None:
    """Schema and rules are its own, by a request and by the inbox, also after a restart."""
    till, _ = two_agents(server)
    run = await till.say()
    for edited, said in (({"amount": "5"}, "must be a number"), ({"amount": 101}, "limit")):
        refused = await till.resume(approve(editedArgs=edited))
        assert refused.outcome == "invalid_payload"
        assert said in str(refused.last)
    there = server.another()
    there.add_tools(*server.app.tools)
    for name in ("till", "clerk"):
        for tool in server.app.tools_of(name):
            if tool not in server.app.tools:
                there.add_tools(tool, agent=name)
    there.agent("till")(calls)
    async with there.lifespan():
        later = till.again(app=there)
        await later.connect()
        refused = await later.resume(approve(editedArgs={"amount": 101}))
        assert refused.outcome == "invalid_payload"
        run = await later.resume(approve(editedArgs={"amount": 1.5}))
        assert run.last["result"] == ["executed", "till", {"amount": 1.5}]


async def test_a_tool_that_a_run_brings_along_is_known_wherever_it_is_answered(
    server: Server,
) -> None:
    """Another process enters the code first, and so holds the answer against it."""
    tool = paying(server, "till", approval=approval.always, editable=True)

    async def brings(turn: Turn) -> Any:
        turn.add_tools(paying(server, "another"))
        turn.add_tools(tool)  # in place of the other
        return await calls(turn)

    server.app.agent("till")(brings)
    till = server.client("till")
    await till.say()
    assert server.app.tools_of("till") == ()
    there = server.another()
    there.agent("till")(brings)
    async with there.lifespan():
        later = till.again(app=there)
        await later.connect()
        refused = await later.resume(approve(editedArgs={"amount": "5"}))
        assert refused.outcome == "invalid_payload"
        assert server.effects == []
        run = await later.resume(approve(editedArgs={"amount": 7}))
        assert run.last["result"] == ["executed", "till", {"amount": 7}]
    assert server.effects == ["till pays 7"]


async def test_an_inner_agent_calls_and_asks_with_its_own(server: Server) -> None:
    """By its registered name, whatever it is called; its function alone as well."""
    till, _ = two_agents(server)

    @server.app.agent("boss")
    async def boss(turn: Turn) -> Any:
        inner = await turn.delegate("till", "pay", name="somebody")
        return [inner, await turn.delegate(unregistered)]

    async def unregistered(turn: Turn) -> Any:
        return await calls(turn)

    server.app.add_tools(paying(server, "boss"), agent="boss")
    client = server.client("boss")
    run = await client.say()
    (item,) = run.interrupts
    assert item["metadata"]["sayso"]["agent"] == "till"
    assert item["metadata"]["sayso"]["path"] == ["somebody"]
    refused = await client.resume(approve(editedArgs={"amount": 101}))
    assert refused.outcome == "invalid_payload"
    run = await client.resume(approve(editedArgs={"amount": 7}))
    assert run.last["result"] == [
        ["executed", "till", {"amount": 7}],
        ["executed", "boss", {"amount": 5}],
    ]
    assert till.agent == "till"


async def test_another_agent_s_tool_is_none(server: Server) -> None:
    """Neither by its name nor by itself."""
    tool = paying(server, "till")
    server.app.add_tools(tool, agent="till")

    async def agent(turn: Turn) -> Any:
        with pytest.raises(LookupError, match="there is no tool 'pay' on this app"):
            await turn.call("pay", {"amount": 5})
        with pytest.raises(DeclarationError, match=r"not one of this app, or not one of agent"):
            await turn.call(tool, {"amount": 5})
        return "refused"

    run = await server.client(agent).say()
    assert run.last["result"] == "refused"


async def test_a_yes_that_is_remembered_for_one_agent_s_tool_holds_for_no_other(
    server: Server,
) -> None:
    """The rule reads the same, and the function is another one."""
    rule = approval.always(remember=True)
    for name in ("till", "clerk"):
        server.app.add_tools(paying(server, name, approval=rule), agent=name)
        server.app.agent(name)(calls)
    server.app.agent("other")(calls)
    server.app.add_tools(paying(server, "everybody", approval=rule))
    till = server.client("till")
    await till.say()
    remembered = {"arguments": "same", "scope": "user"}
    run = await till.resume(approve(remember=remembered))
    assert run.outcome == "success", run.last
    assert (await server.client("till").say()).outcome == "success"
    for other in ("clerk", "other"):
        assert (await server.client(other).say()).outcome == "interrupt"
    listed = (await get(server, "/approvals"))["items"]
    assert [one.get("stale") for one in listed] == [None]


async def test_clients_are_shown_the_tools_of_each_agent(server: Server) -> None:
    """All agents' and its own, which goes before."""
    two_agents(server)
    server.app.add_tools(paying(server, "extra", approval=approval.always), agent="guest")
    shown = {}
    for name in ("till", "clerk", "guest"):
        (tool,) = (await get(server, f"/agents/{name}"))["tools"]
        shown[name] = (tool["parameters"]["properties"]["amount"]["type"], tool["approval"])
        told = (await get(server, f"/agents/{name}/capabilities"))["tools"]["items"]
        assert [item["name"] for item in told] == ["pay"]
    assert shown == {
        "till": ("number", "when"),
        "clerk": ("integer", "always"),
        "guest": ("number", "always"),
    }


async def test_whoever_looks_at_a_question_sees_no_secret_of_either_tool(server: Server) -> None:
    """Whose tool it was that ran is not recorded, so what one of them hides is hidden."""

    def secret_of(agent: str, member: str) -> None:
        async def pay(arguments: Json) -> str:
            return "paid"

        members = {"pin": {"type": "string"}, "card": {"type": "string"}}
        members[member]["writeOnly"] = True  # type: ignore[assignment]
        tool = Tool.of("pay", parameters={"properties": members}, call=pay)
        server.app.add_tools(tool, agent=agent)

    async def agent(turn: Turn) -> None:
        await turn.call("pay", {"pin": "pin-1234", "card": "card-9876"})
        await turn.interrupt("confirmation", "Sure?")

    secret_of("till", "pin")
    secret_of("clerk", "card")
    server.app.agent("till")(agent)
    client = server.client("till")
    run = await client.say()
    shown = await get(server, f"/interrupts/{run.interrupts[0]['id']}/context")
    assert "pin-1234" not in json.dumps(shown)
    assert "card-9876" not in json.dumps(shown)


def test_one_name_twice_for_one_agent_is_refused(server: Server) -> None:
    """The same tool again is no second one."""
    tool = paying(server, "till")
    server.app.add_tools(tool, tool, agent="till")
    with pytest.raises(DeclarationError, match="'pay' is declared twice for agent 'till'"):
        server.app.add_tools(paying(server, "till"), agent="till")
    with pytest.raises(DeclarationError, match="agent= of add_tools is the name of an agent"):
        server.app.add_tools(tool, agent=3)  # type: ignore[arg-type]
    assert server.app.tools == ()
    assert server.app.tools_of("till") == (tool,)


def test_a_copy_of_an_app_has_the_tools_of_each_agent(server: Server) -> None:
    """As they were declared."""
    two_agents(server)
    copy: Sayso = server.app.replace(store="memory:")
    for name in ("till", "clerk", "guest"):
        assert copy.tools_of(name) == server.app.tools_of(name)
