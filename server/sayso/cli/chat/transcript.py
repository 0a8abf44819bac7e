"""The text of runs on a terminal: one message at a time, although several may come at once."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import typer

from sayso.cli.chat.terminal import Terminal
from sayso.client import Client
from sayso.turns.calls.streaming import OUTPUT

Json = dict[str, Any]
MAX_TEXT_CHARS: Final = 400
"""Characters of a tool's arguments and of its result that are shown."""


class TranscriptPrinter:
    """Writes the events of one thread, and of its messages those that are not on the screen yet."""

    def __init__(self, client: Client, terminal: Terminal) -> None:
        self._client = client
        self._terminal = terminal
        self._told: set[tuple[str, str]] = set()
        self._now: str | None = None
        """The message that is being written."""
        self._later: dict[str, list[str]] = {}
        """The pieces of messages that began meanwhile; they wait, in the order of beginning."""
        self._over: set[str] = set()
        """The complete ones among them."""
        self._outputs: dict[str, tuple[str, str]] = {}
        """The output of running tools, by call: the id of the activity, and its text so far."""
        self._tellers: Final[dict[str, Callable[[Json], None]]] = {
            "RUN_STARTED": self._run_started,
            "RUN_FINISHED": self._run_ended,
            "RUN_ERROR": self._run_ended,
            "TEXT_MESSAGE_START": lambda event: self._begin(event["messageId"]),
            "TEXT_MESSAGE_CONTENT": lambda event: self._piece(event["messageId"], event["delta"]),
            "TEXT_MESSAGE_END": lambda event: self._end(event["messageId"]),
            "TOOL_CALL_END": lambda event: self._call(self._client.call(event["toolCallId"])),
            "TOOL_CALL_RESULT": self._result,
            "ACTIVITY_SNAPSHOT": self._activity,
            "ACTIVITY_DELTA": self._activity,
        }
        """What tells of an event, by its type; of others nothing is told."""

    def event(self, event: Json, *, opening: bool) -> None:
        """Write what an event tells; `opening`: the thread is being looked at, not talked to."""
        if event["type"] == "MESSAGES_SNAPSHOT":
            self._snapshot(event["messages"], opening=opening)
        elif (tell := self._tellers.get(event["type"])) is not None:
            tell(event)

    def _run_started(self, _: Json) -> None:
        self._later.clear()
        self._over.clear()
        self._now = None

    def _run_ended(self, _: Json) -> None:
        self._over.update(self._later)
        self._next()

    def _activity(self, event: Json) -> None:
        if event["activityType"] == OUTPUT:
            self._output(event["messageId"])

    def _snapshot(self, messages: Iterable[Json], *, opening: bool) -> None:
        if opening:
            self.messages(messages)
            return
        # Of a run that was followed from its start: all of it was written as it came.
        for message in messages:
            self.heard(message)

    def heard(self, message: Json) -> None:
        """A message that the person knows, because they wrote it or saw it come."""
        self._told.add(("message", message["id"]))
        self._told.update(("call", call["id"]) for call in message.get("toolCalls", ()))
        if message["role"] == "tool":
            self._told.add(("result", message["toolCallId"]))

    def messages(self, messages: Iterable[Json]) -> None:
        """Write messages of a thread, as far as they are not on the screen."""
        for message in messages:
            new = ("message", message["id"]) not in self._told
            text = _text(message.get("content"))
            if new and text and message["role"] in ("user", "assistant"):
                self._terminal.say(f"> {text}" if message["role"] == "user" else text)
            for call in message.get("toolCalls", ()):
                self._call(call)
            if message["role"] == "tool":
                self._result(message)
            self.heard(message)

    def _begin(self, message_id: str) -> None:
        if self._now is None:
            self._now = message_id
            self._terminal.end_line()
        else:
            self._later[message_id] = []

    def _piece(self, message_id: str, text: str) -> None:
        if message_id == self._now:
            self._terminal.write(text)
        elif message_id in self._later:
            self._later[message_id].append(text)

    def _end(self, message_id: str) -> None:
        self._told.add(("message", message_id))
        if message_id != self._now:
            self._over.add(message_id)
            return
        self._terminal.end_line()
        self._now = None
        self._next()

    def _next(self) -> None:
        """Write the messages that are complete by now, then the first of those that continue."""
        for message_id in [each for each in self._later if each in self._over]:
            self._terminal.end_line()
            self._terminal.write("".join(self._later.pop(message_id)))
            self._over.discard(message_id)
        self._terminal.end_line()
        self._now = next(iter(self._later), None)
        if self._now is not None:
            self._terminal.write("".join(self._later.pop(self._now)))

    def _call(self, call: Json | None) -> None:
        if call is None or ("call", call["id"]) in self._told:
            return
        self._told.add(("call", call["id"]))
        function = call["function"]
        self._terminal.say(
            f"- {function['name']} {_shown(function['arguments'])}", typer.colors.CYAN
        )

    def _output(self, message_id: str) -> None:
        """Write what a tool has said since it was looked at last."""
        messages = (message for message in self._client.messages if message["id"] == message_id)
        content = next(messages, {}).get("content")
        match content:
            case {"toolCallId": str(call_id), "chunks": [*chunks]}:
                pass
            case _:
                return
        if call_id not in self._outputs:
            self._begin(message_id)
        _, shown = self._outputs.get(call_id, (message_id, ""))
        text = "".join(str(chunk) for chunk in chunks)
        self._outputs[call_id] = (message_id, text)
        self._piece(message_id, text[len(shown) :])

    def _result(self, message: Json) -> None:
        if ("result", message["toolCallId"]) in self._told:
            return
        self._told.add(("result", message["toolCallId"]))
        message_id, text = self._outputs.pop(message["toolCallId"], (None, ""))
        if message_id is not None:
            self._end(message_id)
            if text == _text(message["content"]):
                return  # it returns what it has said, which is on the screen
        self._terminal.say(f"  {_shown(_text(message['content']))}", typer.colors.CYAN)


def _shown(text: str) -> str:
    return text if len(text) <= MAX_TEXT_CHARS else f"{text[: MAX_TEXT_CHARS - 1]}…"


def _text(content: Any) -> str:
    """Return the text of a content; other parts are named."""
    if not isinstance(content, list):
        return content or ""
    return " ".join(
        part["text"] if part["type"] == "text" else f"({part['type']})" for part in content
    )
