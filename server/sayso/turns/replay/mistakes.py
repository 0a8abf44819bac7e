"""Mistakes in an author's code, told with the line to look at.

Coroutines of `Turn` that nobody awaits: what was meant to happen did not, and nobody would hear.
Each, also of what a turn hands out, is noted with the line that made it. What has not begun when
the agent function has returned fails the turn.

Code that does not fit the journal: a call's arguments are in the history, so everybody may read
them; those of a step are the server's own and are told to the author alone, as is the line.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from sayso.base import jsonvalue
from sayso.base.errors import ReplayMismatch, TurnError
from sayso.base.records import Entry, Message
from sayso.turns.journal.journal import Journal
from sayso.turns.replay.branch import Branches

Method = TypeVar("Method", bound=Callable[..., Coroutine[Any, Any, Any]])

_Note = tuple[Coroutine[Any, Any, Any], CodeType, int, Callable[..., Any], Any, Any]
"""A coroutine, its caller's code and place in it, and what was called with what."""

_FEW = 16
"""Notes that are kept before those of what has begun are sought out."""


class Unawaited:
    """Coroutines, in the order of the calls; not all that have begun are struck out yet."""

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

    def error(self) -> TurnError | None:
        """The error of a turn that left out what it called, before it is told as finished."""
        if not (left := self.left()):
            return None
        return TurnError(
            f"{'; '.join(left)}: what is not awaited does not happen. Write `await` in front of "
            "it, or hand it to turn.gather or a task"
        )

    def left(self) -> list[str]:
        """Each that never began, as its author finds it; they are closed and forgotten.

        A task that was cancelled before it began was meant to do nothing.
        """
        lines = []
        for coroutine, code, place, method, args, kwargs in self._notes:
            if _is_left(coroutine):
                where = f"{Path(code.co_filename).name} line {_line(code, place)}"
                shown = f"{_named(method)}({_shown(args, kwargs)})"
                lines.append(f"{where}: {shown} was never awaited")
                coroutine.close()
        self._notes.clear()
        return lines

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


_MAX_TEXT_CHARS = 300
"""Characters of arguments and reasons; a longer one says that it was cut."""
_OURS = str(Path(__file__).parents[2])
_VALUES = (
    "if no code has changed, what it is called with differs in each execution: time, random "
    "numbers and ids belong into turn.now(), turn.random(), turn.uuid() or a step"
)


def differs(
    place: str,
    entry: Entry,
    requested: str,
    arguments: Any,
    history: Iterable[Message],
    because: str = "",
) -> ReplayMismatch:
    """The error for a call of `requested` with these arguments, where another is recorded."""
    head, _, _ = requested.rpartition(" ")
    same = arguments is not None and entry.fingerprint.rpartition(" ")[0] == head
    public = same and entry.kind in ("call", "client_tool")
    recorded, in_code = entry.fingerprint, requested
    if public:
        before = _proposed(jsonvalue.decode(entry.data).get("id"), history)
        if before is not None:
            recorded, in_code = f"{head}{_cut(before)}", f"{head}{_cut(_text(arguments))}"
    mismatch = ReplayMismatch(place, recorded, in_code, because, _VALUES if same else "")
    if arguments is not None and not public:
        mismatch.passed = _cut(_text(arguments))
    return mismatch


class Unmade:
    """Calls that the journal holds and the code could not ask for, each with the reason.

    That shows with what the code does next: models invent names, and code that catches the error
    asks for the same as before.
    """

    def __init__(self, journal: Journal, branches: Branches) -> None:
        self._journal = journal
        self._branches = branches
        self._reasons: dict[str, str] = {}

    def note(self, error: Exception, kind: str, name: str, ahead: int) -> None:
        """Note a call that cannot be made: the author's error, unless the journal holds it.

        `ahead`: places of its batch before it.
        """
        branch = self._branches.current()
        entry = (
            self._journal.next_of(self._branches.enclosing_branch().path, kind, name)
            if branch is None
            else self._journal.at(branch.upcoming(ahead)) or self._journal.at(branch.upcoming())
        )
        if entry is not None and self._journal.is_due(entry.place):
            self._reasons[entry.place] = f"{kind} {name!r} cannot be made: {short(error)}"

    def reason(self, place: str) -> str:
        """Why what is recorded at a place could not be asked for; empty if nobody tried."""
        return self._reasons.get(place, "")

    def left_out(self, path: str) -> tuple[Entry, str] | None:
        """The first of them below a path that the code has not come back to, and why."""
        for place, because in self._reasons.items():
            entry = self._journal.at(place)
            if entry is not None and place.startswith(path) and self._journal.is_due(place):
                return entry, because
        return None


class Making:
    """A block around what is made to be asked for; each call passes one, so it is no generator.

    Where several are, the block sets the `name` of each, and how many come before (`ahead`).
    """

    __slots__ = ("_kind", "_unmade", "ahead", "name")

    def __init__(self, unmade: Unmade, kind: str, name: str) -> None:
        self._unmade: Unmade = unmade
        self._kind: str = kind
        self.name: str = name
        self.ahead: int = 0

    def __enter__(self) -> "Making":
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, Exception):
            self._unmade.note(error, self._kind, self.name, self.ahead)


def author_line() -> str | None:
    """Where the running code of the author's calls us: `agents.py:12`."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return None if frame is None else f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def short(error: BaseException) -> str:
    """An error in a line, without the values that it is about."""
    text = str(error).partition("\n")[0]
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        text = f"{'.'.join(map(str, first['loc'])) or 'the value'}: {first['msg']}"
    return f"{type(error).__name__}: {_cut(text)}"


def _proposed(call_id: Any, history: Iterable[Message]) -> str | None:
    """The arguments of a call as it stands in the history."""
    for message in history:
        if message.role == "assistant" and str(call_id).encode() in message.body:
            for call in jsonvalue.decode(message.body).get("toolCalls", ()):
                if call["id"] == call_id:
                    return f"({call['function']['arguments']})"
    return None


def _text(arguments: Any) -> str:
    return f"({jsonvalue.encode(arguments).decode()})"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT_CHARS else f"{text[:_MAX_TEXT_CHARS]}…"
