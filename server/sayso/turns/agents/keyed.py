"""Code under a key: a part of a turn that is found by its name, whichever task runs it, and when.

A framework comes to its parts in an order of its own: what is parallel ends as it ends, and what
is over is not entered again. Such a part is a branch of the turn, entered as often as its code is
come to. Replay looks for its records by key, and holds against nobody that one was not come for.
"""

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from sayso.base.errors import NestedCall, TurnError
from sayso.base.texts import to_utf8_safe
from sayso.turns.agents.delegation import Begin, End
from sayso.turns.ask.breakpoints import Named
from sayso.turns.replay.branch import Abandoned, Branch
from sayso.turns.replay.execution import Execution
from sayso.turns.replay.mistakes import awaited
from sayso.turns.replay.recorded import recorded
from sayso.turns.replay.stream import Invocation


class KeyedBranch:
    """A part of a turn under a key, made by `turn.at`: `async with turn.at("calls:1") as part`.

    The block may be entered again, by this object or another of the same key, in any task, but by
    one at a time.
    """

    def __init__(self, execution: Execution, key: str, agent: str | None, description: str) -> None:
        _check(key, agent)
        self._execution = execution
        self._key = to_utf8_safe(key)
        self._agent = None if agent is None else to_utf8_safe(agent)
        self._description = to_utf8_safe(description)
        self._entered: AbstractContextManager[Branch] | None = None
        self._branch: Branch | None = None

    async def __aenter__(self) -> Self:
        """Enter it; TurnError while another task is in it, or once its inner agent has ended."""
        execution = self._execution
        if execution.branches.root.destroyed:
            await Abandoned()
        if execution.inside_effect():
            raise NestedCall(
                f"turn.at({self._key!r}) inside a recorded step or tool: enter it from the agent "
                "function itself"
            )
        entered = execution.branches.under(self._key)
        branch = entered.__enter__()
        try:
            if self._agent is not None:
                await self._invoke(branch, self._agent)
        except BaseException:
            entered.__exit__(None, None, None)
            raise
        self._entered, self._branch = entered, branch
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave it; what it is about may go on."""
        entered, self._entered = self._entered, None
        if entered is not None:
            entered.__exit__(None, None, None)

    async def _invoke(self, branch: Branch, name: str) -> None:
        """Let it be the work of an inner agent: recorded once, and the same in each execution."""
        execution, invocation = self._execution, branch.invocation
        if invocation is None:
            outer = execution.stream.owner
            _, _, begun = await recorded(execution, Begin(_named(name), None, None))
            invocation = Invocation(
                execution.stream,
                id=begun["id"],
                name=name,
                description=self._description,
                parent=outer,
                options=execution.running.options,
                agent=execution.running.name,
            )
            execution.branches.invoke(branch, invocation)
        if invocation.name != name or invocation.ended:
            raise TurnError(
                f"turn.at({self._key!r}) is the work of agent {invocation.name!r}, "
                + ("which has ended" if invocation.ended else f"not of {name!r}")
                + ": give what is other work another key"
            )

    @awaited
    async def end(self, error: str | None = None) -> None:
        """Say that the inner agent's work is over; `error` is what clients are told it failed of.

        TurnError for a part without `agent`, and for one that has ended.
        """
        if self._agent is None:
            raise TurnError(f"turn.at({self._key!r}) has no agent= whose work could end")
        if self._entered is None:
            async with self:
                await self._end(error)
        else:
            await self._end(error)

    async def _end(self, error: str | None) -> None:
        execution = self._execution
        assert self._branch is not None  # noqa: S101 - it is entered
        invocation = self._branch.invocation
        if invocation.ended:
            raise TurnError(f"the work of agent {self._agent!r} has ended before")
        because = None if error is None else to_utf8_safe(error)
        named = _named(invocation.name) if error is None else None
        await recorded(execution, End(invocation, because, named))


def _check(key: object, agent: object) -> None:
    if not isinstance(key, str) or not key:
        raise TypeError(f"the key of turn.at is a text, not {key!r}")
    if not isinstance(agent, str | None):
        raise TypeError(f"agent= of turn.at is the name that clients see, not {agent!r}")


def _named(name: str) -> Named:
    """An inner agent as a breakpoint knows it."""
    return Named("agent", name, f"agent {name!r}")
