"""A thread as it is read whole, and as lists show it."""

from collections.abc import Sequence
from typing import Any

from sayso.base.fastrecords import copy_with
from sayso.base.records import Interrupt, ListedThread, Message, Run, Thread, ThreadView
from sayso.stores.codec import hold_from_json
from sayso.stores.redis.facts import QuestionFacts
from sayso.stores.redis.keys import ThreadKeys
from sayso.stores.redis.rows import MESSAGES, RUNS, TURNS, prefixed
from sayso.stores.sealing import Passage

_VISIBILITY = {b"v": "visible", b"h": "hidden", b"w": "waiting"}
_SUMMARY = (
    "owner",
    "agent",
    "revision",
    "created",
    "active",
    "holder",
    "status",
    "outcome",
    "open",
    "hold",
)


def load_arguments(
    keys: ThreadKeys, run_id: str | None, interrupt_ids: Sequence[str]
) -> tuple[list[str], list[Any]]:
    """Keys and arguments of `load.lua`."""
    kinds = ("thread", "turns", "runs", "names", "interrupts", "asked", "messages")
    named = "" if run_id is None else prefixed(run_id)
    return [keys.of(kind) for kind in kinds], [named, *interrupt_ids]


def view_of(keys: ThreadKeys, reply: Sequence[Any] | None, way: Passage) -> ThreadView | None:
    """The view in an answer of `load.lua`."""
    if reply is None:
        return None
    members, turn, run, named, own, asked, messages = reply
    newest = _interrupts(own, way)
    known = {interrupt.id for interrupt in newest}
    earlier = {i.id: i for i in _interrupts(asked, way) if i.id not in known}
    found = [(value[:1] == b"w", value[1:17], _message(value)) for value in messages[1::2]]
    found.sort(key=lambda row: row[:2])
    return ThreadView(
        turn=None if turn is None else way.turn(TURNS.unpack(turn)),
        thread=_thread(keys, members, way),
        run=None if run is None else run_of(run, way),
        named_run=None if named is None else run_of(named, way),
        interrupts=(*newest, *earlier.values()),
        messages=tuple(way.messages([message for _, _, message in found])),
    )


def run_of(value: bytes, way: Passage) -> Run:
    """A run from what is kept of it."""
    digits = value.index(b":", 17)
    begin = digits + 1 + int(value[17:digits])
    run = way.run(RUNS.unpack(value, begin))
    return copy_with(run, delivered=True) if value[:1] == b"1" else run


def read_listed_thread(keys: ThreadKeys) -> tuple[str, tuple[str, ...]]:
    """The hash, and its fields, whose values `listed_thread_of` understands."""
    return keys.of("thread"), _SUMMARY


def listed_thread_of(
    scope: str, thread_id: str, values: Sequence[bytes | None]
) -> ListedThread | None:
    """A thread as lists show it; None if it is gone."""
    *texts, hold = values
    owner, agent, revision, created, active, holder, status, outcome, count = (
        None if value is None else value.decode() for value in texts
    )
    if owner is None or agent is None:
        return None
    turn_status: Any = status
    return ListedThread(
        scope=scope,
        id=thread_id,
        owner=owner,
        agent=agent,
        revision=int(revision or 0),
        created_at=int(created or 0),
        active_at=int(active or 0),
        running=holder is not None,
        turn_status=turn_status,
        outcome=outcome or None,
        open_interrupts=int(count or 0),
        on_hold=hold is not None,
    )


def _thread(keys: ThreadKeys, flat: Sequence[bytes], way: Passage) -> Thread:
    members = dict(zip(flat[0::2], flat[1::2], strict=True))

    def text(name: bytes) -> str | None:
        value = members.get(name)
        return None if value is None else value.decode()

    until = members.get(b"until")
    return Thread(
        scope=keys.scope.scope,
        id=keys.id,
        owner=members[b"owner"].decode(),
        agent=members[b"agent"].decode(),
        revision=int(members[b"revision"]),
        fence=int(members[b"fence"]),
        created_at=int(members[b"created"]),
        updated_at=int(members[b"updated"]),
        state=way.one("state.body", "", members[b"state"]),
        holder=text(b"holder"),
        lease_until=None if until is None else int(until),
        stopping=b"stopping" in members,
        stop_by=text(b"stop_by"),
        stop_channel=text(b"stop_channel"),
        kept=way.one("kept.body", "", members.get(b"kept")),
        hold=hold_from_json(way.one("thread.hold", "", members.get(b"hold"))),
    )


def _interrupts(values: Sequence[bytes | None], way: Passage) -> list[Interrupt]:
    """In the order of their numbers."""
    found = [QuestionFacts.of(value, way) for value in values if value is not None]
    return [question.interrupt for question in sorted(found, key=lambda one: one.number)]


def _message(value: bytes) -> Message:
    message = MESSAGES.unpack(value, 17)
    visibility: Any = _VISIBILITY[value[:1]]
    return message if visibility == "visible" else copy_with(message, visibility=visibility)
