"""What stands between the rules: choices of ours that clients and authors may rely on."""

import datetime
import json
from decimal import Decimal
from typing import Any

import pytest

from sayso import Turn
from tests.contract.requirements import requirement
from tests.contract.server import Client, Server, answer, approve
from tests.contract.tools import Kit
from tests.contract.wire import undigested


@requirement("PT-02", "PT-03", "TR-26", "OU-02")
async def test_a_question_is_told_by_the_outcome_and_by_nothing_else(
    server: Server, tools: Kit
) -> None:
    """PT-02, TR-26, F1: no CUSTOM event stands for it, and an answered one is not told again."""
    client = server.client(tools.mailing)
    first = await client.say()
    assert not first.of("CUSTOM", "RAW")
    done = await client.resume(approve(), approve(), approve())
    after = await client.say("hello")
    for run in (first, done, after):
        assert set(run.last["outcome"]) <= {"type", "interrupts"}
        assert not run.of("CUSTOM", "RAW")


@requirement("IN-02", "OC-13", "IN-16", "LC-21")
async def test_interrupt_ids_are_random_and_no_part_of_an_answer_is_expected_back(
    server: Server, tools: Kit
) -> None:
    """OC-13, IN-16: nothing of the question but its id returns, and that suffices."""
    ids = set()
    for _ in range(3):
        client = server.client(tools.refunding, thread=None)
        run = await client.say("go")
        (asked,) = run.interrupts
        ids.add(asked["id"])
        assert asked["toolCallId"] not in asked["id"]
        assert asked["metadata"]["sayso"]["tool"] == "issue_refund"
        only = {"interruptId": asked["id"], "status": "resolved", "payload": {"approved": True}}
        assert (await client.again().run(client.body(resume=[only]))).outcome == "success"
    assert len(ids) == 3
    assert all(len(identifier) >= 36 for identifier in ids)


@requirement("OC-16", "ID-01", "ID-06", "OC-04")
async def test_old_answers_are_known_as_long_as_their_thread(server: Server, tools: Kit) -> None:
    """OC-16, OC-04: five turns later the same answer is a replay, another one is refused."""
    client = server.client(tools.refunding)
    await client.say()
    (entry,) = client.entries(approve())
    await client.resume(entry)
    for _ in range(5):
        await client.say("once more")
        await client.resume(approve(reason="fine"))
    count = len(server.effects)
    assert (await client.run(resume=[entry])).outcome == "success"
    other = {**entry, "payload": {"approved": False}}
    refused = await client.run(resume=[other])
    assert refused.outcome == "already_resolved"
    assert refused.details["interrupts"][0]["by"] == "local"
    assert len(server.effects) == count


@requirement("OC-19", "CR-6")
@pytest.mark.parametrize(
    ("schema", "fits", "breaks"),
    [
        ({"type": "string", "format": "email"}, "a@example.org", "nobody"),
        ({"type": "string", "format": "date"}, "2026-02-28", "2026-02-30"),
        ({"type": "string", "pattern": "^(a+)+$"}, "aaa", "a" * 40 + "!"),
        ({"type": "integer", "minimum": 1}, 1, True),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True}, ["a"], ["a", "a"]),
        ({"oneOf": [{"const": "x", "title": "X"}, {"const": 2}]}, 2, "2"),
        (
            {"$defs": {"n": {"type": "number"}}, "properties": {"a": {"$ref": "#/$defs/n"}}},
            {"a": 1.5},
            {"a": "1.5"},
        ),
        ({"type": "object", "enumNames": ["?"], "x-hint": 1}, {}, []),
    ],
)
async def test_a_schema_means_what_it_says(
    server: Server, schema: dict[str, Any], fits: Any, breaks: Any
) -> None:
    """OC-19, S4: formats asserted, patterns in linear time, unknown keywords are annotations."""

    async def agent(turn: Turn) -> None:
        got = await turn.interrupt("shop:any", "?", schema=schema)
        server.effects.append(got.value)

    client = server.client(agent)
    run = await client.say()
    assert run.interrupts[0]["responseSchema"] == schema
    assert (await client.resume(answer(breaks))).outcome == "invalid_payload"
    assert (await client.resume(answer(fits))).outcome == "success"
    assert server.effects == [fits]


