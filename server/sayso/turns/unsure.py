"""Effects of which nobody knows whether they happened: started, and then the server died.

Never a silent second run: a `verify=` hook says what happened, or a person is asked (rule 5).
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any, Literal

from sayso import jsonvalue
from sayso.agents.codec import Codec
from sayso.agents.tools import DidNotHappen, Happened, Verify
from sayso.records import Entry
from sayso.schemas.forms import unsure_schema
from sayso.turns.effects import contained
from sayso.turns.execution import Execution, Place
from sayso.turns.questions import answered, put

__all__ = ["UNSURE", "Verdict", "ask_unsure", "display", "is_unsure", "verdict", "verified"]

_log = logging.getLogger("sayso.turn")

UNSURE = "unsure"
"""Why such an entry asks."""
LOOKING = 60.0
"""Seconds that a `verify=` hook may take to find out what happened."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do about an unsure effect. `value` is the JSON result that `skip` goes on with."""

    action: Literal["run_again", "skip"]
    value: Any = None
    by: str | None = None


def ask_unsure(
    execution: Execution,
    place: Place,
    entry: Entry,
    *,
    shown: str,
    returns: Codec,
    arguments: dict[str, Any] | None = None,
    tool_call_id: str | None = None,
) -> None:
    """Ask a person whether an effect that was started may run again. The caller raises `Pause`.

    `shown` is the call as a person reads it; `arguments` are a tool's. The question holds the
    call's key as well, by which the outside world may know it.
    """
    happened = (
        "ran past its time and could not be stopped"
        if execution.journal.is_new(place.key)
        else "was running when the server stopped"
    )
    told: dict[str, Any] = {"kind": "indeterminate", "name": entry.name}
    if arguments is not None:
        told["arguments"] = arguments
    put(
        execution,
        place,
        kind=entry.kind,
        name=entry.name,
        data={**jsonvalue.decode(entry.data), "why": UNSURE},
        reason="sayso:indeterminate",
        message=f"{shown} {happened}. It may or may not have happened. Look, then decide.",
        schema=jsonvalue.encode(unsure_schema(returns.schema(), optional=returns.takes_null())),
        metadata={"sayso": {**told, "key": execution.call_key(place.key)}},
        tool_call_id=tool_call_id,
    )


def display(name: str, arguments: dict[str, Any]) -> str:
    """A call in one line, as a person reads it: `mail(to="ann")`."""
    shown = [f"{key}={jsonvalue.encode(value).decode()}" for key, value in arguments.items()]
    return f"{name}({', '.join(shown)})"


def is_unsure(entry: Entry) -> bool:
    """Whether an asked entry waits for a verdict, not for an approval."""
    return bool(jsonvalue.decode(entry.data).get("why") == UNSURE)


async def verdict(execution: Execution, place: Place, entry: Entry) -> Verdict:
    """The settled verdict; `stop`, a cancel and an expiry end the turn and unwind."""
    interrupt, _ = await answered(execution, entry)
    if interrupt.status == "open":
        execution.ask(place.branch, interrupt)
        raise execution.pause()
    payload = jsonvalue.decode(interrupt.payload) if interrupt.payload else {}
    action = payload.get("action") if interrupt.status == "resolved" else "stop"
    if action == "run_again":
        return Verdict("run_again", by=interrupt.decided_by)
    if action == "skip":
        return Verdict("skip", payload.get("result"), by=interrupt.decided_by)
    execution.stop(f"{entry.kind} {entry.name!r} was left unsure and the turn was stopped")
    raise execution.pause()


async def verified(
    execution: Execution, verify: Verify | None, key: str, name: str, returns: Codec
) -> Happened | DidNotHappen | None:
    """What a `verify=` hook says about a call key; None, so that a person is asked, if it cannot.

    The hook's result has to fit the effect's return annotation, as the effect's own would. It only
    looks, so a stop cuts it off, and one that finds nothing out in `LOOKING` seconds cannot say.
    """
    if verify is None:
        return None
    try:
        with execution.effects.repeatable_part():
            async with asyncio.timeout(LOOKING):
                found: Any = await contained(verify(key))
        if isinstance(found, Happened):
            returns.encode(found.value, f"the result that verify= of {name!r} found")
    except Exception:
        _log.exception("verify= of %r failed; asking a person instead", name)
        return None
    if isinstance(found, Happened | DidNotHappen):
        return found
    _log.error(
        "verify= of %r returned %r, not Happened(result) or DidNotHappen(); asking a person",
        name,
        found,
    )
    return None
