"""A request's messages beside the thread's: those it has already, and those that are new. Pure.

A stored id names what is stored under it. But clients mint ids for messages that they hold (the
protocol asks for no stable ones), merge messages, and count from 1 again after a reload. So:

1. A stored id is *known*, except for a user message that says something else than what is stored
   under it: that one is new, under an id of its own. An assistant message with calls of ours is
   known too: it is every stored message that it covers. A result is the stored one of its call,
   unless the request names that; results divide nothing below.
2. Before and between the known, an unknown message is the one of that stretch that says the same
   (`gate.contents.says`), in order; one that says anything else is new.
3. Behind the last known likewise, one by one; the first that differs and all behind it are new.
4. With nothing known: the longest run backwards, to the beginning of either list, from an
   assistant's text that both have, or from the stored end if the request continues behind it;
   beside answers also from what began the turn that waits. Otherwise all is new.
5. Each stored message matches one message at most. Its order, id and text stay.

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
"""The prefix of ids of messages about a refusal, which are shown and never stored."""

_SILENT: Final = ("tool", "activity", "reasoning")
"""Roles that say nothing here: clients send them back or not, each as it likes."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """A request's messages beside a thread's.

    `named`: ids of the stored messages that the request has, under any ids. `new`: its other
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
        return tuple([message for message in self.new if message.role == "user"])


NOTHING_SENT: Final = Alignment(frozenset(), ())
"""The alignment of no messages."""


def aligned(request: RunInput, view: ThreadView | None) -> Alignment:
    """Compare a request's messages with those of the thread that was loaded for it."""
    answers = bool(request.resume) or request.command is not None
    turn = view.turn if view is not None and answers else None
    return align(request.messages, view.messages if view is not None else (), turn)


def align(
    messages: Sequence[Message], stored: Sequence[Message], answered: TurnRecord | None = None
) -> Alignment:
    """Compare a request's list with a thread's; `answered` is the turn its answers are for, if any.

    Messages under known ids are not decoded.
    """
    if not stored:
        return Alignment(frozenset(), tuple(messages))
    stored_places = {message.id: place for place, message in enumerate(stored)}
    renamed, warnings = _renamed(messages, stored_places, stored)
    ids = messages.ids if isinstance(messages, Messages) else [message.id for message in messages]
    if renamed:
        ids = list(dict.fromkeys(renamed[key].id if key in renamed else key for key in ids))
    new = {message.id: message for message in _unknown(messages, stored_places)}
    if renamed:
        own = (message for message in renamed.values() if message.id not in stored_places)
        new |= {message.id: message for message in own}
    book = _Book(stored, stored_places, ids, new)
    book.cover(_calling(messages))
    if not new:
        named = frozenset([stored[place].id for place in book.taken])
        return Alignment(named, (), warnings)
    book.pair_results()
    book.pair(answered)
    return Alignment(
        named=frozenset(stored[place].id for place in book.taken),
        new=tuple(new[key] for key in ids if key in new and key not in book.standing),
        warnings=warnings,
        strange=book.is_strange(),
    )


