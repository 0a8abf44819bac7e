"""Stop: the explicit end of a turn that waits or runs (design 4; cases E8, I)."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from sayso import ToolCall, Turn
from sayso.base.records import Commit
from sayso.engine.stop import StopRequest
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest, call, get, reached, stop
from tests.contract.server import Client, Server, approve, cancel, eventually
from tests.contract.tools import Kit


def suspends(commit: Commit) -> bool:
    return commit.turn is not None and commit.turn.status == "suspended"


async def outcome(server: Server, client: Client) -> str:
    """How the newest run of a thread ended, as it is stored."""
    last = (await get(server, f"/threads/{client.thread}/history"))["runs"][-1]
    kind: str = last["outcome"]["type"]
    return kind


@requirement("OU-07", "TC-16")
async def test_a_waiting_turn_ends_at_once_and_its_code_is_not_entered(
    server: Server, tools: Kit
) -> None:
    """I1, I3, E8: all that is open is cancelled by who stopped it; each call has one result."""
    entered: list[str] = []

    async def agent(turn: Turn) -> None:
        entered.append(turn.input.text)
        await tools.mailing(turn)

    client = server.client(agent)
    asked = (await client.say("mail them")).interrupts
    assert await stop(server, client)
    assert entered == ["mail them"]
    for item in asked:
        answer_now = (await get(server, f"/interrupts/{item['id']}"))["answer"]
        at = answer_now.pop("at")
        assert at.endswith("Z")
        assert answer_now == {
            "held": False,
            "status": "cancelled",
            "by": "local",
            "channel": "stop",
        }
    assert await outcome(server, client) == "cancelled"
    fresh = client.again()
    assert (await fresh.connect()).outcome == "success"
    assert fresh.model.pending == []
    results = {m["toolCallId"]: m["content"] for m in fresh.model.messages if m["role"] == "tool"}
    for item in asked:
        assert results.pop(item["toolCallId"]).startswith("Not executed: the turn was stopped")
    assert list(results.values()) == ['{"order_id":"A-17"}'.replace("order_id", "order")]
    assert server.effects == [("lookup", "A-17")]


async def test_the_thread_is_used_again_as_if_nothing_waited(server: Server, tools: Kit) -> None:
    """I1, I5: no old question comes back in the next turn, which reaches the agent."""
    client = server.client(tools.mailing)
    old = {item["id"] for item in (await client.say()).interrupts}
    assert await stop(server, client)
    fresh = client.again()
    await fresh.connect()
    run = await fresh.say("once more")
    assert run.outcome == "interrupt"
    assert old.isdisjoint(item["id"] for item in run.interrupts)
    assert (await fresh.resume(cancel(), cancel(), cancel())).outcome == "success"


@requirement("ID-06", "OU-10", "OC-03")
@pytest.mark.parametrize(("version", "ends"), [("1.0", "cancelled"), (None, "abort")])
async def test_late_answers_and_retries_find_the_turn_stopped(
    server: Server, tools: Kit, version: str | None, ends: str
) -> None:
    """Q4: an approval is refused, saying by whom; a retry and a cancel are shown the end."""
    client = server.client(tools.refunding, version=version)
    client.user("go")
    sent = client.body()
    await client.run(sent)
    entries = client.entries(approve())
    assert await stop(server, client)
    late = await client.again().run(resume=entries)
    assert late.outcome == "already_resolved"
    (named,) = late.details["interrupts"]
    assert named["by"] == "local"
    assert (await client.again().run(sent)).outcome == ends
    gone = client.entries(cancel())
    assert (await client.again().run(resume=gone)).outcome == ends
    assert server.effects == []


async def test_there_is_nothing_to_stop_on_an_idle_thread(server: Server, tools: Kit) -> None:
    """Design 4: a stop says what it found, and stops once."""
    client = server.client(tools.greeting)
    await client.say()
    stored = server.dump()
    assert not await stop(server, client)
    assert server.dump() == stored
    other = server.client(tools.refunding)
    await other.say()
    assert [await stop(server, other), await stop(server, other)] == [True, False]


async def test_a_run_id_that_is_not_the_active_one_stops_nothing(
    server: Server, tools: Kit
) -> None:
    """A click on Stop that comes late must not hit the next run."""
    client = server.client(tools.asking_twice)
    client.user("go")
    await client.run(runId="first")
    await client.run(client.body(resume=client.entries(approve()), runId="second"))
    stored = server.dump()
    assert not await stop(server, client, runId="first")
    assert server.dump() == stored
    assert await stop(server, client, runId="second")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "malformed_json"),
        (b"[]", 422, "invalid_input"),
        (b'{"runId": 1}', 422, "invalid_input"),
        (b'{"runId": ""}', 422, "invalid_input"),
    ],
)
async def test_a_malformed_stop_stops_nothing(
    server: Server, tools: Kit, body: bytes, status: int, code: str
) -> None:
    """ER-01: an empty body, an object, and nothing else."""
    client = server.client(tools.refunding)
    await client.say()
    path = f"/threads/{client.thread}/stop"
    run = await call(server.app, "POST", path, body)
    assert (run.status, run.problem["code"]) == (status, code)
    assert (await client.again().connect()).outcome == "interrupt"
    for nothing in (b"", b"{}"):
        assert (await call(server.app, "POST", path, nothing)).status == 200


async def test_an_unknown_thread_is_404(server: Server) -> None:
    """Design 7."""
    run = await call(server.app, "POST", "/threads/nobody/stop")
    assert (run.status, run.problem["code"]) == (404, "unknown_thread")


@requirement("OU-07", "OU-08", "OC-03", "LC-06")
async def test_a_stream_is_cut_off_and_its_readers_are_told_in_their_words(
    server: Server,
) -> None:
    """I6: the text so far is kept; 1.0 reads cancelled, an older peer abort (OC-03, ER-11)."""
    cut = asyncio.Event()

    async def words() -> AsyncIterator[str]:
        yield "So far"
        try:
            await asyncio.Event().wait()
        finally:
            cut.set()

    async def agent(turn: Turn) -> None:
        server.effects.append(await turn.stream(words()))

    client = server.client(agent)
    client.user("go")
    exchange = client.open(client.body(runId="r1"))
    await exchange.until("TEXT_MESSAGE_CONTENT")
    old = client.again(version=None)
    follower = old.open(old.body(messages=[], runId="r2"), action="/connect")
    await follower.until("TEXT_MESSAGE_CONTENT")
    assert await stop(server, client)
    assert cut.is_set()
    run = (await exchange.end()).judged(client.thread, "r1")
    assert run.last["outcome"] == {"type": "cancelled"}
    assert (await follower.end()).judged(client.thread, "r2").outcome == "abort"
    assert server.effects == []
    fresh = client.again()
    await fresh.connect()
    assert fresh.model.messages[-1]["content"] == "So far"
    assert (await outcome(server, client)) == "cancelled"


async def test_text_that_the_author_writes_himself_is_cut_off_and_kept(server: Server) -> None:
    """TC-16 for text: a message that nobody closed was read all the same."""

    async def agent(turn: Turn) -> None:
        async with turn.message() as message:
            await message.write("Half a")
            await asyncio.Event().wait()

    client = server.client(agent)
    client.user("go")
    exchange = client.open(client.body(runId="r"))
    await exchange.until("TEXT_MESSAGE_CONTENT")
    assert await stop(server, client)
    assert (await exchange.end()).judged(client.thread, "r").outcome == "cancelled"
    fresh = client.again()
    await fresh.connect()
    assert fresh.model.messages[-1]["content"] == "Half a"


async def test_an_idempotent_step_is_cancelled_at_once(server: Server) -> None:
    """Design 4: it may run again, so nobody waits for it; what it said stays."""
    begun = asyncio.Event()

    async def agent(turn: Turn) -> None:
        async def work() -> None:
            await turn.say("Working.")
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                server.effects.append("cut")
                raise

        await turn.step.options(idempotent=True)(work)
        server.effects.append("went on")

    client = server.client(agent)
    client.user("go")
    exchange = client.open(client.body(runId="r"))
    await reached(begun)
    assert await stop(server, client)
    assert (await exchange.end()).judged(client.thread, "r").outcome == "cancelled"
    assert server.effects == ["cut"]
    fresh = client.again()
    await fresh.connect()
    assert fresh.model.messages[-1]["content"] == "Working."


async def test_another_effect_is_finished_and_recorded_and_nothing_follows(
    server: Server,
) -> None:
    """Design 3, rule 2: effects are never cut; the turn ends at its next record."""
    begun, wakes = asyncio.Event(), asyncio.Event()

    @server.app.tool()
    async def charge(amount: int) -> str:
        begun.set()
        await wakes.wait()
        server.effects.append(amount)
        return f"charged {amount}"

    async def agent(turn: Turn) -> None:
        await turn.call(charge, amount=1)
        await turn.call(charge, amount=2)

    client = server.client(agent)
    client.user("go")
    exchange = client.open(client.body(runId="r"))
    await reached(begun)
    assert await stop(server, client)
    assert not exchange.ended
    wakes.set()
    run = (await exchange.end()).judged(client.thread, "r")
    assert run.outcome == "cancelled"
    assert list(run.results.values()) == ["charged 1"]
    assert server.effects == [1]


async def test_a_step_that_speaks_is_finished_and_recorded_like_any_other(server: Server) -> None:
    """Design 3, rule 2: only what may run again is cut off, whatever it says meanwhile."""
    wakes = asyncio.Event()

    async def agent(turn: Turn) -> None:
        async def charge() -> str:
            async with turn.message() as message:
                await message.write("Half")
                await wakes.wait()
                await message.write(" and half")
            server.effects.append("charged")
            return "charged"

        await turn.step(charge)
        await turn.step(server.effects.append, "went on")

    client = server.client(agent)
    client.user("go")
    exchange = client.open(client.body(runId="r"))
    await exchange.until("TEXT_MESSAGE_CONTENT")
    assert await stop(server, client)
    assert not exchange.ended
    wakes.set()
    assert (await exchange.end()).judged(client.thread, "r").outcome == "cancelled"
    assert server.effects == ["charged"]
    fresh = client.again()
    await fresh.connect()
    assert fresh.model.messages[-1]["content"] == "Half and half"


@requirement("TC-16")
async def test_an_idempotent_call_that_is_cut_off_has_a_result_that_says_so(
    server: Server,
) -> None:
    """H1, H5: beside one that is finished, in the same batch; every START has its END."""
    begun, wakes = asyncio.Event(), asyncio.Event()

    @server.app.tool(idempotent=True)
    async def poll() -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    @server.app.tool()
    async def charge() -> str:
        await wakes.wait()
        return "charged"

    async def agent(turn: Turn) -> None:
        await turn.call_all([ToolCall(poll, {}), ToolCall(charge, {})])

    client = server.client(agent)
    client.user("go")
    exchange = client.open(client.body(runId="r"))
    await reached(begun)
    assert await stop(server, client)
    await exchange.until("TOOL_CALL_RESULT")
    wakes.set()
    run = (await exchange.end()).judged(client.thread, "r")
    assert run.outcome == "cancelled"
    assert list(run.results.values()) == ["Failed: the turn was stopped meanwhile", "charged"]


@requirement("TC-16")
async def test_an_effect_that_has_not_begun_does_not_begin(server: Server) -> None:
    """H1, design 4: the call was proposed already, so it has a result; the tool did not run."""

    @server.app.tool()
    async def charge() -> str:
        server.effects.append("charged")
        return "charged"

    def stop_now() -> None:
        live = server.app._engine._live
        fence = live._live["default", client.thread].runner.lease.fence
        lost = live.stop("default", client.thread, fence + 1, StopRequest("local"))
        assert lost is None, "whoever has the thread under a later fence is meant"
        assert live.stop("default", client.thread, fence, StopRequest("local")) is not None

    async def agent(turn: Turn) -> None:
        asyncio.get_running_loop().call_soon(stop_now)
        await turn.call(charge)

    client = server.client(agent)
    client.user("go")
    run = await client.run()
    assert run.outcome == "cancelled"
    (text,) = run.results.values()
    assert text == "Not executed: the turn was stopped before this call began."
    assert server.effects == []


async def test_a_stop_that_meets_the_pause_leaves_nothing_waiting(
    server: Server, tools: Kit
) -> None:
    """E8: the questions were on their way to the store; they are cancelled, not asked."""
    client = server.client(tools.refunding)
    client.user("go")
    slow = server.store.hold("commit", match=suspends)
    exchange = client.open(client.body(runId="r"))
    await slow.reached()
    stopping = asyncio.create_task(stop(server, client))
    await eventually_stopping(server, client)
    slow.release()
    assert await stopping
    run = (await exchange.end()).judged(client.thread, "r")
    assert run.outcome == "cancelled"
    (text,) = run.results.values()
    assert "stopped" in text
    assert (await client.again().connect()).outcome == "success"


async def eventually_stopping(server: Server, client: Client) -> None:
    """Wait until the stop has reached the run of this process."""
    live = server.app._engine._live._live["default", client.thread]

    async def told() -> bool:
        return live.runner._stopper is not None

    await eventually(told)


async def test_messages_that_waited_for_the_end_join_the_history(
    server: Server, tools: Kit
) -> None:
    """RE-09: what came along with an answer is kept, and starts no turn."""
    client = server.client(tools.asking_twice)
    await client.say("first")
    client.user("and this")
    await client.resume(approve())
    assert await stop(server, client)
    view = await server.store.load("default", client.thread)
    assert view is not None
    assert [m.visibility for m in view.messages if m.role == "user"] == ["visible", "visible"]
    await at_rest(server, client)
    assert server.effects == ["staged"]


async def test_of_a_stop_and_an_answer_at_the_same_time_one_wins(
    server: Server, tools: Kit
) -> None:
    """Q1: either the refund ran and the turn went on, or it was stopped and nothing ran."""
    for _ in range(10):
        client = server.client(tools.refunding)
        await client.say()
        server.effects.clear()
        stopped, run = await asyncio.gather(stop(server, client), client.resume(approve()))
        await at_rest(server, client)
        fresh = client.again()
        assert (await fresh.connect()).outcome == "success"
        results = [m["content"] for m in fresh.model.messages if m["role"] == "tool"]
        assert len(results) == 1
        ran = server.effects == [("refund", "A-17", 240.0)]
        assert ran is results[0].startswith("Refunded")
        assert stopped or ran
        assert run.outcome in ("success", "cancelled", "already_resolved", "thread_busy")
