"""How much is played of what has no end, and of what has thousands of cases."""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["plays_all", "sample", "share"]

T = TypeVar("T")


def share(most: int, *, of: int = 10) -> int:
    """One part of so many, at least one case; all of it in the stage `schedules`."""
    return most if plays_all() else max(1, most // of)


def sample(every: Sequence[T], *, of: int) -> Sequence[T]:
    """One part of so many, the same in every run, in their order; all of it in `schedules`.

    By chance, and not each n-th: of a table of places and values no value is left out everywhere.
    """
    if plays_all():
        return every
    chosen = random.Random(2026).sample(range(len(every)), share(len(every), of=of))  # noqa: S311 - no secret
    return [every[number] for number in sorted(chosen)]


def plays_all() -> bool:
    """True in the stage `schedules`."""
    return os.environ.get("SAYSO_SCHEDULES") == "all"
