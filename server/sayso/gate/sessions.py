"""The question that a resume of the session dialect is about, and the meaning of its answer. Pure.

A session asks for one thing at a time: the first open question, in the order of asking, that holds
no answer. The question keeps when its frame went out whole on the session: what came in before that
was not meant for it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sayso.base.errors import DeclarationError
from sayso.base.records import Interrupt, ThreadView
from sayso.gate import refusals
from sayso.gate.client_tools import is_call
from sayso.gate.interrupts import as_answered, settled_by_expiry, unanswered
from sayso.gate.refusals import Refuse
from sayso.protocol.legacy import parse_answer
from sayso.schemas.schema import Schema, compile_bytes

_WORDS: Final = {"yes": True, "y": True, "no": False, "n": False}


@dataclass(frozen=True, slots=True)
class WaitingQuestion:
    """A question that waits for an answer, and the agent that asks."""

    agent: str
    item: Interrupt


def find_question(view: ThreadView | None, interrupt_id: str | None) -> WaitingQuestion | Refuse:
    """Find the question that a resume answers, by its id or as the next one of its session.

    Refuse `unknown_interrupt` when there is none, `already_resolved` when it has its answer,
    `interrupt_expired` when its time was up, `thread_busy` while its thread runs.
    """
    turn = None if view is None else view.turn
    if view is None or turn is None:
        return refusals.nothing_open()
    interrupts = [item for item in view.interrupts if not is_call(item)]
    own = [item for item in interrupts if item.turn_key == turn.key]
    idle = view.thread.holder is None and turn.status == "suspended"
    waiting = unanswered(own) if idle else []
    if interrupt_id is None:
        if waiting:
            return WaitingQuestion(turn.agent, waiting[0])
        over = [item for item in map(as_answered, own) if item.status != "open"]
        return _last(over) if over else refusals.nothing_open()
    named = next((item for item in interrupts if item.id == interrupt_id), None)
    if named is None:
        return refusals.unknown([interrupt_id])
    if named in waiting:
        return WaitingQuestion(turn.agent, named)
    named = as_answered(named)
    if named.status == "open":
        return refusals.busy() if view.thread.holder is not None else refusals.nothing_open()
    if settled_by_expiry(named):
        return refusals.expired([named])
    return refusals.already_resolved([named])


def _last(over: Sequence[Interrupt]) -> Refuse:
    """The refusal for the last question that a session asked: the newest of these, in order.

    Of several that were settled together it waited for those that nobody answered.
    """
    newest = [item for item in over if item.run_key == over[-1].run_key]
    late = [item for item in newest if settled_by_expiry(item)]
    return refusals.expired(late[-1:]) if late else refusals.already_resolved(newest[-1:])


def was_seen(item: Interrupt, session_id: str, came: int | None = None) -> bool:
    """True if the question's frame went out whole on this session.

    With `came`, in nanoseconds since the epoch, only if that was before it: a request that came
    earlier was sent by somebody who had not read the question.
    """
    seen = item.progress.seen
    if seen is None or seen.session != session_id:
        return False
    return came is None or seen.at < came


def payload_of(answer: Any, item: Interrupt) -> Any:
    """Read an answer, a string or any JSON, as the payload that it means.

    A question that takes strings gets the string as it is. One that wants a yes gets it from the
    words `yes` and `no` (`y`, `n`, in any case) and from a boolean. One with a single required
    member takes that member's value alone. Otherwise a string is read as JSON. An answer that fits
    nothing stays as it is, to be refused.
    """
    schema = _schema(item)
    if schema is None and item.reason != "confirmation":
        return answer
    if isinstance(answer, str) and schema is not None and schema.accepts_string:
        return answer
    for payload in _readings(answer, schema):
        if schema is None or schema.is_valid(payload):
            return payload
    return parse_answer(answer, takes_text=False)


def accepted_answers(item: Interrupt) -> str:
    """The answers that a question takes, in words for somebody whose answer did not fit."""
    schema = _schema(item)
    if schema is None or any(schema.is_valid(yes) for yes in (True, {"approved": True})):
        whole = (
            ""
            if schema is None or schema.is_valid(True)
            else ', or JSON such as {"approved": true}'
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
