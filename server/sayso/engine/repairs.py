"""What a person can do to a thread by hand: edit its state, copy it, begin its turn anew."""

from sayso.agents.registry import Agents
from sayso.clock import Clock
from sayso.engine.claims import Claims
from sayso.engine.edits import StateEdits
from sayso.engine.forks import Forks
from sayso.engine.live import LiveRuns
from sayso.engine.restarts import Restarts
from sayso.engine.stopping import Stopping
from sayso.engine.threads import Threads
from sayso.stores.base import Store

__all__ = ["Repairs"]


class Repairs:
    """`edit` changes a state, `fork` copies a thread, `restart` begins a turn anew."""

    def __init__(
        self,
        threads: Threads,
        agents: Agents,
        store: Store,
        clock: Clock,
        claims: Claims,
        live: LiveRuns,
        stopping: Stopping,
    ) -> None:
        changed = threads.changed
        self._restarts = Restarts(threads, agents, store, claims, live, stopping)
        self.edit = StateEdits(threads, agents, store, clock, changed).edit
        self.fork = Forks(threads, claims, store, clock, changed).fork
        self.restart = self._restarts.restart
        self.repeats = self._restarts.repeats
