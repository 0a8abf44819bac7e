"""Which calls ask a person (design 3, "Tools and policies")."""

from typing import Any

import pytest

from sayso import DeclarationError, approval
from sayso.agents.approval import Policy, check_parameters


def test_never_and_always_do_not_look_at_arguments() -> None:
    """The two ends."""
    assert not approval.never.must_ask({})
    assert approval.always.must_ask({"a": 1})


def test_a_rule_gets_the_arguments_that_it_names() -> None:
    """By name, in any order, and no others."""
    rule = approval.when(lambda amount, order: amount > 100 and order == "x")
    assert rule.must_ask({"order": "x", "amount": 101, "other": None})
    assert not rule.must_ask({"order": "x", "amount": 100, "other": None})


def test_a_rule_with_keywords_gets_all_of_them() -> None:
    """`**arguments` stands for whatever the tool takes."""
    seen: dict[str, Any] = {}
    rule = approval.when(lambda **given: seen.update(given))
    assert not rule.must_ask({"a": 1, "b": 2})
    assert seen == {"a": 1, "b": 2}


@pytest.mark.parametrize("value", [1, "yes", [0], object()])
def test_a_rule_asks_for_whatever_is_true(value: object) -> None:
    """Truth is Python's."""
    assert approval.when(lambda: value).must_ask({})
    assert not approval.when(lambda: None).must_ask({})


@pytest.mark.parametrize("error", [ValueError(), SystemExit(), KeyboardInterrupt()])
def test_a_rule_that_raises_asks(error: BaseException) -> None:
    """When in doubt a person decides."""

    def rule() -> bool:
        raise error

    assert approval.when(rule).must_ask({})


def test_a_rule_whose_truth_raises_asks() -> None:
    """Such as an array that has no single truth."""

    class Unclear:
        def __bool__(self) -> bool:
            raise ValueError("of two minds")

    assert approval.when(Unclear).must_ask({})


def test_rules_that_could_not_be_called_fail_when_they_are_declared() -> None:
    """By position, or for arguments that the tool has not."""
    with pytest.raises(DeclarationError, match="by position"):
        approval.when(lambda *amounts: True)
    with pytest.raises(DeclarationError, match="by position"):
        approval.when(lambda amount, /: True)
    rule = approval.when(lambda amount, colour: True)
    check_parameters(rule, "paint", frozenset({"amount", "colour", "more"}))
    with pytest.raises(DeclarationError, match="names colour, but the tool takes amount"):
        check_parameters(rule, "paint", frozenset({"amount"}))


def test_a_rule_is_named_for_the_record() -> None:
    """The metadata of an approval says which rule asked."""

    def over_limit(amount: float) -> bool:
        return amount > 100

    assert approval.when(over_limit).rule == "when:over_limit"
    assert [policy.rule for policy in (approval.never, approval.always)] == ["never", "always"]
    assert isinstance(approval.never, Policy)
