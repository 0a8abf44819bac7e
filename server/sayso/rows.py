"""Records from columns of their members: many at once, at a fourth of the cost of making each."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, TypeVar

__all__ = ["records"]

T = TypeVar("T")


def records(kind: type[T], columns: Iterable[Sequence[Any]]) -> list[T]:
    """Records of a frozen, slotted kind; for each of its members, in order, a column of values.

    Histories and journals are read by the thousand. What `__post_init__` would check is not
    checked: these are records that were made before. ValueError for another number of columns; of
    none there are no records.
    """
    given = list(columns)
    if not given:
        return []
    made = [object.__new__(kind) for _ in given[0]]
    for field, column in zip(fields(kind), given, strict=True):  # type: ignore[arg-type]
        for _ in map(getattr(kind, field.name).__set__, made, column):
            pass
    return made
