"""Readers: when chunks leave, who is cut, who holds whom up."""

import asyncio

import orjson
import pytest

from sayso.protocol import frames
from sayso.protocol.ending import Ending
from sayso.streams.stream import Reader
from tests.bodies import attached, body_of, events, soon, stream_of, types
from tests.contract.requirements import requirement
from tests.stream_checker import events_of


async def test_frames_that_are_ready_together_leave_together() -> None:
    """However many: one chunk, one wake-up (design 5, Readers)."""
    stream = stream_of()
    reader = attached(stream)
    reader.grab()
    taking = asyncio.create_task(reader.take())
    await asyncio.sleep(0)
    text = stream.text("m")
    for _ in range(100):
        text.write("x")
    text.end()
    chunk = await soon(taking)
    assert chunk is not None
    assert len(events_of(chunk)) == 102
    assert reader.grab() == b""


async def test_a_lone_frame_leaves_in_the_next_turn_of_the_loop() -> None:
    """No timer gathers frames (design 5)."""
    stream = stream_of()
    reader = attached(stream)
    reader.grab()
    taking = asyncio.create_task(reader.take())
    await asyncio.sleep(0)
    stream.emit({"type": "CUSTOM", "name": "a:b", "value": 1})
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert taking.done()
    assert types(events_of(taking.result() or b"")) == ["CUSTOM"]


async def test_the_loser_of_a_slow_read_is_cut_and_the_others_read_on() -> None:
    """Bounded memory per reader; its last frame says what to do (design 5, N3)."""
    stream = stream_of(unread=100_000)
    slow, quick = attached(stream, "slow"), attached(stream, "quick")
    taken = slow.grab()
    got = []
    text = stream.text("m")
    for _ in range(400):
        text.write("x" * 1000)
        got.append(quick.grab())
    stream.finish(Ending(type="success"))
    cut = events_of(taken + await body_of(slow))
    assert types(cut) == ["RUN_STARTED", "RUN_ERROR"]
    assert cut[-1]["code"] == "reader_too_slow"
    assert not slow.whole
    assert stream.ended
    whole = events_of(b"".join(got) + await body_of(quick))
    assert types(whole)[-1] == "RUN_FINISHED"
    assert len(whole) == 404
    assert quick.whole


async def test_a_reader_that_waits_is_never_cut_however_much_comes_at_once() -> None:
    """A producer that does not let the loop turn is no fault of the reader."""
    stream = stream_of(unread=10_000)
    reader, begins = attached(stream), attached(stream, "b")
    reader.grab()
    taking = asyncio.create_task(reader.take())
    await asyncio.sleep(0)
    text = stream.text("m")
    for _ in range(1000):
        text.write("x" * 1000)
    stream.finish(Ending(type="success"))
    body = (await soon(taking) or b"") + await body_of(reader)
    assert types(events_of(body))[-1] == "RUN_FINISHED"
    assert types(await events(begins))[-1] == "RUN_FINISHED"


async def test_a_reader_that_takes_what_was_said_in_one_go_goes_on_reading() -> None:
    """The rest of the tail, sealed by its own taking, must not cut it."""
    stream = stream_of(unread=50_000)
    reader = attached(stream)
    reader.grab()
    taking = asyncio.create_task(reader.take())
    await asyncio.sleep(0)
    text = stream.text("m")
    for _ in range(70):
        text.write("x" * 1000)
    body = await soon(taking) or b""
    text.write("y")
    stream.finish(Ending(type="success"))
    body += await body_of(reader)
    assert types(events_of(body)) == [
        "TEXT_MESSAGE_START",
        *["TEXT_MESSAGE_CONTENT"] * 71,
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]


async def test_a_snapshot_over_the_limit_reaches_a_reader_that_keeps_up() -> None:
    """The limit is on what was left unread, not on the size of one event."""
    stream = stream_of(unread=1000)
    reader = attached(stream)
    reader.grab()
    big = orjson.dumps({"id": "u", "role": "user", "content": "x" * 50_000})
    stream.snapshot(messages=[big], state=b"{}")
    stream.finish(Ending(type="success"))
    assert types(await events(reader))[-1] == "RUN_FINISHED"
    assert reader.whole