class _Book:
    """The pairs of sent and stored messages that are known so far."""

    def __init__(
        self,
        stored: Sequence[Message],
        stored_places: Mapping[str, int],
        ids: Sequence[str],
        new: Mapping[str, Message],
    ) -> None:
        self.stored = stored
        self.ids = ids
        self.new = new
        """The messages under unknown ids, by these."""
        self.places: dict[str, tuple[int, int]] = {
            key: (stored_places[key], stored_places[key]) for key in ids if key in stored_places
        }
        """The first and the last stored place of each known message."""
        self.taken = {first for first, _ in self.places.values()}
        self.standing: set[str] = set()
        """Unknown ids of messages that the thread has."""
        self._said: dict[int, Says] = {}

    def cover(self, calling: Iterable[Message]) -> None:
        """Find the stored messages whose calls messages of the request make (1)."""
        call_places: dict[str, int] | None = None
        for message in calling:
            own = self.places.get(message.id)
            if own is not None and self.stored[own[0]].body == message.body:
                continue
            if call_places is None:
                call_places = {
                    call: place
                    for place, caller in enumerate(self.stored)
                    if calls(caller)
                    for call in call_ids(caller)
                }
            covered = {call_places[call] for call in call_ids(message) if call in call_places}
            covered.update(own or ())
            if covered:
                self.places[message.id] = min(covered), max(covered)
                self.taken |= covered
                self.standing.add(message.id)

    def pair_results(self) -> None:
        """Match results under unknown ids with the stored ones of their calls (1)."""
        sent = [message for message in self._open() if message.role == "tool"]
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
        """Match messages that say the same (2, 3, 4)."""
        speaking: dict[str, Message] = {}
        thoughts = []
        for message in self._open():
            if message.role == "reasoning":
                thoughts.append(message)
            elif _is_empty(message):
                self.standing.add(message.id)  # an empty message of the client's own
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
        """Match each with the next place that says the same, and pass over the rest."""
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
        """The stored places of a role that no message matches yet."""
        return [
            place
            for place, message in enumerate(self.stored)
            if message.role == role and place not in self.taken
        ]

    def _open(self) -> list[Message]:
        """The messages under unknown ids that match nothing yet."""
        return [self.new[key] for key in self.ids if key in self.new and key not in self.standing]

    def _speaking(self, first: int, end: int) -> list[int]:
        """The stored places of a stretch that a message may match."""
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
    messages: Sequence[Message], stored_places: Mapping[str, int], stored: Sequence[Message]
) -> tuple[dict[str, Message], tuple[str, ...]]:
    """Rename user and tool messages whose ids other messages of the thread have.

    A user message differs from the stored one if it says something else, or shows media that the
    stored one does not; a result if it is one of another call.
    """
    replacements: dict[str, Message] = {}
    warnings = []
    said = (
        messages.saying(stored_places)
        if isinstance(messages, Messages)
        else [
            message
            for message in messages
            if message.role in ("user", "tool") and message.id in stored_places
        ]
    )
    for message in said:
        kept = stored[stored_places[message.id]]
        if kept.body == message.body or (what := _another(message, kept)) is None:
            continue
        renamed = replacements[message.id] = under_own_id(message, what)
        if renamed.id not in stored_places:
            warnings.append(
                f"the message id {message.id[:64]!r} was used before, for another "
                f"{'result' if message.role == 'tool' else 'text'}: this message is "
                f"{renamed.id[-73:]!r}"
            )
    return replacements, tuple(warnings)


def _another(message: Message, kept: Message) -> str | None:
    """The part that makes it another message than the stored one of its id; None if it is equal."""
    if message.role == "tool":
        call = answered_call(message)
        return None if kept.role == "tool" and call == answered_call(kept) else call
    _, text, media = says(message)
    _, whole, there = says(kept)
    # A client of before 1.0 has the text alone and sends no more of it back.
    same = (text == whole or is_truncation_of(text, whole)) and set(media) <= set(there)
    if kept.role == "user" and same:
        return None
    return "".join((text, *(medium.decode() for medium in media)))


def _unknown(messages: Sequence[Message], stored_places: Mapping[str, int]) -> Iterable[Message]:
    if isinstance(messages, Messages):
        return messages.unknown(stored_places.keys())
    return [message for message in messages if message.id not in stored_places]


def _calling(messages: Sequence[Message]) -> Iterable[Message]:
    return messages.calling() if isinstance(messages, Messages) else filter(calls, messages)


def _speaks(message: Message) -> bool:
    """True if its text alone may match a stored message.

    The thread has no assistant message with calls that are not ours.
    """
    if message.role in _SILENT or message.id.startswith(PROBLEM):
        return False
    return not (calls(message) and call_ids(message))


def _is_empty(message: Message) -> bool:
    return message.role == "assistant" and not any(says(message)[1:]) and not call_ids(message)


def _beginning(turn: TurnRecord, stored: Sequence[Message], there: Sequence[int]) -> int | None:
    """The index in `there` of the user message that began a waiting turn; None without one."""
    if turn.status != "suspended":
        return None
    history: int = jsonvalue.decode(turn.request).get("history", 0)
    users = [
        index
        for index, place in enumerate(there)
        if place < history and stored[place].role == "user"
    ]
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
        continues = end == len(kept) - 1 and last < len(said) - 1
        return kept[end][0] == "assistant" or continues or end == began

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
    for index, said in enumerate(text):
        if length == len(pattern):
            length = back[length - 1] if length else 0
        while length and pattern[length] != said:
            length = back[length - 1]
        length += bool(pattern) and pattern[length] == said
        if length:
            yield index, length
            if length == len(pattern) and back[length - 1]:
                yield index, back[length - 1]
