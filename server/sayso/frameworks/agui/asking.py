"""The questions of the agent, put as the turn's own, and answered together in one resume."""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sayso import DeclarationError, Question, Turn, approval
from sayso.client.answers import expires_at, is_checkable
from sayso.client.thread import ThreadState
from sayso.frameworks.agui.showing import arguments_of, namespaced
from sayso.frameworks.agui.source import Json

Policies = Mapping[str, approval.Policy]
TOOL_CALL: Final = "tool_call"
_NO_FORM: Final[Mapping[str, Json]] = {
    TOOL_CALL: {
        "type": "object",
        "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
        "required": ["approved"],
    },
    "confirmation": {"type": "boolean"},
}
"""The answers to reasons of the protocol that came without a schema."""


@dataclass(frozen=True, slots=True)
class Put:
    """A question of the agent, as it was settled or is put."""

    id: str
    message: str
    question: Question | None = None
    payload: Any = None
    """What a policy has answered in a person's place."""


def check_policies(agent: str, approve: Policies) -> None:
    """See that each value is a policy.

    Raises:
        DeclarationError: one is not.
    """
    for name, policy in approve.items():
        if not isinstance(policy, approval.Policy):
            raise DeclarationError(
                f"approve of agent {agent!r} has {policy!r} for {name!r}: it takes policies, such "
                "as approval.always"
            )


def named_in(approve: Policies, tool: str) -> approval.Policy | None:
    """The policy of a tool, by its name and by all patterns that mean it."""
    policies = [policy for name, policy in approve.items() if fnmatch.fnmatchcase(tool, name)]
    return approval.all_of(*policies) if policies else None


async def ask(
    turn: Turn,
    interrupts: Sequence[Json],
    mirror: ThreadState,
    approve: Policies,
    earlier: Mapping[str, str],
) -> tuple[list[Json], dict[str, str]]:
    """Ask all of one outcome together; returns the entries of the one resume.

    `earlier` has who answered questions before, by message; the second value is the same of these.
    """
    items = [await _put(turn, each, mirror, approve, earlier) for each in interrupts]
    open_ones = [item.question for item in items if item.question is not None]
    answers = iter(await turn.interrupt_all(open_ones) if open_ones else [])
    entries: list[Json] = []
    answered: dict[str, str] = {}
    for item in items:
        entry: Json = {"interruptId": item.id, "status": "resolved"}
        payload = item.payload
        if item.question is not None:
            answer = next(answers)
            payload = answer.value
            if not answer.resolved:
                entry["status"] = "cancelled"
            answered[item.message] = answer.by or "nobody"
        if entry["status"] == "resolved" and payload is not None:
            entry["payload"] = payload
        entries.append(entry)
    return entries, answered


async def _put(
    turn: Turn,
    interrupt: Json,
    mirror: ThreadState,
    approve: Policies,
    earlier: Mapping[str, str],
) -> Put:
    call = mirror.call(interrupt.get("toolCallId", ""))
    name = "" if call is None else call["function"]["name"]
    arguments = {} if call is None else arguments_of(call)
    message = interrupt.get("message") or interrupt["reason"]
    approvers, expires_in = None, None
    policy = named_in(approve, name) if interrupt["reason"] == TOOL_CALL and name else None
    if policy is not None:
        decision = policy.decide(
            approval.ProposedCall(
                tool=name,
                arguments=arguments,
                caller=turn.principal,
                thread_id=turn.input.thread_id,
                request=turn.input.text,
            )
        )
        if decision.verdict == "allow":
            return Put(interrupt["id"], message, payload={"approved": True})
        if decision.verdict == "deny":
            reason = f"rule {decision.rule!r} denies it"
            return Put(interrupt["id"], message, payload={"approved": False, "reason": reason})
        terms = [rule.asking for rule in decision.asks]
        approvers = next((t.approvers for t in terms if not t.approvers.owners), None)
        lives = [t.expires_in for t in terms if isinstance(t.expires_in, int | float)]
        expires_in = min(lives, default=None)
    schema = interrupt.get("responseSchema", _NO_FORM.get(interrupt["reason"]))
    metadata = {k: v for k, v in (interrupt.get("metadata") or {}).items() if k != "sayso"}
    if call is not None:
        metadata |= {"tool": name, "arguments": arguments}
    if schema is not None and not is_checkable(schema):
        schema = None
        metadata["sayso"] = {"unchecked": True}
    shown = message
    if message in earlier:
        shown = f"Asked again: the agent did not act on the answer of {earlier[message]}. {message}"
    question = Question(
        reason=namespaced(interrupt["reason"]),
        message=shown,
        schema=schema,
        approvers=approvers,
        metadata=metadata or None,
        **await _life(turn, interrupt, expires_in),
    )
    return Put(interrupt["id"], message, question)


async def _life(turn: Turn, interrupt: Json, expires_in: float | None) -> Json:
    """The earlier end of a question's life, as far as anybody has said."""
    milliseconds = expires_at(interrupt)
    if milliseconds is None:
        return {} if expires_in is None else {"expires_in": expires_in}
    end = datetime.fromtimestamp(milliseconds / 1000, UTC)
    if expires_in is not None:
        end = min(end, await turn.now() + timedelta(seconds=expires_in))
    return {"expires_at": end}
