"""Inner agents of a turn, and the run's stream as they speak through it (SA-01 to SA-11).

Everything that an inner agent's code sends carries the id of its invocation, and the invocation is
announced before the first of it. An id belongs to a place, so that a resumed one keeps it.
"""

from collections.abc import Iterator
from typing import Any

from sayso.base import jsonvalue
from sayso.base.options import AgentOptions
from sayso.base.records import Message
from sayso.streams.stream import RunStream
from sayso.streams.textstream import TextStream
from sayso.turns.replay.branch import Branches


class Invocation:
    """One call of an inner agent. `options` are its own; `parent` is the one that it is inside.

    `agent` is the registered agent whose tools its code may call.
    """

    def __init__(
        self,
        stream: "OwnedStream",
        *,
        id: str,
        name: str,
        description: str,
        parent: "Invocation | None",
        options: AgentOptions,
        agent: str,
    ) -> None:
        self.id = id
        self.name = name
        self.description = description
        self.parent = parent
        self.options = options
        self.agent = agent
        self.announced: bool = False
        self.ended: bool = False
        self._stream = stream

    @property
    def path(self) -> list[str]:
        """Names from the outermost inner agent to this one."""
        return [*(self.parent.path if self.parent else ()), self.name]

    def announce(self) -> None:
        """Tell clients that it is on, once in an execution, after those around it (SA-08)."""
        if self.announced:
            return
        if self.parent is not None:
            self.parent.announce()
        self.announced = True
        event = {"type": "SUBAGENT_STARTED", "subagentRunId": self.id, "name": self.name}
        if self.description:
            event["description"] = self.description
        if self.parent is not None:
            event["parentSubagentRunId"] = self.parent.id
        self._stream.emit_as(None, event)

    def end(self, error: str | None) -> None:
        """Tell clients once that it is over, if they know of it; `error` says why it failed."""
        if self.ended or not self.announced:
            self.ended = True
            return
        self.ended = True
        event = {"type": "SUBAGENT_FINISHED", "subagentRunId": self.id}
        if error is not None:
            event = {"type": "SUBAGENT_ERROR", "subagentRunId": self.id, "message": error}
        self._stream.close_owned(self.id)
        self._stream.emit_as(None, event)


class OwnedStream:
    """The run's stream for code of one execution: what an inner agent sends is marked as its."""

    def __init__(self, stream: RunStream, branches: Branches) -> None:
        self._stream = stream
        self._branches = branches
        self._owners: dict[str, str] = {}

    @property
    def owner(self) -> Invocation | None:
        """Whose code is running: the nearest inner agent that has not ended; None: the agent."""
        if not self._branches.owned:
            return None
        owner: Invocation | None = self._branches.enclosing_branch().owner
        while owner is not None and owner.ended:
            owner = owner.parent
        return owner

    @property
    def congested(self) -> bool:
        """So much is unread that a producer should `await backpressure()`."""
        return self._stream.congested

    async def backpressure(self) -> None:
        """Wait until readers have room."""
        await self._stream.backpressure()

    def emit(self, event: dict[str, Any]) -> None:
        """Send an event of the running code; raises what `RunStream.emit` does."""
        self.emit_as(self.owner, event)

    def emit_as(self, owner: Invocation | None, event: dict[str, Any]) -> None:
        """Send an event of that owner's."""
        if owner is not None:
            owner.announce()
            event = {**event, "subagentRunId": owner.id}
            if "messageId" in event:
                self._owners[event["messageId"]] = owner.id
        self._stream.emit(event)

    def text(self, message_id: str, role: str = "assistant", **members: Any) -> TextStream:
        """Open a message of text of the running code."""
        owner = self.owner
        if owner is not None:
            owner.announce()
            self._owners[message_id] = owner.id
            members["subagentRunId"] = owner.id
        return self._stream.text(message_id, role, **members)

    def close_owned(self, owner_id: str) -> None:
        """Close what tasks that an inner agent left behind have open in its name."""
        self._stream.close_owned(owner_id)

    def owned(self, message: Message) -> Message:
        """The message as it is stored: with whose it is, as its events said (MS-05)."""
        if not self._branches.owned:
            return message
        owner = self.owner
        owner_id = self._owners.get(message.id) or (owner.id if owner is not None else None)
        if owner_id is None:
            return message
        body = {**jsonvalue.decode(message.body), "subagentRunId": owner_id}
        return Message(
            id=message.id,
            role=message.role,
            body=jsonvalue.encode(body),
            visibility=message.visibility,
        )


def enclosing(owner: Invocation | None) -> Iterator[Invocation]:
    """An inner agent and those that it is inside, from the inside out."""
    while owner is not None:
        yield owner
        owner = owner.parent
