"""How a question is put to a person, whatever asks it, and how its settled answer is found."""

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sayso.agents.asking import AskTerms
from sayso.agents.codec import to_json
from sayso.base import ids, jsonvalue
from sayso.base.approvers import Approvers
from sayso.base.default import DEFAULT, Default
from sayso.base.errors import InterruptsDisabled, Problem
from sayso.base.fastrecords import copy_with
from sayso.base.options import OnExpire
from sayso.base.progress import Progress
from sayso.base.records import Entry, Interrupt
from sayso.base.texts import to_utf8_safe
from sayso.gate.quorum import terms_of, unfilled
from sayso.protocol.interrupts import with_ours
from sayso.protocol.reasons import CLIENT_TOOL
from sayso.schemas.responses import ResponseType
from sayso.turns.journal.earlier_decisions import Said
from sayso.turns.journal.journal import again_by
from sayso.turns.replay.execution import Execution, Place

_log = logging.getLogger("sayso.turn")


def record_question(
    place: Place,
    *,
    data: dict[str, Any],
    reason: str,
    message: str | None,
    schema: bytes | None,
    metadata: dict[str, Any] | bytes | None = None,
    tool_call_id: str | None = None,
    expires_in: float | Default | None = DEFAULT,
    expires_at: datetime | None = None,
    on_expire: OnExpire | Default = DEFAULT,
    asking: AskTerms | None = None,
    response: ResponseType | None = None,
    denied: Sequence[Said] = (),
    apart: bool = False,
) -> None:
    """Record a question at a place; the turn waits from now on. The caller raises `Pause`.

    `schema` is JSON, of its responseSchema; `metadata` may be JSON already. `data` joins the
    journal entry, which also names the interrupt and the pause it belongs to.
    `asking` says who answers, if not the owner of the thread, `response` what its answer is read
    with, if there is more to it than the schema. `denied` is what was said no to in other copies.
    `apart`: what the schema marks as secret is kept apart from the answer.
    Raises `InterruptsDisabled`, and ends the turn, for an agent that may not ask.
    """
    execution = place.execution
    if reason != CLIENT_TOOL and not execution.running.interrupts_enabled:
        disabled = InterruptsDisabled(
            f"agent {execution.turn.agent!r} asks a person ({reason}: {message!r}) and may not: "
            "its interrupts are switched off (interrupt.enabled: false, or "
            "interrupts_enabled=False)"
        )
        execution.fail(disabled)
        raise disabled
    now = execution.clock.now()
    expiry = _expiry(execution, now, expires_in, expires_at)
    rule = execution.running.options.on_expire if on_expire is DEFAULT else on_expire
    owner = execution.stream.owner
    approvers = (asking or AskTerms()).approvers
    who = approvers.under(four_eyes=execution.running.four_eyes)
    terms = terms_of(who, requesters(execution), execution.copied)
    added: dict[str, Any] = {}
    if not who.owners:
        added["approvers"] = who.terms_for_clients()
    if (short := execution.unfilled.get(jsonvalue.encode(who.terms()))) is not None:
        added["unfilled"] = short
    if (calls := place.branch.calls()) and reason != CLIENT_TOOL:
        added["within"] = calls
    if owner is not None:
        # Which inner agents it came through (K1).
        added["path"] = owner.path
        if owner.agent != execution.turn.agent:
            added["agent"] = owner.agent  # whose tools an answer is held against
    if added:
        metadata = with_ours(_written(metadata), added)
    interrupt = Interrupt(
        id=ids.new("int"),
        turn_key=execution.turn.key,
        place=place.key,
        reason=reason,
        created_at=now,
        message=None if message is None else to_utf8_safe(message),
        tool_call_id=tool_call_id,
        response_schema=schema,
        metadata=_written(metadata),
        terms=copy_with(
            terms,
            on_expire="expire" if expiry is None else rule,
            subagent=None if owner is None else owner.id,
            typed=response is not None and response.stricter,
            services=execution.services_may_decide,
            # A yes for rules is held to those of now, wherever it is given.
            left_to_app=approvers.left_to_app and not data.get("asks"),
            apart=apart,
        ),
        progress=Progress(denied=() if terms.approvers is None else tuple(denied)),
        expires_at=expiry,
        remind_at=None if reason == CLIENT_TOOL else _reminder(execution, now, expiry),
    )
    entry = {**data, "interrupt": interrupt.id, "pause": len(execution.resume_inputs)}
    if response is not None and response.stricter:
        execution.responses.keep(interrupt.id, response)
    place.record("asked", jsonvalue.encode(entry))
    execution.announce_phases(place.branch)
    execution.ask(place.branch, interrupt)


async def look_for_approvers(execution: Execution, asking: Approvers) -> None:
    """See if the directory knows enough people for a question that is about to be put.

    If not, its card says so, and the log. A directory that fails says nothing.
    """
    who = asking.under(four_eyes=execution.running.four_eyes)
    if who.owners or not execution.people.are_known:
        return
    try:
        people = await execution.people.approvers(execution.principal.scope, who)
    except Problem:  # it is in the log
        return
    eligible = [(person.subject, person.roles) for person in people]
    short = unfilled(who, eligible, requesters(execution))
    if short:
        roles = " and ".join(repr(role) for role in short if role)
        whose = f" with the role {roles}" if roles else ""
        text = f"The directory knows too few people{whose} who may answer this."
        _log.warning("%s Agent %r asks them all the same.", text, execution.running.name)
        execution.unfilled[jsonvalue.encode(who.terms())] = text


def requesters(execution: Execution) -> list[str]:
    """Who wants what the turn asks for: who began it, and who copied it or began it anew."""
    return [execution.principal.subject, *again_by(execution.marks)]


def _written(metadata: dict[str, Any] | bytes | None) -> bytes | None:
    if isinstance(metadata, bytes):
        return metadata
    return to_json(metadata, "the metadata of a question") if metadata else None


def _expiry(
    execution: Execution,
    now: int,
    expires_in: float | Default | None,
    expires_at: datetime | None,
) -> int | None:
    if expires_at is not None:
        return int(expires_at.timestamp() * 1000)
    seconds = execution.running.options.expires_in if expires_in is DEFAULT else expires_in
    if seconds is None:
        return None
    return now + int(seconds * 1000)


def _reminder(execution: Execution, now: int, expiry: int | None) -> int | None:
    """When somebody is reminded of the question; one without an end needs no reminder (R2)."""
    share = execution.running.options.remind_at
    return None if expiry is None or share is None else now + int(share * (expiry - now))


def interrupt_of(execution: Execution, data: dict[str, Any]) -> Interrupt:
    """The interrupt behind an asked entry with this data: settled, open, or only just asked."""
    interrupt_id = data["interrupt"]
    interrupt = execution.interrupts.get(interrupt_id)
    return interrupt or execution.asked[interrupt_id]


async def settled_answer(
    place: Place, entry: Entry, data: dict[str, Any] | None = None
) -> tuple[Interrupt, dict[str, Any]]:
    """The interrupt behind an asked entry, settled or open, and the entry's data, read or given.

    An answer comes out after all that had ended before the pause. Brings the state over the pause.
    """
    execution = place.execution
    data = jsonvalue.decode(entry.data) if data is None else data
    interrupt = interrupt_of(execution, data)
    if interrupt.status != "open":
        await execution.past_before(place.branch, data["pause"])
        execution.state.resume(data["pause"])
        execution.check_state(entry.place)
    return interrupt, data
