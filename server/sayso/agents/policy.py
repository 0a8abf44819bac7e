"""Policies: the rules that let a tool call run, ask a person first, or deny it. Pure.

Deny beats ask beats allow, in any order of the rules. A rule that raises, or whose answer cannot be
read, asks: when in doubt a person decides, never silence (design 3, V5, V6). Every decision names
its rule.
"""

import fnmatch
import inspect
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import isinf
from typing import Any, Final, Literal, Self

from sayso.agents.asking import AskTerms
from sayso.agents.ruledigest import digest
from sayso.base.approvers import OWNER, Approvers
from sayso.base.errors import DeclarationError
from sayso.base.records import Principal

_log = logging.getLogger("sayso.agents.policy")

Effect = Literal["read", "write", "irreversible"]
"""The effect of a tool on the world: none, one that can be undone, or one that cannot."""
Verdict = Literal["allow", "ask", "deny"]
VERDICTS: Final[tuple[Verdict, ...]] = ("allow", "ask", "deny")
_WILD: Final = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedCall:
    """A tool call before anybody has decided, as a rule sees it.

    `arguments` are the values that the tool would get: validated, coerced, defaulted (J4). `scale`
    is how many things the call touches, None if the tool does not say, and `scale_of` the argument
    that says or holds them. `request` is the text of the message that began the turn.
    """

    tool: str
    arguments: Mapping[str, Any]
    effect: Effect = "write"
    scale: float | None = None
    scale_of: str | None = None
    permission: str | None = None
    caller: Principal = field(default_factory=Principal)
    thread_id: str = ""
    request: str = ""


def facts(call: ProposedCall) -> tuple[str, ...]:
    """List the facts that a call declares and that whoever decides has to know, as sentences."""
    said = ["It cannot be undone."] if call.effect == "irreversible" else []
    if call.scale is not None and isinf(call.scale):
        said.append("How many things it touches cannot be told.")
    elif call.scale is not None:
        number = f"{call.scale:,.0f}" if call.scale.is_integer() else f"{call.scale:,g}"
        of = (call.scale_of or "").replace("_", " ")
        many = of if of.endswith("s") else "things"
        said.append(f"It touches {number} {'thing' if call.scale == 1 else many}.")
    return tuple(said)


