"""Coroutines of `Turn` that nobody awaits: what was meant to happen did not, and nobody would hear.

Each, also of what a turn hands out, is noted with the line that made it. What has not begun when
the agent function has returned fails the turn.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Coroutine[Any, Any, Any]])

_Note = tuple[Coroutine[Any, Any, Any], CodeType, int, Callable[..., Any], Any, Any]
"""A coroutine, its caller's code and place in it, and what was called with what."""

_FEW = 16
"""Notes that are kept before those of what has begun are sought out."""


class Unawaited:
    """What was called, in the order of the calls; not all that has begun is struck out yet."""

    def __init__(self) -> None:
        self._notes: list[_Note] = []
        self._most = _FEW

    def note(
        self,
        coroutine: Coroutine[Any, Any, Any],
        method: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """Note a coroutine of the method with the line that is two calls up."""
        caller = sys._getframe(2)
        self._notes.append((coroutine, caller.f_code, caller.f_lasti, method, args, kwargs))
        if len(self._notes) > self._most:
            self._notes = [note for note in self._notes if _is_left(note[0])]
            self._most = max(_FEW, 2 * len(self._notes))

    def left(self) -> list[str]:
        """Each that never began, as its author finds it; they are closed and forgotten.

        A task that was cancelled before it began was meant to do nothing.
        """
        found = []
        for coroutine, code, place, method, args, kwargs in self._notes:
            if _is_left(coroutine):
                where = f"{Path(code.co_filename).name} line {_line(code, place)}"
                shown = f"{_named(method)}({_shown(args, kwargs)})"
                found.append(f"{where}: {shown} was never awaited")
                coroutine.close()
        self._notes.clear()
        return found

    def forget(self) -> None:
        """Let go of all: Python itself warns of what nobody comes for any more."""
        self._notes.clear()


def awaited(method: Method) -> Method:
    """A method that has to be awaited, of `Turn` or of what it hands out."""

    @functools.wraps(method)
    def call(owner: Any, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        coroutine = method(owner, *args, **kwargs)
        owner._execution.unawaited.note(coroutine, method, args, kwargs)
        return coroutine

    return cast("Method", call)


def written_as(name: str) -> Callable[[Method], Method]:
    """Give a method the name that its author writes, which is not where it stands."""

    def named(method: Method) -> Method:
        method.__qualname__ = name
        return method

    return named


def _is_left(coroutine: Coroutine[Any, Any, Any]) -> bool:
    return inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED


def _line(code: CodeType, place: int) -> int | None:
    """The line of code at an offset; to look it up for each call would cost more than all else."""
    lines = (line for start, end, line in code.co_lines() if start <= place < end)
    return next(lines, None)


def _named(method: Callable[..., Any]) -> str:
    """The method as authors call it: `turn.say`, `activity.set`."""
    kind, _, name = method.__qualname__.rpartition(".")
    return f"{kind.lower()}.{name}"


def _shown(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The first argument in short, and that there are more."""
    if not args:
        return "…" if kwargs else ""
    first = args[0]
    name = getattr(first, "name", None) or getattr(first, "__name__", None)
    shown = name if isinstance(name, str) else "…"
    if isinstance(first, str):
        shown = repr(first if len(first) <= 30 else f"{first[:30]}…")
    return f"{shown}, …" if shown != "…" and (len(args) > 1 or kwargs) else shown
