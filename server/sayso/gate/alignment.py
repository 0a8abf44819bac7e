"""Which of a request's messages the thread has already, and which are new. Pure.

An id that is stored names what is stored under it; but clients mint ids for messages that they hold
(the protocol asks for no stable ones), merge messages, and count from 1 again after a reload. So:

1. *Known* is a stored id, but for a user message that says something else than what is stored
   under it: that one is new, under an id of its own. Known is also an assistant message with calls
   of ours: it is every stored message that it covers. A result is the stored one of its call,
   unless the request names that; results divide nothing below.
2. Before and between the known, an unknown message is the one of that stretch that says the same
   (`gate.contents.says`), in order; one that says anything else is new.
3. Behind the last known likewise, one by one; the first that differs and all behind it are new.
4. Nothing known: the longest run backwards, to the beginning of either list, from an assistant's
   text that both have, or from the stored end if the request goes on behind it; beside answers also
   from what began the turn that waits. Else all is new.
5. Each stored message stands for one. Its order, id and text stay.

So a text that is said twice is new the second time, and a message that comes alone always is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sayso.base import jsonvalue
from sayso.base.records import Message, ThreadView, TurnRecord
from sayso.gate.contents import Says, answered_call, call_ids, calls, says, under_own_id
from sayso.protocol.messages import Messages
from sayso.protocol.runinput import RunInput
from sayso.protocol.truncation import is_truncation_of

PROBLEM: Final = "msg_problem_"
"""How the ids of messages begin that tell of a refusal; they are shown and never stored."""

_SILENT: Final = ("tool", "activity", "reasoning")
"""Roles that say nothing here: clients send them back or not, each as it likes."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """A request's messages beside a thread's.

    `named`: ids of the stored messages that the request has, under whatever ids. `new`: its other
    messages, in its order, under the ids that they are stored by. `warnings` name what was renamed.
    `strange`: it has messages of an assistant or a tool, and the thread has none of these.
    """

    named: frozenset[str]
    new: tuple[Message, ...]
    warnings: tuple[str, ...] = ()
    strange: bool = False

    @property
    def fresh(self) -> tuple[Message, ...]:
        """The new user messages (E5)."""
        return tuple(message for message in self.new if message.role == "user")


NOTHING_SENT: Final = Alignment(frozenset(), ())
"""The alignment of no messages."""


def aligned(request: RunInput, view: ThreadView | None) -> Alignment:
    """A request's messages beside those of the thread that was loaded for it."""
    answers = bool(request.resume) or request.command is not None
    turn = view.turn if view is not None and answers else None
    return align(request.messages, view.messages if view is not None else (), turn)


def align(
    messages: Sequence[Message], stored: Sequence[Message], answered: TurnRecord | None = None
) -> Alignment:
    """A request's list beside a thread's; `answered` is the turn that its answers are for, if any.

    What has no unknown id is not decoded, nor is a stretch of it.
    """
    at = {message.id: place for place, message in enumerate(stored)}
    renamed, warnings = _renamed(messages, at, stored)
    ids = messages.ids if isinstance(messages, Messages) else [one.id for one in messages]
    if renamed:
        ids = list(dict.fromkeys(renamed[one].id if one in renamed else one for one in ids))
    new = {one.id: one for one in _unknown(messages, at)}
    new |= {one.id: one for one in renamed.values() if one.id not in at}
    if not stored:
        return Alignment(frozenset(), tuple(new[one] for one in ids if one in new), warnings)
    book = _Book(stored, at, ids, new)
    book.cover(_calling(messages))
    if new:
        book.pair_results()
        book.pair(answered)
    return Alignment(
        named=frozenset(stored[place].id for place in book.taken),
        new=tuple(new[one] for one in ids if one in new and one not in book.standing),
        warnings=warnings,
        strange=book.is_strange(),
    )


