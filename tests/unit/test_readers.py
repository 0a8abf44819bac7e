"""Readers: when chunks leave, who is cut, who holds whom up."""

import asyncio

import orjson
import pytest

from sayso.protocol import frames
from sayso.protocol.client_profile import ClientProfile
from sayso.streams.ending import Ending
from sayso.streams.reader import Reader
from tests.bodies import attached, body_of, events, soon, stream_of, types
from tests.contract.requirements import requirement
from tests.stream_checker import events_of


async def test_frames_that_are_ready_together_leave_together() -> None:
    """However many: one chunk, one wake-up (design 5, Readers)."""
    stream = stream_of()
    reader = attached(stream)
    reader.drain()
    taking = asyncio.create_task(reader.next_chunk())
    await asyncio.sleep(0)
    text = stream.text("m")
    for _ in range(100):
        text.write("x")
    text.end()
    chunk = await soon(taking)
    assert chunk is not None
    assert len(events_of(chunk)) == 102
    assert reader.drain() == b""


async def test_a_lone_frame_leaves_in_the_next_turn_of_the_loop() -> None:
    """No timer gathers frames (design 5)."""
    stream = stream_of()
    reader = attached(stream)
    reader.drain()
    taking = asyncio.create_task(reader.next_chunk())
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
    taken = slow.drain()
    got = []
    text = stream.text("m")
    for _ in range(400):
        text.write("x" * 1000)
        got.append(quick.drain())
    stream.finish(Ending(type="success"))
    cut = events_of(taken + await body_of(slow))
    assert types(cut) == ["RUN_STARTED", "RUN_ERROR"]
    assert cut[-1]["code"] == "reader_too_slow"
    assert not slow.complete
    assert stream.ended
    whole = events_of(b"".join(got) + await body_of(quick))
    assert types(whole)[-1] == "RUN_FINISHED"
    assert len(whole) == 404
    assert quick.complete


async def test_a_reader_that_waits_is_never_cut_however_much_comes_at_once() -> None:
    """A producer that does not let the loop turn is no fault of the reader."""
    stream = stream_of(unread=10_000)
    reader, begins = attached(stream), attached(stream, "b")
    reader.drain()
    taking = asyncio.create_task(reader.next_chunk())
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
    reader.drain()
    taking = asyncio.create_task(reader.next_chunk())
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
    reader.drain()
    big = orjson.dumps({"id": "u", "role": "user", "content": "x" * 50_000})
    stream.snapshot(messages=[big], state=b"{}")
    stream.finish(Ending(type="success"))
    assert types(await events(reader))[-1] == "RUN_FINISHED"
    assert reader.complete


async def test_room_costs_nothing_while_little_is_unread() -> None:
    """A slow run does not even let the loop turn for it."""
    stream = stream_of()
    attached(stream)
    stream.text("m").write("x")
    waiting = stream.backpressure()
    with pytest.raises(StopIteration):
        waiting.send(None)


async def test_room_waits_for_a_reader_and_goes_on_when_it_took() -> None:
    """Backpressure for those who produce faster than a client reads."""
    stream = stream_of()
    reader = attached(stream)
    reader.drain()
    text = stream.text("m")
    for _ in range(200):
        text.write("x" * 1000)
    assert stream.congested
    producer = asyncio.create_task(stream.backpressure())
    other = asyncio.create_task(stream.backpressure())
    for _ in range(5):
        await asyncio.sleep(0)
    assert not producer.done()
    other.cancel()
    await asyncio.sleep(0)
    assert not producer.done()
    assert reader.drain()
    await soon(producer)
    assert not stream.congested


async def test_a_reader_holds_its_run_up_for_its_patience_and_no_longer() -> None:
    """A stalled client delays a run once, and the run goes on (N3)."""
    stream = stream_of(patience=0.02)
    attached(stream).drain()
    text = stream.text("m")
    for _ in range(200):
        text.write("x" * 1000)
    await soon(stream.backpressure())
    waiting = stream.backpressure()
    with pytest.raises(StopIteration):
        waiting.send(None)


