"""The event stream as a response: framing, signs of life, and every way it can end."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from sayso.base.codes import Code
from sayso.engine.sign_ins import SignInEnd
from sayso.http.options import KeepAlive
from sayso.http.sse import respond
from sayso.protocol import frames
from sayso.streams.ending import Ending
from sayso.streams.reader import Reader
from tests.asgi import Exchange
from tests.bodies import attached, soon, stream_of, types
from tests.contract.requirements import requirement
from tests.stream_checker import check, events_of

Start = tuple[Exchange, "asyncio.Task[None]"]


class FakeTimer:
    """Time that tests move; notes how many callbacks were ever asked for."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.asked = 0
        self.due: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], None], /) -> "FakeHandle":
        self.asked += 1
        entry = (self.now + delay, callback)
        self.due.append(entry)
        return FakeHandle(self, entry)

    async def advance(self, seconds: float) -> None:
        """Move on, call what is due, and let the loop turn."""
        self.now += seconds
        for entry in [entry for entry in self.due if entry[0] <= self.now]:
            self.due.remove(entry)
            entry[1]()
        for _ in range(5):
            await asyncio.sleep(0)


class FakeHandle:
    def __init__(self, timer: FakeTimer, entry: tuple[float, Callable[[], None]]) -> None:
        self._timer = timer
        self._entry = entry

    def cancel(self) -> None:
        if self._entry in self._timer.due:
            self._timer.due.remove(self._entry)


def begin(reader: Reader, timer: FakeTimer | None = None, **options: Any) -> Start:
    exchange = Exchange([])
    task = asyncio.create_task(
        respond(reader, exchange.receive, exchange.send, timer=timer, **options)
    )
    return exchange, task


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@requirement("LC-09", "EN-10")
async def test_frames_are_flushed_as_they_come_and_the_body_ends_with_the_run() -> None:
    """A lone frame does not wait for the next (EN-10), and the end is the end (LC-09)."""
    stream = stream_of()
    reader = attached(stream)
    exchange, task = begin(reader)
    text = stream.text("m")
    await exchange.until(b"TEXT_MESSAGE_START")
    text.write("one")
    await exchange.until(b"one")
    text.write("two")
    text.write("three")
    await exchange.until(b"three")
    assert exchange.answer.chunks[-1].count(b"data: ") == 2
    stream.finish(Ending(type="success"))
    await soon(task)
    assert exchange.answer.ended
    assert exchange.answer.chunks[-1].count(b"RUN_FINISHED") == 1
    assert check(events_of(exchange.answer.body)) == []
    assert reader.delivered


@requirement("EN-06", "EN-19")
async def test_silence_is_broken_by_comments_and_nothing_else_is() -> None:
    """Three silent intervals, three comments; the same events (M1)."""
    timer, stream = FakeTimer(), stream_of()
    exchange, task = begin(attached(stream), timer, keep_alive=KeepAlive(15.0))
    await exchange.until(b"RUN_STARTED")
    for _ in range(3):
        await timer.advance(15)
    stream.finish(Ending(type="success"))
    await soon(task)
    assert exchange.answer.body.count(frames.KEEP_ALIVE) == 3
    assert types(events_of(exchange.answer.body)) == ["RUN_STARTED", "RUN_FINISHED"]
    assert timer.due == []


async def test_comments_have_the_size_that_a_proxy_passes_on() -> None:
    """M3: one line of that many bytes, which no client takes for an event."""
    timer, stream = FakeTimer(), stream_of()
    exchange, task = begin(attached(stream), timer, keep_alive=KeepAlive(15.0, size=2048))
    await exchange.until(b"RUN_STARTED")
    await timer.advance(15)
    stream.finish(Ending(type="success"))
    await soon(task)
    (comment,) = [chunk for chunk in exchange.answer.chunks if chunk.startswith(b":")]
    assert (len(comment), comment.count(b"\n"), comment[-2:]) == (2048, 2, b"\n\n")
    assert types(events_of(exchange.answer.body)) == ["RUN_STARTED", "RUN_FINISHED"]


