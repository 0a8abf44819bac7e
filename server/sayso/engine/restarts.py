"""Restarts: a turn that cannot or shall not go on begins anew, with the code of now."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from sayso.agents.registry import Agents
from sayso.engine.claims import Claims
from sayso.engine.live import LiveRuns
from sayso.engine.stopping import Stopper, Stopping
from sayso.engine.threads import Threads
from sayso.errors import Code, Conflict, Problem
from sayso.records import Entry, Principal
from sayso.stores.base import Store

__all__ = ["Restarted", "Restarts", "repeated"]

_log = logging.getLogger("sayso.engine.restarts")

ATTEMPTS = 8
"""Times that a restart is tried anew because the thread changed under it."""
CHANNEL = "restart"


@dataclass(frozen=True, slots=True)
class Restarted:
    """The run that began, and the names of what the turn before had done and may now do again."""

    run_id: str
    repeats: tuple[str, ...]


class Restarts:
    """Begins turns anew. Never by itself: what was done before is done again."""

    def __init__(
        self,
        threads: Threads,
        agents: Agents,
        store: Store,
        claims: Claims,
        live: LiveRuns,
        stopping: Stopping,
    ) -> None:
        self._threads = threads
        self._agents = agents
        self._store = store
        self._claims = claims
        self._live = live
        self._stopping = stopping

    async def repeats(self, principal: Principal, thread_id: str) -> tuple[str, ...]:
        """What a restart would do again: names of tools and steps that ran, in order."""
        view = await self._threads.view(principal, thread_id)
        if view.turn is None:
            return ()
        return repeated(await self._store.journal(principal.scope, view.turn.key))

    async def restart(
        self,
        principal: Principal,
        thread_id: str,
        *,
        by: str | None = None,
        channel: str = CHANNEL,
    ) -> Restarted:
        """Stop the turn if it waits, and begin it again from its own request.

        Its questions are cancelled and its calls get results that say so; the new turn has the
        newest version of the agent, the same input, and the history with all that happened. `by` is
        who does it, the caller if not given. Raises
        `Problem`: `unknown_thread`, `thread_busy` while it runs, `not_waiting` once it has ended
        well, `unknown_agent` for one that is not served any more.
        """
        repeats: tuple[str, ...] = ()
        for _ in range(ATTEMPTS):
            view = await self._threads.view(principal, thread_id)
            turn = view.turn
            if view.thread.holder is not None:
                raise Problem(Code.THREAD_BUSY, "This thread is running: stop it first.")
            if turn is None or turn.status == "finished":
                raise Problem(
                    Code.NOT_WAITING,
                    "The turn has ended well, so there is nothing to begin again: send a message.",
                )
            agent = self._agents.newest(turn.agent)
            if agent is None:
                raise Problem(
                    Code.UNKNOWN_AGENT,
                    f"Agent {turn.agent!r} is not served any more: register it, or stop the turn.",
                )
            repeats = repeated(await self._store.journal(principal.scope, turn.key)) or repeats
            try:
                if turn.status == "suspended":
                    stopper = Stopper(by or principal.subject, channel=channel)
                    await self._stopping.end(view, turn, stopper)
                    continue
                claimed = await self._claims.begin_again(view, turn, agent)
            except Conflict:
                continue
            self._live.go(claimed, self._live.begin(claimed))
            _log.info("%r restarted thread %r", principal.subject, thread_id)
            return Restarted(claimed.run.run_id, repeats)
        raise Problem(Code.THREAD_BUSY, "This thread changes too fast: send this again.")


def repeated(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Names of tools and steps that were run, or may have been, in order."""
    return tuple(
        entry.name
        for entry in entries
        if entry.kind in ("call", "step") and (entry.status == "started" or _ran(entry))
    )


def _ran(entry: Entry) -> bool:
    if entry.status == "asked":
        return b'"why":"unsure"' in entry.data
    return entry.kind == "step" or b'"status":"executed"' in entry.data
