"""Which calls run, ask, or are refused (design 3, "Tools and policies")."""

import re
from inspect import isfunction
from typing import Any, get_type_hints

import pytest

from sayso import DeclarationError, approval
from sayso.agents.approval import Policy, ProposedCall
from sayso.agents.policy import PolicyDecision, Rule, Verdict
from sayso.base.records import Principal
from sayso.protocol.reasons import NAMELESS_RULE


def decided(policy: Policy, tool: str = "tool", /, **arguments: Any) -> PolicyDecision:
    """What becomes of a call, once the policy was made the tool's."""
    own = policy.for_tool(tool, frozenset(arguments))
    return own.decide(ProposedCall(tool=tool, arguments=arguments))


def asks(policy: Policy, **arguments: Any) -> bool:
    return decided(policy, **arguments).verdict == "ask"


def test_never_and_always_do_not_look_at_arguments() -> None:
    """The two ends."""
    assert decided(approval.never) == PolicyDecision("allow", "never")
    assert asks(approval.always, a=1)


def test_a_rule_gets_the_arguments_that_it_names() -> None:
    """By name, in any order, and no others."""
    rule = approval.when(lambda amount, order: amount > 100 and order == "x")
    assert asks(rule, order="x", amount=101, other=None)
    assert not asks(rule, order="x", amount=100, other=None)


def test_a_rule_with_keywords_gets_all_of_them() -> None:
    """`**arguments` stands for whatever the tool takes."""
    seen: dict[str, Any] = {}
    rule = approval.when(lambda **given: seen.update(given))
    assert not asks(rule, a=1, b=2)
    assert seen == {"a": 1, "b": 2}


@pytest.mark.parametrize("value", [1, "yes", [0], object()])
def test_a_rule_asks_for_whatever_is_true(value: object) -> None:
    """Truth is Python's."""
    assert asks(approval.when(lambda: value))
    assert not asks(approval.when(lambda: None))


@pytest.mark.parametrize("error", [ValueError(), SystemExit(), KeyboardInterrupt()])
def test_a_rule_that_raises_asks_whatever_it_was_to_say(error: BaseException) -> None:
    """When in doubt a person decides: neither silence nor a verdict comes out of an error."""

    def rule() -> bool:
        raise error

    assert asks(approval.when(rule))
    assert asks(approval.deny(rule))
    assert asks(approval.rule(lambda call: "allow" if rule() else "deny"))
    for kind in ("deny", "ask", "allow"):
        lists: dict[str, Any] = {kind: [approval.calls("tool", rule)]}
        assert asks(Policy(**lists, otherwise="allow"))


def test_a_rule_that_raises_does_not_save_a_call_from_a_rule_that_denies() -> None:
    """Deny beats ask, also the ask that comes of an error."""

    def broken() -> bool:
        raise ValueError

    policy = Policy(deny=[approval.calls("tool", broken), "tool"], allow=["tool"])
    assert decided(policy).verdict == "deny"


def test_a_rule_whose_truth_cannot_be_told_asks() -> None:
    """Such as an array that has no single truth, or something to be awaited."""

    class Unclear:
        def __bool__(self) -> bool:
            raise ValueError("of two minds")

    async def later() -> bool:
        return False

    assert asks(approval.when(Unclear))
    assert asks(Policy(allow=[approval.calls("tool", lambda: later())]))


def test_rules_that_could_not_be_called_fail_when_they_are_declared() -> None:
    """By position, for arguments that the tool has not, or asynchronous."""

    async def later(amount: float) -> bool:
        return True

    with pytest.raises(DeclarationError, match="by position"):
        approval.when(lambda *amounts: True)
    with pytest.raises(DeclarationError, match="by position"):
        approval.when(lambda amount, /: True)
    for use in (approval.when, approval.deny):
        with pytest.raises(DeclarationError, match="asynchronous"):
            use(later)
    with pytest.raises(DeclarationError, match="is a function"):
        approval.when(True)  # type: ignore[arg-type]
    rule = approval.when(lambda amount, colour: True)
    rule.for_tool("paint", frozenset({"amount", "colour", "more"}))
    with pytest.raises(DeclarationError, match="names colour, but the tool takes amount"):
        rule.for_tool("paint", frozenset({"amount"}))


