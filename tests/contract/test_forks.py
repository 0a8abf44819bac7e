"""Threads copied at a question, so that the other answer can be tried (design 3, 5)."""

from typing import Any

import pytest

from sayso import Turn, approval, current_call
from tests.contract.replicas import replica
from tests.contract.requirements import requirement
from tests.contract.rest import call, get, inbox, post, stop
from tests.contract.server import Client, Server, answer, approve, deny, eventually
from tests.contract.tools import Kit
from tests.contract.wire import undigested


async def forked(server: Server, client: Client, interrupt_id: str, app: Any = None) -> Client:
    """A client on the copy, which has loaded it."""
    run = await post(
        server, f"/threads/{client.thread}/fork", {"interruptId": interrupt_id}, app=app
    )
    assert run.status == 201, run.body
    copy = client.again(thread=run.json["threadId"], **({"app": app} if app else {}))
    loaded = await copy.connect()
    assert loaded.outcome == "interrupt"
    return copy


async def test_the_other_answer_can_be_tried_while_the_thread_waits(
    server: Server, tools: Kit
) -> None:
    """Design 3: what was recorded is not done again, in neither; each goes its own way."""

    async def agent(turn: Turn) -> str:
        await turn.say("Looking.")
        await turn.call(tools.lookup, order_id="A-17")
        await turn.set("/looked", True)
        done = await turn.call(tools.refund, order_id="A-17", amount=240.0)
        return done.status

    client = server.client(agent)
    asked = (await client.say()).interrupts[0]
    copy = await forked(server, client, asked["id"])
    (item,) = copy.model.pending
    assert item["id"] != asked["id"]
    same = {"id": "", "metadata": undigested(asked)}
    assert {**item, "id": "", "metadata": undigested(item)} == {**asked, **same}
    assert copy.model.state == {"looked": True}
    assert [m["id"] for m in copy.model.messages] == [m["id"] for m in client.model.messages]
    assert (await copy.resume(approve())).last["result"] == "executed"
    assert (await client.resume(deny())).last["result"] == "denied"
    assert server.effects == [("lookup", "A-17"), ("refund", "A-17", 240.0)]


async def test_an_answer_can_be_taken_back_in_a_copy(server: Server) -> None:
    """Design 3: at an earlier question of a turn that goes on; what came of it is left out."""

    async def agent(turn: Turn) -> Any:
        await turn.step(server.effects.append, "before")
        await turn.set("/stage", 1)
        first = await turn.interrupt("input_required", "Which?", schema=str)
        await turn.say(f"Taking {first.value}.")
        await turn.set("/stage", 2)
        await turn.step(server.effects.append, f"took {first.value}")
        second = await turn.interrupt("confirmation", "Sure?")
        return [first.value, second.value]

    client = server.client(agent)
    which = (await client.say()).interrupts[0]
    sure = (await client.resume(answer("left"))).interrupts[0]
    copy = await forked(server, client, which["id"])
    assert [item["message"] for item in copy.model.pending] == ["Which?"]
    assert copy.model.state == {"stage": 1}
    assert not any(m.get("content") == "Taking left." for m in copy.model.messages)
    await copy.resume(answer("right"))
    assert (await copy.resume(approve())).last["result"] == ["right", True]
    assert server.effects == ["before", "took left", "took right"]
    # The thread that was copied waits as before, under the same id.
    (item,) = await inbox(server, f"?threadId={client.thread}")
    assert item["id"] == sure["id"]
    assert (await client.resume(approve())).last["result"] == ["left", True]


