"""The graph as the turn before has left it: its last checkpoint, kept with the thread."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import orjson
from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage

from sayso.frameworks.langgraph import wire
from sayso.frameworks.langgraph.saver import Event, LogSaver

MESSAGES: Final = "messages"
"""The channel of a conversation, as LangGraph's own states have it."""


@dataclass(frozen=True, slots=True)
class Before:
    """The members that are kept between turns."""

    put: Event
    """The checkpoint."""
    shown: Mapping[str, Any]
    """The shared state then."""
    users: frozenset[str]
    """Ids of the user's messages that the graph has had."""

    @classmethod
    def read(cls, kept: bytes | None) -> Self | None:
        """Read what was kept; None in the first turn of a thread."""
        if kept is None:
            return None
        members = orjson.loads(kept)
        return cls(members["put"], members["shown"], frozenset(members["users"]))

    @classmethod
    def of(
        cls, saver: LogSaver, shown: Mapping[str, Any], history: Iterable[Mapping[str, Any]]
    ) -> bytes:
        """The state of a graph that is over, for the next turn."""
        users = [message["id"] for message in history if _is_said(message)]
        return orjson.dumps({"put": saver.newest(), "shown": shown, "users": users})

    def news(self, history: Iterable[Mapping[str, Any]], saver: LogSaver) -> list[AnyMessage]:
        """The messages that the graph has not had, behind the removal of those that are gone."""
        thread = list(history)
        there = {message["id"] for message in thread if _is_said(message)}
        new = next(
            (
                number
                for number, message in enumerate(thread)
                if _is_said(message) and message["id"] not in self.users
            ),
            len(thread),
        )
        gone = self.users - there
        removed = self._since(gone, saver) if gone else []
        return [*removed, *wire.langchain_messages(thread[new:])]

    def _since(self, gone: frozenset[str], saver: LogSaver) -> list[AnyMessage]:
        """The removal of the first message that is gone, and of all that came of it."""
        messages = saver.value(self.put, MESSAGES) or []
        for number, message in enumerate(messages):
            if isinstance(message, HumanMessage) and message.id in gone:
                return [RemoveMessage(id=each.id) for each in messages[number:]]
        return []


def _is_said(message: Mapping[str, Any]) -> bool:
    """True for what a user has said; an answer to the graph is told in its words, and it has it."""
    if message["role"] != "user":
        return False
    return not (message["id"].startswith("act_") and str(message["content"]).startswith("Asked"))
