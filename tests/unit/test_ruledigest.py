"""What a rule is: changed with what it says, of whom and why, and not with where it stands."""

import functools
from collections.abc import Callable
from typing import Any

import pytest

from sayso import approval
from sayso.agents.policy import Policy

LIMIT = 100
NESTED = {"eur": (100, 200)}


def what(policy: Policy) -> str:
    """The digest of a policy's one rule that asks."""
    return policy.rules[0].digest


def above(limit: int) -> Callable[..., bool]:
    return lambda amount: amount > limit


class Over:
    """A rule with a member."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def __call__(self, amount: float) -> bool:
        return amount > self.limit

    def method(self, amount: float) -> bool:
        return amount > self.limit


def test_a_rule_that_only_moved_is_the_same() -> None:
    """The same lambda, elsewhere and under another name of the rule."""
    here = what(approval.when(lambda amount: amount > 100))

    def inside() -> str:
        return what(approval.when(lambda amount: amount > 100, name="another"))

    assert here == inside()
    assert what(approval.always(name="a")) == what(approval.always(name="b"))


@pytest.mark.parametrize(
    "other",
    [
        approval.when(lambda amount: amount > 101),
        approval.when(lambda amount: amount >= 100),
        approval.when(lambda total: total > 100),
        approval.when(lambda amount: amount > 100, by="lead"),
        approval.when(lambda amount: amount > 100, by="lead", not_by="requester"),
        approval.when(lambda amount: amount > 100, remember=True),
        approval.when(lambda amount: amount > 100, version=1),
    ],
)
def test_a_rule_that_says_something_else_is_another(other: Policy) -> None:
    """Its predicate, its arguments, its people, what may be remembered."""
    assert what(approval.when(lambda amount: amount > 100)) != what(other)


def test_what_may_be_remembered_is_part_of_it() -> None:
    """Each member of `Remember`."""
    ways: list[approval.Remember | bool] = [
        True,
        False,
        approval.Remember(arguments=("same",)),
        approval.Remember(scopes=("thread",)),
        approval.Remember(expires_in=60),
    ]
    assert len({what(approval.always(remember=way)) for way in ways}) == len(ways)


def test_values_around_a_predicate_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of closures, defaults, members, partial functions, and globals that are plain."""
    assert what(approval.when(above(1))) == what(approval.when(above(1)))
    assert what(approval.when(above(1))) != what(approval.when(above(2)))
    assert what(approval.when(Over(1))) != what(approval.when(Over(2)))
    assert what(approval.when(Over(1).method)) != what(approval.when(Over(2).method))
    assert what(approval.when(Over(1))) == what(approval.when(Over(1)))

    def least(amount: float, limit: float) -> bool:
        return amount > limit

    one, two = (functools.partial(least, limit=limit) for limit in (1, 2))
    assert what(approval.when(one)) != what(approval.when(two))

    def read(amount: float) -> bool:
        return amount > LIMIT or amount in NESTED["eur"]

    before = what(approval.when(read))
    assert before == what(approval.when(read))
    monkeypatch.setattr(f"{__name__}.LIMIT", 200)
    assert before != what(approval.when(read))
    monkeypatch.undo()
    monkeypatch.setattr(f"{__name__}.NESTED", {"eur": (100, 201)})
    assert before != what(approval.when(read))


def test_a_version_stands_for_the_code() -> None:
    """And for nothing else."""
    one = approval.when(lambda amount: amount > 1, version="2024-05")
    two = approval.when(lambda amount: amount > 2, version="2024-05")
    assert what(one) == what(two)
    assert what(one) != what(approval.when(lambda amount: amount > 1, version="2024-06"))
    assert what(one) != what(approval.when(lambda amount: amount > 1, version="2024-05", by="x"))


def test_guidelines_are_known_by_what_they_were_given() -> None:
    """The scale, the hooks, and not how we have written them."""

    def rules(**given: Any) -> list[str]:
        careful = approval.by_effect(**given).otherwise
        assert careful is not None
        return [rule.digest for rule in careful.rules]

    assert rules() == rules()
    assert rules(scale_over=5) != rules(scale_over=6)
    granted, other = (lambda who, what: True), (lambda who, what: False)
    assert rules(granted=granted) == rules(granted=lambda who, what: True)
    assert rules(granted=granted) != rules(granted=other)
    first, second = rules(granted=granted), rules(granted=other)
    assert (first[0], first[1] == second[1]) == (second[0], False)
