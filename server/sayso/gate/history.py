"""A thread's messages merged with those of a request (design 4, "History").

`gate.alignment` finds the messages that the thread has already; what is stored wins. A list that
names stored messages becomes the visible history: what it leaves out is hidden, never deleted. Text
that a client attributes to an assistant or a tool stays text; it never answers a call of ours and
never approves one (TB-13, TR-08).
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from sayso.base.fastrecords import copy_with
from sayso.base.records import Message
from sayso.gate.alignment import PROBLEM, Alignment
from sayso.gate.contents import answered_call, call_ids, calls


@dataclass(frozen=True, slots=True)
class Merge:
    """The changes that a new turn makes to a thread's messages.

    `append`: hidden messages that the request names again, then new ones in the request's order.
    `hide`: ids of visible messages that it leaves out. `warnings` name what was ignored.
    """

    append: tuple[Message, ...]
    hide: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def paired(messages: Iterable[Message]) -> list[Message]:
    """Put each result right behind the message that made its call (H1, TC-09).

    Messages are stored as they came: text of another branch, or a later call, may stand between.
    """
    as_stored = list(messages)
    if _in_place(as_stored):
        return as_stored
    behind: dict[str, list[Message]] = {}
    ordered: list[list[Message]] = []
    for message in as_stored:
        owner = behind.get(answered_call(message)) if message.role == "tool" else None
        if owner is not None:
            owner.append(message)
            continue
        group = [message]
        ordered.append(group)
        if calls(message):
            behind.update((call, group) for call in call_ids(message))
    return [message for group in ordered for message in group]


def _in_place(messages: list[Message]) -> bool:
    """True if each result stands where it belongs, as in all but a few histories."""
    results = [index for index, message in enumerate(messages) if message.role == "tool"]
    if not results:
        return True
    ends: dict[str, list[int]] = {}
    for index, message in enumerate(messages):
        if calls(message):
            end = [index]
            for call in call_ids(message):
                if ends.setdefault(call, end) is not end:
                    return False
    for index in results:
        group = ends.get(answered_call(messages[index]))
        if group is not None and group[0] < index:
            if group[0] != index - 1:
                return False
            group[0] = index
    return True


def visible(messages: Iterable[Message]) -> list[bytes]:
    """The bodies that a snapshot shows: the history, then what waits for the turn to end."""
    history: list[bytes] = []
    waiting: list[bytes] = []
    for message in paired(messages):
        if message.visibility == "visible":
            history.append(message.body)
        elif message.visibility == "waiting":
            waiting.append(message.body)
    return history + waiting


def too_large(stored: Iterable[Message], added: Iterable[Message], limit: int) -> bool:
    """True if the thread would hold more than `limit` bytes of messages, hidden ones included."""
    bodies = {message.id: len(message.body) for message in added}
    bodies.update((message.id, len(message.body)) for message in stored)
    return sum(bodies.values()) > limit


def merge(sent: Alignment, stored: tuple[Message, ...]) -> Merge:
    """Merge the request's list, already compared with the thread's, for a Start.

    A tool message is taken only as the first answer to a call that came in the same request,
    before it; a stored one is hidden when the message with its call is. So no result is ever
    without its call (H2), and no client answers a call that the server keeps. Clients never send
    activity messages back (MS-07): a stored one is shown or hidden with the message before it.
    """
    shown = _shown(stored, sent.named)
    back = [
        copy_with(message, visibility="visible")
        for message in stored
        if message.visibility == "hidden" and message.id in shown
    ]
    new, warnings = _additions(sent.new)
    hide = tuple(
        message.id
        for message in stored
        if message.visibility == "visible" and message.id not in shown
    )
    return Merge(append=(*back, *new), hide=hide, warnings=warnings)


def said_since(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages behind the last one of an assistant or a tool."""
    behind = len(messages)
    while behind and messages[behind - 1].role not in ("assistant", "tool"):
        behind -= 1
    return tuple(messages[behind:])


def _shown(stored: tuple[Message, ...], named: Set[str]) -> set[str]:
    """The stored messages that the history shows once the request's list has been taken."""
    takes_all = named.isdisjoint(message.id for message in stored)
    shown: list[Message] = []
    before = True
    for message in stored:
        if message.visibility == "waiting":
            continue
        if takes_all:
            before = message.visibility == "visible"
        elif message.role != "activity":
            before = message.id in named
        if before:
            shown.append(message)
    return {message.id for message in shown} - _orphans(shown)


def _additions(sent: Iterable[Message]) -> tuple[list[Message], tuple[str, ...]]:
    new: list[Message] = []
    warnings: list[str] = []
    open_calls: set[str] = set()
    for message in sent:
        if message.role == "assistant":
            if message.id.startswith(PROBLEM):
                continue
            open_calls.update(call_ids(message))
        elif message.role == "tool":
            call = answered_call(message)
            if call not in open_calls:
                warnings.append(
                    f"tool message {message.id[:64]!r} answers no open call of this request "
                    "and was ignored"
                )
                continue
            open_calls.discard(call)
        new.append(message)
    return new, tuple(warnings)


def _orphans(messages: Iterable[Message]) -> set[str]:
    """Ids of tool messages without the call that they answer."""
    calls: set[str] = set()
    answers: dict[str, str] = {}
    for message in messages:
        if message.role == "assistant":
            calls.update(call_ids(message))
        elif message.role == "tool":
            answers[message.id] = answered_call(message)
    return {identifier for identifier, call in answers.items() if call not in calls}
