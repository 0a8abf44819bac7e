"""Tools that the app does not have: a run brings one along (`turn.add_tools`)."""

from typing import Any

import pytest

from sayso import Sayso, Tool, Turn, approval
from tests.contract.rest import call as call_http
from tests.contract.server import Client, Server, approve, deny

KINDS = ("memory", "sqlite")


def serving(app: Sayso, effects: list[Any], **options: Any) -> Sayso:
    """Serve an agent whose tool is made anew in each run."""

    async def move(arguments: dict[str, Any]) -> str:
        effects.append(arguments["metres"])
        return "moved"

    async def agent(turn: Turn) -> str:
        tool = Tool.of(
            "move",
            parameters={"properties": {"metres": {"type": "integer"}}, "required": ["metres"]},
            call=move,
            **options,
        )
        turn.add_tools(tool)
        return (await turn.call("move", {"metres": 5})).status

    app.agent("robot")(agent)
    return app


async def test_it_is_as_the_app_says_where_it_says_nothing(server: Server) -> None:
    app = serving(server.another(default_approval=approval.always), server.effects)
    client = Client(app, "robot")
    assert (await client.say()).outcome == "interrupt"
    assert server.effects == []
    assert (await client.resume(approve())).last["result"] == "executed"
    assert server.effects == [5]
    free = serving(server.another(), server.effects, approval=approval.never)
    assert (await Client(free, "robot").say()).last["result"] == "executed"


@pytest.mark.parametrize("where", ["here", "elsewhere", "in a copy of the app"])
async def test_answers_are_held_against_it_wherever_they_come(server: Server, where: str) -> None:
    """Its schema and its rules, before anything changes, though no app has it."""
    policy = approval.all_of(
        approval.always, approval.deny(lambda metres: metres > 100, name="limit")
    )
    options = {"approval": policy, "editable": True}
    app = serving(server.another(), server.effects, **options)
    client = Client(app, "robot")
    await client.say()
    if where == "elsewhere":
        app = serving(server.another(), server.effects, **options)
    elif where == "in a copy of the app":
        app = app.replace(default_approval=approval.always)
    client = client.again(app=app)
    await client.connect()
    stored = server.dump()
    for edited, said in (({"metres": "far"}, "whole number"), ({"metres": 101}, "'limit'")):
        refused = await client.resume(approve(editedArgs=edited))
        assert refused.outcome == "invalid_payload"
        assert said in str(refused.last)
        assert (server.dump(), server.effects) == (stored, [])
    assert (await client.resume(approve(editedArgs={"metres": 7}))).last["result"] == "executed"
    assert server.effects == [7]


async def test_the_inbox_of_another_server_holds_answers_against_it_too(server: Server) -> None:
    client = Client(serving(server.another(), server.effects, approval=approval.always), "robot")
    (asked,) = (await client.say()).interrupts
    there = serving(server.another(), server.effects, approval=approval.always)
    path = f"/interrupts/{asked['id']}/answer"
    edited = {"approved": True, "editedArgs": {"metres": 1}}
    refused = await call_http(there, "POST", path, {"status": "resolved", "payload": edited})
    assert refused.status == 422
    assert server.effects == []


async def test_one_of_the_app_with_its_name_has_no_say_in_it(server: Server) -> None:
    @server.app.tool(approval=approval.deny(lambda road: True))
    async def move(road: str) -> str:
        raise AssertionError(road)

    serving(server.app, server.effects, approval=approval.always, editable=True)
    client = server.client("robot")
    await client.say()
    await client.resume(approve(editedArgs={"metres": 3}))
    assert server.effects == [3]


async def test_a_no_is_heard(server: Server) -> None:
    client = Client(serving(server.another(), server.effects, approval=approval.always), "robot")
    await client.say()
    assert (await client.resume(deny("stay"))).last["result"] == "denied"
    assert server.effects == []


async def test_a_yes_that_is_remembered_for_one_is_not_listed_as_stale(server: Server) -> None:
    """Whether its rules are still those, only a run that brings it along can say; and it does."""
    policy = approval.always(remember=True)
    app = serving(server.another(), server.effects, approval=policy)
    client = Client(app, "robot")
    await client.say()
    await client.resume(approve(remember=True))
    (row,) = (await call_http(app, "GET", "/approvals")).json["items"]
    assert "stale" not in row
    assert (await client.say()).last["result"] == "executed"
    stricter = serving(
        server.another(), server.effects, approval=approval.always(remember=True, name="stricter")
    )
    client = client.again(app=stricter)
    await client.connect()
    assert (await client.say()).outcome == "interrupt"
    assert server.effects == [5, 5]
