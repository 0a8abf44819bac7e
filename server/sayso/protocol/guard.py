"""The stream guard: nothing is emitted that would break order or balance (LC, TX, TC, RS, ST).

Pure. The strict policy over `protocol/events` and `protocol/order`: it refuses what clients would
reject the run for, and says in a sentence what to send first. Stricter than the protocol in two
places where real readers are: chunks are not used (TX-06), and an id is not reopened (TX-05,
TC-10).
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final

from sayso.base import jsonpatch
from sayso.base.errors import TurnError
from sayso.base.jsonvalue import pointer
from sayso.protocol.events import (
    CALL,
    EVENTS,
    SPAN,
    STEP,
    SUBAGENT,
    TEXT,
    THOUGHT,
    Event,
    EventType,
    Space,
)
from sayso.protocol.forward_compat import NO_MEMBER, Path, ReadReport
from sayso.protocol.order import Item, StreamOrder

_PIECE: Final = 1_000_000
"""Characters of one restated delta; keeps frames far below what clients refuse (EN-09)."""
_BOUNDARY: Final = (TEXT, CALL, THOUGHT, SPAN)


class StreamOrderError(TurnError):
    """An event that cannot be sent here; the message says what to send first or instead."""


class _Strict(ReadReport):
    """Refuses what is wrong, and what is unknown: clients drop that, or reject the run."""

    older = False
    strict = True

    def error(self, path: Path, message: str) -> Any:
        """Refuse the event."""
        raise StreamOrderError(f"{pointer(path)} {message}")

    def drop(self, path: Path, message: str) -> Any:
        """Refuse it; what the protocol has no name for has one place."""
        advice = ": put it into 'metadata'" if message is NO_MEMBER else ""
        raise StreamOrderError(f"{pointer(path)} {message}{advice}")

    def is_absent(self, path: Path, required: bool) -> bool:
        """True where null is no value (LC-22)."""
        return not required

    def id_error(self, value: str) -> str | None:
        """Refuse the empty string."""
        return None if value else "must be a string that is not empty"


_STRICT: Final = _Strict()


def row_of(event: Event) -> EventType:
    """The row of an event. StreamOrderError if it can never be sent, whatever came before it."""
    kind = event.get("type")
    row = EVENTS.get(kind) if isinstance(kind, str) else None
    if row is None or row.instead:
        instead = row.instead if row else "send a CUSTOM event"
        raise StreamOrderError(f"{kind!r} is no event to emit: {instead}")
    try:
        row.sent.read(event, (), _STRICT)
    except StreamOrderError as error:
        raise StreamOrderError(f"{kind}: {error}") from None
    return row


class StreamGuard(StreamOrder):
    """The order of one run, and the judge of its next event."""

    reopened: ClassVar[frozenset[Space]] = frozenset({STEP})
    shared: ClassVar[frozenset[Space]] = frozenset({STEP})

    def __init__(self) -> None:
        super().__init__()
        self._messages: dict[str, str] = {}
        self._activities: dict[str, Event] = {}
        self._attributed: set[str] = set()
        self._results: set[str] = set()

    def breach(self, fact: str, advice: str) -> StreamOrderError:
        """The sentence for the author."""
        return StreamOrderError(f"{fact}: {advice}")

    def check(self, event: Event) -> bool:
        """True if the event is to be sent now; then it also counts as sent.

        False: it is right, and there is nothing to say (an empty delta, a step that another
        branch opened too, the end of something that the boundary closed). Raises StreamOrderError
        and changes nothing when it cannot be sent.
        """
        row = row_of(event)
        sent = True
        if row.space is None:
            self._follow_beside(event)
        else:
            item = self.follow(row, event)
            sent = item is not None
            if item is not None and row.continues is not None:
                item.parts.append(event["delta"])
                # Legal when empty, but no peer needs that and some warn about it (TR-36).
                sent = event["delta"] != ""
        owner = event.get("subagentRunId")
        if owner is not None and owner not in self.items[SUBAGENT]:
            self._attributed.add(owner)
        return sent

    def _follow_beside(self, event: Event) -> None:
        match event["type"]:
            case "TOOL_CALL_RESULT":
                self._result(event)
            case "ACTIVITY_SNAPSHOT":
                self._activity_shown(event)
            case "ACTIVITY_DELTA":
                self._activity_changed(event)
            case "MESSAGES_SNAPSHOT":
                self.check_settled()

    def check_settled(self) -> None:
        """Refuse a snapshot that would cut an open text, tool call or reasoning (MS-06)."""
        if not any(self.open.values()):  # as mostly
            return
        for item in self.open_in(*_BOUNDARY):
            raise self.breach(
                f"MESSAGES_SNAPSHOT would cut the open {item}", f"send {item.space.end} first"
            )

    def item(self, message_id: str) -> Item:
        """The open text or reasoning message with that id."""
        return self.open[TEXT].get(message_id) or self.open[THOUGHT][message_id]

    def close_all(self, left: Callable[[str], Event] | None = None) -> list[Event]:
        """Events that close everything that is open, in boundary order; all counts as closed.

        Text, tool calls, reasoning, then subagents with their steps, then steps (LC-06, RS-06).
        `left` gives the last event of a subagent invocation by its id; without it, they wait.
        """
        if not any(self.open.values()):
            return []
        steps = self.open_in(STEP)[::-1]
        events = [self._end(item) for item in self.open_in(*_BOUNDARY)]
        events += [self._end(item) for item in steps if item.owner is not None]
        for item in self.open_in(SUBAGENT)[::-1]:
            waits = self._end(item) | {"outcome": {"type": "suspended"}}
            events.append(left(item.name) if left is not None else waits)
        return events + [self._end(item) for item in steps if item.owner is None]

    def close_owned(self, owner: str) -> list[Event]:
        """Events that close what a subagent invocation has open, before it ends itself."""
        items = (*self.open_in(*_BOUNDARY), *self.open_in(STEP)[::-1])
        return [self._end(item) for item in items if item.owner == owner]

    def replay_open(self) -> Iterator[Event]:
        """Events that show a new reader what is open: each start, and its content so far.

        Activities of this run come first, as they are now: deltas may follow (AC-01).
        """
        yield from self._activities.values()
        if not any(self.open.values()):
            return
        for item in self.open_in(SUBAGENT, STEP, SPAN, THOUGHT, TEXT, CALL):
            yield item.opener
            text = "".join(item.parts)
            for index in range(0, len(text), _PIECE):
                yield _event(item, item.space.content, delta=text[index : index + _PIECE])

    def _end(self, item: Item) -> Event:
        key = (item.space, item.key)
        joined = self.joined.pop(key, 0)
        self.late_ends[key] = self.late_ends.get(key, 0) + 1 + joined
        self.close(item)
        return _event(item, item.space.end)

    def opening(self, space: Space, event: Event) -> None:
        """Refuse an owner, a parent or an id that it cannot have; take the id."""
        name = event[space.member]
        if space is SUBAGENT and name in self._attributed:
            raise self.breach(
                f"events of the subagent {name!r} were sent before it was announced",
                "send SUBAGENT_STARTED before them",
            )
        if space is SUBAGENT:
            self._check_owner(event, "parentSubagentRunId")
        elif "subagentRunId" in event:
            self._check_owner(event)
        if space is CALL:
            self._check_parent(event)
        # Clients make an assistant message with the id of a call that names none (TC-03).
        if space in (TEXT, THOUGHT) or (space is CALL and event.get("parentMessageId") is None):
            self._take_message_id(name, space.noun)

    def subagent_ends(self, item: Item) -> None:
        """Refuse the end of a subagent that has something open."""
        owner = item.name
        for mine in self.open_in(*_BOUNDARY, STEP):
            if mine.owner == owner:
                raise self.breach(
                    f"the subagent {owner!r} has the {mine} open", f"send {mine.space.end} first"
                )

    def _result(self, event: Event) -> None:
        call = event["toolCallId"]
        if call in self.open[CALL]:
            raise self.breach(
                f"TOOL_CALL_RESULT for tool call {call!r}, which is open", f"send {CALL.end} first"
            )
        if call in self._results:
            raise self.breach(
                f"tool call {call!r} has a result in this run", "clients would keep both"
            )
        self._check_owner(event)
        self._take_message_id(event["messageId"], "tool result")
        self._results.add(call)

    def _activity_shown(self, event: Event) -> None:
        name = event["messageId"]
        shown = name in self._activities
        self._check_owner(event)
        if not shown:
            self._take_message_id(name, "activity")
        if not shown or event.get("replace") is not False:
            self._activities[name] = dict(event)

    def _activity_changed(self, event: Event) -> None:
        name = event["messageId"]
        shown = self._activities.get(name)
        if shown is None:
            raise self.breach(
                f"ACTIVITY_DELTA for activity {name!r}, which this run has not shown",
                "send ACTIVITY_SNAPSHOT first",
            )
        self._check_owner(event)
        try:
            content = jsonpatch.apply(shown["content"], event["patch"])
        except ValueError as error:
            raise self.breach(f"ACTIVITY_DELTA for activity {name!r}", str(error)) from None
        if not isinstance(content, dict):
            raise self.breach(
                f"ACTIVITY_DELTA for activity {name!r} leaves no object", "its content stays one"
            )
        self._activities[name] = shown | {"content": content}

    def _take_message_id(self, name: str, noun: str) -> None:
        taken = self._messages.get(name)
        if taken is not None:
            raise self.breach(
                f"the id {name!r} belongs to a {taken} of this run", f"use a new id for the {noun}"
            )
        self._messages[name] = noun

    def _check_owner(self, event: Event, member: str = "subagentRunId") -> None:
        owner = event.get(member)
        if owner is None:
            return
        item = self.items[SUBAGENT].get(owner)
        if item is None and member == "parentSubagentRunId":
            raise self.breach(
                f"the parent invocation {owner!r} is not announced",
                "send SUBAGENT_STARTED for it first",
            )
        if item is not None and not item.open:
            raise self.breach(
                f"the subagent invocation {owner!r} has ended", "use a new subagentRunId"
            )

    def _check_parent(self, event: Event) -> None:
        parent = event.get("parentMessageId")
        if parent is None:
            return
        noun = self._messages.get(parent, TEXT.noun)
        if noun not in (TEXT.noun, CALL.noun):
            raise self.breach(
                f"parentMessageId {parent!r} belongs to a {noun}", "name an assistant message"
            )
        item = self.items[TEXT].get(parent)
        if item is not None and item.owner != event.get("subagentRunId"):
            raise self.breach(
                f"the tool call and its message {parent!r} have different owners",
                "give both the same subagentRunId",
            )


def _event(item: Item, kind: str, **members: Any) -> Event:
    owned = {} if item.owner is None else {"subagentRunId": item.owner}
    return {"type": kind, item.space.member: item.name, **members, **owned}
