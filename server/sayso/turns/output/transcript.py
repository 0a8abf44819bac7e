"""The messages of a thread as a running turn knows them. Pure."""

from typing import Final

from sayso.base.records import Message
from sayso.gate.contents import call_ids

_SAID: Final = ("assistant", "reasoning", "activity")
"""Roles whose messages have ids of our own making."""


class Transcript:
    """The history of one turn: what was there, what the turn adds, and what is to be stored.

    `messages` is the list that is given, extended in place; the first `before` of them are older
    than the turn. `limit` is in bytes of messages.
    """

    def __init__(self, messages: list[Message], before: int, limit: int) -> None:
        self.messages = messages
        self.unsettled: set[str] = set()
        """Ids of messages that claim a durable fact and are not durable yet: nobody is shown."""
        # Ids belong to their turn, so earlier turns hold none that matters here.
        spoken = [message for message in messages[before:] if message.role in _SAID]
        self.said: set[str] = {message.id for message in spoken}
        """Ids that were given out in this turn."""
        self.proposed: set[str] = {call for message in spoken for call in call_ids(message)}
        """Ids of the tool calls that the turn has proposed."""
        self._limit = limit
        self._size = sum([len(message.body) for message in messages])
        self._riding: dict[str, Message] = {}

    def fits(self, size: int) -> bool:
        """True if the thread has room for a message of so many bytes."""
        return self._size + size <= self._limit

    def add(self, message: Message) -> None:
        """Add a message at the end."""
        self._size += len(message.body)
        if message.role in _SAID:
            self.said.add(message.id)
            self.proposed.update(call_ids(message))
        self.messages.append(message)
        self._riding[message.id] = message

    def revise(self, message: Message) -> None:
        """Put another body in the place of a message that is there; LookupError if it is not."""
        for index in range(len(self.messages) - 1, -1, -1):
            if self.messages[index].id == message.id:
                self._size += len(message.body) - len(self.messages[index].body)
                self.messages[index] = message
                self._riding[message.id] = message
                return
        raise LookupError(f"no message {message.id!r} to revise")

    def take(self) -> tuple[Message, ...]:
        """Take the messages that the commit of now has to store."""
        messages = tuple(self._riding.values())
        self._riding.clear()
        return messages
