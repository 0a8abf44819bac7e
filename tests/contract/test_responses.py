"""What goes out: frames, headers, comments, and a body that always ends (sections 14 and 20)."""

import asyncio
from pathlib import Path

import pytest

from sayso import Code, Limits, Question, Turn
from sayso.protocol import frames
from tests.contract.requirements import requirement
from tests.contract.server import JSON, Server, answer, eventually, served
from tests.contract.tools import Kit
from tests.contract.wire import undigested
from tests.patience import PATIENCE


@requirement("EN-03", "EN-10", "EN-12", "EN-15", "TR-22")
@pytest.mark.parametrize(
    "accept",
    ["text/event-stream", "*/*", "application/vnd.ag-ui.event+proto, text/event-stream", "a/b"],
)
async def test_a_run_is_an_event_stream_whatever_is_accepted(
    server: Server, tools: Kit, accept: str
) -> None:
    """EN-03, EN-14, TR-22, M2: SSE with the headers that keep proxies from holding it back."""
    client = server.client(tools.filing)
    client.headers = {**JSON, "accept": accept}
    for run in (await client.say(), await client.connect()):
        assert run.status == 200
        assert run.headers["content-type"] == "text/event-stream"
        assert "no-cache" in run.headers["cache-control"]
        assert run.headers["x-accel-buffering"] == "no"


@requirement("EN-14")
async def test_protobuf_is_not_offered(server: Server, tools: Kit) -> None:
    """EN-14: asked for by name alone, the answer is text and says so."""
    client = server.client(tools.greeting)
    client.headers = {**JSON, "accept": "application/vnd.ag-ui.event+proto"}
    run = await client.say()
    assert run.headers["content-type"] == "text/event-stream"
    assert run.body.startswith(b'data: {"type":"RUN_STARTED"')


@requirement("EN-04", "EN-05", "EN-20", "TR-15", "EN-07")
async def test_text_with_line_breaks_stays_in_one_line_of_one_frame(server: Server) -> None:
    """EN-04, EN-05, EN-20: CR, LF, NUL, U+2028 and the like are escapes, wherever they stand.

    Python's `str.splitlines`, and with it `httpx.Response.iter_lines`, ends lines at these too.
    """
    text = "a\r\nb\rc\nd\0e\u2028f\u2029g\u0085data: x\n\ndata: {}"

    async def agent(turn: Turn) -> None:
        await turn.say(text)
        await turn.set("/text", text)
        await turn.interrupt("shop:any", text, metadata={text: text})

    run = await server.client(agent).say()
    assert run.text == text
    assert b"\r" not in run.body
    for line in run.body.decode().splitlines():
        assert line == "" or line.startswith("data: {")
    assert run.interrupts[0]["message"] == text
    assert undigested(run.interrupts[0]) == {text: text}


@requirement("EN-07", "TR-34")
@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
async def test_numbers_that_json_lacks_become_null_or_an_error(
    server: Server, number: float
) -> None:
    """EN-07: never a token that kills the client's parser."""

    async def agent(turn: Turn) -> float:
        await turn.set("/n", number)
        await turn.interrupt("shop:any", "?", metadata={"n": number})
        return number

    client = server.client(agent)
    run = await client.say()
    if run.outcome == "interrupt":
        assert undigested(run.interrupts[0]) == {"n": None}
        assert client.model.state == {"n": None}
        assert (await client.resume(answer(1))).outcome == "success"


@requirement("EN-06", "TR-16")
async def test_silence_is_filled_with_comments_and_talk_is_not(tmp_path: Path) -> None:
    """EN-06, TR-16, M1: comments alone, after each quiet interval; parsers see the same events."""
    async with served("memory", tmp_path, keep_alive=0.02) as server:
        quiet = asyncio.Event()

        async def agent(turn: Turn) -> None:
            await turn.say("Thinking.")
            await quiet.wait()

        client = server.client(agent)
        client.user("go")
        exchange = client.open()
        async with asyncio.timeout(PATIENCE):
            while exchange.sent.count(b": keep-alive\n\n") < 3:
                await exchange.next_bytes()
        quiet.set()
        run = await exchange.end()
        assert [t for t in run.types if t != "TEXT_MESSAGE_CONTENT"] == [
            "RUN_STARTED",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_END",
            "RUN_FINISHED",
        ]


@requirement("EN-10")
async def test_events_leave_when_they_happen(server: Server) -> None:
    """EN-10: what was said is on the wire while the agent still works."""
    go_on = asyncio.Event()

    async def agent(turn: Turn) -> None:
        async with turn.message() as message:
            await message.write("a")
            await go_on.wait()
            await message.write("b")

    client = server.client(agent)
    client.user("go")
    exchange = client.open()
    await exchange.until("TEXT_MESSAGE_CONTENT")
    assert not exchange.ended
    go_on.set()
    assert (await exchange.end()).text == "ab"


@requirement("EN-09")
@pytest.mark.parametrize("size", [999_999, 3_000_001, 7_999_000])
async def test_a_long_text_leaves_in_frames_that_clients_take(server: Server, size: int) -> None:
    """EN-09: a client refuses frames over 10 MB; said in one go, a text still arrives whole."""

    async def agent(turn: Turn) -> None:
        await turn.say("x" * size)

    client = server.client(agent)
    run = await client.say()
    assert run.outcome == "success"
    assert len(run.text) == size
    assert max(len(frame) for frame in run.body.split(b"\n\n")) < 1_100_000
    assert len((await client.connect()).snapshot[-1]["content"]) == size


BIG = "x" * 10_000_001