async def test_what_was_settled_goes_by_the_ids_of_the_copy(server: Server) -> None:
    """Design 3: the history of a copy names its own questions, also in a copy of the copy."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("input_required", "Which?", schema=str)
        await turn.interrupt("confirmation", "Sure?")

    client = server.client(agent)
    await client.say()
    await stop(server, client)
    await client.say()
    sure = (await client.resume(answer("left"))).interrupts[0]
    for _ in range(2):
        told = [m["content"] for m in client.model.messages if m["role"] == "activity"]
        client = await forked(server, client, sure["id"])
        ours = [m["content"] for m in client.model.messages if m["role"] == "activity"]
        which, sure = (await get(server, f"/threads/{client.thread}/history"))["interrupts"]
        assert ours == [*told[:-1], {**told[-1], "interruptId": which["id"]}]


async def test_a_gated_call_that_ran_is_asked_again_in_a_copy(server: Server, tools: Kit) -> None:
    """Design 3: the result of the first answer is no part of the copy's history or journal."""

    async def agent(turn: Turn) -> Any:
        done = await turn.call(tools.refund, order_id="A-17", amount=240.0)
        answered = await turn.interrupt("confirmation", f"{done.status}. Close?")
        return [done.status, answered.value]

    client = server.client(agent)
    refund = (await client.say()).interrupts[0]
    await client.resume(approve(editedArgs={"order_id": "A-17", "amount": 150.0}))
    copy = await forked(server, client, refund["id"])
    (item,) = copy.model.pending
    assert item["toolCallId"] == refund["toolCallId"]
    assert not [m for m in copy.model.messages if m["role"] == "tool"]
    run = await copy.resume(deny("no"))
    assert run.interrupts[0]["message"] == "denied. Close?"
    assert server.effects == [("refund", "A-17", 150.0)]


async def test_a_stopped_turn_can_be_taken_up_in_a_copy(server: Server, tools: Kit) -> None:
    """Design 5: a stop by mistake is not the end of the work."""
    client = server.client(tools.mailing)
    asked = (await client.say()).interrupts
    await stop(server, client)
    copy = await forked(server, client, asked[1]["id"])
    assert len(copy.model.pending) == 3
    assert (await copy.resume(approve(), deny(), approve())).outcome == "success"
    assert server.effects == [("lookup", "A-17"), ("email", "ann"), ("email", "cyd")]


async def test_keys_of_what_was_recorded_stay_and_those_of_what_follows_are_new(
    server: Server,
) -> None:
    """B1: the outside world does not take the copy of a call for another one, nor the reverse."""
    keys: list[tuple[str, str]] = []

    @server.app.tool(approval=approval.always)
    async def pay() -> None:
        keys.append(("pay", current_call().key))

    async def note() -> None:
        keys.append(("note", current_call().key))

    async def agent(turn: Turn) -> None:
        await turn.call(pay)
        await turn.step(note)

    client = server.client(agent)
    asked = (await client.say()).interrupts[0]
    copy = await forked(server, client, asked["id"])
    second = await forked(server, copy, copy.model.pending[0]["id"])
    for one in (client, copy, second):
        assert (await one.resume(approve())).outcome == "success"
    assert len({key for name, key in keys if name == "pay"}) == 3  # nobody had paid yet
    assert len({key for name, key in keys if name == "note"}) == 3


async def test_a_call_that_ran_keeps_its_key_where_it_is_asked_about_again(server: Server) -> None:
    """B1: the outside world knows it by then; a denied one it does not."""
    keys: list[str] = []

    @server.app.tool(approval=approval.always)
    async def pay() -> None:
        keys.append(current_call().key)

    async def agent(turn: Turn) -> None:
        await turn.call(pay)
        await turn.interrupt("confirmation", "Close?")

    client = server.client(agent)
    for first, different in ((approve(), 1), (deny(), 2)):
        keys.clear()
        one = client.again(thread=f"t{different}")
        asked = (await one.say()).interrupts[0]
        await one.resume(first)
        for _ in range(2):
            copy = await forked(server, one, asked["id"])
            assert (await copy.resume(approve())).outcome == "interrupt"
        assert len(set(keys)) == different


async def test_an_activity_is_changed_on_in_a_copy(server: Server) -> None:
    """A handle from before the question still names its message."""

    async def agent(turn: Turn) -> None:
        progress = await turn.activity("PROGRESS", {"done": 1})
        await turn.interrupt("confirmation", "On?")
        await progress.set({"done": 2})

    client = server.client(agent)
    asked = (await client.say()).interrupts[0]
    copy = await forked(server, client, asked["id"])
    assert (await copy.resume(approve())).outcome == "success"
    shown = next(m for m in copy.model.messages if m.get("activityType") == "PROGRESS")
    assert shown["content"] == {"done": 2}


async def test_a_copy_says_where_it_comes_from(server: Server, tools: Kit) -> None:
    """Design 5: in its metadata and in its journal, with who and how."""
    client = server.client(tools.refunding)
    asked = (await client.say()).interrupts[0]
    copy = await forked(server, client, asked["id"])
    state = await get(server, f"/threads/{copy.thread}/state")
    source = {"threadId": client.thread, "interruptId": asked["id"]}
    assert state["metadata"]["forkedFrom"] == source
    assert state["journal"][-1]["data"] == {**source, "by": "local", "channel": "fork"}
    assert state["next"] == ["issue_refund"]
    assert len(await inbox(server)) == 2


