"""Whether a tool call runs, asks or is refused: the policy, and what a person has said before.

What a policy decides is recorded with the call under the name of its rule, so that replay takes it
from the journal and a rule speaks once about a call.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sayso import jsonvalue
from sayso.agents.asking import Asking, Remember
from sayso.agents.policy import Ask, Decision, Proposed
from sayso.agents.remembering import fits, wish
from sayso.agents.tools import Tool
from sayso.approvals import Approval
from sayso.errors import StoreError
from sayso.making import quick
from sayso.options import DEFAULT
from sayso.records import Interrupt
from sayso.turns.execution import Execution, Place
from sayso.turns.questions import put
from sayso.turns.unsure import display

__all__ = ["Ruling", "Weighed", "ask", "judge", "remember", "ruled", "weigh"]

_SPEAKING = ("interrupt",)
"""Kinds of entries whose answer is a word of the user, and no verdict on something proposed."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What becomes of a call, and by which rule.

    It `runs`, perhaps on an approval that `stands`; or it asks, in the way of `asking`, and a yes
    stands for the rules in `satisfied`, but not for all that ask if `partly`; or it is refused, and
    `refusal` is recorded with it.
    """

    rule: str
    call: Proposed | None = None
    runs: bool = False
    asking: Asking | None = None
    satisfied: tuple[str, ...] = ()
    partly: bool = False
    remembered: tuple[str, ...] = ()
    """The rules that a yes may stand for later as well."""
    stands: Approval | None = None
    refusal: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """What the rules say of a call; `satisfied` are those that a person has said yes to.

    `asks` are the others that ask. `call` is None where nobody had to look at it.
    """

    decision: Decision
    call: Proposed | None = None
    asks: Sequence[Ask] = ()
    satisfied: tuple[str, ...] = ()

    @property
    def may_stand(self) -> bool:
        """Whether an approval that was given before may stand for it: the store has to be asked."""
        return any(one.asking.remember is not None for one in self.asks)


def weigh(
    execution: Execution, tool: Tool, arguments: bytes, satisfied: frozenset[str] = frozenset()
) -> Weighed:
    """Ask the policy about a call with these effective arguments, once."""
    settled = tool.approval.settled
    if settled is not None and (settled.verdict == "allow" or not tool.scaled):
        call, decision = None, settled  # nobody is going to look at the call
    else:
        given = execution.given
        call = tool.proposed(arguments, execution.principal, given.thread_id, given.text)
        decision = tool.approval.decide(call)
    asks = [one for one in decision.asks if one.rule not in satisfied]
    return Weighed(decision=decision, call=call, asks=asks, satisfied=tuple(satisfied))


async def judge(
    execution: Execution, place: Place, tool: Tool, arguments: bytes, found: Weighed
) -> Ruling:
    """Decide about a call, after a look at the approvals that stand."""
    stands = await _remembered(execution, tool, arguments, found.asks)
    return ruled(execution, place, found, stands)


def ruled(
    execution: Execution, place: Place, found: Weighed, stands: Approval | None = None
) -> Ruling:
    """Decide about a call; `stands` is the approval that was given for such calls before.

    A no to this very call outweighs it: that one is about other calls, and may be older.
    """
    decision, call, asks = found.decision, found.call, found.asks
    if decision.verdict == "deny":
        return Ruling(rule=decision.rule, call=call, refusal={"forbidden": True})
    # Who has just said yes to part of it is not told that it was refused before.
    if asks and not found.satisfied:
        refused = _refused_before(execution, place.fingerprint)
        if refused is not None:
            return Ruling(rule=asks[0].rule, call=call, refusal={**refused, "again": True})
    if stands is not None:
        asks = [one for one in asks if one.rule not in stands.rules or not one.asking.remember]
    if not asks:
        return Ruling(rule=decision.rule, call=call, runs=True, stands=stands)
    first = asks[0]
    covered = [one for one in asks if _covers(first.asking, one)]
    return Ruling(
        rule=first.rule,
        call=call,
        asking=first.asking,
        satisfied=(*found.satisfied, *(one.rule for one in covered)),
        partly=len(covered) < len(asks),
        remembered=tuple(one.rule for one in covered if one.asking.remember is not None),
    )


async def _remembered(
    execution: Execution, tool: Tool, arguments: bytes, asks: Sequence[Ask]
) -> Approval | None:
    """The approval that stands for most of what asks about a call; it was given for such a call."""
    rules = {one.rule for one in asks if one.asking.remember is not None}
    if not rules:
        return None
    owner, thread_id = execution.principal.subject, execution.given.thread_id
    try:
        standing = await execution.leased.standing_approvals(
            owner, tool.name, execution.clock.now()
        )
    except StoreError as error:
        execution.abort(error)
        raise execution.pause() from None
    plain = jsonvalue.decode(arguments)
    fitting = [
        one
        for one in standing
        if one.thread_id in (None, thread_id)
        and rules.intersection(one.rules)
        and fits(jsonvalue.decode(one.pattern), plain)
    ]
    return max(fitting, key=lambda one: len(rules.intersection(one.rules)), default=None)


def remember(
    execution: Execution,
    place: Place,
    tool: Tool,
    interrupt: Interrupt,
    data: dict[str, Any],
    arguments: dict[str, Any],
) -> None:
    """Keep the approval that a settled yes to these arguments asks for, if that was offered."""
    offered = data.get("remember")
    if offered is None or interrupt.decided_by is None:
        return
    payload = jsonvalue.decode(interrupt.payload or b"{}")
    wanted = wish(
        payload.get("remember"),
        Remember(
            arguments=tuple(offered["arguments"]),
            scopes=tuple(offered["scopes"]),
            expires_in=offered["expiresIn"],
        ),
        arguments,
        execution.clock.now(),
    )
    if wanted is None:
        return
    execution.permits.give(
        Approval(
            id=execution.identify("apr", f"{place.key}/{interrupt.id}"),
            owner=execution.principal.subject,
            tool=tool.name,
            thread_id=execution.given.thread_id if wanted.thread_only else None,
            pattern=jsonvalue.encode(wanted.pattern),
            rules=tuple(offered["rules"]),
            given_by=interrupt.decided_by,
            given_at=execution.clock.now(),
            interrupt_id=interrupt.id,
            expires_at=wanted.expires_at,
        )
    )


def _told(how: Asking) -> dict[str, Any] | None:
    """Who has to answer, as the card says it."""
    if not how.by:
        return None
    return {"by": list(how.by), "of": how.of if isinstance(how.of, int) else dict(how.of)}


def _covers(asked: Asking, other: Ask) -> bool:
    """Whether who is asked can speak for another rule as well: the same people, or anybody."""
    wanted = other.asking
    return (wanted.by, wanted.of) in ((asked.by, asked.of), ((), 1))


def _refused_before(execution: Execution, fingerprint: str) -> dict[str, Any] | None:
    """Who refused this very call, and why, if the user has not spoken since (V4).

    The user speaks with a message, which begins another turn, or with the answer to a question.
    """
    if not execution.journal.has_ended(fingerprint):
        return None
    refusal: dict[str, Any] | None = None
    refused, spoke = -1, -1
    for entry in execution.journal.entries():
        if entry.kind in _SPEAKING and b'"interrupt"' in entry.data:
            data = jsonvalue.decode(entry.data)
            asked = execution.interrupts.get(data.get("interrupt"))
            if asked is not None and asked.status == "resolved" and asked.decided_by is not None:
                spoke = max(spoke, data["pause"])
        elif entry.kind == "call" and entry.status == "done" and entry.fingerprint == fingerprint:
            data = jsonvalue.decode(entry.data)
            if data["status"] == "denied" and "by" in data and data.get("pause", -1) >= refused:
                refused = data["pause"]
                refusal = {"reason": data.get("reason"), "by": data["by"], "pause": refused}
    return refusal if refused >= spoke else None


def ask(
    execution: Execution,
    place: Place,
    tool: Tool,
    data: dict[str, Any],
    arguments: dict[str, Any],
    written: bytes,
    ruling: Ruling,
) -> None:
    """Ask a person about a call. The caller raises `Pause`; `written` are its arguments as JSON."""
    how = ruling.asking or Asking()
    offered = how.remember
    kept: dict[str, Any] = {**data, "satisfied": ruling.satisfied}
    if ruling.partly:
        kept["partly"] = True
    if offered is not None:
        kept["remember"] = {
            "arguments": offered.arguments,
            "scopes": offered.scopes,
            "expiresIn": offered.expires_in,
            "rules": ruling.remembered,
        }
    told: dict[str, Any] = {
        "tool": tool.name,
        "arguments": jsonvalue.verbatim(written),
        "rule": ruling.rule,
        "effect": tool.effect,
        "scale": None if ruling.call is None else ruling.call.scale,
        "permission": tool.permission,
        "approvers": _told(how),
    }
    put(
        execution,
        place,
        kind="call",
        name=tool.name,
        data=kept,
        reason="tool_call",
        message=f"Approve {display(tool.name, arguments)}?",
        schema=tool.answers(offered),
        metadata=jsonvalue.encode(
            {"sayso": {name: value for name, value in told.items() if value is not None}}
        ),
        tool_call_id=data["id"],
        expires_in=tool.expires_in if how.expires_in is DEFAULT else how.expires_in,
        on_expire=tool.on_expire,
        asking=how,
    )
