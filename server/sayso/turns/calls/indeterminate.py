"""Effects of which nobody knows whether they happened: started, and then the server died.

Never a silent second run: a `verify=` hook says what happened, or a person is asked (rule 5).

Errors of tools that a person decides about: retry, skip, stop (`on_error="ask"`).
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any, Literal

from sayso.agents.asking import AskTerms
from sayso.agents.briefing import MAX_MESSAGE_CHARS, cut
from sayso.agents.codec import Codec
from sayso.agents.told import value_of
from sayso.agents.tooloptions import DidNotHappen, Happened, Verify
from sayso.base import jsonvalue
from sayso.base.clock import format_time
from sayso.base.records import Entry, Interrupt
from sayso.protocol import reasons
from sayso.schemas.errors import SchemaViolation
from sayso.schemas.responses import ResponseType, indeterminate_schema, tool_error_schema
from sayso.schemas.typed import errors_of
from sayso.turns.ask.interrupts import record_question, settled_answer
from sayso.turns.replay.effects import contain_exit
from sayso.turns.replay.execution import Execution, Place

_log = logging.getLogger("sayso.turn")

INDETERMINATE = "indeterminate"
"""Why such an entry asks."""
VERIFY_TIMEOUT_S = 60.0
"""Seconds that a `verify=` hook may take to find out what happened."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The word on an indeterminate effect; `skip` continues with `value`, a result as JSON."""

    action: Literal["run_again", "skip"]
    interrupt: Interrupt
    value: Any = None


def ask_indeterminate(
    place: Place,
    entry: Entry,
    *,
    shown: str,
    returns: Codec,
    arguments: dict[str, Any] | None = None,
    tool_call_id: str | None = None,
    asking: AskTerms | None = None,
    look: str | None = None,
    seen: str | None = None,
) -> None:
    """Ask a person whether an effect that was started may run again. The caller raises `Pause`.

    `seen` is what was seen of its end, if it has come to one.
    `shown` is the call as a person reads it; `arguments` are a tool's, or what a step's author
    gives to be shown; `look` says where to see whether it happened. The question holds when it
    began and the call's key, by which the outside world may know it. `asking` says who answers, if
    not the owner of the thread.
    """
    execution = place.execution
    begun = jsonvalue.decode(entry.data)
    happened = "was running when the server stopped"
    if seen is not None:
        happened = f"ended without an outcome: {seen}"
    details: dict[str, Any] = {"kind": "indeterminate", "name": entry.name}
    if arguments is not None:
        details["arguments"] = arguments
    if look is not None:
        details["look"] = look
    if "at" in begun:  # earlier servers did not keep it
        details["startedAt"] = format_time(begun["at"])
    record_question(
        place,
        data={**begun, "why": INDETERMINATE},
        reason=reasons.INDETERMINATE,
        message=f"{shown} {happened}. It may or may not have happened. "
        f"{look or 'Check whether it happened, then decide.'}",
        # Nobody goes on without a result by leaving something out: that there is none is said.
        schema=jsonvalue.encode(indeterminate_schema(returns.schema, optional=returns.only_null())),
        response=_verdicts(returns),
        metadata={"sayso": {**details, "key": execution.call_key(place.key)}},
        tool_call_id=tool_call_id,
        asking=asking,
    )


def is_indeterminate(entry: Entry) -> bool:
    """True if an asked entry waits for a verdict, not for an approval."""
    return bool(jsonvalue.decode(entry.data).get("why") == INDETERMINATE)


def _verdicts(returns: Codec) -> ResponseType:
    """The type of an answer to such a question: a result in it has to be one of the effect's."""

    def problems(payload: Any) -> tuple[SchemaViolation, ...]:
        if payload["action"] != "skip":
            return ()
        result = payload.get("result")
        wrong = returns.refusal(jsonvalue.encode(result))
        faults = () if wrong is None else errors_of(wrong, result)
        return tuple(SchemaViolation(f"/result{fault.pointer}", fault.message) for fault in faults)

    return ResponseType(None, lambda payload: payload, problems, stricter=True)


async def verdict(place: Place, entry: Entry, returns: Codec) -> Verdict:
    """The settled verdict; `stop`, a cancel and an expiry end the turn and unwind.

    `returns` is what the effect gives: a result that goes on in its place is one of these.
    """
    execution = place.execution
    interrupt, _ = await settled_answer(place, entry)
    if interrupt.status == "open":
        execution.responses.keep(interrupt.id, _verdicts(returns))
        execution.ask(place.branch, interrupt)
        raise execution.pause()
    payload = jsonvalue.decode(interrupt.payload) if interrupt.payload else {}
    action = payload.get("action") if interrupt.status == "resolved" else "stop"
    if action == "run_again":
        return Verdict("run_again", interrupt)
    if action == "skip":
        result = payload.get("result")
        if (wrong := returns.refusal(jsonvalue.encode(result))) is not None:
            execution.unfit(place, "a result of another type", wrong)
        return Verdict("skip", interrupt, result)
    execution.stop(f"{entry.kind} {entry.name!r} has an unknown outcome and the turn was stopped")
    raise execution.pause()


async def verified(
    execution: Execution, verify: Verify | None, key: str, name: str, returns: Codec
) -> Happened | DidNotHappen | None:
    """The word of a `verify=` hook about a call key; None, so that a person is asked, for none.

    The hook's result has to fit the effect's return annotation, as the effect's own would. It only
    looks, so a stop cuts it off, and one that finds nothing out in `VERIFY_TIMEOUT_S` seconds
    cannot say.
    """
    if verify is None:
        return None
    try:
        with execution.effects.repeatable_part():
            async with asyncio.timeout(VERIFY_TIMEOUT_S):
                answer: Any = await contain_exit(verify(key))
        if isinstance(answer, Happened):
            returns.encode(value_of(answer.value), f"the result that verify= of {name!r} found")
    except Exception:
        _log.exception("verify= of %r failed; asking a person instead", name)
        return None
    if isinstance(answer, Happened | DidNotHappen):
        return answer
    _log.error(
        "verify= of %r returned %r, not Happened(result) or DidNotHappen(); asking a person",
        name,
        answer,
    )
    return None


FAILED = "failed"
"""Why such an entry asks."""


def ask_failed(
    place: Place,
    name: str,
    data: dict[str, Any],
    arguments: dict[str, Any],
    reason: str,
    *,
    shown: str,
    asking: AskTerms,
) -> None:
    """Ask what to do about an error. The caller raises `Pause`; `asking` says who answers.

    `shown` is the call as a person reads it. The message has no more of a long error than there is
    room for; `metadata.sayso.error` has all.
    """
    details = {"kind": FAILED, "name": name, "arguments": arguments, "error": reason}
    record_question(
        place,
        data={**data, "why": FAILED, "error": reason},
        reason=reasons.FAILED,
        message=f"{shown} failed: {cut(reason, MAX_MESSAGE_CHARS - len(shown) - 22)}. What now?",
        schema=jsonvalue.encode(tool_error_schema()),
        metadata={"sayso": details},
        tool_call_id=data["id"],
        asking=asking,
    )
