"""The journal of one turn: what was recorded, found again by place. Pure: no I/O.

A place is the path of a branch and a position in it. Entries match by place; the fingerprint says
what was asked for there: kind, name and arguments, never message text or schema (design 3).

Entries of a journal that record no call: pauses, edits of the state, forks. Pure.

pause:0          what the turn had come to when it began to wait for the first time
pause:0/edit:0   what a person changed in the state meanwhile, who and when
fork:0           up to here the journal was copied from another turn
viewed:…         somebody read what led to a question
revealed:…       somebody was shown a secret of a question
refused:…        somebody was refused an answer
trace:run_…      the trace of a run, which what continues it is linked with
again            the turn was begun anew: by whom, and what had been decided before
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from sayso.base import jsonvalue
from sayso.base.clock import format_time
from sayso.base.errors import ReplayMismatch
from sayso.base.fastrecords import copy_with
from sayso.base.progress import proof_members
from sayso.base.records import Entry, Principal
from sayso.turns.journal import places

CLIENT_TOOL = "front"
"""How the ids of calls begin that the client runs; those of all other calls begin otherwise."""
_END = b'{"end":'


def fingerprint(kind: str, name: str, arguments: Any = None) -> str:
    """The request of a call, short enough to read: `step lookup 1f0c…`."""
    if arguments is None:
        return f"{kind} {name}" if name else kind
    return f"{kind} {name} {jsonvalue.digest(arguments)}"


def is_after(entry: Entry) -> bool:
    """True if it is a breakpoint behind what it stands at, and not before it."""
    return entry.kind == "breakpoint" and places.is_after(entry.place)


def numbered(end: int, members: bytes) -> bytes:
    """Data of an effect that ended as the turn's `end`-th: members of a JSON object behind it."""
    return _END + str(end).encode() + b"," + members + b"}"


def _is_over(entry: Entry) -> bool:
    """True for a call that has its result: its code is not entered again."""
    return entry.kind == "call" and entry.status == "done"


def ended(entry: Entry) -> int | None:
    """The number under which a recorded effect ended; None for what has none."""
    if entry.status != "done" or not entry.data.startswith(_END):
        return None
    return int(entry.data[len(_END) : entry.data.index(b",")])


def is_client_tool(call_id: str) -> bool:
    """True if a tool call of a turn's own is one that the client runs."""
    return call_id.startswith(f"{CLIENT_TOOL}_")


