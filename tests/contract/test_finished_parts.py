"""Tools that take the turn, asked inside and done: what comes after them, in every way (design 3).

A part that has its result is not entered again, so nobody comes for what is recorded inside it.
"""

import asyncio
import logging
from typing import Any

import pytest

from sayso import Breakpoints, Option, ToolCall, Turn, approval
from tests.contract.rest import get, post
from tests.contract.server import Client, Server, answer, approve, taken_over
from tests.contract.wire import Run

Json = dict[str, Any]

STEPPING = Breakpoints(before="*", after="*")
ASKING = ["interrupt", "decide", "clarify", "gated", "nested", "branches"]
MATRIX = [(inner, bp) for inner in [*ASKING, "step"] for bp in (None, STEPPING)]
MATRIX.append(("step", Breakpoints(after=["part"])))


def names(kinds: list[Any]) -> list[str]:
    """Ids of the matrix."""
    return [f"{inner}-{'plain' if bp is None else 'stepping'}" for inner, bp in kinds]


def parted(server: Server, inner: str, breakpoints: Breakpoints | None) -> Client:
    """A client of an agent that calls a part of one kind, asks, and has an effect."""

    @server.app.tool(approval=approval.always)
    async def pay(amount: int) -> str:
        server.effects.append(f"paid {amount}")
        return "paid"

    @server.app.tool()
    async def inside(turn: Turn) -> str:
        return str((await turn.interrupt("input_required", "Inside?", schema=str)).value)

    async def asks(turn: Turn, number: int) -> Any:
        return (await turn.interrupt("input_required", f"Part {number}?", schema=str)).value

    @server.app.tool()
    async def part(turn: Turn) -> str:
        if inner == "interrupt":
            await asks(turn, 1)
        elif inner == "decide":
            options = [Option("Yes", "proceed_all", "All."), Option("No", "cancel", "None.")]
            await turn.decide(planned_action="p", why="w", impact={}, options=options)
        elif inner == "clarify":
            await turn.clarify("What?", scope="s", blast_radius="b", schema=str)
        elif inner == "gated":
            await turn.call(pay, amount=7)
        elif inner == "nested":
            await turn.call(inside)
        elif inner == "branches":
            await turn.gather(asks(turn, 1), asks(turn, 2))
        await turn.step(server.effects.append, "in part")
        return "done"

    async def agent(turn: Turn) -> str:
        done = await turn.call(part)
        await turn.interrupt("confirmation", "Later?")
        await turn.step(server.effects.append, "later")
        return str(done)

    server.app.agent("main", breakpoints=breakpoints)(agent)
    return server.client("main")


def to(question: Json) -> Json:
    """What goes on with any question of these."""
    payload: Any = {
        "tool_call": {"approved": True},
        "sayso:breakpoint": {"action": "continue"},
        "sayso:decision": {"action": "proceed_all"},
        "confirmation": {"approved": True},
    }.get(question["reason"], "yes")
    return answer(payload)


async def to_the_end(client: Client, run: Run) -> Run:
    """Answer what is open until nothing is; a question that is put twice ends it."""
    seen: set[str] = set()
    while client.model.pending:
        asked = client.model.pending
        assert not seen & {item["id"] for item in asked}, f"asked again: {asked}"
        seen |= {item["id"] for item in asked}
        run = await client.resume(*map(to, asked))
    return run


def expected(inner: str) -> list[str]:
    """The effects of one turn, in order."""
    return [*(["paid 7"] if inner == "gated" else []), "in part", "later"]


