"""The questions of the agent, put as the turn's own, and answered together in one resume."""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final

from pydantic_core import to_json

from sayso import AgentFailed, Answer, DeclarationError, Question, Turn, approval
from sayso.client.answers import errors, expires_at, is_checkable
from sayso.client.thread import ThreadState
from sayso.frameworks.agui.log import RoundLog, digest
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
_OWNER: Final = approval.Approvers()


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
    """The policy of a tool, by its name and by all patterns that mean it, with its rules alone."""
    policies = [policy for name, policy in approve.items() if fnmatch.fnmatchcase(tool, name)]
    return approval.all_of(*policies).for_tool(tool, None) if policies else None


@dataclass(frozen=True, slots=True)
class SettledRound:
    """The one resume: `entries` are its own, `by` has who answered, by the question's message.

    `approvers` are those whose yes it has, but for the owner.
    """

    entries: list[Json]
    by: dict[str, str] = field(default_factory=dict)
    approvers: list[approval.Approvers] = field(default_factory=list)


async def ask(
    turn: Turn,
    log: RoundLog,
    interrupts: Sequence[Json],
    mirror: ThreadState,
    approve: Policies,
    earlier: Mapping[str, str],
) -> SettledRound:
    """Ask all of one outcome together.

    Where rules ask several people they are asked one after the other, until all of them have said
    yes to the arguments as they are then. `log` is that of the round that the answers begin, and
    `earlier` has who answered questions before, by message.

    Raises:
        AgentFailed: there are rules, and it asks about a call that it has not told of.
    """
    answered = log.end is not None
    items = {
        str(number): _Asked(each, mirror, approve, settled=answered)
        for number, each in enumerate(interrupts)
    }
    for times in count():
        before = log.put_before(times)
        # Rules that name others since are others: what somebody else has said is not their yes.
        terms: Json = {}
        for name, item in items.items():
            who = await item.who(turn, was_asked=name in before)
            if who is not None and not item.stands:
                terms[name] = digest(to_json(who.terms()).decode())
        puts = await log.put(times, terms)
        if not puts:
            break
        answers: dict[str, Answer[Any]] = {}
        for version, put in enumerate(puts):
            async with turn.at(f"to:{times}:{version}"):
                questions = [await items[name].question(turn, earlier) for name in put]
                answers |= zip(put, await turn.interrupt_all(questions), strict=True)
        for name, answer in answers.items():
            items[name].take(answer)
    return SettledRound(
        [item.entry() for item in items.values()],
        {item.message: item.by or "nobody" for item in items.values() if item.answered},
        list(dict.fromkeys(w for item in items.values() for w in item.agreed if not w.owners)),
    )


