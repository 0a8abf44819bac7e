"""Forks: a thread copied at a question, so that the other answer can be tried as well."""

from collections.abc import Callable
from uuid import uuid4

from sayso.clock import Clock
from sayso.engine.claims import Claims
from sayso.engine.threads import Threads
from sayso.errors import Code, Problem
from sayso.records import Interrupt, Principal, Run, ThreadView, Turn
from sayso.stores.base import Store
from sayso.turns.copies import Copied, copied
from sayso.turns.endings import suspension

__all__ = ["Forks"]

ATTEMPTS = 8
"""Times that a copy is made anew because the thread changed meanwhile."""


class Forks:
    """Makes threads out of others."""

    def __init__(
        self,
        threads: Threads,
        claims: Claims,
        store: Store,
        clock: Clock,
        changed: Callable[[str], None],
    ) -> None:
        self._threads = threads
        self._claims = claims
        self._store = store
        self._clock = clock
        self._changed = changed

    async def fork(
        self, principal: Principal, thread_id: str, interrupt_id: str, *, channel: str = "fork"
    ) -> str:
        """A new thread that waits where this one waited, or waits, for that answer; its id.

        The thread that is copied is not touched. Raises `Problem`: `unknown_thread`,
        `unknown_interrupt`, `journal_gone` once another turn has begun, and
        `thread_busy` when it runs too fast to be copied.
        """
        for _ in range(ATTEMPTS):
            view = await self._threads.view(principal, thread_id, interrupt_ids=[interrupt_id])
            asked, turn = _found(view, interrupt_id)
            entries = await self._store.journal(principal.scope, turn.key)
            after = await self._store.load(principal.scope, thread_id)
            if after is None or after.thread.revision != view.thread.revision:
                continue  # the two do not belong together
            made = copied(
                view,
                turn,
                entries,
                asked,
                now=self._clock.now(),
                told={
                    "threadId": thread_id,
                    "interruptId": interrupt_id,
                    "by": principal.subject,
                    "channel": channel,
                },
            )
            if made is None:
                raise _gone()
            return await self._founded(principal, made)
        raise Problem(Code.THREAD_BUSY, "This thread changes too fast: send this again.")

    async def _founded(self, principal: Principal, made: Copied) -> str:
        thread_id = f"thread_{uuid4().hex}"
        now = self._clock.now()
        open_now = [item for item in made.interrupts if item.status == "open"]
        run = Run(
            key=f"run_{uuid4().hex}",
            run_id=f"run_{uuid4().hex}",
            turn_key=made.turn.key,
            started_at=now,
            ended_at=now,
            outcome=suspension(open_now).to_json(),
        )
        await self._claims.found(principal, thread_id, made, run)
        self._changed(principal.scope)
        return thread_id


def _found(view: ThreadView, interrupt_id: str) -> tuple[Interrupt, Turn]:
    asked = next((item for item in view.interrupts if item.id == interrupt_id), None)
    if asked is None:
        raise Problem(
            Code.UNKNOWN_INTERRUPT,
            "This thread never asked that: GET /threads/{id}/history lists its interrupts.",
        )
    turn = view.turn
    if turn is None or asked.turn_key != turn.key:
        raise _gone()
    return asked, turn


def _gone() -> Problem:
    return Problem(
        Code.JOURNAL_GONE,
        "Another turn has begun since, and what this one had recorded is gone: a copy can be made "
        "at the questions of a thread's newest turn.",
    )