@dataclass(frozen=True, slots=True)
class AskingRule:
    """A rule that asks, with its terms."""

    rule: str
    asking: AskTerms = field(default_factory=AskTerms)
    source: "Rule | None" = field(default=None, compare=False, repr=False)
    raised: bool = False
    """True if it asks because it could not be read."""

    @property
    def digest(self) -> str:
        """The identity of the rule: a remembered approval is valid for no other."""
        return (self.source or Rule(name=self.rule, asking=self.asking)).digest

    def because(self, call: ProposedCall | None) -> tuple[tuple[str, ...], bool]:
        """The reasons to ask about a call, in sentences; True if they say more than that."""
        if self.raised:
            return (f"Rule {self.rule!r} failed, so a person decides.",), True
        if self.source is not None and self.source.because is not None and call is not None:
            return tuple(self.source.because(call)), True
        return (self._plainly(),), False

    def _plainly(self) -> str:
        source = self.source
        if source is None or self.rule.startswith("otherwise:"):
            return "No rule lets this call run by itself."
        if source.fixed:
            return (
                "Every call of this tool is asked about."
                if source.tools is None
                else f"Calls of {source.tools} are asked about."
            )
        named = self.rule.rpartition(":")[2]
        asks = f"Rule {named!r} asks" if named.isprintable() and "<" not in named else "A rule asks"
        return f"{asks} about this call."


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """The verdict of a policy on a call, and by which rule; `asks` are all the rules that ask."""

    verdict: Verdict
    rule: str
    asks: tuple[AskingRule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule. Without a predicate it always speaks; `judge` returns the verdict itself.

    `tools` is a name, or a pattern with `*` and `?`; None for a rule of one tool. `names` are the
    arguments that the predicate takes, None for all of them. `parameters` and `decided_by` are the
    author's values and functions; a `version` replaces the functions' code in the digest.
    """

    name: str
    verdict: Verdict = "ask"
    tools: str | None = None
    predicate: Callable[..., object] | None = None
    names: tuple[str, ...] | None = None
    judge: Callable[[ProposedCall], object] | None = None
    asking: AskTerms = field(default_factory=AskTerms)
    parameters: tuple[tuple[str, Any], ...] = ()
    decided_by: tuple[Callable[..., object], ...] = ()
    version: str | int | None = None
    because: Callable[[ProposedCall], Iterable[str]] | None = None
    """Sentences that say why it asks about a call; no part of what the rule is."""

    @property
    def digest(self) -> str:
        """The identity of the rule: it changes with verdict, approvers and code, not by name."""
        how, remember = self.asking.approvers, self.asking.remember
        declared = {
            "verdict": self.verdict,
            "tools": self.tools,
            "names": None if self.names is None else list(self.names),
            "approvers": how.terms(),
            "remember": None
            if remember is None
            else [list(remember.arguments), list(remember.scopes), remember.expires_in],
            "parameters": [[name, repr(value)] for name, value in self.parameters],
        }
        return digest(declared, self.decided_by, self.version)

    @property
    def fixed(self) -> bool:
        """True if it speaks about every call."""
        return self.predicate is None and self.judge is None

    def evaluate(self, call: ProposedCall) -> Verdict | Literal["raised"] | None:
        """Its verdict on a call; None if it does not speak about it; `raised` counts as `ask`."""
        try:
            if self.judge is not None:
                return _read(self.judge(call))
            if self.predicate is None:
                return self.verdict
            arguments = call.arguments
            if self.names is not None:
                arguments = {name: arguments[name] for name in self.names}
            return self.verdict if _true(self.predicate(**arguments)) else None
        except BaseException:  # sys.exit() in a rule is no approval either
            _log.exception("rule %s raised on tool %r; a person is asked", self.name, call.tool)
            return "raised"

    def under(self, *, four_eyes: bool) -> "Rule":
        """The same rule in an app, where its approvers bar whom they do not name themselves."""
        approvers = self.asking.approvers.under(four_eyes=four_eyes)
        if approvers is self.asking.approvers:
            return self
        return replace(self, asking=replace(self.asking, approvers=approvers))

    def for_tool(self, tool: str, parameters: frozenset[str] | None) -> "Rule | None":
        """The rule for one tool, or None if it can never speak there.

        A pattern means only the tools that have the arguments which the predicate takes. Where
        nobody knows what a tool takes (None) it means all, and asks about a call that lacks one.

        Raises:
            DeclarationError: it names this tool, and takes arguments that the tool does not have.
        """
        pattern = self.tools
        wild = pattern is not None and _WILD.search(pattern) is not None
        if pattern is not None and not fnmatch.fnmatchcase(tool, pattern):
            return None
        if parameters is None:
            return self
        missing = [name for name in self.names or () if name not in parameters]
        if missing and not wild:
            raise DeclarationError(
                f"approval rule {self.name!r} of tool {tool!r} names {', '.join(missing)}, "
                f"but the tool takes {', '.join(sorted(parameters)) or 'no arguments'}"
            )
        return None if missing else self


class Policy:
    """Rules over tool calls: `Policy(deny=[…], ask=[…], allow=[…], otherwise="ask")`.

    Each list holds names of tools, patterns (`"http_*"`) and rules on arguments (`calls(…)`). For a
    call that no rule speaks about, `otherwise` decides: a verdict, or another policy. Deny beats
    ask beats allow.
    """

    __slots__ = ("_settled", "otherwise", "parts", "rules")

    def __init__(
        self,
        *,
        deny: Iterable["str | Rule"] = (),
        ask: Iterable["str | Rule"] = (),
        allow: Iterable["str | Rule"] = (),
        otherwise: "Verdict | Policy" = "ask",
    ) -> None:
        listed = [
            _listed(item, verdict)
            for verdict, items in zip(VERDICTS, (allow, ask, deny), strict=True)
            for item in _items(items, verdict)
        ]
        taken: set[str] = set()
        self.rules: tuple[Rule, ...] = _distinct(listed, taken)
        self.parts: tuple[Policy, ...] = ()
        self.otherwise: Policy | None = _fallback(otherwise)._renamed(taken)
        self._settled: PolicyDecision | None = None

    @classmethod
    def of(cls, *rules: Rule, otherwise: "Policy | None" = None) -> Self:
        """A policy of these rules; a single one without a predicate needs no `otherwise`."""
        policy = cls.__new__(cls)
        policy.rules, policy.otherwise, policy.parts = rules, otherwise, ()
        # One rule that always says the same needs no look at the call.
        alone = len(rules) == 1 and rules[0].fixed and rules[0].tools is None
        policy._settled = _decision(rules[0]) if alone else None
        return policy

    @classmethod
    def all_of(cls, *policies: "Policy") -> "Policy":
        """Combine policies: what one denies is denied; else what one asks about is asked about."""
        policy = cls.__new__(cls)
        taken: set[str] = set()
        policy.rules, policy.otherwise, policy._settled = (), None, None
        policy.parts = tuple(part._renamed(taken) for part in policies)
        return policy

    def decide(self, call: ProposedCall) -> PolicyDecision:
        """Decide about a call."""
        if self._settled is not None:
            return self._settled
        asks: list[AskingRule] = []
        allowed: str | None = None
        for rule in self.rules:
            verdict = rule.evaluate(call)
            if verdict == "deny":
                return PolicyDecision("deny", rule.name)
            if verdict in ("ask", "raised"):
                asks.append(AskingRule(rule.name, rule.asking, rule, verdict == "raised"))
            elif verdict == "allow" and allowed is None:
                allowed = rule.name
        for part in self.parts:
            decision = part.decide(call)
            if decision.verdict == "deny":
                return decision
            asks += decision.asks
            if decision.verdict == "allow" and allowed is None:
                allowed = decision.rule
        if asks:
            return PolicyDecision("ask", asks[0].rule, tuple(asks))
        if allowed is not None:
            return PolicyDecision("allow", allowed)
        return _ASK if self.otherwise is None else self.otherwise.decide(call)

    def for_tool(self, tool: str, parameters: frozenset[str] | None) -> "Policy":
        """The policy for one tool: only the rules that can speak there, so that it is quick.

        `parameters`: what the tool takes, None where nobody knows.

        Raises:
            DeclarationError: a rule takes arguments that the tool does not have.
        """
        rules = (rule.for_tool(tool, parameters) for rule in self.rules)
        policy = Policy.of(*(rule for rule in rules if rule is not None))
        policy.parts = tuple(part.for_tool(tool, parameters) for part in self.parts)
        if self.otherwise is not None:
            policy.otherwise = self.otherwise.for_tool(tool, parameters)
        return policy

    def under(self, *, four_eyes: bool) -> "Policy":
        """The same policy in an app, where its rules bar whom they do not name themselves."""
        policy = Policy.of(*(rule.under(four_eyes=four_eyes) for rule in self.rules))
        policy.parts = tuple(part.under(four_eyes=four_eyes) for part in self.parts)
        policy.otherwise = self.otherwise and self.otherwise.under(four_eyes=four_eyes)
        return policy

    @property
    def constant(self) -> PolicyDecision | None:
        """The decision on every call, if it need not look at any."""
        return self._settled

    @property
    def approvers(self) -> tuple[Approvers, ...]:
        """The approvers that its rules ask, other than owners of threads as such."""
        approvers = (rule.asking.approvers for rule in self._all())
        return tuple(people for people in approvers if people != OWNER)

    @property
    def digests(self) -> dict[str, str]:
        """The digests of its rules that may ask, by name."""
        asks = (rule for rule in (Rule(name="ask"), *self._all()) if rule.verdict == "ask")
        return {rule.name: rule.digest for rule in asks}

    @property
    def kind(self) -> Literal["never", "always", "when"]:
        """The calls that it asks about: none, all, or some."""
        rules = self._all()
        fixed = [rule.verdict for rule in rules if rule.fixed]
        if len(fixed) < len(rules):
            return "when"
        return "always" if "ask" in fixed or not fixed else "never"

    def _all(self) -> list[Rule]:
        """Its rules, those of its parts, and the fallback that speaks when they are silent."""
        rules = [*self.rules]
        for part in self.parts:
            rules += part._all()
        if self.otherwise is not None and not any(rule.fixed for rule in rules):
            rules += self.otherwise._all()
        return rules

    def _renamed(self, taken: set[str]) -> "Policy":
        """A copy of it whose rules have names that are not taken yet."""
        policy = Policy.of(*_distinct(self.rules, taken))
        policy.parts = tuple(part._renamed(taken) for part in self.parts)
        policy.otherwise = self.otherwise and self.otherwise._renamed(taken)
        return policy


def rule_name(kind: str, predicate: Callable[..., object] | None) -> str:
    """Name a rule by its kind and by the function that decides, if there is one."""
    if predicate is None:
        return kind
    return f"{kind}:{getattr(predicate, '__name__', type(predicate).__name__)}"


_ASK: Final = PolicyDecision("ask", "ask", (AskingRule("ask"),))


def _decision(rule: Rule) -> PolicyDecision:
    """Make the one decision of a rule that always speaks."""
    asks = (AskingRule(rule.name, rule.asking, rule),) if rule.verdict == "ask" else ()
    return PolicyDecision(rule.verdict, rule.name, asks)


def _read(said: object) -> Verdict | None:
    if said is None:
        return None
    for verdict in VERDICTS:
        if said == verdict:
            return verdict
    raise TypeError(f"a rule says 'allow', 'ask', 'deny' or None, not {said!r}")


def _true(said: object) -> bool:
    if inspect.isawaitable(said):
        if inspect.iscoroutine(said):
            said.close()
        raise TypeError("a rule answers at once: it cannot be awaited")
    return bool(said)


def _items(items: Iterable["str | Rule"], verdict: str) -> list["str | Rule"]:
    if isinstance(items, str):
        raise DeclarationError(f"{verdict}= of a policy takes a list: write [{items!r}]")
    return list(items)


def _listed(item: object, verdict: Verdict) -> Rule:
    if isinstance(item, str) and item:
        return Rule(name=f"{verdict}:{item}", verdict=verdict, tools=item)
    if isinstance(item, Rule) and item.tools is not None:
        return replace(item, verdict=verdict, name=f"{verdict}:{item.name}")
    raise DeclarationError(
        f"{verdict}= of a policy lists names of tools, patterns and approval.calls(...), "
        f"not {item!r}"
    )


def _fallback(otherwise: object) -> Policy:
    if isinstance(otherwise, Policy):
        return otherwise
    verdict: Any = otherwise
    if verdict not in VERDICTS:
        raise DeclarationError(
            f"otherwise= of a policy is 'allow', 'ask', 'deny' or a policy, not {otherwise!r}"
        )
    return Policy.of(Rule(name=f"otherwise:{verdict}", verdict=verdict))


def _distinct(rules: Iterable[Rule], taken: set[str]) -> tuple[Rule, ...]:
    """Give each rule a name of its own: a yes to one must not count as a yes to another.

    A rule that allows every call asks nothing, and may share its name.
    """
    distinct = []
    for rule in rules:
        name, number = rule.name, 1
        if not (rule.fixed and rule.verdict == "allow"):
            while name in taken:
                number += 1
                name = f"{rule.name}#{number}"
            taken.add(name)
        distinct.append(rule if name == rule.name else replace(rule, name=name))
    return tuple(distinct)
