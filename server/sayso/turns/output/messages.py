"""Text of a turn: messages that are streamed once and recorded with the next commit.

Proposed tool calls: streamed whole, and joined to the text that leads up to them.

Reasoning of a turn: what a model thinks, streamed beside what it says (RS-01 to RS-06).
"""

import asyncio
import logging
from collections.abc import AsyncIterable, Callable, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from sayso.agents.codec import to_json
from sayso.base import jsonvalue
from sayso.base.errors import OpenMessage, StepFailed, TurnError
from sayso.base.records import Entry, Message
from sayso.base.texts import error_text, to_utf8_safe
from sayso.streams.textstream import TextStream
from sayso.turns.ask import breakpoints
from sayso.turns.ask.breakpoints import Ended, Named
from sayso.turns.calls.results import call_events, call_message, with_calls
from sayso.turns.journal import places
from sayso.turns.journal.journal import numbered
from sayso.turns.replay.branch import Branch
from sayso.turns.replay.effects import (
    CallInfo,
    EffectScope,
    current_effect,
    effect_scope,
    was_cancelled,
)
from sayso.turns.replay.execution import Execution, Place
from sayso.turns.replay.mistakes import awaited
from sayso.turns.replay.protection import uncancellable
from sayso.turns.replay.recorded import Recorded, recorded

_log = logging.getLogger("sayso.turn")

Proposed = tuple[str, str, str]
"""A call's id, the name of its tool, its arguments as JSON text."""


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
            self._scope = scope
            number = scope.emitted.get(self._kind, 0)
            scope.emitted[self._kind] = number + 1
            self._id = self._identify(places.text(scope.place, number))
            self._text = self._begin()
        else:
            self._place = place = await recorded(execution, _Opened(self._kind, self._live))
            self._id = self._id or self._identify(place.key)
            place.branch.open_message = self._id
        self._open = True
        if self._text is not None:
            execution.writing[self._id] = self._close
        return self

    def _live(self, place: Place) -> None:
        """Begin where nothing is recorded."""
        self._id = self._identify(place.key)
        self._execution.announce_phases(place.branch)
        self._text = self._begin()

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

    def write(self, text: str) -> Coroutine[Any, Any, None]:
        """Add text, at once; it leaves as soon as the event loop turns.

        To be awaited, so that who writes waits for readers; where that was forgotten no text is
        lost.
        """
        if not self._open:
            raise OpenMessage("this message is closed; open another one with turn.message()")
        if not isinstance(text, str):
            raise TypeError(f"a message takes text, not {type(text).__name__}")
        if self._text is None:
            return _nothing()
        if self._execution.closed:
            raise self._execution.pause()
        self._text.write(text)
        self._written += len(text)
        if self._written > self._execution.limits.history:
            self._execution.make_room(self._written)
        return self._execution.stream.backpressure()

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
            place.record("done")
            execution.add_message(message)
            place.branch.said = (place.branch.upcoming(), self._id)


class _Opened(Recorded[Place]):
    """A message that begins; its end is what is recorded."""

    name = ""

    def __init__(self, kind: str, begin: Callable[[Place], None]) -> None:
        self.kind = kind
        self._begin = begin

    async def run(self, place: Place) -> None:
        """Begin it."""
        self._begin(place)

    def read(self, place: Place, entry: Entry | None) -> Place:
        """Where it stands."""
        return place


async def _nothing() -> None:
    """Wait for nothing, where a replay writes again."""


async def stream_text(execution: Execution, chunks: AsyncIterable[str]) -> str:
    """Send an asynchronous iterable of text as one message; returns the whole text.

    Idempotent by default: after a crash in the middle it is consumed again, under the same id. An
    iterable that raises keeps what it sent; the caller gets `StepFailed`, live and on replay.
    """
    if execution.inside_effect():
        return await _consume(TextMessage(execution), chunks)
    return await recorded(execution, _Stream(chunks))


class _Stream(Recorded[str]):
    """An iterable of text that is consumed and sent once."""

    kind = "stream"
    name = ""

    def __init__(self, chunks: AsyncIterable[str]) -> None:
        self._chunks = chunks

    async def run(self, place: Place) -> Entry:
        """Send all of it."""
        execution = place.execution
        execution.announce_phases(place.branch)
        work = _stream(execution, place, self._chunks)
        entries: list[Entry] = await uncancellable(execution, "turn.stream", work)
        return entries[0]

    def read(self, place: Place, entry: Entry | None) -> str:
        """The whole text; `StepFailed` if the iterable raised."""
        assert entry is not None  # noqa: S101 - `run` gives one
        data = jsonvalue.decode(entry.data)
        if "error" in data:
            raise StepFailed("turn.stream", data["error"]["type"], data["error"]["message"])
        return str(data["text"])