class _Book:
    """The pairs of sent and stored messages that are known so far."""

    def __init__(
        self,
        stored: Sequence[Message],
        at: Mapping[str, int],
        ids: Sequence[str],
        new: Mapping[str, Message],
    ) -> None:
        self.stored = stored
        self.ids = ids
        self.new = new
        """The messages under unknown ids, by these."""
        self.places: dict[str, tuple[int, int]] = {
            one: (at[one], at[one]) for one in ids if one in at
        }
        """The first and the last stored place of each known message."""
        self.taken = {first for first, _ in self.places.values()}
        self.standing: set[str] = set()
        """Unknown ids of messages that the thread has."""
        self._said: dict[int, Says] = {}

    def cover(self, calling: Iterable[Message]) -> None:
        """Find the stored messages whose calls messages of the request make (1)."""
        at: dict[str, int] | None = None
        for message in calling:
            own = self.places.get(message.id)
            if own is not None and self.stored[own[0]].body == message.body:
                continue
            if at is None:
                at = {
                    call: place
                    for place, one in enumerate(self.stored)
                    if calls(one)
                    for call in call_ids(one)
                }
            covered = {at[call] for call in call_ids(message) if call in at} | set(own or ())
            if covered:
                self.places[message.id] = min(covered), max(covered)
                self.taken |= covered
                self.standing.add(message.id)

    def pair_results(self) -> None:
        """Let results under unknown ids be the stored ones of their calls (1)."""
        sent = [one for one in self._open() if one.role == "tool"]
        if not sent:
            return
        left = {answered_call(self.stored[place]): place for place in self._left("tool")}
        for message in sent:
            place = left.pop(answered_call(message), None)
            if place is None:
                continue
            self.taken.add(place)
            if says(message) == self._says(place):  # else it is another answer, which came too late
                self.standing.add(message.id)

    def pair(self, answered: TurnRecord | None) -> None:
        """Find what says the same (2, 3, 4)."""
        speaking: dict[str, Message] = {}
        thoughts = []
        for message in self._open():
            if message.role == "reasoning":
                thoughts.append(message)
            elif _is_empty(message):
                self.standing.add(message.id)  # a shell of a client's own, for nothing
            elif _speaks(message):
                speaking[message.id] = message
        if thoughts:
            self._in_order(thoughts, self._left("reasoning"))
        if not speaking:
            return
        stretch: list[Message] = []
        first: int | None = None
        for name in self.ids:
            if name in speaking:
                stretch.append(speaking[name])
            elif (places := self.places.get(name)) is not None:
                if stretch:
                    begins = 0 if first is None else first + 1
                    self._in_order(stretch, self._speaking(begins, places[1]))
                    stretch = []
                first = places[0]
        if first is None:
            self._run(stretch, answered)
        else:
            self._one_by_one(stretch, self._speaking(first + 1, len(self.stored)))

    def _in_order(self, sent: list[Message], there: list[int]) -> None:
        """Let each stand for the next place that says the same, and pass over the rest."""
        saying: dict[Says, list[int]] = {}
        for place in reversed(there):
            saying.setdefault(self._says(place), []).append(place)
        last = -1
        for message in sent:
            places = saying.get(says(message), [])
            while places and places[-1] <= last:
                places.pop()
            if places:
                last = places.pop()
                self._stands(message, last)

    def _one_by_one(self, sent: list[Message], there: list[int]) -> None:
        for message, place in zip(sent, there, strict=False):
            if says(message) != self._says(place):
                return
            self._stands(message, place)

    def _run(self, sent: list[Message], answered: TurnRecord | None) -> None:
        there = self._speaking(0, len(self.stored))
        began = None if answered is None else _beginning(answered, self.stored, there)
        said = [says(message) for message in sent]
        kept = [self._says(place) for place in there]
        length, last, end = _longest_run(said, kept, began)
        if not length:
            return
        begins, stands = last + 1 - length, end + 1 - length
        self._one_by_one(sent[begins:], there[stands:])

    def _left(self, role: str) -> list[int]:
        """The stored places of a role that nothing stands for yet."""
        return [
            place
            for place, message in enumerate(self.stored)
            if message.role == role and place not in self.taken
        ]

    def _open(self) -> list[Message]:
        """The messages under unknown ids that stand for nothing yet."""
        return [self.new[one] for one in self.ids if one in self.new and one not in self.standing]

    def _speaking(self, first: int, end: int) -> list[int]:
        """The stored places of a stretch that a message may stand for."""
        return [
            place
            for place in range(first, end)
            if place not in self.taken
            and (message := self.stored[place]).visibility != "hidden"
            and message.role not in _SILENT
            and not (calls(message) and not self._says(place)[1])
        ]

    def _says(self, place: int) -> Says:
        if place not in self._said:
            self._said[place] = says(self.stored[place])
        return self._said[place]

    def is_strange(self) -> bool:
        """True if no assistant's or tool's message of the request is the thread's."""
        theirs = ("assistant", "tool")
        return any(message.role in theirs for message in self._open()) and not any(
            self.stored[place].role in theirs for place in self.taken
        )

    def _stands(self, message: Message, place: int) -> None:
        self.standing.add(message.id)
        self.taken.add(place)