async def test_a_chatty_run_has_no_comments_and_one_timer_for_many_events() -> None:
    """The timer is moved on when it fires, not with each event (design 5)."""
    timer, stream = FakeTimer(), stream_of()
    exchange, task = begin(attached(stream), timer, keep_alive=KeepAlive(15.0))
    text = stream.text("m")
    for second in range(60):
        text.write(f"<{second}>")
        await timer.advance(1)
    assert frames.KEEP_ALIVE not in exchange.answer.body
    assert timer.asked <= 6
    await timer.advance(13.5)
    assert frames.KEEP_ALIVE not in exchange.answer.body
    await timer.advance(1.5)
    assert exchange.answer.body.endswith(frames.KEEP_ALIVE)
    stream.finish(Ending(type="success"))
    await soon(task)


async def test_signs_of_life_can_be_turned_off() -> None:
    """`keep_alive=None` asks for no timer at all."""
    timer, stream = FakeTimer(), stream_of()
    _, task = begin(attached(stream), timer, keep_alive=None)
    await turns()
    assert timer.asked == 0
    stream.finish(Ending(type="success"))
    await soon(task)


async def test_a_response_leaves_no_task_and_no_timer_behind() -> None:
    """However it ended; thousands follow it (design 5)."""
    timer, stream = FakeTimer(), stream_of()
    whole, whole_task = begin(attached(stream), timer)
    gone, gone_task = begin(attached(stream), timer)
    await whole.until(b"RUN_STARTED")
    gone.gone.set()
    await soon(gone_task)
    stream.finish(Ending(type="success"))
    await soon(whole_task)
    await turns()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert timer.due == []


@requirement("ER-13")
async def test_a_client_that_leaves_is_let_go_and_the_run_goes_on() -> None:
    """Seen by the server's word, without polling (design 5, Disconnect)."""
    stream = stream_of()
    gone, stays = attached(stream, "gone"), attached(stream, "stays")
    exchange, task = begin(gone)
    other, other_task = begin(stays)
    await exchange.until(b"RUN_STARTED")
    exchange.gone.set()
    await soon(task)
    assert len(stream.readers) == 1
    assert not gone.delivered
    stream.text("m").write("x")
    stream.finish(Ending(type="success"))
    await soon(other_task)
    assert types(events_of(other.answer.body))[-1] == "RUN_FINISHED"
    assert exchange.asked == 1


async def test_a_client_that_leaves_before_the_last_frame_did_not_get_the_body() -> None:
    """It would be answered with the run again (design 4)."""
    stream = stream_of()
    reader = attached(stream)
    exchange, task = begin(reader)
    await exchange.until(b"RUN_STARTED")
    exchange.gone.set()
    stream.finish(Ending(type="success"))
    await soon(task)
    assert not reader.delivered


async def test_a_server_that_reports_the_loss_as_an_error_is_understood() -> None:
    """Some servers raise from `send` (ASGI 2.4)."""
    stream = stream_of()
    reader = attached(stream)

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            raise OSError("broken pipe")

    exchange = Exchange([])
    await soon(respond(reader, exchange.receive, send))
    assert not reader.delivered
    assert not stream.readers


@requirement("TR-17", "ER-12", "LC-02")
async def test_a_cancelled_response_says_so_and_ends_its_body() -> None:
    """A cut socket would crash a Node host (TR-17)."""
    stream = stream_of()
    reader = attached(stream)
    exchange, task = begin(reader)
    await exchange.until(b"RUN_STARTED")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await soon(task)
    found = events_of(exchange.answer.body)
    assert exchange.answer.ended
    assert types(found) == ["RUN_STARTED", "RUN_ERROR"]
    assert found[-1]["code"] == "shutting_down"
    assert not reader.delivered
    assert not stream.readers


