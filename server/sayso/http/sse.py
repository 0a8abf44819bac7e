"""A reader's frames as an HTTP response that always ends in order.

drain ─ chunk ──> send            frames that are ready leave together
  │  └─ no rest ─> gather         those of a stream that hardly rests wait two turns of the loop
  │  └─ silence ─> keep-alive     one timer per response, moved on only when it fires
  └──── the end ─> last send      and only a whole, undisturbed body counts as delivered
receive ─ disconnect ─> detach    the run continues without this reader (ER-13)
cancelled, or a fault ─> RUN_ERROR, end of body (ER-02, ER-12, TR-17)
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, Protocol

from sayso.base.codes import Code
from sayso.base.records import Principal
from sayso.engine.sign_ins import SignInEnd, SignIns
from sayso.http.asgi import Receive, Send
from sayso.http.options import KeepAlive
from sayso.protocol import frames

_log = logging.getLogger("sayso.http")

_HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]
_DEFAULT: Final = KeepAlive()
_BUSY: Final = 0.01
"""Seconds after a chunk in which more to send is a sign of a stream that hardly rests."""
_GATHER: Final = 2
"""Turns of the loop that frames of such a stream wait for others, to leave together."""
_FAREWELL_SECONDS: Final = 1.0
"""Seconds that a cancelled response tries to end its body in order."""


class FrameSource(Protocol):
    """The source of a body: a run's reader, or anything else that has frames to send."""

    ended: bool
    """True if nothing will follow the ready frames."""
    complete: bool
    """True if the body is complete."""
    delivered: bool
    """Set here, when a whole body went out."""

    def readable(self) -> Awaitable[None]:
        """Done when there is something to drain, at the end, and by a `wake`."""

    def drain(self) -> bytes:
        """All frames that are ready now; empty if there are none."""

    def wake(self) -> None:
        """End the waiting, although nothing is ready."""

    def detach(self) -> None:
        """The body is over; idempotent."""


class Handle(Protocol):
    """A callback that is due later."""

    def cancel(self) -> None:
        """Cancel the callback."""


class Timer(Protocol):
    """The part of an event loop that keep-alive needs; tests bring their own."""

    def time(self) -> float:
        """Seconds that never go back."""

    def call_later(self, delay: float, callback: Callable[[], None], /) -> Handle:
        """Call back after `delay` seconds."""


class _Pulse:
    """Wakes the reader after each full interval without a byte."""

    def __init__(self, reader: FrameSource, timer: Timer, interval: float) -> None:
        self._reader = reader
        self._timer = timer
        self._interval = interval
        self.last = timer.time()
        self._handle: Handle = timer.call_later(interval, self._tick)

    def _tick(self) -> None:
        silent = self._timer.time() - self.last
        if silent >= self._interval:
            self._reader.wake()
            silent = 0.0
        self._handle = self._timer.call_later(self._interval - silent, self._tick)

    def stop(self) -> None:
        self._handle.cancel()


async def respond(
    reader: FrameSource,
    receive: Receive,
    send: Send,
    *,
    keep_alive: KeepAlive | None = _DEFAULT,
    timer: Timer | None = None,
    farewell: Callable[[str, str], bytes] = frames.run_error,
    fields: Sequence[tuple[bytes, bytes]] = (),
    ends: Callable[[], Awaitable[SignInEnd]] | None = None,
) -> None:
    """Send everything that the reader gives as one event stream; sets `reader.delivered`.

    `keep_alive` is the silence after which a comment is sent, None for never;
    `farewell` makes the last frame of a body that cannot continue, from a code and a message;
    `fields` are further headers, or others in place of those of event streams; `ends` waits for
    what ends the body before its time, see `ending`. The request's body must have been read.
    Returns when the body has ended or the client is gone.
    """
    body = _Body(reader, send, farewell, [*(dict(_HEADERS) | dict(fields)).items()])
    watcher = asyncio.create_task(_watch(receive, body))
    timer = timer or asyncio.get_running_loop()
    expiry = None if ends is None else asyncio.create_task(body.expire(ends))
    try:
        # A task of its own, so that each event wakes one coroutine and not the whole call chain.
        await asyncio.create_task(_deliver(body, timer, keep_alive))
    finally:
        if expiry is not None:
            expiry.cancel()
        watcher.cancel()
        reader.detach()


class _Body:
    """The body as it stands: whether it has ended, and whether anybody is there."""

    __slots__ = ("end", "ended", "farewell", "fields", "gone", "reader", "send")

    def __init__(
        self,
        reader: FrameSource,
        send: Send,
        farewell: Callable[[str, str], bytes],
        fields: list[tuple[bytes, bytes]],
    ) -> None:
        self.reader = reader
        self.send = send
        self.farewell = farewell
        self.fields = fields
        self.ended = False
        self.end: SignInEnd | None = None
        self.gone = False

    async def expire(self, ends: Callable[[], Awaitable[SignInEnd]]) -> None:
        """End the body once its credentials count no more: nothing may be sent then."""
        self.end = await ends()
        self.reader.wake()

    async def close(self, code: Code, message: str) -> None:
        """End a body that cannot continue with one last frame, if it is open and somebody reads."""
        if self.ended or self.gone:
            return
        last = self.farewell(code.value, message)
        with suppress(Exception):
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await self.send({"type": "http.response.body", "body": last, "more_body": False})


async def _deliver(body: _Body, timer: Timer, keep_alive: KeepAlive | None) -> None:
    reader, send = body.reader, body.send
    pulse = None if keep_alive is None else _Pulse(reader, timer, keep_alive.seconds)
    comment = frames.keep_alive(keep_alive.size if keep_alive is not None else 0)
    try:
        await send({"type": "http.response.start", "status": 200, "headers": body.fields})
        sent = -_BUSY
        while True:
            await reader.readable()
            if timer.time() - sent < _BUSY:
                # So much is said that a moment more makes fewer chunks of it.
                for _ in range(_GATHER):
                    await asyncio.sleep(0)
            if body.gone:
                return
            if body.end is not None:
                await body.close(*body.end)
                return
            # What is drained is everything: nothing is left behind when the reader has ended.
            chunk = reader.drain()
            if reader.ended:
                await send({"type": "http.response.body", "body": chunk, "more_body": False})
                body.ended = True
                reader.delivered = reader.complete and not body.gone
                return
            # Woken for nothing means by the pulse.
            chunk = chunk or comment
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            sent = timer.time()
            if pulse is not None:
                pulse.last = sent
    except asyncio.CancelledError:
        await body.close(Code.SHUTTING_DOWN, "The server is shutting down. Connect again.")
        raise
    except OSError:
        # The server's way of saying that the client is gone.
        body.gone = True
    except Exception:
        _log.exception("a response failed while it was streamed")
        await body.close(Code.INTERNAL_ERROR, "The server failed to send this response.")
    finally:
        if pulse is not None:
            pulse.stop()


def ending(
    sign_ins: SignIns, principal: Principal, *, began: bool
) -> Callable[[], Awaitable[SignInEnd]] | None:
    """Waits until a stream has to end since its caller's sign-in does; None if that cannot be.

    `began`: the request began the run.
    """
    if not sign_ins.may_end(principal):
        return None
    return partial(sign_ins.end, principal, began=began)


async def _watch(receive: Receive, body: _Body) -> None:
    message: Any = {}
    while message.get("type") != "http.disconnect":
        message = await receive()
    body.gone = True
    body.reader.detach()
