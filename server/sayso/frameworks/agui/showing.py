"""The events of a run of the agent, shown as they come, each thing under a key of its own."""

import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

import orjson
from pydantic_core import from_json

from sayso import Activity, KeyedBranch, Reasoning, ReportedCall, TextMessage, Turn
from sayso.client.events import Notes
from sayso.client.thread import ThreadState
from sayso.frameworks.agui.log import RoundLog, digest, plain
from sayso.frameworks.agui.source import Json

_log = logging.getLogger("sayso.agui")

_RESERVED: Final = ("ag-ui", "agui", "core", "sayso")
_VENDOR: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_FAR: Final = "far"
"""The vendor of names that have none, or one that is reserved."""
ON_INTERRUPT: Final = "on_interrupt"
"""The custom event by which older agents ask."""


def namespaced(name: str) -> str:
    """A name with a vendor in front: its own, where it has one that others may use."""
    name = re.sub(r"\s", "_", name)
    vendor, _, rest = name.partition(":")
    if rest and _VENDOR.fullmatch(vendor) and vendor.lower() not in _RESERVED:
        return name
    return f"{_FAR}:{rest or name}"


def arguments_of(call: Json) -> Json:
    """The arguments of a call, an object whatever was written.

    What is no JSON, or what its readers would round, stays the text that it is: people and rules
    would see another value than the agent acts on.
    """
    written = call["function"]["arguments"]
    try:
        orjson.loads(written or "{}")  # which refuses what is no number of JSON
        arguments = from_json(written or "{}")
        orjson.dumps(arguments)  # and this integers beyond 64 bits
    except (ValueError, TypeError):
        arguments = None
    return arguments if isinstance(arguments, dict) else {"arguments": written}