@pytest.mark.parametrize(
    ("lists", "verdict", "rule"),
    [
        ({"allow": ["read_*"]}, "allow", "allow:read_*"),
        ({"allow": ["read_file"], "ask": ["read_*"]}, "ask", "ask:read_*"),
        ({"allow": ["*"], "ask": ["*"], "deny": ["read_file"]}, "deny", "deny:read_file"),
        ({"deny": ["write_*"], "allow": ["write_*"]}, "ask", "otherwise:ask"),
        ({"otherwise": "deny"}, "deny", "otherwise:deny"),
        ({"otherwise": approval.never}, "allow", "never"),
        ({"ask": [approval.calls("read_*", lambda path: path == "/etc")]}, "ask", "otherwise:ask"),
        (
            {"deny": [approval.calls("read_*", lambda path: path == "here")]},
            "deny",
            "deny:read_*:<lambda>",
        ),
    ],
)
def test_deny_beats_ask_beats_allow(lists: dict[str, Any], verdict: Verdict, rule: str) -> None:
    """V5, V6: lists by name, pattern and arguments; what nobody knows asks; rules are named."""
    decision = decided(Policy(**lists), "read_file", path="here")
    assert (decision.verdict, decision.rule) == (verdict, rule)


def test_a_rule_over_a_pattern_concerns_tools_that_have_its_arguments() -> None:
    """Tools that appear later are not known when the rule is written; a name is."""
    policy = Policy(deny=[approval.calls("*", lambda path: True)], otherwise="allow")
    assert decided(policy, "read", path="x").verdict == "deny"
    assert decided(policy, "sing", song="x").verdict == "allow"
    named = Policy(deny=[approval.calls("sing", lambda path: True)])
    with pytest.raises(DeclarationError, match="names path"):
        decided(named, "sing", song="x")


@pytest.mark.parametrize(
    "lists",
    [
        {"deny": "rm"},
        {"allow": [approval.never]},
        {"allow": [""]},
        {"ask": [len]},
        {"otherwise": "maybe"},
        {"otherwise": None},
    ],
)
def test_lists_that_mean_nothing_fail_when_they_are_declared(lists: dict[str, Any]) -> None:
    """A text in place of a list would be a list of its letters."""
    with pytest.raises(DeclarationError):
        Policy(**lists)


def test_the_strictest_of_several_policies_counts() -> None:
    """Denials first, then every question, and silence only if all are silent."""
    large = approval.when(lambda amount: amount > 10, name="large")
    huge = approval.when(lambda amount: amount > 100, name="huge", by="lead")
    policy = approval.all_of(large, huge, approval.deny(lambda amount: amount > 1000))
    assert decided(policy, amount=5).verdict == "allow"
    assert [ask.rule for ask in decided(policy, amount=50).asks] == ["large"]
    assert [ask.rule for ask in decided(policy, amount=500).asks] == ["large", "huge"]
    assert decided(policy, amount=5000).verdict == "deny"
    with pytest.raises(DeclarationError):
        approval.all_of()


def test_rules_have_names_of_their_own() -> None:
    """A yes to one lambda is no yes to another."""
    policy = approval.all_of(
        approval.when(lambda amount: amount > 1), approval.when(lambda amount: amount > 2)
    )
    names = [ask.rule for ask in decided(policy, amount=3).asks]
    assert names == ["when:<lambda>", "when:<lambda>#2"]


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("allow", "allow"),
        ("deny", "deny"),
        ("ask", "ask"),
        (None, "ask"),
        (True, "ask"),
        (1, "ask"),
    ],
)
def test_a_judge_says_one_of_three_words(said: Any, verdict: Verdict) -> None:
    """Anything else is no yes."""
    assert decided(approval.rule(lambda call: said)).verdict == verdict


def proposed(**members: Any) -> ProposedCall:
    caller = Principal(subject="ann", roles=("clerk", "mail:send"))
    return ProposedCall(tool="tool", arguments={}, caller=caller, **members)