async def _stream(execution: Execution, place: Place, chunks: AsyncIterable[str]) -> Entry:
    await execution.begin_effect()
    execution.effects.repeatable(asyncio.current_task())
    await execution.before_repeatable()
    message_id = execution.message_id(place.key)
    scope = EffectScope(
        execution=execution,
        info=CallInfo(
            key=execution.call_key(place.key),
            name="stream",
            thread_id=execution.input.thread_id,
            principal=execution.principal,
        ),
        place=place.key,
    )
    text = execution.stream.text(message_id)
    execution.writing[message_id] = lambda: spoken(message_id, "assistant", text.end())
    failed: BaseException | None = None
    try:
        with effect_scope(scope):
            # No thread has room for more, so an endless one ends there.
            await text.pour(chunks, execution.limits.history)
    except BaseException as error:
        if was_cancelled(error):
            raise
        _log.warning("turn.stream of turn %s failed", execution.turn.key, exc_info=error)
        failed = error
    whole = text.end()
    del execution.writing[message_id]
    execution.add_message(spoken(message_id, "assistant", whole))
    for message in scope.messages:
        execution.add_message(message)
    place.branch.said = (place.branch.upcoming(), message_id)
    members = b'"text":' + jsonvalue.encode(whole)
    if failed is not None:
        raised = {"type": type(failed).__name__, "message": execution.scrub(error_text(failed))}
        members += b',"error":' + jsonvalue.encode(raised) + b',"again":true'
    return place.record("done", numbered(execution.replay_order.end(), members))


async def _consume(message: TextMessage, chunks: AsyncIterable[str]) -> str:
    parts: list[str] = []
    async with message:
        async for chunk in chunks:
            parts.append(chunk)
            await message.write(chunk)
    return to_utf8_safe("".join(parts))


def propose(place: Place, calls: Sequence[Proposed]) -> None:
    """Stream new calls, complete, as one assistant message (TC-01, TC-03, TC-04).

    `place` is that of the first. Calls right behind a text of the same code belong to its message,
    as model APIs have it: clients that fold a run into messages look at the last one only.
    """
    execution = place.execution
    execution.announce_phases(place.branch)
    text = _leading_up(place)
    if text is None:
        message_id = execution.message_id(place.key)
        execution.add_message(call_message(message_id, calls))
    else:
        message_id = text.id
        longer = with_calls(text, calls)
        execution.make_room(len(longer.body) - len(text.body))
        execution.transcript.revise(longer)
    for call_id, name, arguments in calls:
        for event in call_events(message_id, call_id, name, arguments):
            execution.stream.emit(event)


def _leading_up(place: Place) -> Message | None:
    """The text that was streamed right before a place, if it is the last that clients have.

    What another branch says in between, or is saying, is the last message then (TC-03).
    """
    execution = place.execution
    said, messages = place.branch.said, execution.transcript.messages
    if said is None or said[0] != place.key or execution.writing or not messages:
        return None
    last = messages[-1]
    return last if last.id == said[1] and last.role == "assistant" else None