@pytest.mark.parametrize(("inner", "breakpoints"), MATRIX, ids=names(MATRIX))
async def test_a_turn_asks_on_after_a_part_that_asked(
    server: Server, inner: str, breakpoints: Breakpoints | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Design 3, rule 6: every kind of question inside; each is put once, every effect once."""
    client = parted(server, inner, breakpoints)
    with caplog.at_level(logging.WARNING, "sayso"):
        run = await to_the_end(client, await client.say())
    assert run.last["result"] == "done"
    assert server.effects == expected(inner)
    assert caplog.messages == []


@pytest.mark.parametrize("inner", ASKING)
async def test_a_crash_after_a_part_that_asked_is_gone_over(server: Server, inner: str) -> None:
    """Another process takes over behind the finished part, and comes to the later question."""
    client = parted(server, inner, None)
    asked = (await client.say()).interrupts
    server.store.fail(
        "commit",
        when="after",
        match=lambda commit: any(e.name == "part" and e.status == "done" for e in commit.entries),
        hook=server.store.disconnect,
    )
    await client.resume(*map(to, asked))
    server.store.restore()
    await taken_over(server, client)
    assert server.effects[-1:] == ["in part"]
    run = await client.connect()
    assert [item["message"] for item in client.model.pending] == ["Later?"]
    run = await to_the_end(client, run)
    assert run.last["result"] == "done"
    assert server.effects.count("later") == 1


@pytest.mark.parametrize("inner", ASKING)
async def test_a_copy_at_a_question_inside_enters_the_part_again(
    server: Server, inner: str
) -> None:
    """Design 3: the part had not ended when it asked; its result is no part of the copy."""
    client = parted(server, inner, None)
    asked = (await client.say()).interrupts[0]
    await client.resume(*map(to, client.model.pending))
    assert server.effects == expected(inner)[:-1]
    forked = await post(server, f"/threads/{client.thread}/fork", {"interruptId": asked["id"]})
    copy = client.again(thread=forked.json["threadId"])
    run = await copy.connect()
    state = await get(server, f"/threads/{copy.thread}/state")
    assert state["next"][0] == "part"
    run = await to_the_end(copy, run)
    assert run.last["result"] == "done"
    assert server.effects == [*expected(inner)[:-1], *expected(inner)]
    assert (await client.resume(approve())).last["result"] == "done"


@pytest.mark.parametrize("status", ["asked", "started"])
async def test_a_copy_at_a_later_question_keeps_the_part_finished(
    server: Server, status: str
) -> None:
    """What had ended by then stays ended, while that question waits and once it is answered."""
    client = parted(server, "interrupt", None)
    await client.say()
    (later,) = (await client.resume(answer("yes"))).interrupts
    if status == "started":
        await client.resume(approve())
    forked = await post(server, f"/threads/{client.thread}/fork", {"interruptId": later["id"]})
    copy = client.again(thread=forked.json["threadId"])
    run = await to_the_end(copy, await copy.connect())
    assert run.last["result"] == "done"
    assert server.effects.count("in part") == 1


async def test_a_part_whose_code_has_changed_before_its_end_is_found_out(server: Server) -> None:
    """Design 3, rule 9: it does not end over a question that it came for once; nothing is lost."""
    asking = [True]

    @server.app.tool()
    async def part(turn: Turn) -> str:
        if asking[0]:
            await turn.interrupt("confirmation", "Part?")
        return "done"

    async def agent(turn: Turn) -> str:
        done = await turn.call(part)
        await turn.step(server.effects.append, "later")
        return str(done)

    client = server.client(agent)
    await client.say()
    asking[0] = False
    run = await client.resume(approve())
    assert run.last["code"] == "replay_mismatch"
    assert server.effects == []
    await client.connect()
    assert [item["message"] for item in client.model.pending] == ["Part?"]
    asking[0] = True
    run = await client.resume(approve())
    assert run.last["result"] == "done"
    assert server.effects == ["later"]


async def test_a_mismatch_opens_nothing_of_a_finished_part_again(server: Server) -> None:
    """Design 3, rule 9: what was answered there is done; nobody would read another answer."""
    changed = [False]

    @server.app.tool()
    async def part(turn: Turn) -> str:
        await turn.interrupt("confirmation", "Part?")
        return "done"

    async def agent(turn: Turn) -> str:
        async def beside() -> None:
            if not changed[0]:
                await turn.interrupt("confirmation", "Beside?")

        done, _ = await turn.gather(turn.call(part), beside())
        return str(done)

    client = server.client(agent)
    await client.say()
    changed[0] = True
    await client.resume(approve(), approve())
    await client.connect()
    assert [item["message"] for item in client.model.pending] == ["Beside?"]
    changed[0] = False
    assert (await client.resume(approve())).last["result"] == "done"


@pytest.mark.parametrize("first", ["free", "brief"])
@pytest.mark.parametrize("asking", [True, False], ids=["asking", "plain"])
async def test_a_part_is_not_held_up_by_what_ends_before_it_in_its_batch(
    server: Server, first: str, asking: bool
) -> None:
    """Design 3, rule 3: a batch comes out whole, and parts of it record meanwhile."""
    ended = asyncio.Event()

    async def late() -> str:
        await ended.wait()
        return "late"

    @server.app.tool()
    async def free() -> str:
        asyncio.get_running_loop().call_later(0.01, ended.set)
        return "first"

    @server.app.tool()
    async def brief(turn: Turn) -> str:
        return str(await turn.call(free))

    @server.app.tool()
    async def part(turn: Turn) -> str:
        said = await turn.step(late)
        if asking:
            await turn.interrupt("confirmation", "Go on?")
        return str(said) + str(await turn.step.options(name="once more")(late))

    async def agent(turn: Turn) -> list[str]:
        calls = [ToolCall(name, {}) for name in ("part", first)]
        done = await turn.call_all(calls)
        await turn.interrupt("confirmation", "Later?")
        return list(map(str, done))

    client = server.client(agent)
    run = await client.say()
    if asking:
        run = await client.resume(approve())
    assert [one["message"] for one in run.interrupts] == ["Later?"]
    assert (await client.resume(approve())).last["result"] == ["latelate", "first"]