async def test_room_costs_nothing_while_little_is_unread() -> None:
    """A slow run does not even let the loop turn for it."""
    stream = stream_of()
    attached(stream)
    stream.text("m").write("x")
    waiting = stream.room()
    with pytest.raises(StopIteration):
        waiting.send(None)


async def test_room_waits_for_a_reader_and_goes_on_when_it_took() -> None:
    """Backpressure for those who produce faster than a client reads."""
    stream = stream_of()
    reader = attached(stream)
    reader.grab()
    text = stream.text("m")
    for _ in range(200):
        text.write("x" * 1000)
    assert stream.full
    producer = asyncio.create_task(stream.room())
    other = asyncio.create_task(stream.room())
    for _ in range(5):
        await asyncio.sleep(0)
    assert not producer.done()
    other.cancel()
    await asyncio.sleep(0)
    assert not producer.done()
    assert reader.grab()
    await soon(producer)
    assert not stream.full


async def test_a_reader_holds_its_run_up_for_its_patience_and_no_longer() -> None:
    """A stalled client delays a run once, and the run goes on (N3)."""
    stream = stream_of(patience=0.02)
    attached(stream).grab()
    text = stream.text("m")
    for _ in range(200):
        text.write("x" * 1000)
    await soon(stream.room())
    waiting = stream.room()
    with pytest.raises(StopIteration):
        waiting.send(None)


async def test_room_is_given_when_the_reader_leaves() -> None:
    """A lost client must not hold its run (ER-13)."""
    stream = stream_of()
    reader = attached(stream)
    reader.grab()
    text = stream.text("m")
    for _ in range(200):
        text.write("x" * 1000)
    producer = asyncio.create_task(stream.room())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    reader.detach()
    await soon(producer)
    assert not stream.readers


@requirement("ER-13")
async def test_a_reader_that_leaves_changes_nothing_for_the_run() -> None:
    """A lost client is not a cancel (design 5, Disconnect)."""
    stream = stream_of()
    gone, stays = attached(stream, "a"), attached(stream, "b")
    gone.grab()
    taking = asyncio.create_task(gone.take())
    await asyncio.sleep(0)
    gone.detach()
    gone.detach()
    assert await soon(taking) is None
    stream.text("m").write("x")
    stream.finish(Ending(type="success"))
    assert types(await events(stays))[-1] == "RUN_FINISHED"
    assert gone.grab() == b""
    assert not gone.whole


async def test_a_run_without_readers_keeps_nothing_but_its_books() -> None:
    """A detached run has bounded buffers (N3), and a later reader still sees what is open."""
    stream = stream_of()
    text = stream.text("m")
    for _ in range(1000):
        text.write("x" * 1000)
    assert stream._tail == []
    late = attached(stream)
    assert len(late.grab()) > 1_000_000


async def test_a_cancelled_taker_loses_nothing() -> None:
    """What was not handed over is still there for the next take."""
    stream = stream_of()
    reader = attached(stream)
    reader.grab()
    taking = asyncio.create_task(reader.take())
    await asyncio.sleep(0)
    taking.cancel()
    stream.emit({"type": "CUSTOM", "name": "a:b", "value": 1})
    stream.finish(Ending(type="success"))
    assert types(await events(reader)) == ["CUSTOM", "RUN_FINISHED"]


async def test_a_poke_ends_the_waiting_without_a_frame() -> None:
    """So that an edge can send a sign of life (EN-06)."""
    stream = stream_of()
    reader = attached(stream)
    reader.grab()
    taking = asyncio.create_task(reader.take())
    await asyncio.sleep(0)
    reader.poke()
    assert await soon(taking) == b""
    assert stream._sleepers == []
    reader.poke()
    taking = asyncio.create_task(reader.take())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not taking.done()
    taking.cancel()


async def test_canned_frames_are_a_whole_body() -> None:
    """Replays and refusals read like live runs (design 4)."""
    body = [frames.run_started("t", "r"), frames.run_error("thread_busy", "Wait.")]
    reader = Reader.canned(body)
    assert reader.run_key is None
    assert await soon(reader.take()) == b"".join(body)
    assert await soon(reader.take()) is None
    assert reader.whole
    assert Reader.canned(body, "run_1").run_key == "run_1"