class _Asked:
    """A question of the agent, on its way to the answer that is sent."""

    def __init__(
        self, interrupt: Json, mirror: ThreadState, approve: Policies, *, settled: bool
    ) -> None:
        """`settled`: its answer has been sent and acted on, whatever rules say now."""
        call = mirror.call(interrupt.get("toolCallId", ""))
        self.message: str = interrupt.get("message") or interrupt["reason"]
        self.answered = False
        self.stands = False
        """True if rules allow by now what somebody was asked about: that answer counts."""
        self.by: str | None = None
        self._settled = settled
        self._interrupt = interrupt
        self._call = call
        self._tool: str = "" if call is None else call["function"]["name"]
        self._arguments: Json = {} if call is None else arguments_of(call)
        by_rule = interrupt["reason"] == TOOL_CALL and approve
        if by_rule and call is None:
            raise AgentFailed(
                f"the agent asks about call {interrupt.get('toolCallId')!r}, of which it has not "
                "told: no rule of approve= can decide about it"
            )
        self._policy = named_in(approve, self._tool) if by_rule else None
        self._who: approval.Approvers | None = None
        self._expires_in: float | None = None
        self.agreed: list[approval.Approvers] = []
        """Whom the yes came from that is there to the arguments as they are."""
        self._status = "resolved"
        self._payload: Any = None
        self._over = False

    async def who(self, turn: Turn, *, was_asked: bool) -> approval.Approvers | None:
        """Those who have to answer next; None once it is over. `was_asked`: somebody was by now."""
        if self._over:
            return None
        if self._policy is None:
            self._who, self._over = _OWNER, self.answered
        else:
            await self._rule(turn, self._policy, was_asked=was_asked)
        return None if self._over else self._who

    async def _rule(self, turn: Turn, policy: approval.Policy, *, was_asked: bool) -> None:
        """Find whom the rules ask about the arguments as they are, or what they say themselves."""
        decision = policy.decide(
            approval.ProposedCall(
                tool=self._tool,
                arguments=self._arguments,
                effect="irreversible",  # the agent says nothing of it
                caller=turn.principal,
                thread_id=turn.input.thread_id,
                request=turn.input.text,
            )
        )
        if decision.verdict == "deny":
            await self._note(turn, decision.rule, allowed=False)
            self._deny(f"rule {decision.rule!r} denies it")
            return
        terms = [rule.asking for rule in decision.asks]
        left = [who for who in (t.approvers for t in terms) if not self._covered(who)]
        yes = self._in_form({"approved": True}, True)
        self.stands = was_asked and not left and not self.agreed
        if self.stands:
            self._who = _OWNER
            return
        if not left and (self.agreed or yes):
            if not self.agreed:
                await self._note(turn, decision.rule, allowed=True)
            self._payload, self._over = self._payload if self.agreed else yes[0], True
            return
        # A form without words for a yes that are known here needs a person who says it.
        self._who = next((who for who in left if not who.owners), left[0] if left else _OWNER)
        lives = [t.expires_in for t in terms if isinstance(t.expires_in, int | float)]
        self._expires_in = min(lives, default=None)

    async def _note(self, turn: Turn, rule: str, *, allowed: bool) -> None:
        """Have the trail say which rule decided, as nobody was asked about these arguments."""
        if self._settled:
            return
        async with turn.at(f"rule:{self._interrupt['id']}:{allowed}"):
            await turn.report_decision(
                self._tool,
                self._arguments,
                rule=rule,
                allowed=allowed,
                told_as=self._interrupt.get("toolCallId"),
            )

    def _covered(self, who: approval.Approvers) -> bool:
        """True if they have said yes; what an owner may say alone, any approver has said."""
        return who in self.agreed or (who.owners and bool(self.agreed))

    async def question(self, turn: Turn, earlier: Mapping[str, str]) -> Question:
        """The question to those who are next."""
        interrupt = self._interrupt
        schema = interrupt.get("responseSchema", _NO_FORM.get(interrupt["reason"]))
        metadata = {k: v for k, v in (interrupt.get("metadata") or {}).items() if k != "sayso"}
        if self._call is not None:
            metadata |= {"tool": self._tool, "arguments": self._arguments}
        if schema is not None and not is_checkable(schema):
            schema = None
            metadata["sayso"] = {"unchecked": True}
        shown = self.message
        if self.answered:
            shown = f"{self.by} said yes, to the arguments as they are shown. {shown}"
        elif shown in earlier:
            shown = f"Asked again: the agent did not act on the answer of {earlier[shown]}. {shown}"
        return Question(
            reason=namespaced(interrupt["reason"]),
            message=shown,
            schema=schema,
            approvers=self._who,
            metadata=metadata or None,
            **await _life(turn, interrupt, self._expires_in),
        )

    def take(self, answer: Answer[Any]) -> None:
        """Take the answer of those who were next, unless a rule denies by now."""
        if self._over:
            return
        self.answered, self.by = True, answer.by
        said = answer.value
        if not answer.resolved:
            self._status, self._payload, self._over = "cancelled", None, True
        elif self._policy is None or _is_no(said):
            self._payload, self._over = said, True
        else:
            self._agree(said)

    def _agree(self, said: Any) -> None:
        """Take what is no denial. Words of the agent's own are a yes if all say the same."""
        before = self._payload
        if not _is_approval(said) or not (before is None or _is_approval(before)):
            if _edits(before) is not None:
                self._deny("the answer says nothing of the edited arguments")
                return
            self._payload, self.agreed = said, self.agreed if said == before else []
        else:
            edited = _edits(said)
            if edited is not None and not isinstance(edited, Mapping):
                self._deny("the edited arguments are no object")
                return
            if edited is not None and edited != self._arguments:
                self._arguments, self.agreed = dict(edited), []
            kept = {} if _edits(before) is None else {"editedArgs": _edits(before)}
            words = {n: each for n, each in said.items() if n != "editedArgs" or each is not None}
            self._payload = {**kept, **words}
        if self._who is not None:
            self.agreed.append(self._who)

    def _deny(self, reason: str) -> None:
        """Say no, in the agent's form; where that has no words for it, take the question back."""
        no = self._in_form({"approved": False, "reason": reason}, {"approved": False}, False)
        self._status = "resolved" if no else "cancelled"
        self._payload, self._over, self.agreed = no[0] if no else None, True, []

    def _in_form(self, *answers: Any) -> list[Any]:
        """Those of the answers that the agent's own form takes."""
        return [answer for answer in answers if not errors(self._interrupt, answer)]

    def entry(self) -> Json:
        """The entry of the resume."""
        entry: Json = {"interruptId": self._interrupt["id"], "status": self._status}
        if self._payload is not None:
            entry["payload"] = self._payload
        return entry


def _is_approval(said: Any) -> bool:
    """True for an answer in the protocol's words for calls."""
    return isinstance(said, Mapping) and "approved" in said


def _edits(said: Any) -> Any:
    return said.get("editedArgs") if _is_approval(said) else None


def _is_no(said: Any) -> bool:
    return said is False or (_is_approval(said) and not said["approved"])


async def _life(turn: Turn, interrupt: Json, expires_in: float | None) -> Json:
    """The earlier end of a question's life, as far as anybody has said."""
    milliseconds = expires_at(interrupt)
    if milliseconds is None:
        return {} if expires_in is None else {"expires_in": expires_in}
    end = datetime.fromtimestamp(milliseconds / 1000, UTC)
    if expires_in is not None:
        end = min(end, await turn.now() + timedelta(seconds=expires_in))
    return {"expires_at": end}
