"""Text of a turn: messages that are streamed once and recorded with the next commit."""

import asyncio
import logging
from collections.abc import AsyncIterable, Mapping
from types import TracebackType
from typing import Any, Self

from sayso import jsonvalue
from sayso.agents.codec import to_json
from sayso.errors import OpenMessage, StepFailed
from sayso.records import Entry, Message
from sayso.streams.textstream import TextStream
from sayso.turns import breakpoints
from sayso.turns.branch import Branch
from sayso.turns.breakpoints import Named
from sayso.turns.effects import CallInfo, EffectScope, current_effect, cut, inside
from sayso.turns.execution import Execution, Place
from sayso.turns.journal import numbered
from sayso.turns.protection import in_order, protect

__all__ = ["Phase", "TextMessage", "spoken", "stream_text"]

_log = logging.getLogger("sayso.turn")


def spoken(message_id: str, role: str, text: str, **members: Any) -> Message:
    """The stored form of a message of text; members that are None are left out (LC-22)."""
    body = {"id": message_id, "role": role, "content": text}
    body |= {name: value for name, value in members.items() if value is not None}
    return Message(id=message_id, role=role, body=jsonvalue.encode(body))


def checked_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Metadata of a message as JSON; ValueError for what the protocol keeps for itself (MD-01)."""
    if metadata is None:
        return None
    plain = jsonvalue.decode(to_json(metadata, "the metadata of a message"))
    if not isinstance(plain, dict) or "ag-ui" in plain:
        raise ValueError(
            "metadata is an object, and its key 'ag-ui' belongs to the protocol: use a key of "
            "your own (MD-01)"
        )
    return plain


class TextMessage:
    """A message that is written piece by piece: `async with turn.message() as message`.

    On replay it takes the same words without sending them again.
    """

    _kind = "message"

    def __init__(self, execution: Execution, metadata: Mapping[str, Any] | None = None) -> None:
        self._execution = execution
        self._metadata = checked_metadata(metadata)
        self._place: Place | None = None
        self._scope: EffectScope | None = None
        self._text: TextStream | None = None
        self._id = ""
        self._written = 0
        self._open = False

    async def __aenter__(self) -> Self:
        """Open the message."""
        execution = self._execution
        if execution.inside_effect():
            scope = current_effect()
            assert scope is not None  # noqa: S101 - inside_effect() says so
            if scope.on_emit is not None:
                scope.on_emit()
            self._scope = scope
            self._id = self._identify(f"{scope.place}.{scope.emitted}")
            scope.emitted += 1
            self._text = self._begin()
        else:
            self._place = await execution.enter(self._kind, "")
            self._id = self._identify(self._place.key)
            if self._place.entry is None:
                execution.live(self._place.branch)
                self._text = self._begin()
            self._place.branch.open_message = self._id
        self._open = True
        if self._text is not None:
            execution.writing[self._id] = self._close
        return self

    def _identify(self, place: str) -> str:
        """The message's id: the same where it is streamed again."""
        return self._execution.message_id(place)

    def _begin(self) -> TextStream:
        """Tell readers that it begins."""
        return self._execution.stream.text(self._id, metadata=self._metadata)

    def _close(self) -> Message:
        """Tell readers that it has ended; returns what is stored of it."""
        assert self._text is not None  # noqa: S101 - only what was begun is closed
        return spoken(self._id, "assistant", self._text.end(), metadata=self._metadata)

    async def write(self, text: str) -> None:
        """Add text; it leaves as soon as the event loop turns."""
        if not self._open:
            raise OpenMessage("this message is closed; open another one with turn.message()")
        if not isinstance(text, str):
            raise TypeError(f"a message takes text, not {type(text).__name__}")
        if self._text is None:
            return
        if self._execution.closed:
            raise self._execution.pause()
        self._text.write(text)
        self._written += len(text)
        if self._written > self._execution.limits.history:
            self._execution.make_room(self._written)
        await self._execution.stream.room()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the message and record it, unless the turn is being closed around it."""
        self._open = False
        execution, place = self._execution, self._place
        if place is not None:
            place.branch.open_message = None
        if self._text is None or execution.closed:
            return
        del execution.writing[self._id]
        message = self._close()
        if self._scope is not None:
            self._scope.messages.append(message)
        elif place is not None:
            execution.record(place, self._kind, "", "done")
            execution.remember(message)


async def stream_text(execution: Execution, chunks: AsyncIterable[str]) -> str:
    """Send an asynchronous iterable of text as one message; returns the whole text.

    Idempotent by default: after a crash in the middle it is consumed again, under the same id. An
    iterable that raises keeps what it sent; the caller gets `StepFailed`, live and on replay.
    """
    if execution.inside_effect():
        return await _consume(TextMessage(execution), chunks)
    place = await execution.enter("stream", "")
    entry = place.entry
    if entry is None:
        execution.live(place.branch)
        (entry,) = await protect(execution, "turn.stream", _stream(execution, place, chunks))
    if (end := execution.journal.ended(entry)) is not None:
        await in_order(execution, (end,), place.branch.task)
    data = jsonvalue.decode(entry.data)
    if "error" in data:
        raise StepFailed("turn.stream", data["error"]["type"], data["error"]["message"])
    return str(data["text"])


async def _stream(execution: Execution, place: Place, chunks: AsyncIterable[str]) -> Entry:
    await execution.timeline.live()
    if not await execution.effects.may_begin():
        raise execution.pause()
    execution.effects.repeatable(asyncio.current_task())
    await execution.before_repeatable()
    message_id = execution.message_id(place.key)
    scope = EffectScope(
        execution=execution,
        info=CallInfo(
            key=execution.call_key(place.key),
            name="stream",
            thread_id=execution.given.thread_id,
            principal=execution.principal,
        ),
        place=place.key,
    )
    text = execution.stream.text(message_id)
    execution.writing[message_id] = lambda: spoken(message_id, "assistant", text.end())
    failed: BaseException | None = None
    try:
        with inside(scope):
            # No thread has room for more, so an endless one ends there.
            await text.pour(chunks, execution.limits.history)
    except BaseException as error:
        if cut(error):
            raise
        _log.warning("turn.stream of turn %s failed", execution.turn.key, exc_info=error)
        failed = error
    whole = text.end()
    del execution.writing[message_id]
    execution.remember(spoken(message_id, "assistant", whole))
    for message in scope.messages:
        execution.remember(message)
    members = b'"text":' + jsonvalue.encode(whole)
    if failed is not None:
        told = {"type": type(failed).__name__, "message": str(failed)}
        members += b',"error":' + jsonvalue.encode(told) + b',"again":true'
    return execution.record(
        place, "stream", "", "done", numbered(execution.timeline.end(), members)
    )


async def _consume(message: TextMessage, chunks: AsyncIterable[str]) -> str:
    parts: list[str] = []
    async with message:
        async for chunk in chunks:
            parts.append(chunk)
            await message.write(chunk)
    return "".join(parts)


class Phase:
    """A named part of the work, shown to clients as an AG-UI step: `async with turn.phase(…)`."""

    def __init__(self, execution: Execution, name: str) -> None:
        self._execution = execution
        self._name = name
        self._named = Named("phase", name, f"phase {name!r}")
        self._announced = False
        self._branch: Branch | None = None
        self._outer: tuple[Any, ...] = ()
        self._owner = execution.stream.owner

    def announce(self) -> None:
        """Tell clients that the phase is on, once in this execution."""
        if not self._announced:
            self._announced = True
            self._say("STEP_STARTED")

    def _say(self, kind: str) -> None:
        """Steps are per owner, and it may be an inner agent's code that announces one (ST-03)."""
        self._execution.stream.emit_as(self._owner, {"type": kind, "stepName": self._name})

    async def __aenter__(self) -> None:
        """Begin the phase."""
        place = await self._execution.enter("phase", self._name)
        await breakpoints.before(self._execution, place, self._named)
        self._branch = place.branch
        self._outer = place.branch.phases
        self._owner = self._execution.stream.owner
        place.branch.phases = (*self._outer, self)
        if place.entry is None:
            self._execution.record(place, "phase", self._name, "done")
            self._execution.live(place.branch)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the phase; a pause leaves that to the boundary."""
        execution = self._execution
        if self._branch is None or execution.halted(self._branch):
            return
        place = await execution.enter("phase end", self._name)
        if place.entry is None:
            if error is None:
                breakpoints.note(execution, place, self._named)
            execution.record(place, "phase end", self._name, "done")
            execution.live(place.branch)
            self._say("STEP_FINISHED")
        place.branch.phases = self._outer
        await breakpoints.after(execution, [(place, self._named)])
