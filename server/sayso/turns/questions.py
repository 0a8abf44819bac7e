"""Questions to a person: how they are put, and how a settled one is read."""

from collections.abc import Sequence
from datetime import datetime
from secrets import token_hex
from typing import Any

from sayso import jsonvalue
from sayso.agents.asking import Asking
from sayso.agents.codec import to_json
from sayso.agents.outcomes import Answer, Question
from sayso.agents.wording import said
from sayso.errors import DeclarationError, InterruptsDisabled, InvalidAnswer
from sayso.gate.approvers import needing
from sayso.gate.expiry import policy_of, raised_by
from sayso.gate.frontend import FRONT_END
from sayso.options import DEFAULT, Default, GivenAnswer, OnExpire, check_lifetime
from sayso.records import Entry, Interrupt
from sayso.schemas.forms import ResponseType, confirmation, response_type
from sayso.schemas.schema import compile_schema
from sayso.turns.execution import Execution, Place

__all__ = ["answered", "checked_times", "interrupt_of", "put", "question", "questions"]

_CORE = ("input_required", "confirmation")


def put(
    execution: Execution,
    place: Place,
    *,
    kind: str,
    name: str,
    data: dict[str, Any],
    reason: str,
    message: str | None,
    schema: bytes | None,
    metadata: dict[str, Any] | bytes | None = None,
    tool_call_id: str | None = None,
    expires_in: float | Default | None = DEFAULT,
    expires_at: datetime | None = None,
    on_expire: OnExpire | Default = DEFAULT,
    asking: Asking | None = None,
) -> None:
    """Record a question at a place; the turn waits from now on. The caller raises `Pause`.

    `schema` is JSON, of its responseSchema; `metadata` may be JSON already. `data` joins the
    journal entry, which also names the interrupt and the pause it belongs to.
    `asking` says who answers, if not the owner of the thread.
    Raises `InterruptsDisabled`, and ends the turn, for an agent that may not ask.
    """
    if reason != FRONT_END and not execution.may_ask:
        disabled = InterruptsDisabled(
            f"agent {execution.turn.agent!r} asks a person ({reason}: {message!r}) and may not: "
            "its interrupts are switched off (interrupt.enabled: false, or may_ask=False)"
        )
        execution.break_off(disabled)
        raise disabled
    now = execution.clock.now()
    expiry = _expiry(execution, now, expires_in, expires_at)
    rule = execution.options.on_expire if on_expire is DEFAULT else on_expire
    owner = execution.stream.owner
    policy = None if expiry is None else policy_of(rule)
    if asking is not None:
        policy = needing(policy, asking.by, asking.of)
    if owner is not None:
        metadata = _with_path(metadata, owner.path)
        policy = raised_by(policy, owner.id)
    interrupt = Interrupt(
        id=f"int_{token_hex(16)}",
        turn_key=execution.turn.key,
        place=place.key,
        reason=reason,
        created_at=now,
        message=message,
        tool_call_id=tool_call_id,
        response_schema=schema,
        metadata=_written(metadata),
        policy=policy,
        expires_at=expiry,
        remind_at=None if reason == FRONT_END else _reminder(execution, now, expiry),
    )
    entry = {**data, "interrupt": interrupt.id, "pause": len(execution.resumed_with)}
    execution.record(place, kind, name, "asked", jsonvalue.encode(entry))
    execution.live(place.branch)
    execution.ask(place.branch, interrupt)


def _written(metadata: dict[str, Any] | bytes | None) -> bytes | None:
    if isinstance(metadata, bytes):
        return metadata
    return to_json(metadata, "the metadata of a question") if metadata else None


def _with_path(metadata: dict[str, Any] | bytes | None, path: list[str]) -> dict[str, Any]:
    """The question's metadata, with which inner agents it came through (K1)."""
    given = jsonvalue.decode(metadata) if isinstance(metadata, bytes) else metadata or {}
    ours = given.get("sayso")
    return {**given, "sayso": {**(ours if isinstance(ours, dict) else {}), "path": path}}


def _expiry(
    execution: Execution,
    now: int,
    expires_in: float | Default | None,
    expires_at: datetime | None,
) -> int | None:
    if expires_at is not None:
        return int(expires_at.timestamp() * 1000)
    seconds = execution.options.expires_in if expires_in is DEFAULT else expires_in
    if seconds is None:
        return None
    return now + int(seconds * 1000)


def _reminder(execution: Execution, now: int, expiry: int | None) -> int | None:
    """When somebody is reminded of the question; one without an end needs no reminder (R2)."""
    share = execution.options.remind_at
    return None if expiry is None or share is None else now + int(share * (expiry - now))


def interrupt_of(execution: Execution, data: dict[str, Any]) -> Interrupt:
    """The interrupt behind an asked entry with this data: settled, open, or only just asked."""
    wanted = data["interrupt"]
    found = execution.interrupts.get(wanted)
    return found or execution.asked[wanted]


