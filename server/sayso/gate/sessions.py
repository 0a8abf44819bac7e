"""What a resume of the session dialect is about, and what its answer means (design 5). Pure.

A session asks for one thing at a time: the first open question, in the order of asking, that holds
no answer. That its frame went out whole on the session is kept with the question, and when: what
came in before that was not meant for it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sayso import jsonvalue
from sayso.errors import DeclarationError
from sayso.gate import refusals
from sayso.gate.expiry import by_expiry
from sayso.gate.frontend import is_call
from sayso.gate.held import settle, uncovered
from sayso.gate.refusals import Refuse
from sayso.protocol.legacy import meant
from sayso.protocol.runinput import ResumeEntry
from sayso.records import Interrupt, ThreadView
from sayso.schemas.schema import Schema, compile_bytes

__all__ = ["Waiting", "find", "given", "payload_of", "seen", "taken_as", "was_seen"]

_SEEN: Final = "seenOnSession"
"""The member of a question's policy that names the session; a fork's is another one."""
_SEEN_AT: Final = "seenAt"
"""The member that says when its frame went out first, in nanoseconds since the epoch."""
_WORDS: Final = {"yes": True, "y": True, "no": False, "n": False}


@dataclass(frozen=True, slots=True)
class Waiting:
    """A question that waits for an answer, and the agent that asks."""

    agent: str
    item: Interrupt


def find(view: ThreadView | None, interrupt_id: str | None) -> Waiting | Refuse:
    """The question that a resume answers, by its id or as the next one of its session.

    Refuse `unknown_interrupt` when there is none, `already_resolved` when it has its answer,
    `interrupt_expired` when its time was up, `thread_busy` while its thread runs.
    """
    turn = None if view is None else view.turn
    if view is None or turn is None:
        return refusals.nothing_open()
    asked = [item for item in view.interrupts if not is_call(item)]
    own = [item for item in asked if item.turn_key == turn.key]
    idle = view.thread.holder is None and turn.status == "suspended"
    waiting = uncovered(own) if idle else []
    if interrupt_id is None:
        if waiting:
            return Waiting(turn.agent, waiting[0])
        over = [item for item in map(_settled, own) if item.status != "open"]
        return _last(over) if over else refusals.nothing_open()
    named = next((item for item in asked if item.id == interrupt_id), None)
    if named is None:
        return refusals.unknown([interrupt_id])
    if named in waiting:
        return Waiting(turn.agent, named)
    named = _settled(named)
    if named.status == "open":
        return refusals.busy() if view.thread.holder is not None else refusals.nothing_open()
    if by_expiry(named):
        return refusals.expired([named])
    return refusals.already_resolved([named])


def _last(over: Sequence[Interrupt]) -> Refuse:
    """What became of the question that a session asked last: of the newest of these, in order.

    Of several that were settled together it waited for those that nobody answered.
    """
    newest = [item for item in over if item.run_key == over[-1].run_key]
    late = [item for item in newest if by_expiry(item)]
    return refusals.expired(late[-1:]) if late else refusals.already_resolved(newest[-1:])


def given(view: ThreadView, entries: Iterable[ResumeEntry]) -> Refuse | None:
    """The refusal of entries that repeat what was answered before; None if there are none.

    An agreement that others have yet to join settles nothing, so it may be given again.
    """
    asked = {item.id: _settled(item) for item in view.interrupts}
    again = [asked[entry.interrupt_id] for entry in entries if entry.interrupt_id in asked]
    over = [item for item in again if item.status != "open"]
    return refusals.already_resolved(over) if over else None


def _settled(item: Interrupt) -> Interrupt:
    """An answer that is kept until the others have come is given all the same."""
    return item if item.held is None else settle(item)


def was_seen(item: Interrupt, session_id: str, came: int | None = None) -> bool:
    """Whether the question's frame went out whole on this session.

    And if `came` is given, that was before that instant, in nanoseconds since the epoch: a request
    that came earlier was sent by somebody who had not read it.
    """
    policy = {} if item.policy is None else jsonvalue.decode(item.policy)
    if policy.get(_SEEN) != session_id:
        return False
    return came is None or policy.get(_SEEN_AT, 0) < came


def seen(item: Interrupt, session_id: str, at: int) -> Interrupt:
    """The question with that noted; `at` is when the frame went out."""
    policy = jsonvalue.decode(item.policy) if item.policy is not None else {}
    noted = {**policy, _SEEN: session_id, _SEEN_AT: at}
    return replace(item, policy=jsonvalue.encode(noted))


def payload_of(answer: Any, item: Interrupt) -> Any:
    """The payload that an answer means: a string, or any JSON.

    A question that takes strings gets the string as it is. One that wants a yes gets it from the
    words `yes` and `no` (`y`, `n`, in any case) and from a boolean; one with a single required
    member takes that member's value alone; else a string is read as JSON. What fits nothing stays
    as it is, to be refused.
    """
    schema = _schema(item)
    if schema is None and item.reason != "confirmation":
        return answer
    if isinstance(answer, str) and schema is not None and schema.takes_text:
        return answer
    for payload in _readings(answer, schema):
        if schema is None or schema.fits(payload):
            return payload
    return meant(answer, takes_text=False)


def taken_as(item: Interrupt) -> str:
    """What a question takes for an answer, in words for somebody whose answer did not fit."""
    schema = _schema(item)
    if schema is None or any(schema.fits(yes) for yes in (True, {"approved": True})):
        whole = (
            "" if schema is None or schema.fits(True) else ', or JSON such as {"approved": true}'
        )
        return f"`yes` or `no`{whole}"
    required = schema.source.get("required", ())
    names = [f"`{name}`" for name in schema.source.get("properties", ())]
    whole = f"JSON with {', '.join(names)}" if names else "JSON that fits its `schema`"
    return f"the value of `{required[0]}`, or {whole}" if len(required) == 1 else whole


def _readings(answer: Any, schema: Schema | None) -> Iterator[Any]:
    yes = _WORDS.get(answer.strip().lower()) if isinstance(answer, str) else answer
    if isinstance(yes, bool):
        yield from (yes, {"approved": yes})
    if schema is not None:
        yield answer
        required = schema.source.get("required", ())
        if len(required) == 1:
            yield {required[0]: answer}


def _schema(item: Interrupt) -> Schema | None:
    if item.response_schema is None:
        return None
    try:
        return compile_bytes(item.response_schema)
    except DeclarationError:
        return None