class Journal:
    """Recorded entries by place, with what must still be written along with the next commit."""

    def __init__(
        self,
        entries: Iterable[Entry] = (),
        origins: Mapping[str, str] | None = None,
        key_origins: Mapping[str, str] | None = None,
        paused: Sequence[int] = (),
    ) -> None:
        """`paused`: how many of the entries there were at each pause."""
        self.origins: Mapping[str, str] | dict[str, str] = origins or {}
        """For places that were copied from other turns, the keys of those."""
        self.key_origins: Mapping[str, str] | dict[str, str] = key_origins or {}
        """The same for what had begun there: it goes on under its call key (`marks`)."""
        self._entries = {entry.place: entry for entry in entries}
        self._paused = paused
        self._excused: set[str] = set()
        self._riding: dict[str, Entry] = {}
        self._seen: set[str] = set()
        read = self._entries.values()
        self._over = {entry.fingerprint for entry in read if entry.status == "done"}
        self._kinds = {entry.kind for entry in read}
        self._ends = {e.place: end for e in read if (end := ended(e)) is not None}
        """Under which numbers effects had ended when the journal was read, as far as they stand."""

    def find(self, place: str, requested: str) -> Entry | None:
        """The entry at a place, or None where the turn is live.

        Raises `ReplayMismatch` when the code asks for something else than what is recorded.
        """
        self._seen.add(place)
        entry = self._entries.get(place)
        if entry is not None and entry.fingerprint != requested:
            raise ReplayMismatch(place, entry.fingerprint, requested)
        return entry

    def at(self, place: str) -> Entry | None:
        """The entry at a place, whoever asks."""
        return self._entries.get(place)

    def is_due(self, place: str) -> bool:
        """True if the code has still to come for what is recorded at a place."""
        return place not in self._seen and not self.is_behind(place)

    def next_of(self, path: str, kind: str, name: str) -> Entry | None:
        """The first record of a task below a path, if that was such a call and is still to come."""
        for place, entry in self._entries.items():
            if entry.kind == kind and entry.name == name and self.is_due(place):
                first = places.first_call(place, path)
                if first is not None and first.startswith(f"{kind} {name}"):
                    return entry
        return None

    def earlier(self, kind: str, requested: str) -> Entry | None:
        """The first entry of a kind that asked for the same, wherever it stands."""
        for entry in self._entries.values():
            if entry.kind == kind and entry.fingerprint == requested:
                return entry
        return None

    def has_ended(self, requested: str) -> bool:
        """True if something that was asked for in the same words has ended, anywhere."""
        return requested in self._over

    def entries(self) -> tuple[Entry, ...]:
        """All entries, in the order in which their places were first written."""
        return tuple(self._entries.values())

    def write(self, entry: Entry) -> Entry:
        """Take an entry for the next commit; it is found again from now on."""
        self._entries[entry.place] = entry
        self._riding[entry.place] = entry
        self._kinds.add(entry.kind)
        self._ends.pop(entry.place, None)
        self._seen.add(entry.place)
        if entry.status == "done":
            self._over.add(entry.fingerprint)
        return entry

    def take(self, *, asked: bool) -> tuple[Entry, ...]:
        """Take the entries that the commit of now has to write.

        A question goes only with the suspension that stores its interrupt, so that no crash leaves
        one without the other: `asked` says whether this is it.
        """
        riding, self._riding = self._riding, {}
        if asked or not any(entry.status == "asked" for entry in riding.values()):
            return tuple(riding.values())
        self._riding = {place: entry for place, entry in riding.items() if entry.status == "asked"}
        return tuple(entry for entry in riding.values() if entry.status != "asked")

    def asked(self) -> list[Entry]:
        """The questions that were put since the last commit that could hold one."""
        return [entry for entry in self._riding.values() if entry.status == "asked"]

    def rides(self, kind: str) -> bool:
        """True if an entry of that kind waits for the next commit."""
        return any(entry.kind == kind for entry in self._riding.values())

    def holds(self, kind: str) -> bool:
        """True if anything of that kind is recorded."""
        return kind in self._kinds

    def lacks(self, place: str) -> bool:
        """True if nothing is recorded at a place."""
        return place not in self._entries

    def ends(self) -> list[int]:
        """The numbers of all effects that had ended when it was read and stand, in no order."""
        return list(self._ends.values())

    def ends_apart(self) -> list[int]:
        """The numbers of those among them that nobody waits for.

        Nobody comes for them again, or in an order of their own.
        """
        ends = self._ends.items()
        return [end for place, end in ends if places.is_keyed(place) or self.is_behind(place)]

    def ended(self, entry: Entry) -> int | None:
        """The number under which an effect of the journal has ended, as `ended` reads it."""
        end = self._ends.get(entry.place)
        return ended(entry) if end is None else end

    def is_behind(self, place: str) -> bool:
        """True if a place is inside a call that has its result: that is not entered again."""
        if not places.is_inside(place):  # as hardly any place is
            return False
        around = map(self._entries.get, places.calls_around(place))
        return any(outer is not None and _is_over(outer) for outer in around)

    def by(self, pause: int) -> Iterable[str]:
        """The places at which anything was recorded before that pause."""
        return islice(self._entries, self._paused[pause])

    def excuse(self, place: str) -> None:
        """Let the code leave out what is recorded at a place."""
        self._excused.add(place)

    def forgotten(self, path: str = "") -> Entry | None:
        """The entry that the code left out: a question, or an effect that may have happened.

        Looked for below a path, but not inside calls that have their results.
        """
        for place, entry in self._entries.items():
            if (
                entry.status != "done"
                and place not in self._seen
                and place not in self._excused
                and place.startswith(path)
                and not self.is_behind(place)
            ):
                return entry
        return None


def without_last_failures(entries: Iterable[Entry]) -> list[Entry]:
    """The entries that a retry of a failed turn starts from.

    Leaves out failures that were the last thing their branch did and that may be tried again:
    idempotent steps and streams (B1). Other failures stay, and fail again, without a second effect.
    """
    kept = list(entries)
    last: dict[str, tuple[int, str]] = {}
    for entry in kept:
        branch, number = places.split(entry.place) or ("", -1)
        if number >= last.get(branch, (0, ""))[0]:
            last[branch] = (number, entry.place)
    ends = {place for _, place in last.values()}
    return [
        entry
        for entry in kept
        if entry.place not in ends
        or entry.status != "done"
        or entry.kind not in ("step", "stream")
        or not jsonvalue.decode(entry.data).get("again")
    ]


