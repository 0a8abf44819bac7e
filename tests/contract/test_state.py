"""State and messages at the boundary (rules, sections 6, 7 and 12)."""

from typing import Any

import pytest

from sayso import Turn
from tests.contract.requirements import requirement
from tests.contract.server import Client, Server, answer, approve, served
from tests.contract.tools import Kit, kit


async def counting(turn: Turn) -> None:
    """Writes, a question, and writes that see what came back."""
    await turn.set("/progress", 3)
    await turn.patch([{"op": "add", "path": "/a~1b", "value": [1, None]}])
    await turn.interrupt("confirmation", "Go on?")
    await turn.set("/seen", turn.state["progress"])


@requirement("SS-02", "SS-03", "SS-05", "SB-01", "TR-31")
async def test_writes_are_patches_of_what_the_client_holds(server: Server) -> None:
    """SS-02, P3: against the input's state, then snapshots with all writes up to the pause."""
    client = server.client(counting)
    run = await client.say(state={"kept": {"deep": True}})
    assert run.of("STATE_DELTA")[0]["delta"] == [{"op": "add", "path": "/progress", "value": 3}]
    held = {"kept": {"deep": True}, "progress": 3, "a/b": [1, None]}
    assert run.of("STATE_SNAPSHOT")[-1]["snapshot"] == client.model.state == held


@requirement("SS-06", "SB-04")
async def test_state_comes_back_with_the_answer(server: Server) -> None:
    """SS-06, design 3 rule 8: the client's edit wins at the pause, and the code reads it."""
    client = server.client(counting)
    await client.say()
    client.model.state["progress"] = 9
    run = await client.resume(answer({"approved": True}))
    assert run.of("STATE_SNAPSHOT")[0]["snapshot"]["progress"] == 9
    assert client.model.state["seen"] == 9


@pytest.mark.parametrize("sent", [{}, None])
async def test_a_client_that_knows_no_state_does_not_clear_it(server: Server, sent: Any) -> None:
    """A1, FC-06: a reloaded client sends none, or the empty object."""
    client = server.client(counting)
    await client.say()
    run = await client.resume(answer({"approved": True}), state=sent)
    assert run.outcome == "success"
    assert client.model.state == {"progress": 3, "a/b": [1, None], "seen": 3}


@requirement("SS-05")
async def test_state_outlives_a_turn_and_a_reload(server: Server) -> None:
    """SS-05, SS-06: the next turn starts from it, also when the client sends nothing."""

    async def agent(turn: Turn) -> None:
        await turn.set("/n", turn.state.get("n", 0) + 1)

    client = server.client(agent)
    await client.say()
    await client.say()
    assert client.model.state == {"n": 2}
    fresh = client.again()
    run = await fresh.say(state=None)
    assert fresh.model.state == {"n": 3}
    assert run.types.index("STATE_SNAPSHOT") < run.types.index("STATE_DELTA")


@requirement("SS-04")
async def test_a_patch_that_does_not_apply_is_the_author_s_error(server: Server) -> None:
    """SS-04: nothing of it is applied or sent."""

    async def agent(turn: Turn) -> None:
        await turn.set("/a", 1)
        try:
            await turn.patch(
                [
                    {"op": "add", "path": "/b", "value": 2},
                    {"op": "remove", "path": "/missing"},
                ]
            )
        except ValueError as error:
            await turn.say(str(error))

    client = server.client(agent)
    run = await client.say()
    assert "operation 1" in run.text
    assert len(run.of("STATE_DELTA")) == 1
    assert client.model.state == {"a": 1}


@pytest.mark.parametrize("start", [0, "", [], None, 5, [1]])
async def test_any_json_value_is_a_state_where_it_is_declared(server: Server, start: Any) -> None:
    """SS-01: falsy ones too; null is absent, hence the empty object."""

    async def agent(turn: Turn) -> None:
        server.effects.append(turn.state)
        await turn.interrupt("confirmation", "?")

    server.app.agent("any", state_schema=Any)(agent)
    client = Client(server.app, "any")
    run = await client.say(state=start)
    kept = {} if start is None else start
    assert run.of("STATE_SNAPSHOT")[-1]["snapshot"] == kept
    assert type(client.model.state) is type(kept)


@requirement("MS-04", "MS-05", "MS-06", "MS-02")
async def test_the_last_snapshot_is_what_the_client_holds(server: Server, tools: Kit) -> None:
    """MS-02 to MS-06: a client that folded every event agrees with the server at every pause."""
    client = server.client(tools.mailing)
    run = await client.say()
    assert run.snapshot == client.model.messages
    assert all("subagentRunId" not in m for m in run.snapshot)
    done = await client.resume(approve(), approve(), approve())
    assert done.outcome == "success"
    assert (await client.again().connect()).snapshot == client.model.messages


@requirement("SS-07", "SB-07")
async def test_nothing_of_the_journal_gets_into_the_snapshots(server: Server) -> None:
    """SS-07, SB-07: what a step returned stays with the server."""

    def login() -> str:
        return "token-hush"

    async def agent(turn: Turn) -> None:
        await turn.step(login)
        await turn.interrupt("confirmation", "?")

    client = server.client(agent)
    run = await client.say()
    assert b"hush" not in run.body
    assert b"hush" not in (await client.connect()).body
    view = await server.store.load("default", client.thread)
    assert view is not None and view.turn is not None
    journal = await server.store.journal("default", view.turn.key)
    assert any(b"token-hush" in entry.data for entry in journal)


@requirement("SB-03")
async def test_every_store_gives_the_same_stream(tmp_path: Any) -> None:
    """SB-03: the same scenario, event for event, but for ids that are made anew."""
    streams = []
    for kind in ("memory", "sqlite"):
        folder = tmp_path / kind
        folder.mkdir()
        async with served(kind, folder) as server:
            client = server.client(kit(server).mailing, thread="t")
            client.model.messages = [{"id": "u", "role": "user", "content": "go"}]
            first = await client.run(runId="1")
            second = await client.resume(approve(), approve(), approve(), runId="2")
        streams.append([_shape(event) for event in (*first.events, *second.events)])
    assert streams[0] == streams[1]


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shape(part) for key, part in value.items() if key != "digest"}
    if isinstance(value, list):
        return [_shape(part) for part in value]
    if isinstance(value, str) and value.startswith(("int_", "msg_", "call_")):
        return value[:4]
    return value
