"""The stream guard: nothing is emitted that would break order or balance (LC, TX, TC, RS, ST).

Pure. One guard watches one run. It follows what is open, refuses what clients would reject the
run for, and says in a sentence what to send first. Stricter than the protocol in two places where
real readers are: chunks are not used (TX-06), and an id is not reopened (TX-05, TC-10).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from sayso.base import jsonpatch
from sayso.base.errors import TurnError
from sayso.protocol import shapes

_PIECE: Final = 1_000_000
"""Characters of one restated delta; keeps frames far below what clients refuse (EN-09)."""


class StreamOrderError(TurnError):
    """An event that cannot be sent here; the message says what to send first or instead."""


@dataclass(slots=True, eq=False)
class Item:
    """Something that was opened: its opening event and what came through so far."""

    opener: dict[str, Any]
    parts: list[str] = field(default_factory=list)
    open: bool = True
    closed_by_boundary: bool = False
    """Closed by the boundary and not by its owner, whose own closing event is then not sent."""

    @property
    def owner(self) -> Any:
        """The subagent invocation it belongs to, or None."""
        return self.opener.get("subagentRunId")


@dataclass(frozen=True, slots=True, eq=False)
class _Space:
    """One kind of thing with a start, maybe contents, and an end; there is one of each."""

    noun: str
    member: str
    start: str
    content: str | None
    end: str


_TEXT: Final = _Space(
    "text message", "messageId", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"
)
_CALL: Final = _Space(
    "tool call", "toolCallId", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"
)
_THOUGHT: Final = _Space(
    "reasoning message",
    "messageId",
    "REASONING_MESSAGE_START",
    "REASONING_MESSAGE_CONTENT",
    "REASONING_MESSAGE_END",
)
_SPAN: Final = _Space("reasoning span", "messageId", "REASONING_START", None, "REASONING_END")
_SUBAGENT: Final = _Space(
    "subagent", "subagentRunId", "SUBAGENT_STARTED", None, "SUBAGENT_FINISHED"
)
_BOUNDARY: Final = (_TEXT, _CALL, _THOUGHT, _SPAN)
_SPACES: Final = (*_BOUNDARY, _SUBAGENT)

_STARTS: Final = {space.start: space for space in _SPACES}
_CONTENTS: Final = {space.content: space for space in _SPACES if space.content}
_ENDS: Final = {space.end: space for space in _SPACES} | {"SUBAGENT_ERROR": _SUBAGENT}


class StreamGuard:
    """What is open in one run, and whether the next event may be sent."""

    def __init__(self) -> None:
        self._items: dict[_Space, dict[str, Item]] = {space: {} for space in _SPACES}
        self._open: dict[_Space, dict[str, Item]] = {space: {} for space in _SPACES}
        self._steps: dict[tuple[Any, str], int] = {}
        self._shut_steps: dict[tuple[Any, str], int] = {}
        self._messages: dict[str, str] = {}
        self._activities: dict[str, dict[str, Any]] = {}
        self._attributed: set[str] = set()
        self._results: set[str] = set()

    def check(self, event: dict[str, Any]) -> bool:
        """Whether the event is to be sent now; True also means that it counts as sent.

        False: it is right, and there is nothing to say (an empty delta, a step that another
        branch opened too, the end of something that the boundary closed). Raises StreamOrderError
        and changes nothing when it cannot be sent.
        """
        fault = shapes.fault(event)
        if fault is not None:
            raise StreamOrderError(fault)
        sent = self._follow(event)
        owner = event.get("subagentRunId")
        if owner is not None and owner not in self._items[_SUBAGENT]:
            self._attributed.add(owner)
        return sent

    def _follow(self, event: dict[str, Any]) -> bool:
        kind = event["type"]
        if space := _STARTS.get(kind):
            return self._start(space, event)
        if space := _CONTENTS.get(kind):
            return self._content(space, event)
        if space := _ENDS.get(kind):
            return self._end(space, event)
        match kind:
            case "STEP_STARTED":
                return self._step_started(event)
            case "STEP_FINISHED":
                return self._step_finished(event)
            case "TOOL_CALL_RESULT":
                return self._result(event)
            case "ACTIVITY_SNAPSHOT" | "ACTIVITY_DELTA":
                return self._activity(event)
            case "MESSAGES_SNAPSHOT":
                return self.check_settled()
        return True

    def check_settled(self) -> bool:
        """True if no text, tool call or reasoning is open; a snapshot would cut it (MS-06)."""
        for space in _BOUNDARY:
            for name in self._open[space]:
                raise StreamOrderError(
                    f"MESSAGES_SNAPSHOT would cut the open {space.noun} {name!r}: "
                    f"send {space.end} first"
                )
        return True

    def item(self, message_id: str) -> Item:
        """The open text or reasoning message with that id."""
        return self._open[_TEXT].get(message_id) or self._open[_THOUGHT][message_id]

    def close_all(
        self, left: Callable[[str], dict[str, Any]] | None = None
    ) -> list[dict[str, Any]]:
        """Events that close everything that is open, in boundary order; all counts as closed.

        Text, tool calls, reasoning, then subagents with their steps, then steps (LC-06, RS-06).
        `left` gives the last event of a subagent invocation by its id; without it, they wait.
        """
        events: list[dict[str, Any]] = []
        for space in _BOUNDARY:
            events += [self._closer(space, name) for name in list(self._open[space])]
        events += self._step_closers(lambda owner: owner is not None)
        for name in reversed(list(self._open[_SUBAGENT])):
            waits = self._closer(_SUBAGENT, name) | {"outcome": {"type": "suspended"}}
            events.append(left(name) if left is not None else waits)
        return events + self._step_closers(lambda owner: owner is None)

    def close_owned(self, owner: str) -> list[dict[str, Any]]:
        """Events that close what a subagent invocation has open, before it ends itself."""
        events = [
            self._closer(space, name)
            for space in _BOUNDARY
            for name, item in list(self._open[space].items())
            if item.owner == owner
        ]
        return events + self._step_closers(lambda whose: whose == owner)

    def replay_open(self) -> Iterator[dict[str, Any]]:
        """Events that show a new reader what is open: each start, and its content so far.

        Activities of this run come first, as they are now: deltas may follow (AC-01).
        """
        yield from self._activities.values()
        for item in self._open[_SUBAGENT].values():
            yield item.opener
        for owner, name in self._steps:
            yield _tagged({"type": "STEP_STARTED", "stepName": name}, owner)
        for space in (_SPAN, _THOUGHT, _TEXT, _CALL):
            for name, item in self._open[space].items():
                yield item.opener
                text = "".join(item.parts)
                for index in range(0, len(text), _PIECE):
                    yield _tagged(
                        {
                            "type": space.content,
                            space.member: name,
                            "delta": text[index : index + _PIECE],
                        },
                        item.owner,
                    )

    def _closer(self, space: _Space, name: str) -> dict[str, Any]:
        item = self._open[space].pop(name)
        item.open, item.closed_by_boundary, item.parts = False, True, []
        return _tagged({"type": space.end, space.member: name}, item.owner)

    def _step_closers(self, whose: Callable[[Any], bool]) -> list[dict[str, Any]]:
        mine = [key for key in self._steps if whose(key[0])]
        for key in mine:
            self._shut_steps[key] = self._shut_steps.get(key, 0) + self._steps.pop(key)
        return [
            _tagged({"type": "STEP_FINISHED", "stepName": name}, owner)
            for owner, name in reversed(mine)
        ]

    def _start(self, space: _Space, event: dict[str, Any]) -> bool:
        name = event[space.member]
        item = self._items[space].get(name)
        if item is not None and item.open:
            raise StreamOrderError(f"{space.noun} {name!r} is open already: send {space.end} first")
        if item is not None:
            raise StreamOrderError(
                f"{space.noun} {name!r} was sent before and a second start would append to it: "
                f"use a new {space.member}"
            )
        if space is _SUBAGENT and name in self._attributed:
            raise StreamOrderError(
                f"events of the subagent {name!r} were sent before it was announced: "
                "send SUBAGENT_STARTED before them"
            )
        self._check_owner(event, announcing=space is _SUBAGENT)
        if space is _CALL:
            self._check_parent(event)
        if space is _TEXT or space is _THOUGHT:
            self._take_message_id(name, space.noun)
        elif space is _CALL and event.get("parentMessageId") is None:
            # Clients make an assistant message with the id of the call (TC-03).
            self._take_message_id(name, space.noun)
        self._items[space][name] = self._open[space][name] = Item(dict(event))
        return True

    def _content(self, space: _Space, event: dict[str, Any]) -> bool:
        name = event[space.member]
        item = self._open[space].get(name)
        if item is None:
            raise StreamOrderError(
                f"{event['type']} for {space.noun} {name!r}, which is not open: "
                f"send {space.start} first"
            )
        self._check_continuation(item, event)
        delta: str = event["delta"]
        item.parts.append(delta)
        # Legal when empty, but no peer needs that and some warn about it (TR-36).
        return delta != ""

    def _end(self, space: _Space, event: dict[str, Any]) -> bool:
        name = event[space.member]
        item = self._items[space].get(name)
        if item is not None and item.closed_by_boundary:
            item.closed_by_boundary = False
            return False
        if item is None or not item.open:
            raise StreamOrderError(
                f"{event['type']} for {space.noun} {name!r}, which is not open: "
                f"send {space.start} first"
            )
        if space is _SUBAGENT:
            self._check_vacated(name)
        else:
            self._check_continuation(item, event)
        item.open, item.parts = False, []
        del self._open[space][name]
        return True

    def _step_started(self, event: dict[str, Any]) -> bool:
        self._check_owner(event)
        key = (event.get("subagentRunId"), event["stepName"])
        count = self._steps.get(key, 0)
        self._steps[key] = count + 1
        return count == 0

    def _step_finished(self, event: dict[str, Any]) -> bool:
        key = (event.get("subagentRunId"), event["stepName"])
        count = self._steps.get(key, 0)
        if count > 1:
            self._steps[key] = count - 1
            return False
        if count == 1:
            del self._steps[key]
            return True
        if shut := self._shut_steps.get(key, 0):
            self._shut_steps[key] = shut - 1
            return False
        raise StreamOrderError(
            f"STEP_FINISHED for step {key[1]!r}, which is not open: send STEP_STARTED first, "
            "with the same subagentRunId"
        )

    def _result(self, event: dict[str, Any]) -> bool:
        call = event["toolCallId"]
        if call in self._open[_CALL]:
            raise StreamOrderError(
                f"TOOL_CALL_RESULT for tool call {call!r}, which is open: send TOOL_CALL_END first"
            )
        if call in self._results:
            raise StreamOrderError(
                f"tool call {call!r} has a result in this run: clients would keep both"
            )
        self._check_owner(event)
        self._take_message_id(event["messageId"], "tool result")
        self._results.add(call)
        return True

    def _activity(self, event: dict[str, Any]) -> bool:
        name = event["messageId"]
        shown = self._activities.get(name)
        if event["type"] == "ACTIVITY_SNAPSHOT":
            self._check_owner(event)
            if shown is None:
                self._take_message_id(name, "activity")
            if shown is None or event.get("replace") is not False:
                self._activities[name] = dict(event)
            return True
        if shown is None:
            raise StreamOrderError(
                f"ACTIVITY_DELTA for activity {name!r}, which this run has not shown: "
                "send ACTIVITY_SNAPSHOT first"
            )
        self._check_owner(event)
        try:
            content = jsonpatch.apply(shown["content"], event["patch"])
        except ValueError as error:
            raise StreamOrderError(f"ACTIVITY_DELTA for activity {name!r}: {error}") from None
        if not isinstance(content, dict):
            raise StreamOrderError(
                f"ACTIVITY_DELTA for activity {name!r} leaves no object: its content stays one"
            )
        self._activities[name] = shown | {"content": content}
        return True

    def _take_message_id(self, name: str, noun: str) -> None:
        taken = self._messages.get(name)
        if taken is not None:
            raise StreamOrderError(
                f"the id {name!r} belongs to a {taken} of this run: use a new id for the {noun}"
            )
        self._messages[name] = noun

    def _check_owner(self, event: dict[str, Any], *, announcing: bool = False) -> None:
        owner = event.get("parentSubagentRunId" if announcing else "subagentRunId")
        if owner is None:
            return
        item = self._items[_SUBAGENT].get(owner)
        if announcing and item is None:
            raise StreamOrderError(
                f"the parent invocation {owner!r} is not announced: send SUBAGENT_STARTED for it "
                "first"
            )
        if item is not None and not item.open:
            raise StreamOrderError(
                f"the subagent invocation {owner!r} has ended: use a new subagentRunId"
            )

    def _check_parent(self, event: dict[str, Any]) -> None:
        parent = event.get("parentMessageId")
        if parent is None:
            return
        noun = self._messages.get(parent, _TEXT.noun)
        if noun not in (_TEXT.noun, _CALL.noun):
            raise StreamOrderError(
                f"parentMessageId {parent!r} belongs to a {noun}: name an assistant message"
            )
        item = self._items[_TEXT].get(parent)
        if item is not None and item.owner != event.get("subagentRunId"):
            raise StreamOrderError(
                f"the tool call and its message {parent!r} have different owners: give both the "
                "same subagentRunId"
            )

    def _check_continuation(self, item: Item, event: dict[str, Any]) -> None:
        owner = event.get("subagentRunId")
        if owner is not None and owner != item.owner:
            raise StreamOrderError(
                f"{event['type']} has another subagentRunId than its start: repeat that one or "
                "leave it out"
            )

    def _check_vacated(self, owner: str) -> None:
        for space in _BOUNDARY:
            for name, item in self._open[space].items():
                if item.owner == owner:
                    raise StreamOrderError(
                        f"the subagent {owner!r} has the {space.noun} {name!r} open: "
                        f"send {space.end} first"
                    )
        for step_owner, name in self._steps:
            if step_owner == owner:
                raise StreamOrderError(
                    f"the subagent {owner!r} has the step {name!r} open: send STEP_FINISHED first"
                )


def _tagged(event: dict[str, Any], owner: Any) -> dict[str, Any]:
    return event if owner is None else event | {"subagentRunId": owner}