class Phase:
    """A named part of the work, shown to clients as an AG-UI step: `async with turn.phase(…)`.

    Where parts overlap, `begin` and `end` are called each for itself, in any order.
    """

    def __init__(self, execution: Execution, name: str) -> None:
        self._execution = execution
        self._name = name = to_utf8_safe(name)
        self._named = Named("phase", name, f"phase {name!r}")
        self._announced = False
        self._over = False
        self._branch: Branch | None = None
        self._owner = execution.stream.owner

    def announce(self) -> None:
        """Tell clients that the phase is on, once in this execution."""
        if not self._announced and not self._over:
            self._announced = True
            self._say("STEP_STARTED")

    def _say(self, kind: str) -> None:
        """Steps are per owner, and it may be an inner agent's code that announces one (ST-03)."""
        self._execution.stream.emit_as(self._owner, {"type": kind, "stepName": self._name})

    @awaited
    async def begin(self) -> None:
        """Begin the phase; TurnError for one that has begun."""
        if self._branch is not None:
            raise TurnError(f"phase {self._name!r} has begun: make another one by turn.phase")
        await recorded(self._execution, _PhaseBegin(self, self._named))

    @awaited
    async def end(self) -> None:
        """End the phase, whatever has begun since; TurnError for one that is not on."""
        if self._branch is None or self._over:
            raise TurnError(f"phase {self._name!r} is not on: it ends once, after its begin")
        await recorded(self._execution, _PhaseEnd(self, self._named, failed=False))

    async def __aenter__(self) -> None:
        """Begin the phase."""
        await self.begin()

    def into(self, branch: Branch) -> None:
        """Let the code of a branch be in the phase from now on, once."""
        if self._branch is None:
            self._branch = branch
            self._owner = self._execution.stream.owner
            branch.phases = (*branch.phases, self)

    def out(self) -> None:
        """Let the code that began it be in what else is around it."""
        if self._branch is not None:
            self._over = True
            self._branch.phases = tuple(p for p in self._branch.phases if p is not self)

    def finish(self) -> None:
        """Tell clients that the phase is over."""
        self.announce()
        self._say("STEP_FINISHED")

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the phase; a pause leaves that to the boundary."""
        execution = self._execution
        if self._branch is None or self._over or execution.may_not_continue(self._branch):
            return
        await recorded(execution, _PhaseEnd(self, self._named, failed=error is not None))


class _PhaseBegin(Recorded[None]):
    """The begin of a phase."""

    kind = "phase"

    def __init__(self, phase: Phase, named: Named) -> None:
        self.name = named.name
        self._phase, self._named = phase, named

    def before(self, place: Place) -> Named:
        """The phase."""
        return self._named

    async def run(self, place: Place) -> Entry:
        """Tell of it."""
        self._phase.into(place.branch)
        entry = place.record("done")
        place.execution.announce_phases(place.branch)
        return entry

    def read(self, place: Place, entry: Entry | None) -> None:
        """Be in it, on replay as well."""
        self._phase.into(place.branch)


class _PhaseEnd(Recorded[None]):
    """The end of a phase; a run waits after one that has not `failed`."""

    kind = "phase end"

    def __init__(self, phase: Phase, named: Named, *, failed: bool) -> None:
        self.name = named.name
        self._phase, self._named, self._failed = phase, named, failed

    async def run(self, place: Place) -> Entry:
        """Tell of it."""
        if not self._failed:
            breakpoints.note(place, self._named)
        entry = place.record("done")
        place.execution.announce_phases(place.branch)
        self._phase.finish()
        return entry

    def after(self, place: Place, entry: Entry | None) -> Ended:
        """The phase, which the code is out of."""
        self._phase.out()
        return Ended(place, self._named)

    def read(self, place: Place, entry: Entry | None) -> None:
        """Be out of it, on replay as well."""
        self._phase.out()


class Reasoning(TextMessage):
    """A thought that is written piece by piece: `async with turn.reasoning() as thought`.

    `encrypted` is the model's own sealed form of the thought, which it wants back with the next
    request; `encrypted_type` is its producer's name for the kind of it, such as
    `anthropic.redacted_thinking`, which comes back with it. Set both before the block ends; a type
    without a value is left out. On replay nothing is sent again.
    """

    _kind = "reasoning"

    def __init__(
        self,
        execution: Execution,
        encrypted: str | None = None,
        encrypted_type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(execution, metadata)
        self.encrypted = encrypted
        self.encrypted_type = encrypted_type

    def _identify(self, place: str) -> str:
        """Another id for each holder of the thread.

        Clients keep a thought that no snapshot restates (MS-02), and a second one under its id
        would be appended to it.
        """
        return self._execution.message_id(places.holder(place, self._execution.leased.lease.fence))

    def _begin(self) -> TextStream:
        stream = self._execution.stream
        stream.emit({"type": "REASONING_START", "messageId": self._id})
        return stream.text(self._id, "reasoning", metadata=self._metadata)

    def _close(self) -> Message:
        assert self._text is not None  # noqa: S101 - only what was begun is closed
        text, stream = self._text.end(), self._execution.stream
        sealed: dict[str, str] = {}
        if self.encrypted is not None:
            sealed["encryptedValue"] = to_utf8_safe(self.encrypted)
            if self.encrypted_type is not None:
                sealed["encryptedValueType"] = to_utf8_safe(self.encrypted_type)
            named = {"subtype": "message", "entityId": self._id}
            stream.emit({"type": "REASONING_ENCRYPTED_VALUE", **named, **sealed})
        stream.emit({"type": "REASONING_END", "messageId": self._id})
        return spoken(self._id, "reasoning", text, **sealed, metadata=self._metadata)
