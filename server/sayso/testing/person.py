"""Somebody else on the server under test: an approver with an inbox, who decides there."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from sayso.base.errors import Problem
from sayso.base.records import Approval, Interrupt, ListedInterrupt, Principal
from sayso.protocol.client_profile import ClientProfile
from sayso.protocol.frames import events_in
from sayso.protocol.runinput import ResumeEntry
from sayso.streams.ending import Ending
from sayso.testing.question import Act, Change, OpenQuestion, only
from sayso.testing.runs import Refused, RunResult
from sayso.testing.world import Simulation

T = TypeVar("T")


class Person:
    """One person, who sees threads and answers them through the server's own inbox.

    Made by `Conversation.as_(principal)`.

    Raises:
        Refused: (any method) HTTP would answer with a problem.
    """

    def __init__(self, world: Simulation, principal: Principal) -> None:
        self._world = world
        self.principal = principal

    @property
    def inbox(self) -> list[OpenQuestion]:
        """All open questions that this person may see, oldest first, answered ones among them."""

        async def listed() -> list[ListedInterrupt]:
            interrupts: list[ListedInterrupt] = []
            after = None
            while True:
                page = await self._world.app._engine.inbox.interrupts(
                    self.principal, status="open", after=after
                )
                interrupts += page.items
                after = page.next
                if after is None:
                    return interrupts

        act = changes_by(self._world, self.principal)
        return [OpenQuestion(listing.interrupt, self._take, act) for listing in self._do(listed)]

    @property
    def question(self) -> OpenQuestion:
        """The one open question.

        Raises:
            AssertionError: there is none, or more than one.
        """
        return only(self.inbox)

    @property
    def approvals(self) -> list[Approval]:
        """The remembered approvals that hold for this person's calls, or that they gave."""

        async def listed() -> list[Approval]:
            return list((await self._world.app._engine.approvals.page(self.principal)).items)

        return self._do(listed)

    def revoke(self, approval: Approval | str) -> None:
        """Revoke a remembered approval."""
        which = approval if isinstance(approval, str) else approval.id
        self._do(lambda: self._world.app._engine.approvals.revoke(self.principal, which))

    def _take(self, item: Interrupt, entry: Mapping[str, Any]) -> RunResult:
        answer = ResumeEntry(
            interrupt_id=item.id, status=entry["status"], payload=entry.get("payload")
        )

        async def give() -> tuple[str, RunResult]:
            engine = self._world.app._engine
            thread = (await engine.inbox.interrupt(self.principal, item.id)).thread_id
            answered = await engine.answers.answer(self.principal, answer)
            if answered.remaining:
                return thread, RunResult(())
            await self._world.rest()
            return thread, await self._ended(thread)

        thread, run = self._do(give)
        self._world.check(self.principal.scope, thread, run.outcome)
        return run

    async def _ended(self, thread_id: str) -> RunResult:
        """The end of the run that an answer of this person has begun."""
        view = await self._world.load(self.principal.scope, thread_id)
        run = None if view is None else view.run
        if run is None or run.outcome is None:
            return RunResult((), died=self._world.dead)
        ending = Ending.from_json(run.outcome)
        return RunResult(
            tuple(
                events_in(ending.last_frames(thread_id, run.run_id, ClientProfile(speaks_v1=True)))
            )
        )

    def _do(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return _refusing(self._world, work)


def changes_by(world: Simulation, principal: Principal) -> Act:
    """Make the function by which this person changes a question other than by an answer."""

    def act(change: Change) -> None:
        _refusing(world, lambda: change(world.app._engine.answers, principal))

    return act


def _refusing(world: Simulation, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a call of the engine to its end.

    Raises:
        Refused: the engine raised a `Problem`.
    """
    try:
        return world.do(work)
    except Problem as problem:
        raise Refused.of(problem) from None
