"""Branches: every asyncio task of a turn is one, with its own places in the journal.

A branch is named by its parent's path, the fingerprint of its first call and a counter among
equals (design 3, rule 3), so that concurrent code finds its own records again on replay. Code that
its author has given a key is a branch of that name, whichever task runs it, and when.
"""

import asyncio
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sayso.base.errors import TurnError
from sayso.turns.journal import places

Patch = Sequence[dict[str, Any]]
"""The operations of a JSON Patch."""


class Pause(asyncio.CancelledError):
    """Unwinds author code whose turn waits for a person, or has ended; pass it on.

    A `CancelledError`, so that `except Exception` cannot catch it and task groups stay quiet. It is
    only the signal: the pause itself is a state of the turn (design 3, rule 1).
    """


class Abandoned:
    """Awaited by code that is being destroyed, has caught that as well, and calls on.

    A bare yield makes Python let go of it; any error would be caught, and the thread that happens
    to collect garbage would loop for ever.
    """

    def __await__(self) -> Generator[None, None, None]:
        """Yield to nobody."""
        yield


class Branch:
    """One task's thread of places. `blocked`: it asks, or a branch below it does.

    `sealed`: no task may become its child any more. `owner`: the inner agent whose code it runs;
    that code is a branch of its own, in the task of the branch that called it. `call`: the tool
    call whose code it runs. `said`: the place behind the text that it streamed last, and its id.
    `wrote`: a place, and the patches of the shared state that were made on the way to it.
    `resting`: its code waits for what is no work of the turn. `rested`: it has done so before, so
    it waits for none of the tasks that it made, and goes on when one of them asks.
    `apart`: it is in the code of a key, and keeps no order with others. `scope`: the nearest agent,
    tool or key around it. `invocation`: the inner agent of its key.
    """

    __slots__ = (
        "apart",
        "around",
        "blocked",
        "call",
        "children",
        "destroyed",
        "invocation",
        "open_message",
        "owner",
        "parent",
        "parked",
        "path",
        "phases",
        "position",
        "rested",
        "resting",
        "root",
        "said",
        "scope",
        "sealed",
        "task",
        "wrote",
    )

    def __init__(self, path: str, parent: "Branch | None", task: asyncio.Task[Any] | None) -> None:
        self.path: str = path
        self.parent: Branch | None = parent
        self.task: asyncio.Task[Any] | None = task
        self.root: Branch = parent.root if parent else self
        self.position: int = 0
        self.children: dict[str, int] = {}
        self.blocked: bool = False
        self.parked: bool = False
        self.sealed: bool = False
        self.destroyed: bool = False
        self.resting: bool = False
        self.rested: bool = False
        self.open_message: str | None = None
        self.said: tuple[str, str] | None = None
        self.wrote: tuple[str, list[Patch]] = ("", [])
        self.call: dict[str, Any] | None = None
        self.apart: bool = parent.apart if parent else False
        self.scope: Branch = self
        self.invocation: Any = None
        self.owner: Any = parent.owner if parent else None
        self.phases: tuple[Any, ...] = parent.phases if parent else ()
        self.around: int = len(self.phases)

    def surround(self, outer: "Branch") -> None:
        """Let it be in what the code around it is in, and in its own inner agent and phases."""
        own = self.phases[self.around :]
        self.owner, around = outer.owner, outer.phases
        if self.invocation is not None:
            self.owner, around = self.invocation, (*around, self.invocation)
        self.phases, self.around = (*around, *own), len(around)

    def place(self) -> str:
        """The next place of this branch."""
        position = self.position
        self.position += 1
        return places.place(self.path, position)

    def upcoming(self, ahead: int = 0) -> str:
        """The place that the next call takes, or one so many calls later."""
        position = self.position + ahead
        return places.place(self.path, position)

    def note_write(self, patch: Patch) -> None:
        """Note a write of the shared state on the way to the upcoming place."""
        place = self.upcoming()
        self.wrote = (place, [*self.writes_before(place), patch])

    def writes_before(self, place: str) -> Sequence[Patch]:
        """The writes that were noted on the way to a place."""
        return self.wrote[1] if self.wrote[0] == place else ()

    def labels(self) -> set[str]:
        """The tasks that this branch has made so far, by the last parts of their paths."""
        return {
            places.task(fingerprint, number)
            for fingerprint, count in self.children.items()
            for number in range(count)
        }

    async def park(self) -> None:
        """Wait for ever; notes when the code that waits is destroyed."""
        try:
            await asyncio.get_running_loop().create_future()
        except GeneratorExit:
            self.root.destroyed = True
            raise

    def block(self) -> None:
        """Refuse further calls of this branch and of all that wait for it."""
        branch = self
        branch.blocked = True
        while (outer := branch.parent) is not None:
            if outer.rested and outer.task is not branch.task:
                return
            branch = outer
            branch.blocked = True

    def calls(self) -> list[dict[str, Any]]:
        """The tool calls that this code is inside of, from the outside in."""
        calls: list[dict[str, Any]] = []
        branch: Branch | None = self
        while branch is not None:
            if branch.call is not None:
                calls.append(branch.call)
            branch = branch.parent
        return calls[::-1]

    def enclosing(self) -> "list[Branch]":
        """This branch and those that its task goes back to when it ends, from the inside out."""
        branches = [self]
        while (outer := branches[-1].parent) is not None and outer.task is self.task:
            branches.append(outer)
        return branches


