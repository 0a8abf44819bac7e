"""`GET /interrupts/stream`: what changes in the caller's inbox, as server-sent events.

`{"type": "connected"}` comes first: what a client lists from then on is never older than what it
is told. Then `opened`, `held`, `withdrawn` (what was held, or that one of several agreed),
`settled`, `expired`, `extended`, `assigned`, `reminded`, `lapsed`, `agreed` (one of several who
have to), each with the interrupt as it stands; `deleted` with a thread that is gone; `reload` when
changes are missing and lists must be read again; `closed` before the end of the body.
"""

import asyncio
from typing import Any, Final

import orjson

from sayso.base.clock import format_time
from sayso.base.codes import Code
from sayso.base.keepalive import KeepAlive
from sayso.base.records import Principal
from sayso.engine.inbox import Inbox, InboxEvent, InboxSubscription
from sayso.http.asgi import PRINCIPAL, Receive, Scope, Send
from sayso.http.sse import respond, seconds_left
from sayso.http.views import listed_view
from sayso.protocol.frames import one_line

_GOING: Final = "This server is shutting down: connect again."


def _frame(value: dict[str, Any]) -> bytes:
    return b"data: " + one_line(orjson.dumps(value)) + b"\n\n"


def _closed(code: str, message: str) -> bytes:
    return _frame({"type": "closed", "code": code, "message": message})


def _event(notice: InboxEvent, reader: Principal, now: int) -> dict[str, Any]:
    if notice.kind == "gap":
        return {"type": "reload"}
    event: dict[str, Any] = {"type": notice.kind, "threadId": notice.thread_id}
    if notice.at is not None:
        event["at"] = format_time(notice.at)
    if notice.interrupt is not None:
        item = notice.interrupt.interrupt
        if notice.kind == "settled" and item.status == "expired":
            event["type"] = "expired"
        event |= {"interruptId": item.id, "interrupt": listed_view(notice.interrupt, reader, now)}
    return event


class InboxStream:
    """The endpoint, a bare ASGI app."""

    def __init__(self, inbox: Inbox, *, keep_alive: KeepAlive | None) -> None:
        self._inbox = inbox
        self._keep_alive = keep_alive

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one listener until it goes or the server ends."""
        frames = _Frames(self._inbox)
        principal = scope[PRINCIPAL]
        await frames.begin(principal)
        await respond(
            frames,
            receive,
            send,
            keep_alive=self._keep_alive,
            farewell=_closed,
            seconds=seconds_left(principal, began=False),
        )


class _Frames:
    """A listener's notices as frames."""

    def __init__(self, inbox: Inbox) -> None:
        self.ended = False
        self.complete = False
        self.delivered = False
        self._inbox = inbox
        self._listener: InboxSubscription | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._first = _frame({"type": "connected"})

    async def begin(self, principal: Principal) -> None:
        """Follow from now on."""
        self._listener = await self._inbox.listen(principal, self.wake)
        self.wake()

    def readable(self) -> asyncio.Future[None]:
        """Done when there is something to grab, at the end, and by a `wake`."""
        self._waiter = waiter = asyncio.get_running_loop().create_future()
        listener = self._listener
        if self._first or listener is None or listener.ready:
            waiter.set_result(None)
        return waiter

    def drain(self) -> bytes:
        """All frames that are ready now."""
        data, self._first = self._first, b""
        if self._listener is not None:
            reader, now = self._listener.principal, self._inbox.now()
            data += b"".join(_frame(_event(event, reader, now)) for event in self._listener.take())
            if self._listener.ended and not self.ended:
                self.ended = True
                data += _closed(Code.SHUTTING_DOWN.value, _GOING)
        return data

    def wake(self) -> None:
        """End the waiting."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def detach(self) -> None:
        """Stop following; idempotent."""
        if self._listener is not None:
            self._inbox.leave(self._listener)
            self._listener = None
        self.ended = True
        self.wake()
