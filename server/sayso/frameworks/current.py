"""Finding the run of an agent inside a turn, wherever a framework calls the code that asks."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")


class Current(Generic[T]):
    """A value of the code that runs; tasks that it starts have it too."""

    def __init__(self, name: str) -> None:
        self._value: ContextVar[T | None] = ContextVar(name, default=None)

    def get(self) -> T | None:
        """The value that this code was entered with; None outside."""
        return self._value.get()

    @contextmanager
    def entered(self, value: T | None) -> Iterator[None]:
        """Make it the value of the code inside; with None that is as outside."""
        token = self._value.set(value)
        try:
            yield
        finally:
            self._value.reset(token)