@requirement("EN-09", "ER-02", "TR-34")
@pytest.mark.parametrize("what", ["result", "state", "patch", "question", "text", "tool"])
async def test_more_than_clients_take_is_an_error_and_the_thread_loads_afterwards(
    server: Server, what: str
) -> None:
    """EN-09, ER-02: what no frame can hold is refused before it is stored, so nothing is stuck."""

    @server.app.tool()
    async def verbose() -> str:
        return BIG

    async def agent(turn: Turn) -> str:
        await turn.say("Before.")
        if what == "result":
            return BIG
        if what == "state":
            for part in range(12):
                await turn.set(f"/{part}", BIG[:1_000_000])
        elif what == "patch":
            await turn.set("/big", BIG)
        elif what == "question":
            await turn.interrupt("shop:any", BIG)
        elif what == "text":
            await turn.say(BIG)
        else:
            await turn.call(verbose)
        return ""

    client = server.client(agent)
    run = await client.say("go")
    if what == "tool":
        assert run.outcome == "success"
        assert list(run.results.values()) == [
            "executed, but what came of it does not fit into this thread any more."
        ]
    else:
        assert run.last["type"] == "RUN_ERROR"
    shown = await client.again().connect()
    assert shown.last["type"] in ("RUN_ERROR", "RUN_FINISHED")
    if what != "result":
        assert shown.outcome == "success"
    assert shown.snapshot[1]["content"] == "Before."
    assert all(
        len(message["content"] or "") < 100 for message in shown.snapshot if "content" in message
    )


@requirement("EN-17")
@pytest.mark.parametrize("path", ["/agents/{}", "/agents/{}/", "//agents/{}"])
async def test_no_path_is_redirected(server: Server, tools: Kit, path: str) -> None:
    """EN-17: a redirect would turn the POST into a GET, so a stray slash is read over."""
    client = server.client(tools.greeting)
    run = await server.request("POST", path.format(client.agent), client.body()).end()
    assert (run.status, run.types[0]) == (200, "RUN_STARTED")


@requirement("ER-12", "TR-17")
async def test_a_shutdown_ends_streams_in_order(server: Server) -> None:
    """ER-12, TR-17: one RUN_ERROR that says what happened, then the end of the body."""

    async def agent(turn: Turn) -> None:
        await turn.say("Working.")
        await asyncio.get_running_loop().create_future()

    client = server.client(agent)
    client.user("go")
    exchange = client.open()
    await exchange.until("TEXT_MESSAGE_END")
    run = await exchange.cancel()
    assert run.judged(client.thread, run.events[0]["runId"]).outcome == "shutting_down"
    await server.app._engine.stop(grace=0.01)


@requirement("ER-12", "TR-17")
async def test_a_stopped_engine_ends_what_is_open(server: Server) -> None:
    """TR-17: also when the engine goes before the HTTP server does."""

    async def agent(turn: Turn) -> None:
        await turn.say("Working.")
        await asyncio.get_running_loop().create_future()

    client = server.client(agent)
    client.user("go")
    exchange = client.open()
    await exchange.until("TEXT_MESSAGE_END")
    await server.app._engine.stop(grace=0.01)
    assert (await exchange.end()).outcome == "shutting_down"


@requirement("TR-33", "OC-11", "ER-05")
async def test_error_codes_are_one_list(server: Server, tools: Kit) -> None:
    """TR-33: what goes out is a member of the documented enumeration; `abort` is no failure."""
    client = server.client(tools.filing)
    await client.say()
    run = await client.run(resume=[])
    assert Code(run.outcome) is Code.INTERRUPTS_PENDING


@requirement("EN-09", "MS-01")
async def test_answers_for_which_a_frame_has_no_room_are_taken_and_shown_truncated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EN-09, L6: an open question can be answered whatever the thread holds; what is stored stays.

    The resumed run opens with all of it, and it was claimed by then: nothing may fail any more.
    """
    monkeypatch.setattr(frames, "MAX_FRAME_BYTES", 100_000)

    async def agent(turn: Turn) -> str:
        await turn.say("x" * 50_000)
        answers = await turn.interrupt_all(
            [
                Question(reason="input_required", message=f"Question {n}?", schema=str)
                for n in range(4)
            ]
        )
        return str(sum(len(one.value or "") for one in answers))

    async with served("sqlite", tmp_path, limits=Limits(history=60_000)) as server:
        client = server.client(agent)
        await client.say("go")
        run = await client.resume(*[answer("y" * 16_000)] * 4)
        assert (run.outcome, run.last["result"]) == ("success", "64000")
        first = run.events[1]["messages"]
        for shown in (first, (await client.again().connect()).snapshot):
            said, *settled = shown[1:]
            assert len(said["content"]) < 20_000
            assert said["metadata"]["sayso"]["truncated"] is True
            assert [one["content"]["question"] for one in settled] == [
                f"Question {n}?" for n in range(4)
            ]
        # The client sends back what it was shown, and the thread is none the shorter for it.
        assert (await client.say("more")).outcome == "thread_too_large"
        monkeypatch.undo()
        assert (await client.connect()).snapshot[1]["content"] == "x" * 50_000


async def test_a_turn_that_has_its_answers_goes_on_though_its_reader_cannot_be_served(
    server: Server, tools: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L6, ER-13: the thread is claimed by then, and nobody else would let go of it."""
    client = server.client(tools.filing)
    await client.say("go")
    with monkeypatch.context() as patch:
        patch.setattr(frames, "MAX_FRAME_BYTES", 100)
        assert (await client.resume(answer({"quarter": "Q1", "year": 2026}))).status == 500

    async def done() -> bool:
        return (await client.again().connect()).outcome == "success"

    await eventually(done)
    assert tools.effects == [("filing", "Q1", 2026)]