def _renamed(
    messages: Sequence[Message], at: Mapping[str, int], stored: Sequence[Message]
) -> tuple[dict[str, Message], tuple[str, ...]]:
    """The messages under ids that others of the thread have, renamed: what people and tools said.

    A user message is another than the stored one if it says something else, or shows what that does
    not; a result if it is one of another call.
    """
    found: dict[str, Message] = {}
    warnings = []
    said = (
        messages.saying(at)
        if isinstance(messages, Messages)
        else [one for one in messages if one.role in ("user", "tool") and one.id in at]
    )
    for message in said:
        kept = stored[at[message.id]]
        if kept.body == message.body or (what := _another(message, kept)) is None:
            continue
        renamed = found[message.id] = under_own_id(message, what)
        if renamed.id not in at:
            warnings.append(
                f"the message id {message.id[:64]!r} was used before, for another "
                f"{'result' if message.role == 'tool' else 'text'}: this message is "
                f"{renamed.id[-73:]!r}"
            )
    return found, tuple(warnings)


def _another(message: Message, kept: Message) -> str | None:
    """The part that makes it another message than the stored one of its id; None if it is it."""
    if message.role == "tool":
        call = answered_call(message)
        return None if kept.role == "tool" and call == answered_call(kept) else call
    _, text, media = says(message)
    _, whole, there = says(kept)
    # A client of before 1.0 has the text alone and sends no more of it back.
    same = (text == whole or is_truncation_of(text, whole)) and set(media) <= set(there)
    if kept.role == "user" and same:
        return None
    return "".join((text, *(one.decode() for one in media)))


def _unknown(messages: Sequence[Message], at: Mapping[str, int]) -> Iterable[Message]:
    if isinstance(messages, Messages):
        return messages.unknown(at.keys())
    return [message for message in messages if message.id not in at]


def _calling(messages: Sequence[Message]) -> Iterable[Message]:
    return messages.calling() if isinstance(messages, Messages) else filter(calls, messages)


def _speaks(message: Message) -> bool:
    """True if it may stand for a stored message by what it says.

    An assistant's message with calls that are not ours is one that we do not have.
    """
    if message.role in _SILENT or message.id.startswith(PROBLEM):
        return False
    return not (calls(message) and call_ids(message))


def _is_empty(message: Message) -> bool:
    return message.role == "assistant" and not any(says(message)[1:]) and not call_ids(message)


def _beginning(turn: TurnRecord, stored: Sequence[Message], there: Sequence[int]) -> int | None:
    """Which of those places holds the user message that began a turn which waits."""
    if turn.status != "suspended":
        return None
    history: int = jsonvalue.decode(turn.request).get("history", 0)
    users = [n for n, at in enumerate(there) if at < history and stored[at].role == "user"]
    return users[-1] if users else None


def _longest_run(
    said: Sequence[Says], kept: Sequence[Says], began: int | None
) -> tuple[int, int, int]:
    """The length of the longest run (4), and its last places in both lists; of equals the latest.

    A run reaches the beginning of either list, so it is a beginning of one that ends somewhere in
    the other: one pass over each finds all.
    """
    runs = [(length, length - 1, end) for end, length in _endings(said, kept)]
    runs += [(length, last, length - 1) for last, length in _endings(kept, said)]

    def counts(run: tuple[int, int, int]) -> bool:
        _, last, end = run
        goes_on = end == len(kept) - 1 and last < len(said) - 1
        return kept[end][0] == "assistant" or goes_on or end == began

    return max(filter(counts, runs), key=lambda run: (run[0], run[2]), default=(0, -1, -1))


def _endings(pattern: Sequence[Says], text: Sequence[Says]) -> Iterable[tuple[int, int]]:
    """Each place of `text`, with the length of each beginning of `pattern` that counts there.

    The longest that ends there and, where that is the whole pattern, the next longest.
    """
    back = [0] * len(pattern)
    length = 0
    for index in range(1, len(pattern)):
        while length and pattern[index] != pattern[length]:
            length = back[length - 1]
        length += pattern[index] == pattern[length]
        back[index] = length
    length = 0
    for index, one in enumerate(text):
        if length == len(pattern):
            length = back[length - 1] if length else 0
        while length and pattern[length] != one:
            length = back[length - 1]
        length += bool(pattern) and pattern[length] == one
        if length:
            yield index, length
            if length == len(pattern) and back[length - 1]:
                yield index, back[length - 1]
