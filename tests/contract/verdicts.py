"""What the manifest says about one protocol rule."""

from dataclasses import dataclass
from enum import Enum


class Standing(Enum):
    """Where we stand towards a rule."""

    TESTED = "tested"
    """We keep it, and at least one test cites it."""
    DIVERGENCE = "divergence"
    """We do otherwise on purpose; a test that shows what we do may cite it."""
    NOT_OURS = "not ours"
    """It binds something that we do not build or send; a test may still watch it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A standing, and the reason for it unless tests are the reason."""

    standing: Standing
    reason: str = ""

    def __post_init__(self) -> None:
        if (self.standing is Standing.TESTED) == bool(self.reason):
            raise ValueError(f"{self.standing.value}: a reason belongs to all but tested rules")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One rule: where it is written, what it asks for in our words, and where we stand."""

    source: str
    behaviour: str
    verdict: Verdict


TESTED = Verdict(Standing.TESTED)


def divergence(reason: str) -> Verdict:
    """We do otherwise, and this is why."""
    return Verdict(Standing.DIVERGENCE, reason)


def not_ours(reason: str) -> Verdict:
    """It binds something else, namely this."""
    return Verdict(Standing.NOT_OURS, reason)