_here: ContextVar["Branch | None"] = ContextVar("branch", default=None)
_unwinding: ContextVar["Branch | None"] = ContextVar("unwinding", default=None)


class Branches:
    """The branches of one execution, found by the task that is running."""

    def __init__(self, ended: Callable[[asyncio.Task[Any]], None]) -> None:
        """`ended` is told of each task of a branch that has ended."""
        self._ended = ended
        self._keyed: dict[str, Branch] = {}
        self.root: Branch = Branch("", None, None)
        self.owned: bool = False
        """True if some code was an inner agent's."""
        self._all = [self.root]

    def begin(self) -> Branch:
        """Make the running task the root branch."""
        self.root.task = asyncio.current_task()
        _here.set(self.root)
        return self.root

    def current_or_new(self, fingerprint: str) -> Branch:
        """The branch of the running task; a new one on the first call that a task makes."""
        parent = _here.get()
        if parent is None or parent.root is not self.root:
            parent = self.root
        task = asyncio.current_task()
        if parent.task is task:
            return parent
        number = parent.children.get(fingerprint, 0)
        parent.children[fingerprint] = number + 1
        path = places.task_path(parent.path, places.task(fingerprint, number))
        branch = Branch(path, parent, task)
        branch.scope = parent.scope
        branch.blocked = parent.sealed or _unwinding.get() is parent
        _here.set(branch)
        self._all.append(branch)
        if task is not None:
            task.add_done_callback(self._ended)
        return branch

    @contextmanager
    def within(self, outer: Branch, place: str, owner: Any) -> Iterator[Branch]:
        """Let the running task's calls be those of an inner agent, below a place of its branch.

        Without an `owner`, those of a tool that takes the turn.
        """
        branch = Branch(places.inside(place), outer, asyncio.current_task())
        if owner is not None:
            self.owned = True
            branch.owner = owner
            branch.phases = (*outer.phases, owner)
        # A tool's calls go on while others of its batch ask.
        branch.blocked = outer.sealed if owner is None else outer.blocked
        token = _here.set(branch)
        self._all.append(branch)
        try:
            yield branch
        finally:
            _here.reset(token)
            self._all.remove(branch)

    @contextmanager
    def under(self, key: str) -> Iterator[Branch]:
        """Let the running task's calls be those of the code of a key, as far as that has come.

        TurnError if another task is in it.
        """
        outer, task = self._known(), asyncio.current_task()
        path = places.keyed(outer.scope.path, key)
        branch = self._keyed.get(path)
        if branch is None:
            branch = self._keyed[path] = Branch(path, outer, None)
            branch.apart = True
            self._all.append(branch)
        elif branch.task is not None:
            raise TurnError(
                f"two tasks are in turn.at({key!r}) at once: one key is one line of work, so give "
                "each task a key of its own"
            )
        branch.parent, branch.task = outer, task
        if outer.task is task:
            branch.blocked = branch.blocked or outer.blocked
        else:
            branch.blocked = branch.blocked or outer.sealed or _unwinding.get() is outer
            if task is not None:
                task.add_done_callback(self._ended)
        branch.surround(outer)
        token = _here.set(branch)
        try:
            yield branch
        finally:
            _here.reset(token)
            branch.task = None

    def invoke(self, branch: Branch, invocation: Any) -> None:
        """Let the code of a key be an inner agent's from now on."""
        self.owned = True
        branch.invocation = invocation
        assert branch.parent is not None  # noqa: S101 - only the root has none
        branch.surround(branch.parent)

    def enclosing_branch(self) -> Branch:
        """The branch that the running code belongs to, be it an effect's, or the root."""
        return self._known()

    def unwind(self) -> None:
        """Let the running branch record nothing more in tasks that its `finally` makes.

        Tasks that were made before carry no such mark in their context, and still become branches.
        """
        branch = self.current()
        if branch is not None:
            _unwinding.set(branch)

    def current(self) -> Branch | None:
        """The branch of the running task, if it has made a call."""
        branch = self._known()
        return branch if branch.task is asyncio.current_task() else None

    def _known(self) -> Branch:
        """The nearest branch of this execution; another turn may have called this code."""
        branch = _here.get()
        return branch if branch is not None and branch.root is self.root else self.root

    def unfinished(self) -> list[asyncio.Task[Any]]:
        """Tasks of branches that have not ended."""
        return [b.task for b in self._all if b.task is not None and not b.task.done()]

    def let_go(self) -> None:
        """Forget tasks that have ended: nobody comes back for them."""
        for branch in self._all:
            if branch.task is not None and branch.task.done():
                branch.task = None

    def blocked(self) -> bool:
        """True if the running task may make no call: its branch, or the one that it would be."""
        branch = self._known()
        if branch.task is asyncio.current_task():
            return branch.blocked
        return branch.sealed or _unwinding.get() is branch

    def busy(self) -> bool:
        """True if a branch may still go on by itself: not asking, parked, resting or ended."""
        return any(
            branch.task is not None
            and not branch.task.done()
            and not branch.blocked
            and not branch.parked
            and not branch.resting
            for branch in self._all
        )