async def test_a_response_that_is_cancelled_while_the_client_reads_nothing_still_stops() -> None:
    """The farewell is bounded (ER-12)."""
    stream = stream_of()
    exchange, task = begin(attached(stream))
    await exchange.until(b"RUN_STARTED")
    exchange.send_gate.clear()
    stream.text("m").write("x")
    await turns()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await soon(task)
    assert types(events_of(exchange.answer.body)) == ["RUN_STARTED"]


@requirement("ER-02", "ER-12", "EN-08")
async def test_a_fault_while_streaming_ends_the_body_with_one_terminal_event(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whatever broke: status 200, RUN_ERROR, end (ER-02)."""
    stream = stream_of()
    reader = attached(stream)
    exchange = Exchange([])
    failed: list[Any] = []

    async def send(message: Any) -> None:
        if b"boom" in message.get("body", b"") and not failed:
            failed.append(message)
            raise RuntimeError("the server's own fault")
        await exchange.send(message)

    task = asyncio.create_task(respond(reader, exchange.receive, send))
    await exchange.until(b"RUN_STARTED")
    stream.text("m").write("boom")
    await soon(task)
    found = events_of(exchange.answer.body)
    assert exchange.answer.ended
    assert types(found) == ["RUN_STARTED", "RUN_ERROR"]
    assert found[-1]["code"] == "internal_error"
    assert "fault" not in found[-1]["message"]
    assert "the server's own fault" in caplog.text


async def test_a_slow_client_is_cut_and_its_body_ends_in_order() -> None:
    """The run is not held up for ever, and memory is bounded (design 5, Readers)."""
    stream = stream_of(unread=50_000, patience=0.01)
    reader = attached(stream)
    exchange, task = begin(reader)
    await exchange.until(b"RUN_STARTED")
    exchange.send_gate.clear()
    text = stream.text("m")
    for _ in range(1000):
        text.write("x" * 1000)
        await soon(stream.backpressure())
    stream.finish(Ending(type="success"))
    exchange.send_gate.set()
    await soon(task)
    found = events_of(exchange.answer.body)
    assert exchange.answer.ended
    assert found[-1]["code"] == "reader_too_slow"
    assert len(found) < 500
    assert not reader.delivered


async def test_a_producer_in_a_hurry_does_not_cut_a_client_that_reads() -> None:
    """Ten times the limit, with `room` between the pieces."""
    stream = stream_of(unread=50_000)
    reader = attached(stream)
    exchange, task = begin(reader)
    text = stream.text("m")
    for _ in range(500):
        text.write("x" * 1000)
        await soon(stream.backpressure())
    stream.finish(Ending(type="success"))
    await soon(task)
    assert len(events_of(exchange.answer.body)) == 504
    assert reader.delivered


async def test_a_body_without_a_frame_just_ends() -> None:
    """A reader that was let go before it began."""
    exchange, task = begin(Reader.from_frames([]))
    await soon(task)
    assert exchange.answer.body == b""
    assert exchange.answer.ended


async def test_who_follows_is_told_no_more_once_the_sign_in_has_ended() -> None:
    """At the time, with nothing to say or much; the run goes on."""
    over = asyncio.Event()

    async def ends() -> SignInEnd:
        await over.wait()
        return SignInEnd(Code.TOKEN_EXPIRED, "Sign in.")

    stream = stream_of()
    exchange, task = begin(attached(stream), keep_alive=None, ends=ends)
    await turns()
    stream.text("m").write("said before")
    assert not task.done()
    over.set()
    stream.text("n").write("said after")
    await soon(task)
    last = events_of(exchange.answer.body)[-1]
    assert (last["type"], last["code"]) == ("RUN_ERROR", "token_expired")
    assert b"said after" not in exchange.answer.body


async def test_a_body_that_ends_by_itself_waits_for_no_sign_in() -> None:
    """And leaves no task that does."""
    stopped = asyncio.Event()

    async def ends() -> SignInEnd:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    _, task = begin(Reader.from_frames([b"data: {}\n\n"]), ends=ends)
    await soon(task)
    await soon(stopped.wait())
