"""Reasoning of a turn: what a model thinks, streamed beside what it says (RS-01 to RS-06)."""

from collections.abc import Mapping
from typing import Any

from sayso.records import Message
from sayso.streams.textstream import TextStream
from sayso.turns.execution import Execution
from sayso.turns.messages import TextMessage, spoken

__all__ = ["Reasoning"]


class Reasoning(TextMessage):
    """A thought that is written piece by piece: `async with turn.reasoning() as thought`.

    `encrypted` is the model's own sealed form of the thought, which it wants back with the next
    request; set it before the block ends. On replay nothing is sent again.
    """

    _kind = "reasoning"

    def __init__(
        self,
        execution: Execution,
        encrypted: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(execution, metadata)
        self.encrypted = encrypted

    def _identify(self, place: str) -> str:
        """Another id for each holder of the thread.

        Clients keep a thought that no snapshot restates (MS-02), and a second one under its id
        would be appended to it.
        """
        return self._execution.message_id(f"{place}!{self._execution.leased.lease.fence}")

    def _begin(self) -> TextStream:
        stream = self._execution.stream
        stream.emit({"type": "REASONING_START", "messageId": self._id})
        return stream.text(self._id, "reasoning", metadata=self._metadata)

    def _close(self) -> Message:
        assert self._text is not None  # noqa: S101 - only what was begun is closed
        text, stream = self._text.end(), self._execution.stream
        if self.encrypted is not None:
            stream.emit(
                {
                    "type": "REASONING_ENCRYPTED_VALUE",
                    "subtype": "message",
                    "entityId": self._id,
                    "encryptedValue": self.encrypted,
                }
            )
        stream.emit({"type": "REASONING_END", "messageId": self._id})
        return spoken(
            self._id, "reasoning", text, encryptedValue=self.encrypted, metadata=self._metadata
        )