_PAUSE: Final = "pause"
_EDIT: Final = "edit"
_FORK: Final = "fork"
_AGAIN: Final = "again"
_VIEWED: Final = "viewed"
_REVEALED: Final = "revealed"
_REFUSED: Final = "refused"
_STOPPED: Final = "stopped"
_MAX_REFUSED: Final = 5
"""Refusals that are kept of one person, question and code."""
MAX_REVEALED: Final = 50
"""Times that one person is shown one secret of a question."""
_TRACE: Final = "trace"
_MARKS: Final = frozenset(
    (_PAUSE, _EDIT, _FORK, _AGAIN, _VIEWED, _REVEALED, _REFUSED, _STOPPED, _TRACE)
)
_TAKEN_UP: Final = ("resume", "request")


def _mark(kind: str, place: str, data: dict[str, Any]) -> Entry:
    return Entry(
        place=place,
        kind=kind,
        name="",
        fingerprint=kind,
        status="done",
        data=jsonvalue.encode(data),
    )


def is_mark(entry: Entry) -> bool:
    """True if an entry is no record of a call, for which replay would look."""
    return entry.kind in _MARKS


def pauses(entries: Iterable[Entry]) -> list[Entry]:
    """The pauses of a turn, in order; the last is the one that it waits in, if it waits."""
    return [entry for entry in entries if entry.kind == _PAUSE]


def recorded_by(entries: Iterable[Entry]) -> Iterator[int]:
    """How many records of calls there were at each pause, in order."""
    recorded = 0
    for entry in entries:
        if entry.kind == _PAUSE:
            yield recorded
        recorded += not is_mark(entry)


def pause_mark(number: int, data: dict[str, Any]) -> Entry:
    """The record of a turn's pause of that number, from 0."""
    return _mark(_PAUSE, places.pause(number), data)


def resumed_mark(pause: Entry, state: bytes, request: bytes | None) -> Entry:
    """The record of a pause with what the turn goes on with: the state, and perhaps a request.

    They stand in front, so that what a hundred questions have left there is not read for it.
    """
    members = pause.data
    if b'"resume":' in members:  # it went on before, and waits again
        kept = jsonvalue.decode(members)
        members = jsonvalue.encode({n: v for n, v in kept.items() if n not in _TAKEN_UP})
    taken_up = b'{"resume":' + state
    if request is not None:
        taken_up += b',"request":' + request
    return copy_with(pause, data=taken_up + b"," + members[1:])


def edit_mark(
    entries: Sequence[Entry], patch: dict[str, Any], *, by: str, at: int, channel: str
) -> Entry:
    """The record of an edit of the state in the last pause; LookupError if there is none.

    `patch` is a merge patch (RFC 7396).
    """
    here = pauses(entries)[-1].place
    number = sum(entry.kind == _EDIT and places.is_edit_in(entry.place, here) for entry in entries)
    data = {"by": by, "at": format_time(at), "channel": channel, "values": patch}
    return _mark(_EDIT, places.edit(here, number), data)


def edited(entries: Sequence[Entry], pause: Entry) -> list[dict[str, Any]]:
    """The merge patches by which the state was edited in a pause, in order."""
    return [
        jsonvalue.decode(entry.data)["values"]
        for entry in entries
        if entry.kind == _EDIT and places.is_edit_in(entry.place, pause.place)
    ]


def fork_mark(
    entries: Sequence[Entry], turn_key: str, details: dict[str, Any], unbegun: Sequence[str]
) -> Entry:
    """The end of what was copied from that turn; `details` are for people.

    `first` of it is the first thread, if the one that was copied is a copy by an earlier turn.
    `unbegun` are the places of effects that nobody has begun: the copy's are effects of its own.
    """
    number = sum(entry.kind == _FORK for entry in entries)
    return _mark(
        _FORK, places.fork(number), {**details, "turn": turn_key, "unbegun": list(unbegun)}
    )


def again_mark(by: str, before: Sequence[dict[str, Any]], copied: str | None) -> Entry:
    """The record of who began a turn anew, and of what had been decided about its calls.

    `copied` is the thread that the turn had been copied from.
    """
    data: dict[str, Any] = {"by": by, "before": list(before)}
    if copied is not None:
        data["threadId"] = copied
    return _mark(_AGAIN, places.again(), data)


def viewed_mark(interrupt_id: str, *, by: str, hour: int, digest: str) -> Entry:
    """The record that somebody read what led to a question, in that hour since the epoch."""
    who = jsonvalue.digest([interrupt_id, by])[:32]
    data = {"interruptId": interrupt_id, "by": by, "digest": digest}
    return _mark(_VIEWED, places.viewed(who, hour), data)