@requirement("FC-12", "FC-13", "LC-22")
async def test_values_of_python_reach_the_wire_as_plain_json(server: Server) -> None:
    """G7: keys, dates and decimals get their obvious form before anything is stored."""

    async def agent(turn: Turn) -> Any:
        value: Any = {
            1: "a",
            "day": datetime.date(2026, 1, 2),
            "price": Decimal("1.50"),
            "none": None,
        }
        await turn.set("/value", value)
        await turn.interrupt("shop:any", "?", metadata=value)
        return value

    client = server.client(agent)
    run = await client.say()
    plain = {"1": "a", "day": "2026-01-02", "price": "1.50", "none": None}
    assert undigested(run.interrupts[0]) == plain
    assert client.model.state == {"value": plain}
    assert (await client.resume(answer(1))).last["result"] == plain


@requirement("MD-02", "MD-01")
async def test_metadata_of_messages_is_kept_whatever_its_keys(server: Server, tools: Kit) -> None:
    """MD-02: unknown keys and nulls inside come back in every snapshot."""
    metadata = {"x": None, "deep": {"y": [1, None]}, "ag-ui": {}}
    client = server.client(tools.filing)
    user = {"id": "u", "role": "user", "content": "go", "metadata": metadata}
    run = await client.run(messages=[user])
    assert run.snapshot[0] == user
    assert (await client.again().connect()).snapshot[0] == user


@requirement("OC-01", "ER-07")
async def test_an_open_turn_keeps_the_version_it_began_with(server: Server, tools: Kit) -> None:
    """Design 3, rule 9: another version is not asked to go on; the question stays open."""

    @server.app.agent("clerk", version="1")
    async def clerk(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Old?")
        await turn.say("old")

    client = server.client("clerk")
    first = await client.say()
    other = server.another()

    @other.agent("clerk", version="2")
    async def changed(turn: Turn) -> None:
        await turn.interrupt("confirmation", "New?")
        await turn.say("new")

    async with other.lifespan():
        elsewhere = Client(other, "clerk", thread=client.thread)
        stored = server.dump()
        refused = await elsewhere.run(resume=client.entries(answer({"approved": True})))
        assert refused.outcome == "agent_version_missing"
        assert server.dump() == stored
        assert (await elsewhere.connect()).interrupts == first.interrupts
        other.agent("clerk", version="1")(clerk)
        done = await elsewhere.resume(answer({"approved": True}))
        assert done.text == "old"


@requirement("OC-01")
async def test_code_that_changed_under_an_open_question_runs_nothing(
    server: Server, tools: Kit
) -> None:
    """Design 3, rule 9: the mismatch names the place; the question is open again."""

    @server.app.agent("clerk")
    async def clerk(turn: Turn) -> None:
        await turn.step(server.effects.append, "once")
        await turn.interrupt("confirmation", "Sure?")

    client = server.client("clerk")
    first = await client.say()
    other = server.another()

    @other.agent("clerk")
    async def changed(turn: Turn) -> None:
        await turn.step(server.effects.append, "twice")
        await turn.interrupt("confirmation", "Sure?")

    async with other.lifespan():
        elsewhere = client.again(app=other)
        run = await elsewhere.run(resume=client.entries(answer({"approved": True})))
        assert run.outcome == "replay_mismatch"
        assert server.effects == ["once"]
        back = client.again()
        assert (await back.connect()).interrupts == first.interrupts
        assert (await back.resume(answer({"approved": True}))).outcome == "success"
        assert server.effects == ["once"]


async def test_what_goes_out_is_what_was_stored(server: Server, tools: Kit) -> None:
    """A7: the wire, the store and a second reader show one interrupt, member for member."""
    client = server.client(tools.refunding)
    first = await client.say()
    (asked,) = first.interrupts
    view = await server.store.load("default", client.thread)
    assert view is not None and view.run is not None
    assert json.loads(view.run.outcome or b"")["interrupts"] == [asked]
    (row,) = view.interrupts
    assert (row.id, row.tool_call_id, row.message) == (
        asked["id"],
        asked["toolCallId"],
        asked["message"],
    )