@pytest.mark.parametrize(
    ("members", "verdict", "rule"),
    [
        ({"effect": "irreversible", "scale": 101}, "ask", "by_effect:irreversible"),
        ({"effect": "irreversible"}, "ask", "by_effect:irreversible"),
        ({"effect": "irreversible", "scale": 100}, "allow", "by_effect:ordinary"),
        ({"effect": "write", "scale": 10_000}, "allow", "by_effect:ordinary"),
        ({"permission": "mail:send"}, "allow", "by_effect:ordinary"),
        ({"permission": "mail:purge"}, "ask", "by_effect:permission"),
        ({"permission": "mail:purge", "effect": "read"}, "allow", "by_effect:ordinary"),
        ({"request": "everything"}, "ask", "by_effect:beyond"),
        ({"request": "everything", "effect": "read"}, "allow", "by_effect:ordinary"),
    ],
)
def test_guidelines_ask_where_judgement_is_worth_its_time(
    members: dict[str, Any], verdict: Verdict, rule: str
) -> None:
    """Design 3: irreversible at scale, beyond the request, not granted; never for reads."""
    policy = approval.by_effect(beyond=lambda call: call.request == "everything")
    decision = policy.for_tool("tool", frozenset()).decide(proposed(**members))
    assert (decision.verdict, decision.rule) == (verdict, rule)


def test_what_is_routine_is_authorised_ahead() -> None:
    """Whatever it declares; others are judged as ever."""
    policy = approval.by_effect(routine=["nightly_*"])
    call = proposed(effect="irreversible")
    assert policy.for_tool("nightly_purge", frozenset()).decide(call).verdict == "allow"
    assert policy.for_tool("purge", frozenset()).decide(call).verdict == "ask"


def test_a_rule_is_named_for_the_record() -> None:
    """The metadata of an approval says which rule asked."""

    def over_limit(amount: float) -> bool:
        return amount > 100

    policy = approval.when(over_limit)
    assert decided(policy, amount=101).rule == decided(policy, amount=1).rule == "when:over_limit"
    assert decided(approval.when(over_limit, name="limit"), amount=101).rule == "limit"
    assert [decided(policy).rule for policy in (approval.never, approval.always)] == [
        "never",
        "always",
    ]


@pytest.mark.parametrize(
    ("policy", "kind"),
    [
        (approval.never, "never"),
        (approval.always, "always"),
        (approval.always(by="lead"), "always"),
        (approval.when(lambda: True), "when"),
        (approval.by_effect(), "when"),
        (Policy(allow=["tool"]), "never"),
        (Policy(allow=["other"]), "always"),
        (Policy(deny=["tool"]), "never"),
    ],
)
def test_a_policy_knows_whether_it_can_ask_about_a_tool(policy: Policy, kind: str) -> None:
    """For the description of agents, and for edits that nobody could make."""
    assert policy.for_tool("tool", frozenset()).kind == kind


@pytest.mark.parametrize(
    "how",
    [
        {"by": ""},
        {"by": [1]},
        {"approvals": 0},
        {"approvals": True},
        {"approvals": 2},
        {"approvals": {}},
        {"approvals": {"lead": 0}},
        {"expires_in": 0},
        {"remember": "yes"},
    ],
)
def test_a_way_to_ask_that_cannot_work_fails_when_it_is_declared(how: dict[str, Any]) -> None:
    """Among them several approvers where only the one owner may answer."""
    with pytest.raises(DeclarationError):
        approval.always(**how)


OURS: dict[str, Policy] = {
    "always": approval.always,
    "when": approval.when(lambda a: a),
    "rule": approval.rule(lambda call: "ask"),
    "by_effect": approval.by_effect(scale_over=0),
    "calls": Policy(ask=[approval.calls("tool", lambda a: a)], otherwise="allow"),
    "all_of": approval.all_of(approval.always, approval.when(lambda a: a)),
}
"""Policies that ask, made without a name of the author's."""


def test_every_policy_that_asks_is_tried_for_its_name() -> None:
    """A new one joins `OURS`: else cards show a name that nobody gave."""
    own = {name: value for name, value in vars(approval).items() if not name.startswith("_")}
    made = {
        name
        for name, value in own.items()
        if isinstance(value, Policy)
        or (isfunction(value) and get_type_hints(value).get("return") in (Policy, Rule))
    }
    assert made - {"never", "deny"} == set(OURS)


@pytest.mark.parametrize("made", OURS)
def test_no_card_shows_a_name_that_no_author_gave(made: str) -> None:
    """Clients leave out what `NAMELESS_RULE` matches."""
    own = OURS[made].for_tool("tool", frozenset({"a"}))
    decision = own.decide(
        ProposedCall(tool="tool", arguments={"a": 1}, effect="irreversible", scale=1)
    )
    assert decision.verdict == "ask"
    assert [ask.rule for ask in decision.asks if not re.search(NAMELESS_RULE, ask.rule)] == []