async def test_the_audit_of_a_copy_does_not_claim_what_happened_elsewhere(
    server: Server, tools: Kit
) -> None:
    """U1: a call that ran before the copy was made is no execution of the copy."""
    client = server.client(tools.mailing)
    asked = (await client.say()).interrupts
    copy = await forked(server, client, asked[0]["id"])
    rows = (await get(server, f"/audit?thread={copy.thread}"))["items"]
    assert sorted(row["kind"] for row in rows) == ["asked", "asked", "asked", "forked"]
    (made,) = [row["content"] for row in rows if row["kind"] == "forked"]
    assert (made["threadId"], made["by"]) == (client.thread, "local")
    await copy.resume(approve(), deny(), deny())
    rows = (await get(server, f"/audit?thread={copy.thread}"))["items"]
    assert [row["kind"] for row in rows].count("executed") == 1
    assert (await get(server, f"/audit/{copy.thread}"))["intact"] is True


async def test_an_edit_belongs_to_the_copy_that_was_made_after_it(
    server: Server,
) -> None:
    """Design 3 rule 8: at the question that it was made at, and not in earlier copies."""

    async def agent(turn: Turn) -> Any:
        await turn.set("/n", 1)
        await turn.interrupt("confirmation", "One?")
        first = turn.state["n"]
        await turn.interrupt("confirmation", "Two?")
        return [first, turn.state["n"]]

    client = server.client(agent)
    one = (await client.say()).interrupts[0]
    early = await forked(server, client, one["id"])
    path = f"/threads/{client.thread}/state"
    await call(server.app, "PATCH", path, {"values": {"n": 5}})
    await client.resume(approve())
    late = await forked(server, client, one["id"])
    results = []
    for copy in (early, late):
        assert copy.model.state == {"n": 5 if copy is late else 1}
        await copy.resume(approve())
        results.append((await copy.resume(approve())).last["result"])
    assert results == [[1, 1], [5, 5]]


async def test_a_copy_has_its_whole_time_before_it(server: Server) -> None:
    """Design 4: a copy is asked now, so it does not expire with the thread that it came from."""

    async def agent(turn: Turn) -> str:
        return (await turn.interrupt("confirmation", "?", expires_in=100)).status

    client = server.client(agent)
    asked = (await client.say()).interrupts[0]
    await server.clock.advance(90)
    copy = await forked(server, client, asked["id"])
    await server.clock.advance(50)
    assert (await copy.resume(approve())).last["result"] == "resolved"


async def test_what_cannot_be_copied_is_refused(server: Server, tools: Kit) -> None:
    """Design 5: unknown, or of an earlier turn; nothing is made."""
    client = server.client(tools.refunding)
    asked = (await client.say()).interrupts[0]
    other = server.client(tools.refunding)
    elsewhere = (await other.say()).interrupts[0]
    path = f"/threads/{client.thread}/fork"
    stored = server.dump()
    for body, status, code in (
        ({"interruptId": "int_nope"}, 404, "unknown_interrupt"),
        ({"interruptId": elsewhere["id"]}, 404, "unknown_interrupt"),
        ({}, 422, "invalid_input"),
        ({"interruptId": 7}, 422, "invalid_input"),
    ):
        run = await post(server, path, body)
        assert (run.status, run.problem["code"]) == (status, code)
    run = await post(server, "/threads/nobody/fork", {"interruptId": asked["id"]})
    assert (run.status, run.problem["code"]) == (404, "unknown_thread")
    assert server.dump() == stored
    await client.resume(approve())
    await client.say()
    run = await post(server, path, {"interruptId": asked["id"]})
    assert (run.status, run.problem["code"]) == (410, "journal_gone")