async def test_room_is_given_when_the_reader_leaves() -> None:
    """A lost client must not hold its run (ER-13)."""
    stream = stream_of()
    reader = attached(stream)
    reader.drain()
    text = stream.text("m")
    for _ in range(200):
        text.write("x" * 1000)
    producer = asyncio.create_task(stream.backpressure())
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
    gone.drain()
    taking = asyncio.create_task(gone.next_chunk())
    await asyncio.sleep(0)
    gone.detach()
    gone.detach()
    assert await soon(taking) is None
    stream.text("m").write("x")
    stream.finish(Ending(type="success"))
    assert types(await events(stays))[-1] == "RUN_FINISHED"
    assert gone.drain() == b""
    assert not gone.complete


async def test_a_run_without_readers_keeps_nothing_but_its_books() -> None:
    """A detached run has bounded buffers (N3), and a later reader still sees what is open."""
    stream = stream_of()
    text = stream.text("m")
    for _ in range(1000):
        text.write("x" * 1000)
    assert stream._tail == []
    late = attached(stream)
    assert len(late.drain()) > 1_000_000


async def test_a_cancelled_taker_loses_nothing() -> None:
    """What was not handed over is still there for the next take."""
    stream = stream_of()
    reader = attached(stream)
    reader.drain()
    taking = asyncio.create_task(reader.next_chunk())
    await asyncio.sleep(0)
    taking.cancel()
    stream.emit({"type": "CUSTOM", "name": "a:b", "value": 1})
    stream.finish(Ending(type="success"))
    assert types(await events(reader)) == ["CUSTOM", "RUN_FINISHED"]


async def test_a_poke_ends_the_waiting_without_a_frame() -> None:
    """So that an edge can send a sign of life (EN-06)."""
    stream = stream_of()
    reader = attached(stream)
    reader.drain()
    taking = asyncio.create_task(reader.next_chunk())
    await asyncio.sleep(0)
    reader.wake()
    assert await soon(taking) == b""
    assert stream._sleepers == []
    reader.wake()
    taking = asyncio.create_task(reader.next_chunk())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not taking.done()
    taking.cancel()


async def test_canned_frames_are_a_whole_body() -> None:
    """Replays and refusals read like live runs (design 4)."""
    body = [frames.run_started("t", "r"), frames.run_error("thread_busy", "Wait.")]
    reader = Reader.from_frames(body)
    assert reader.run_key is None
    assert await soon(reader.next_chunk()) == b"".join(body)
    assert await soon(reader.next_chunk()) is None
    assert reader.complete
    assert Reader.from_frames(body, "run_1").run_key == "run_1"


@requirement("CL-08")
@pytest.mark.parametrize("late", [False, True])
async def test_an_ending_that_asks_waits_for_its_moment(*, late: bool) -> None:
    """What came before it leaves at once; whether the run ends before or after that was taken."""
    stream = stream_of()
    reader = attached(stream, peer=ClientProfile(pause=0.02))
    if late:
        assert types(events_of(reader.drain())) == ["RUN_STARTED"]
    began = asyncio.get_running_loop().time()
    stream.finish(Ending(type="interrupt", interrupts=(b'{"id":"i","reason":"confirmation"}',)))
    if not late:
        assert types(events_of(reader.drain())) == ["RUN_STARTED"]
    assert (reader.drain(), reader.ended) == (b"", False)
    reader.wake()  # as a keep-alive does
    assert types(await events(reader)) == ["RUN_FINISHED"]
    assert reader.complete
    assert asyncio.get_running_loop().time() - began > 0.015


async def test_no_other_ending_waits() -> None:
    """A success leaves with what came before it; who goes away meanwhile leaves nothing behind."""
    stream = stream_of()
    reader = attached(stream, peer=ClientProfile(pause=60))
    stream.finish(Ending(type="success"))
    assert types(events_of(reader.drain())) == ["RUN_STARTED", "RUN_FINISHED"]
    gone = Reader.from_frames([b"data: {}\n\n"], last=b"data: {}\n\n", pause=60)
    gone.drain()
    waiting = asyncio.ensure_future(gone.readable())
    gone.detach()
    await soon(waiting)
    assert await gone.next_chunk() is None
