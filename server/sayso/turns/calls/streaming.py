"""Tools that stream: their chunks leave as an activity, their result is all of them (design 3).

A text that outgrows the thread is no result; then nothing of it is kept.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

from sayso.base import jsonvalue
from sayso.base.errors import NotRecordable
from sayso.base.records import Message
from sayso.base.texts import split_surrogate, to_utf8_safe
from sayso.turns.journal import places
from sayso.turns.replay.effects import EffectScope
from sayso.turns.replay.execution import Place

OUTPUT = "sayso:tool-output"
"""The type of the activity: `{"toolCallId", "tool", "chunks"}`."""


def streamed(
    scope: EffectScope,
    place: Place,
    call_id: str,
    fn: Callable[..., AsyncIterator[str]],
) -> Callable[..., Any]:
    """The tool's function as one that shows its chunks while they come and returns all of them."""

    async def pour(*args: Any, **kwargs: Any) -> str:
        shown = _Output(place, call_id, scope.info.name)
        chunks: list[str] = []
        half = ""
        try:
            async with aclosing(fn(*args, **kwargs)) as pieces:  # type: ignore[type-var]  # a generator
                async for piece in pieces:
                    _check(piece, scope.info.name)
                    whole, half = split_surrogate(half + piece)
                    if whole:
                        chunks.append(whole)
                        await shown.add(whole)
            if half:
                chunks.append(to_utf8_safe(half))
                await shown.add(chunks[-1])
        finally:
            message = shown.message()
            if message is not None:
                scope.messages.append(message)
        return "".join(chunks)

    return pour


def _check(piece: object, name: str) -> None:
    if not isinstance(piece, str):
        raise NotRecordable(
            f"tool {name!r} streams text, but one of its chunks is a {type(piece).__name__}"
        )


class _Output:
    """The output of a tool that is still running, as clients see it."""

    def __init__(self, place: Place, call_id: str, tool: str) -> None:
        self._stream = place.execution.stream
        self._transcript = place.execution.transcript
        self._id = place.execution.message_id(places.output(place.key))
        self._content: dict[str, Any] = {"toolCallId": call_id, "tool": tool, "chunks": []}
        self._size = 0

    async def add(self, chunk: str) -> None:
        """Show another chunk; NotRecordable once the thread has no room for so much."""
        self._size += len(chunk.encode())
        if not self._transcript.fits(2 * self._size):
            raise NotRecordable("the tool has streamed more than this thread can hold")
        named = {"messageId": self._id, "activityType": OUTPUT}
        chunks: list[str] = self._content["chunks"]
        chunks.append(chunk)
        if len(chunks) == 1:
            self._stream.emit({"type": "ACTIVITY_SNAPSHOT", **named, "content": self._content})
        else:
            patch = [{"op": "add", "path": "/chunks/-", "value": chunk}]
            self._stream.emit({"type": "ACTIVITY_DELTA", **named, "patch": patch})
        await self._stream.backpressure()

    def message(self) -> Message | None:
        """The stored message; None for a tool without output."""
        if not self._content["chunks"]:
            return None
        body = {
            "id": self._id,
            "role": "activity",
            "activityType": OUTPUT,
            "content": self._content,
        }
        return Message(id=self._id, role="activity", body=jsonvalue.encode(body))
