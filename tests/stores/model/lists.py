"""Lists that stay in order, for the memory store."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
Key = tuple[int, int]
"""A moment, and among equals the number of the item, which no other has."""


class Ordered(Generic[T]):
    """Items by key. Finding a place costs the logarithm of the length, a page its items."""

    def __init__(self) -> None:
        self._keys: list[Key] = []
        self._items: dict[Key, T] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def move(self, old: Key | None, new: Key | None, item: T) -> None:
        """Put an item at a key; `old` is where it was, None stands for outside."""
        if old == new:
            return
        if old is not None:
            del self._keys[bisect_left(self._keys, old)]
            del self._items[old]
        if new is not None:
            insort(self._keys, new)
            self._items[new] = item

    def upwards(self, after: Key | None) -> Iterator[tuple[Key, T]]:
        """From the first behind a key to the last."""
        start = 0 if after is None else bisect_right(self._keys, after)
        for n in range(start, len(self._keys)):
            yield self._keys[n], self._items[self._keys[n]]

    def downwards(self, before: Key | None) -> Iterator[tuple[Key, T]]:
        """From the last in front of a key to the first."""
        end = len(self._keys) if before is None else bisect_left(self._keys, before)
        for n in range(end - 1, -1, -1):
            yield self._keys[n], self._items[self._keys[n]]