def revealed_mark(
    entries: Sequence[Entry], interrupt_id: str, pointer: str, *, by: str, channel: str
) -> Entry | None:
    """The record that somebody was shown a secret, at a pointer into the arguments of a call.

    None once that is known well enough: it is not to be shown any more.
    """
    which = jsonvalue.digest([interrupt_id, by, pointer])[:32]
    kept = {entry.place for entry in entries}
    numbers = (n for n in range(MAX_REVEALED) if places.revealed(which, n) not in kept)
    number = next(numbers, None)
    if number is None:
        return None
    data = {"interruptId": interrupt_id, "pointer": pointer, "by": by, "channel": channel}
    return _mark(_REVEALED, places.revealed(which, number), data)


def refused_mark(
    entries: Sequence[Entry],
    interrupt_id: str,
    code: str,
    *,
    by: Principal,
    channel: str,
) -> Entry | None:
    """The record that somebody was refused an answer; None if that is known well enough."""
    which = jsonvalue.digest([interrupt_id, by.subject, code])[:32]
    kept = {entry.place for entry in entries}
    numbers = (n for n in range(_MAX_REFUSED) if places.refused(which, n) not in kept)
    number = next(numbers, None)
    if number is None:
        return None
    data: dict[str, Any] = {
        "interruptId": interrupt_id,
        "code": code,
        "by": by.subject,
        "roles": [*by.roles],
        "channel": channel,
    }
    if (proof := proof_members(by.proof)) is not None:
        data["proof"] = proof
    return _mark(_REFUSED, places.refused(which, number), data)


def stopped_mark(run_key: str, *, why: str, by: str | None, channel: str | None) -> Entry:
    """The record that a run was stopped: why, and by whom and which way, where that is known."""
    data = {"run": run_key, "why": why, "by": by, "channel": channel}
    content = {name: value for name, value in data.items() if value is not None}
    return _mark(_STOPPED, places.stopped(run_key), content)


def trace_mark(run_key: str, traceparent: str) -> Entry:
    """The record of the trace that a run is in."""
    return _mark(_TRACE, places.trace(run_key), {"traceparent": traceparent})


def traces(entries: Iterable[Entry]) -> list[str]:
    """The traceparents of a turn's runs, in order."""
    return [
        jsonvalue.decode(entry.data)["traceparent"] for entry in entries if entry.kind == _TRACE
    ]


def _made_of(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """The records of what the turn was copied from, or was begun anew from."""
    return [jsonvalue.decode(entry.data) for entry in entries if entry.kind in (_FORK, _AGAIN)]


def again_by(entries: Iterable[Entry]) -> list[str]:
    """Who copied a turn, or began it anew."""
    return [mark["by"] for mark in _made_of(entries) if "by" in mark]


def copied_from(entries: Iterable[Entry]) -> str | None:
    """The first of the threads that a turn was copied from, by way of restarts too; None: none."""
    for mark in _made_of(entries):
        if "threadId" in mark:
            first: str = mark.get("first", mark["threadId"])
            return first
    return None


def copied_by_way_of(entries: Iterable[Entry]) -> list[str]:
    """The threads that a turn was copied from, one after the other, as far as its marks go."""
    return [mark["threadId"] for mark in _made_of(entries) if "threadId" in mark]


def decided_before(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Decisions about calls of the turn that this one copies or repeats, oldest first.

    `{"tool", "arguments": digest, "said", "by", "at", "reason"?, "threadId"}`.
    """
    decisions: list[dict[str, Any]] = []
    for decision in (word for mark in _made_of(entries) for word in mark.get("before", ())):
        if decision not in decisions:  # a copy of a copy has the marks of both
            decisions.append(decision)
    return decisions


def is_copied(entries: Iterable[Entry]) -> bool:
    """True if the journal, or a part of it, was copied from another turn."""
    return any(entry.kind == _FORK for entry in entries)


def origins(entries: Sequence[Entry]) -> dict[str, str]:
    """The key of the turn that first recorded each copied place: its ids are made of it."""
    return _origins(entries, open_too=True)


def key_origins(entries: Sequence[Entry]) -> dict[str, str]:
    """The key of the turn that first began what is recorded at each copied place.

    What has begun there goes on under the key that it was given: the outside world must not take
    the copy of a call for another one. What had only been asked is done by each copy for itself.
    """
    return _origins(entries, open_too=False)


def _origins(entries: Sequence[Entry], *, open_too: bool) -> dict[str, str]:
    keys: dict[str, str] = {}
    if not is_copied(entries):
        return keys
    before: list[str] = []
    for entry in entries:
        if entry.kind == _FORK:
            data = jsonvalue.decode(entry.data)
            own = () if open_too else data.get("unbegun", ())
            copied = (place for place in before if place not in keys and place not in own)
            keys |= dict.fromkeys(copied, data["turn"])
        before.append(entry.place)
    return keys