def text_of(content: Any) -> str:
    """The words of a message's content; what is none is told by its kind."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text") or f"[{part.get('type')}]") for part in parts)


class Showing:
    """One run, shown. `mirror` is the agent's own thread.

    `reported` are the calls that were told of in this turn, None for one whose result was; `ours`
    is true of a tool that the agent may leave to this server or to the page.
    """

    def __init__(
        self,
        turn: Turn,
        number: int,
        mirror: ThreadState,
        log: RoundLog,
        reported: dict[str, ReportedCall | None],
        ours: Callable[[str], bool],
        *,
        raw: bool,
    ) -> None:
        self.asked: Any = None
        """The value of the last `on_interrupt`."""
        self._turn, self._number, self._mirror, self._log = turn, number, mirror, log
        self._reported, self._ours, self._shows_raw = reported, ours, raw
        self._notes: Notes = []
        self._texts: dict[str, TextMessage] = {}
        self._thought: tuple[str, Reasoning] | None = None
        self._activities: dict[str, Activity] = {}
        self._phases: dict[tuple[str | None, str], tuple[Json, str, Any]] = {}
        self._agents: dict[str, Json] = {}
        self._working: list[str] = []
        self._calls: list[str] = []
        self._results: set[str] = set()
        self._opened: dict[str, int] = {}
        self._state = plain(turn.state)
        self._heard = frozenset(log.heard)

    @property
    def left(self) -> list[str]:
        """The calls of this run that have no result."""
        return [call for call in self._calls if call not in self._results]

    async def take(self, event: Json) -> None:
        """Show an event, and let the mirror have it."""
        kind = event["type"]
        if self._thought is not None and not kind.startswith("REASONING"):
            await self._end_thought()
        if kind == "TOOL_CALL_START" and (call := self._mirror.call(event["toolCallId"])):
            call["function"]["arguments"] = ""  # announced again, as some do when they go on
        if kind == "TOOL_CALL_RESULT" and self._mirror.call(event["toolCallId"]) is None:
            _log.warning("a result of a call that the agent has not made was left out")
            return
        snapshot = kind == "MESSAGES_SNAPSHOT"
        before = _ids(self._mirror) if snapshot else set()
        self._mirror.apply(event, self._notes)
        for note in self._notes:
            _log.warning("%s", note)
        self._notes.clear()
        show = getattr(self, f"_{kind.lower()}", None)
        if show is not None:
            await show(event)
        elif snapshot:
            await self._show_unseen(before)

    async def close(self, error: str | None = None) -> None:
        """RoundEnd what a run that broke off has left open."""
        if self._thought is not None:
            await self._end_thought()
        for text in self._texts.values():
            await text.__aexit__(None, None, None)
        self._texts.clear()
        for event, key, phase in self._phases.values():
            async with self._at(event, key):
                await phase.end()
        self._phases.clear()
        for name in reversed(self._working):
            await self._end_agent({"subagentRunId": name}, error)

    @asynccontextmanager
    async def _at(self, event: Json, key: str) -> AsyncIterator[None]:
        """The place of one thing, inside the work of the inner agents that it is of."""
        async with AsyncExitStack() as stack:
            for name in self._inside(event.get("subagentRunId")):
                await stack.enter_async_context(self._part(name))
            await stack.enter_async_context(self._turn.at(key))
            yield

    def _inside(self, subagent: str | None) -> list[str]:
        """An inner agent and those around it, the outermost first; nothing for one unannounced."""
        path: list[str] = []
        while subagent in self._agents and subagent not in path:
            path.insert(0, subagent)
            subagent = self._agents[subagent].get("parentSubagentRunId")
        return path

    def _part(self, subagent: str) -> KeyedBranch:
        begun = self._agents[subagent]
        key = f"agent:{self._number}:{subagent}"
        return self._turn.at(key, agent=begun["name"], description=begun.get("description") or "")

    # Words

    async def _text_message_start(self, event: Json) -> None:
        name = event["messageId"]
        if event.get("role", "assistant") != "assistant":
            _log.warning("a message of the role %s was left out", event["role"])
            return
        if name in self._heard:  # the run was begun again, and says it again
            return
        count = self._opened[name] = self._opened.get(name, 0) + 1
        again = "" if count == 1 else f":{count}"
        async with self._at(event, f"text:{self._number}:{name}{again}"):
            self._texts[name] = await self._turn.message().__aenter__()

    async def _text_message_content(self, event: Json) -> None:
        text = self._texts.get(event["messageId"])
        if text is not None and event["delta"]:
            await text.write(event["delta"])

    async def _text_message_end(self, event: Json) -> None:
        text = self._texts.pop(event["messageId"], None)
        if text is not None:
            await text.__aexit__(None, None, None)
            self._log.heard.add(event["messageId"])
            await self._log.say(self._words(event["messageId"]))

    def _words(self, message_id: str) -> str:
        messages = self._mirror.messages
        return next((text_of(m.get("content")) for m in messages if m["id"] == message_id), "")

    async def _show_unseen(self, before: set[str]) -> None:
        """Show what a snapshot has of this run that was not streamed, as when it is shown again."""
        messages = self._mirror.messages
        users = [n for n, message in enumerate(messages) if message["role"] == "user"]
        for message in messages[users[-1] + 1 if users else 0 :]:
            if message["role"] == "tool":
                await self._result_unseen(message)
                continue
            words = text_of(message.get("content")) if message["role"] == "assistant" else ""
            if words and message["id"] not in before and not self._log.has_said(words):
                await self._log.say(words)
                async with self._at(message, f"said:{digest(words)}"):
                    await self._turn.say(words)
            for call in message.get("toolCalls") or ():
                if call["id"] not in before:
                    await self._tool_call_end({**message, "toolCallId": call["id"]})

    async def _result_unseen(self, message: Json) -> None:
        """Tell what came of a call, unless that was told, or is this server's to tell."""
        name = message["toolCallId"]
        self._results.add(name)
        call = self._mirror.call(name)
        is_told = name in self._reported and self._reported[name] is None
        if call is not None and not is_told and not self._ours(call["function"]["name"]):
            await self._report(message, call, text_of(message["content"]))

    async def _reasoning_message_start(self, event: Json) -> None:
        await self._end_thought()
        name = event["messageId"]
        if name in self._heard:
            return
        count = self._opened[name] = self._opened.get(name, 0) + 1
        async with self._at(event, f"thought:{self._number}:{name}:{count}"):
            thought = self._turn.reasoning()
            await thought.__aenter__()
        self._thought = (name, thought)

    async def _reasoning_message_content(self, event: Json) -> None:
        if self._thought is not None and event["delta"]:
            await self._thought[1].write(event["delta"])

    async def _reasoning_encrypted_value(self, event: Json) -> None:
        if self._thought is not None and self._thought[0] == event["entityId"]:
            self._thought[1].encrypted = event["encryptedValue"]
            self._thought[1].encrypted_type = event.get("encryptedValueType")

    async def _reasoning_end(self, event: Json) -> None:
        await self._end_thought()

    async def _end_thought(self) -> None:
        if self._thought is not None:
            name, thought = self._thought
            self._thought = None
            self._log.heard.add(name)
            await thought.__aexit__(None, None, None)

    # Calls

    async def _tool_call_end(self, event: Json) -> None:
        name = event["toolCallId"]
        if name not in self._calls:
            self._calls.append(name)
        call = self._mirror.call(name)
        if call is not None and not self._ours(call["function"]["name"]):
            await self._report(event, call)

    async def _tool_call_result(self, event: Json) -> None:
        name = event["toolCallId"]
        self._results.add(name)
        call = self._mirror.call(name)
        if call is not None:
            await self._report(event, call, text_of(event["content"]))

    async def _report(self, event: Json, call: Json, result: str | None = None) -> None:
        """Tell of a call that the agent makes itself, and of what came of it."""
        name = call["id"]
        if name in self._reported and self._reported[name] is None:
            _log.warning("a second result of call %r was left out", name)
            return
        async with self._at(event, f"call:{name}"):
            reported = self._reported.get(name) or await self._tell(call)
            self._reported[name] = reported
            if result is not None:
                await reported.result(result)
                self._reported[name] = None

    async def _tell(self, call: Json) -> ReportedCall:
        """Tell of a call, with the arguments that it was told with before, if it was."""
        arguments = self._log.reported(call["id"])
        if arguments is None:
            arguments = arguments_of(call)
            await self._log.report(call["id"], arguments)
        name = call["function"]["name"]
        return await self._turn.report(name, arguments, told_as=call["id"])

    # State, progress, parts

    async def _state_snapshot(self, event: Json) -> None:
        state = self._mirror.state
        if not isinstance(state, dict):
            _log.warning("a state that is no object was left out")
            return
        patch = changes(self._state, state)
        if patch:
            await self._log.state(patch)
            await self._turn.patch(patch)
            self._state = plain(state)

    _state_delta = _state_snapshot

    async def _activity_snapshot(self, event: Json) -> None:
        name = event["messageId"]
        shown = next((m for m in self._mirror.messages if m["id"] == name), None)
        if shown is None or shown["role"] != "activity":
            return
        async with self._at(event, f"activity:{self._number}:{name}"):
            if name in self._activities:
                await self._activities[name].set(shown["content"])
            else:
                self._activities[name] = await self._turn.activity(
                    shown["activityType"], shown["content"]
                )

    _activity_delta = _activity_snapshot

    async def _step_started(self, event: Json) -> None:
        name, owner = event["stepName"], event.get("subagentRunId")
        count = self._opened[name] = self._opened.get(name, 0) + 1
        key = f"step:{self._number}:{name}:{count}"
        async with self._at(event, key):
            phase = self._turn.phase(name)
            self._phases[owner, name] = (event, key, phase)
            await phase.begin()

    async def _step_finished(self, event: Json) -> None:
        begun, key, phase = self._phases.pop((event.get("subagentRunId"), event["stepName"]))
        async with self._at(begun, key):
            await phase.end()

    async def _subagent_started(self, event: Json) -> None:
        self._agents[event["subagentRunId"]] = event
        self._working.append(event["subagentRunId"])

    async def _subagent_finished(self, event: Json) -> None:
        await self._end_agent(event, None)

    async def _subagent_error(self, event: Json) -> None:
        await self._end_agent(event, event["message"])

    async def _end_agent(self, event: Json, error: str | None) -> None:
        name = event["subagentRunId"]
        if name not in self._working:
            return
        self._working.remove(name)
        async with AsyncExitStack() as stack:
            *around, own = self._inside(name)
            for outer in around:
                await stack.enter_async_context(self._part(outer))
            await self._part(own).end(error)

    async def _custom(self, event: Json) -> None:
        if event["name"] == ON_INTERRUPT:
            self.asked = event["value"]
        else:
            await self._send(event, namespaced(event["name"]), event["value"])

    async def _raw(self, event: Json) -> None:
        if self._shows_raw:
            await self._send(event, f"{_FAR}:raw", event["event"])

    async def _send(self, event: Json, name: str, value: Any) -> None:
        count = self._opened[name] = self._opened.get(name, 0) + 1
        async with self._at(event, f"custom:{self._number}:{name}:{count}"):
            await self._turn.custom(name, value)


def _ids(mirror: ThreadState) -> set[str]:
    """The ids of all messages and calls."""
    calls = (call for message in mirror.messages for call in message.get("toolCalls") or ())
    return {each["id"] for each in (*mirror.messages, *calls)}


def changes(old: Any, new: Json) -> list[Json]:
    """The operations that make one state of another, member by member."""
    old = old if isinstance(old, dict) else {}
    gone = [{"op": "remove", "path": _pointer(name)} for name in old if name not in new]
    put = [
        {"op": "add", "path": _pointer(name), "value": value}
        for name, value in new.items()
        if name not in old or old[name] != value
    ]
    return gone + put


def _pointer(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")