async def answered(
    execution: Execution, entry: Entry, data: dict[str, Any] | None = None
) -> tuple[Interrupt, dict[str, Any]]:
    """The interrupt behind an asked entry, settled or open, and the entry's data, read or given.

    An answer comes out after all that had ended before the pause. Brings the state over the pause.
    """
    data = jsonvalue.decode(entry.data) if data is None else data
    interrupt = interrupt_of(execution, data)
    if interrupt.status != "open":
        await execution.timeline.before(execution.pauses[data["pause"]])
        execution.state.resume(data["pause"])
        execution.check_state(entry.place)
    return interrupt, data


async def questions(execution: Execution, asked: Sequence[Question]) -> list[Answer[Any]]:
    """Ask several things at once; all of them stand in one outcome. Answers come in order."""
    entered: list[tuple[Question, ResponseType, Place]] = []
    for item in asked:
        response = _checked(item)
        entered.append((item, response, await execution.enter("interrupt", item.reason)))
    waiting = False
    for item, response, place in entered:
        if place.entry is not None:
            continue
        waiting = True
        put(
            execution,
            place,
            kind="interrupt",
            name=item.reason,
            data={},
            reason=item.reason,
            message=item.message,
            schema=None if response.schema is None else jsonvalue.encode(response.schema),
            metadata=item.metadata,
            expires_in=item.expires_in,
            expires_at=item.expires_at,
            on_expire=item.on_expire,
        )
    if waiting:
        raise execution.pause()
    return [await _answer(execution, response, place) for _, response, place in entered]


async def question(execution: Execution, asked: Question) -> Answer[Any]:
    """Ask one thing."""
    return (await questions(execution, [asked]))[0]


def _checked(item: Question) -> ResponseType:
    """What answers it; raises for a question that cannot work before any of its batch is put."""
    if item.reason == "tool_call":
        raise ValueError("reason 'tool_call' belongs to gated tools: use turn.call (IN-05)")
    if item.reason not in _CORE and (":" not in item.reason or item.reason.startswith("core:")):
        raise ValueError(
            f"reason {item.reason!r}: use 'input_required', 'confirmation' or a namespaced one "
            "such as 'shop:refund'; 'core:' is reserved (IN-04)"
        )
    if item.reason == FRONT_END:
        raise ValueError(f"reason {FRONT_END!r} belongs to the client's tools: use turn.frontend")
    checked_times(item.expires_in, item.expires_at)
    if item.reason == "input_required" and item.response is None:
        raise ValueError("an input_required question needs response= (IN-06)")
    if item.metadata:
        to_json(item.metadata, "the metadata of a question")
    plain = item.reason == "confirmation" and item.response is None
    response = confirmation() if plain else response_type(item.response)
    if item.on_expire is not DEFAULT:
        _check_on_expire(item.on_expire, response)
    return response


def checked_times(expires_in: float | Default | None, expires_at: datetime | None) -> None:
    """ValueError for an end of a question's life that is none."""
    if expires_at is not None and expires_at.tzinfo is None:
        raise ValueError("expires_at needs a time zone: pass datetime.now(UTC) + … (IN-09)")
    if expires_in is not DEFAULT:
        try:
            check_lifetime(expires_in, "expires_in")
        except DeclarationError as error:
            raise ValueError(str(error)) from None


def _check_on_expire(rule: OnExpire, response: ResponseType) -> None:
    """An answer that is given ahead has to fit, as one of a person would."""
    if not isinstance(rule, GivenAnswer):
        if rule in ("expire", "hold", "cancel"):
            return
        raise ValueError(
            f"on_expire of a question is 'expire', 'hold', 'cancel' or a GivenAnswer, not {rule!r};"
            " 'deny' and 'approve' are for tools"
        )
    to_json(rule.payload, "the GivenAnswer of a question")
    if response.schema is not None:
        wrong = compile_schema(response.schema).problems(rule.payload)
        if wrong:
            where, text = wrong[0].pointer or "it", wrong[0].message
            raise ValueError(f"the GivenAnswer does not answer its question: {where} {text}")
    response.decode(rule.payload)


async def _answer(execution: Execution, response: ResponseType, place: Place) -> Answer[Any]:
    assert place.entry is not None  # noqa: S101 - only places with an entry come here
    interrupt, data = await answered(execution, place.entry)
    if interrupt.status == "open":
        execution.ask(place.branch, interrupt)
        raise execution.pause()
    metadata = jsonvalue.decode(interrupt.answer_metadata) if interrupt.answer_metadata else {}
    expired = interrupt.status == "expired"
    resumed = None if expired else execution.resumed_with[data["pause"]]
    question = interrupt.message or ""
    if interrupt.status != "resolved":
        return Answer(
            status=interrupt.status,
            by=interrupt.decided_by,
            metadata=metadata,
            request=resumed,
            question=question,
        )
    payload = jsonvalue.decode(interrupt.payload) if interrupt.payload is not None else None
    try:
        value = response.decode(payload)
    except ValueError as error:
        raise InvalidAnswer(
            f"the answer to {interrupt.id} fits its responseSchema but not the type given as "
            f"response=: {error}"
        ) from None
    return Answer(
        status="resolved",
        value=value,
        by=interrupt.decided_by,
        metadata=metadata,
        request=resumed,
        question=question,
        said=said(payload, response.schema),
    )