async def test_the_other_answer_can_be_tried_once_the_turn_is_over(server: Server) -> None:
    """Design 3: at each of its questions; what ran before that one does not run again."""

    async def agent(turn: Turn) -> Any:
        await turn.step(server.effects.append, "begun")
        first = await turn.interrupt("input_required", "Where?", schema=str)
        await turn.step(server.effects.append, f"booked {first.value}")
        second = await turn.interrupt("input_required", "When?", schema=str)
        await turn.say(f"{first.value}, {second.value}")
        return [first.value, second.value]

    client = server.client(agent)
    (where,) = (await client.say()).interrupts
    (when,) = (await client.resume(answer("Rome"))).interrupts
    assert (await client.resume(answer("May"))).last["result"] == ["Rome", "May"]
    shown = (await client.again().connect()).snapshot
    other = await forked(server, client, when["id"])
    assert (await other.resume(answer("June"))).last["result"] == ["Rome", "June"]
    assert server.effects == ["begun", "booked Rome"]
    other = await forked(server, client, where["id"])
    await other.resume(answer("Oslo"))
    assert (await other.resume(answer("May"))).last["result"] == ["Oslo", "May"]
    assert server.effects == ["begun", "booked Rome", "booked Oslo"]
    assert (await client.again().connect()).snapshot == shown


@requirement("SE-02")
async def test_another_process_goes_on_with_a_copy(server: Server, tools: Kit) -> None:
    """L1: a copy is in the store like any thread."""
    client = server.client(tools.asking_twice)
    asked = (await client.say()).interrupts[0]
    copy = await forked(server, client, asked["id"])
    async with replica(server, (client.agent, tools.asking_twice)) as other:
        there = copy.again(app=other)
        await there.connect()
        await there.resume(approve())
        assert (await there.resume(deny())).outcome == "success"
    assert server.effects == ["staged"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("point", ["claim", "commit"])
async def test_a_copy_that_dies_half_way_is_whole_or_not_there(
    server: Server, tools: Kit, point: Any, when: Any
) -> None:
    """L7: whatever of the two writes is lost; the thread that is copied is as it was."""
    client = server.client(tools.refunding)
    asked = (await client.say()).interrupts[0]
    server.store.fail(point, when=when)
    run = await post(server, f"/threads/{client.thread}/fork", {"interruptId": asked["id"]})
    assert run.status == 503
    there = [t["threadId"] for t in (await get(server, "/threads"))["items"]]
    made = [thread for thread in there if thread != client.thread]
    assert len(made) == (0 if (point, when) == ("claim", "before") else 1)
    for thread in made:
        copy = client.again(thread=thread)

        async def let_go(copy: Client = copy) -> bool:
            await server.clock.advance(1)
            view = await server.store.load("default", copy.thread)
            return view is not None and view.thread.holder is None

        await eventually(let_go)
        assert (await copy.connect()).outcome == "interrupt"
        await copy.resume(deny())
    assert (await client.resume(approve())).outcome == "success"
    assert server.effects == [("refund", "A-17", 240.0)]


async def test_a_call_that_waits_for_its_client_is_copied_too(server: Server) -> None:
    """TC-11: a front-end call beside a question is left to the client of the copy as well."""

    async def agent(turn: Turn) -> Any:
        await turn.gather(
            turn.client_tool("pick", {"day": "Mon"}), turn.interrupt("confirmation", "Sure?")
        )

    client = server.client(agent)
    tools = [{"name": "pick", "description": "", "parameters": {"type": "object"}}]
    asked = (await client.say(tools=tools)).interrupts[0]
    copy = await forked(server, client, asked["id"])
    assert [item["message"] for item in copy.model.pending] == ["Sure?"]
    ran = (await get(server, f"/threads/{client.thread}"))["pendingToolCallIds"]
    assert (await get(server, f"/threads/{copy.thread}"))["pendingToolCallIds"] == ran


async def test_agents_inside_are_copied_with_what_they_wait_for(server: Server) -> None:
    """K4: two of one name; each of the four questions gets its own answer, nothing is repeated."""

    async def booker(turn: Turn) -> Any:
        await turn.step.options(name="look")(server.effects.append, turn.input.text)
        answered = await turn.interrupt("confirmation", f"{turn.input.text}?")
        return [turn.input.text, answered.value]

    async def outer(turn: Turn) -> Any:
        return await turn.gather(turn.delegate(booker, "flight"), turn.delegate(booker, "room"))

    client = server.client(outer)
    first = (await client.say()).interrupts
    copy = await forked(server, client, first[1]["id"])
    assert [item["message"] for item in copy.model.pending] == ["flight?", "room?"]
    there = await copy.resume(approve(), deny())
    here = await client.resume(deny(), approve())
    assert there.last["result"] == [["flight", True], ["room", False]]
    assert here.last["result"] == [["flight", False], ["room", True]]
    assert sorted(server.effects) == ["flight", "room"]
