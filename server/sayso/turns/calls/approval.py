"""Decides if a tool call runs, asks or is refused: by the policy, and by what people said before.

What a policy decides is recorded with the call under the name of its rule, so that replay takes it
from the journal and a rule speaks once about a call.

Whoever chose an option that permits a call has approved exactly that call, once, as it was shown.
That stands for rules that ask the very people who chose. A copy of a thread has the choice, and not
the permission.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from sayso.agents.asking import AskTerms
from sayso.agents.policy import AskingRule, PolicyDecision, ProposedCall
from sayso.agents.remembered import covers_call, parse_request
from sayso.agents.tools import Tool
from sayso.base import jsonvalue
from sayso.base.approvers import REQUESTER, ApproversAsJson
from sayso.base.errors import Problem, StoreError
from sayso.base.fastrecords import fast
from sayso.base.records import Approval, Interrupt
from sayso.gate.quorum import approving, met_by
from sayso.protocol.reasons import DECISION
from sayso.schemas.remember import Remember
from sayso.turns.ask.interrupts import requesters
from sayso.turns.authorization import RULE as AUTHORIZE
from sayso.turns.denials import Heard
from sayso.turns.journal import places
from sayso.turns.journal.consent import covers
from sayso.turns.journal.earlier_decisions import Said, about, denials
from sayso.turns.journal.journal import decided_before
from sayso.turns.replay.execution import Execution, Place

_NOBODY: Final[Mapping[str, ApproversAsJson | None]] = MappingProxyType({})
BY_ENTITLEMENT: Final = "sayso:entitlement"
"""Who revokes an approval that its giver may not give any more."""
NOTHING_HEARD: Final = Heard()
_PERMITS: Final = b'"permits"'
_SPEAKING = ("interrupt",)
"""Kinds of entries whose answer is a word of the user, and no verdict on something proposed."""


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class CallDecision:
    """The decision about a call, and the rule that made it.

    It `runs`, perhaps on an approval that `remembered_approval` for the rules in `stood`; or it
    asks, in the way of `asking`, and a yes stands for the rules in `covered`, but not for all that
    ask if `partly`; or it is refused, and `refusal` is recorded with it.
    """

    rule: str
    call: ProposedCall | None = None
    runs: bool = False
    asking: AskTerms | None = None
    covered: tuple[AskingRule, ...] = ()
    partly: bool = False
    remembered: tuple[str, ...] = ()
    """The rules that a yes may stand for later as well."""
    remembered_approval: Approval | None = None
    stood: tuple[AskingRule, ...] = ()
    chosen: Interrupt | None = None
    """The decision whose chosen option permits the call, which stands for these rules."""
    met_by_choice: tuple[AskingRule, ...] = ()
    stale: tuple[Approval, ...] = ()
    """Approvals for such calls that stand no more, because their rules have changed."""
    heard: Heard = field(default_factory=Heard)
    """What was denied in this thread and its copies before; for who is asked, if not the owner."""
    refusal: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """The rules' word on a call; `asks` are the rules that nobody has said yes to yet.

    `partly`: somebody has to others. `call` is None where nobody had to look at it.
    """

    decision: PolicyDecision
    tool: str
    arguments: bytes
    call: ProposedCall | None = None
    asks: Sequence[AskingRule] = ()
    partly: bool = False

    @property
    def may_stand(self) -> bool:
        """True if an approval that was given before may stand for it: the store has to be asked."""
        return any(rule.asking.remember is not None for rule in self.asks)


def evaluate(
    execution: Execution,
    tool: Tool[..., Any],
    arguments: bytes,
    satisfied: Mapping[str, ApproversAsJson | None] = _NOBODY,
) -> RuleResult:
    """Ask the policy about a call with these effective arguments, once.

    `satisfied` are rules that somebody has said yes to, under the terms that they had then.
    """
    policy = execution.running.policy_of(tool)
    settled = policy.constant
    if settled is not None and (settled.verdict == "allow" or not tool.scaled):
        call, decision = None, settled  # nobody is going to look at the call
    else:
        turn_input = execution.input
        whole = execution.kept_apart.whole(tool, arguments)
        call = tool.proposed(whole, execution.principal, turn_input.thread_id, turn_input.text)
        decision = policy.decide(call)
    asks = [rule for rule in decision.asks if not _satisfied(rule, satisfied)]
    return RuleResult(
        decision=decision,
        tool=tool.name,
        arguments=arguments,
        call=call,
        asks=asks,
        partly=bool(satisfied),
    )


def _satisfied(ask: AskingRule, satisfied: Mapping[str, ApproversAsJson | None]) -> bool:
    """True if a rule has its yes; one that now asks for other people has not."""
    if ask.rule not in satisfied:
        return False
    terms = satisfied[ask.rule]
    return terms is None or terms == ask.asking.approvers.terms()


async def decide_call(
    place: Place, tool: Tool[..., Any], arguments: bytes, result: RuleResult
) -> CallDecision:
    """Decide about a call, after a look at the approvals that stand."""
    execution = place.execution
    if result.decision.verdict != "deny" and not await _is_authorized(execution, tool):
        return CallDecision(rule=AUTHORIZE, call=result.call, refusal={"forbidden": True})
    stale: list[Approval] = []
    stands = await _remembered(execution, tool, arguments, result.asks, stale)
    ruling = replace(decide_call_with(place, result, stands), stale=tuple(stale))
    if all(rule.asking.approvers.owners for rule in (*ruling.met_by_choice, *ruling.covered)):
        return ruling
    try:
        heard = await execution.heard()
    except StoreError as error:
        execution.abort(error)
        raise execution.pause() from None
    # Meanwhile an equal call may have used the decision that permits one of them.
    ruling = decide_call_with(place, result, stands, heard)
    return replace(ruling, stale=tuple(stale), heard=heard)


async def _is_authorized(execution: Execution, tool: Tool[..., Any]) -> bool:
    if execution.asks_about_calls:
        execution.only_looks()
    try:
        return await execution.authorization.allows(
            execution.principal, "call", execution.running.name, tool.name
        )
    except Problem as problem:
        execution.abort(problem)
        raise execution.pause() from None


def decide_call_with(
    place: Place,
    result: RuleResult,
    stands: Approval | None = None,
    heard: Heard = NOTHING_HEARD,
) -> CallDecision:
    """Decide about a call; `stands` is the approval that was given for such calls before.

    A no to this very call outweighs it: that one is about other calls, and may be older. And who
    chose what permits the call was not told of one, so those who are asked about it decide;
    `heard` are those of turns before this one, and of copies.
    """
    execution = place.execution
    decision, call, asks = result.decision, result.call, result.asks
    if decision.verdict == "deny":
        return CallDecision(rule=decision.rule, call=call, refusal={"forbidden": True})
    # Who has just said yes to part of it is not told that it was refused before.
    if asks and not result.partly:
        refused = refused_before(execution, place.fingerprint)
        if refused is not None:
            return CallDecision(rule=asks[0].rule, call=call, refusal={**refused, "again": True})
    chosen = _decision_for(execution, result.tool, result.arguments) if asks else None
    by_choice = () if chosen is None else _met(chosen, asks, requesters(execution))
    if any(not rule.asking.approvers.owners for rule in by_choice):
        earlier = about(
            known_words(execution, heard), result.tool, jsonvalue.decode(result.arguments)
        )
        if any(word["said"] == "denied" for word in earlier):
            by_choice = tuple(rule for rule in by_choice if rule.asking.approvers.owners)
    asks = [rule for rule in asks if rule not in by_choice]
    stood: tuple[AskingRule, ...] = ()
    if stands is not None:
        stood = tuple(rule for rule in asks if stands_for(stands, rule))
        asks = [rule for rule in asks if rule not in stood]
    if not asks:
        return CallDecision(
            rule=decision.rule,
            call=call,
            runs=True,
            remembered_approval=stands if stood else None,
            stood=stood,
            chosen=chosen if by_choice else None,
            met_by_choice=by_choice,
        )
    first = asks[0]
    terms = first.asking.approvers.terms()
    covered = [rule for rule in asks if covers(terms, rule.asking.approvers.terms())]
    return CallDecision(
        rule=first.rule,
        call=call,
        asking=first.asking,
        chosen=chosen if by_choice else None,
        met_by_choice=by_choice,
        covered=tuple(covered),
        partly=len(covered) < len(asks),
        remembered=tuple(rule.rule for rule in covered if rule.asking.remember is not None),
    )


def _decision_for(execution: Execution, tool: str, arguments: bytes) -> Interrupt | None:
    """The decision whose chosen option permits this very call; None, or once a call has used it."""
    plain: Any = None
    for item in execution.interrupts.values():
        if item.reason != DECISION or item.metadata is None or _PERMITS not in item.metadata:
            continue
        if item.status != "resolved" or item.decided_by is None or item.payload is None:
            continue
        permitted = _permitted(item.metadata, item.payload)
        if permitted is None or permitted.get("tool") != tool:
            continue
        plain = jsonvalue.decode(arguments) if plain is None else plain
        if jsonvalue.equal(permitted.get("arguments"), plain) and not _is_used(execution, item.id):
            return item
    return None


def _met(
    decision: Interrupt, asks: Iterable[AskingRule], requesters: Iterable[str]
) -> tuple[AskingRule, ...]:
    """Those of the rules that ask the people who have decided."""
    people, wanting = [(vote.by, vote.roles) for vote in approving(decision)], tuple(requesters)
    return tuple(rule for rule in asks if met_by(rule.asking.approvers, people, wanting))


def _permitted(metadata: bytes, payload: bytes) -> dict[str, Any] | None:
    """The call that an answer permits; an author may ask with that reason as well, in any form."""
    member: Any = jsonvalue.decode(metadata)
    answer = jsonvalue.decode(payload)
    for name in ("sayso", "permits", answer.get("action") if isinstance(answer, dict) else None):
        member = member.get(name) if isinstance(member, dict) and isinstance(name, str) else None
    return member if isinstance(member, dict) else None


def _is_used(execution: Execution, decision: str) -> bool:
    if decision in execution.approval_writes.chosen:
        return True
    quoted = f'"{decision}"'.encode()
    for entry in execution.journal.entries():
        if entry.kind == "call" and quoted in entry.data:
            data = jsonvalue.decode(entry.data)
            if decision in (data.get("decision"), *data.get("spent", ())):
                return True
    return False


async def _remembered(
    execution: Execution,
    tool: Tool[..., Any],
    arguments: bytes,
    asks: Sequence[AskingRule],
    stale: list[Approval],
) -> Approval | None:
    """The approval that stands for most of what asks about a call; it was given for such a call.

    Without one, `stale` gets those that would if their rules had not changed.
    """
    if all(rule.asking.remember is None for rule in asks):
        return None
    owner, thread_id = execution.principal.subject, execution.input.thread_id
    try:
        standing = await execution.leased.valid_approvals(owner, tool.name, execution.clock.now())
    except StoreError as error:
        execution.abort(error)
        raise execution.pause() from None
    plain = jsonvalue.decode(arguments)
    fitting = [
        (approval, sum(stands_for(approval, ask) for ask in asks))
        for approval in standing
        if approval.thread_id in (None, thread_id)
        and jsonvalue.decode(approval.terms or b"{}").get("agent")
        == execution.running.owner_of(tool)
        and covers_call(jsonvalue.decode(approval.pattern), plain)
    ]
    fitting.sort(key=lambda match: match[1], reverse=True)
    for approval, rules in fitting:
        if not rules:
            break
        stood = [ask for ask in asks if stands_for(approval, ask)]
        entitled = await _is_entitled(execution, approval, stood)
        if entitled:
            return approval
        if entitled is False:
            now = execution.clock.now()
            await execution.leased.revoke(approval, BY_ENTITLEMENT, now)
            execution.metrics.stale.add("entitlement")
            stale.append(approval)
    changed = [
        approval
        for approval, rules in fitting
        if not rules and any(ask.rule in approval.rules for ask in asks)
    ]
    for _ in changed:
        execution.metrics.stale.add("rules")
    stale.extend(changed)
    return None


async def _is_entitled(
    execution: Execution, approval: Approval, stood: Iterable[AskingRule]
) -> bool | None:
    """True if whoever gave it may still say it, as the directory knows; None if it cannot tell.

    An owner's word about its own calls stands for whoever the directory does not know as gone.
    """
    if not execution.people.are_known:
        return True
    giver = approval.given_by
    try:
        person = await execution.people.known(
            execution.principal.scope, giver, execution.clock.now()
        )
    except Problem:  # it is in the log, and people are asked instead
        return None
    others = [rule.asking.approvers for rule in stood if not rule.asking.approvers.owners]
    if person is None:
        return not others
    return person.active and all(met_by(who, [(giver, person.roles)], ()) for who in others)


def remember(
    place: Place,
    tool: Tool[..., Any],
    interrupt: Interrupt,
    data: dict[str, Any],
    arguments: dict[str, Any],
) -> None:
    """Keep the approval that a settled yes to these arguments asks for, if that was offered."""
    execution = place.execution
    offered = data.get("remember")
    if offered is None or interrupt.decided_by is None:
        return
    payload = jsonvalue.decode(interrupt.payload or b"{}")
    wish = parse_request(
        payload.get("remember"),
        Remember(
            arguments=tuple(offered["arguments"]),
            scopes=tuple(offered["scopes"]),
            expires_in=offered["expiresIn"],
        ),
        arguments,
        execution.clock.now(),
    )
    if wish is None:
        return
    execution.approval_writes.give(
        Approval(
            id=place.id("apr", places.approval(place.key, interrupt.id)),
            owner=execution.principal.subject,
            tool=tool.name,
            thread_id=execution.input.thread_id if wish.thread_only else None,
            pattern=jsonvalue.encode(wish.pattern),
            rules=tuple(offered["rules"]),
            given_by=interrupt.decided_by,
            given_at=execution.clock.now(),
            interrupt_id=interrupt.id,
            expires_at=wish.expires_at,
            terms=jsonvalue.encode(offered["terms"]) if "terms" in offered else None,
        )
    )


def known_words(execution: Execution, heard: Heard) -> list[Said]:
    """Decisions about calls in what this turn copies or repeats, and denials so far.

    `heard`: in turns before this one, and in copies. What was said in this one may not be stored
    yet. What is settled in a copy as it was before is one word, and not another.
    """
    here = denials(execution.interrupts.values(), execution.input.thread_id)
    decisions = decided_before(execution.marks)
    words = [_word(decision) for decision in decisions]
    for decision in (*heard.elsewhere, *heard.here, *here):
        if (word := _word(decision)) not in words:
            decisions.append(decision)
            words.append(word)
    return decisions


def _word(said: Said) -> Said:
    return {name: value for name, value in said.items() if name != "threadId"}


def stands_for(approval: Approval, ask: AskingRule) -> bool:
    """True if a remembered yes is one to this rule, as it is now."""
    if ask.asking.remember is None or not ask.asking.approvers.any_time or approval.terms is None:
        return False
    barred = ask.asking.approvers.terms().get("notBy", ())
    if REQUESTER in barred and approval.given_by == approval.owner:
        return False
    return bool(jsonvalue.decode(approval.terms)["rules"].get(ask.rule) == ask.digest)


def refused_before(execution: Execution, fingerprint: str) -> dict[str, Any] | None:
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
            interrupt = execution.interrupts.get(data.get("interrupt"))
            if (
                interrupt is not None
                and interrupt.status == "resolved"
                and interrupt.decided_by is not None
            ):
                spoke = max(spoke, data["pause"])
        elif entry.kind == "call" and entry.status == "done" and entry.fingerprint == fingerprint:
            data = jsonvalue.decode(entry.data)
            if data["status"] == "denied" and "by" in data and data.get("pause", -1) >= refused:
                refused = data["pause"]
                refusal = {"reason": data.get("reason"), "by": data["by"], "pause": refused}
    return refusal if refused >= spoke else None
