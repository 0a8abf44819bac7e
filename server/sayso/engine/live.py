"""The runs that are going on: those of this process, and those of others that somebody watches."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from sayso.agents.registry import Agents
from sayso.agents.tools import Tool
from sayso.clock import Clock
from sayso.engine.attendance import Attendance
from sayso.engine.bell import Bell
from sayso.engine.claims import Claimed
from sayso.engine.leases import LeaseKeeper
from sayso.engine.runner import Runner, StopPaused
from sayso.engine.standing import present
from sayso.engine.stopping import Stopper
from sayso.errors import Code, StoreError
from sayso.gate.history import visible
from sayso.limits import Limits
from sayso.logs import about
from sayso.protocol.ending import Ending
from sayso.protocol.peers import Peer
from sayso.records import Lease, ThreadView
from sayso.stores.base import Store
from sayso.streams.stream import Reader, RunStream

__all__ = ["LiveRuns"]

_log = logging.getLogger("sayso.engine.live")

WATCH = 0.5
"""Seconds between looks at a run that another process is running, if the store does not tell."""
SHOWN = 256 * 1024
"""Bytes of messages and state up to which its readers here are sent them, look by look."""
_UNSEEN = Ending(
    type="error",
    code=Code.INTERNAL_ERROR.value,
    message="What the turn does elsewhere could not be shown; the server's log says why.",
    details={"code": Code.INTERNAL_ERROR.value},
    goes_on=True,
)

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Live:
    runner: Runner
    task: asyncio.Task[None]


@dataclass(frozen=True, slots=True)
class _Watched:
    stream: RunStream
    bell: Bell


class LiveRuns:
    """Runs by thread. A run belongs to the process, not to the request that began it."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        keeper: LeaseKeeper,
        limits: Limits,
        agents: Agents,
        tools: Mapping[str, Tool],
        tool_threads: int,
        stop_paused: StopPaused,
        changed: Callable[[str | None], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._keeper = keeper
        self._limits = limits
        self._agents, self._tools = agents, tools
        self._stop_paused = stop_paused
        self._changed = changed
        self._tool_threads = tool_threads
        self._pool = self._new_pool()
        self._over: Ending | None = None
        """How streams end from now on: nothing runs here any more."""
        self._live: dict[Key, _Live] = {}
        self._watched: dict[Key, _Watched] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def running(self) -> int:
        """How many runs are going on here."""
        return len(self._live)

    def begin(self, claimed: Claimed) -> Runner:
        """Make the runner of a claimed thread; nothing runs before `go`."""
        key = (claimed.lease.scope, claimed.lease.thread_id)
        watched = self._watched.pop(key, None)
        if watched is not None:
            watched.bell.ring()
            stream = watched.stream
        else:
            stream = RunStream(claimed.lease.thread_id, claimed.run.key, unread=self._limits.unread)
        runner = Runner(
            claimed,
            stream,
            store=self._store,
            clock=self._clock,
            pool=self._pool,
            limits=self._limits,
            agents=self._agents,
            tools=self._tools,
            stop_paused=self._stop_paused,
        )
        self._changed(claimed.lease.scope)
        if watched is not None:
            messages, state = runner.shown()
            stream.snapshot(messages=messages, state=state)
        return runner

    def go(self, claimed: Claimed, runner: Runner) -> asyncio.Task[None]:
        """Let it run, whoever reads."""
        key = (claimed.lease.scope, claimed.lease.thread_id)

        attendance = Attendance(runner, claimed.agent.options, self._clock)

        async def run() -> None:
            left_behind = self._over is not None
            try:
                if self._over is not None:  # claimed too late: another process goes on with it
                    runner.stream.finish(self._over)
                    return
                with about(thread=key[1], run=claimed.run.run_id, agent=claimed.agent.name):
                    await runner.run()
                    _log.info("the run ended: %s", runner.ending and runner.ending.type)
            except asyncio.CancelledError:
                # By a shutdown, at whose end the leases that are still held are let go.
                left_behind = True
                raise
            finally:
                attendance.close()
                if not left_behind:
                    self._keeper.drop(claimed.lease)
                self._changed(claimed.lease.scope)
                live = self._live.get(key)
                if live is not None and live.runner is runner:
                    del self._live[key]
            await runner.leave()

        task = self._spawn(run(), f"run of thread {claimed.lease.thread_id!r}")
        self._live[key] = _Live(runner, task)
        return task

    def attach(
        self, view: ThreadView, run_id: str, peer: Peer, said: Sequence[bytes] = ()
    ) -> Reader:
        """Follow the run of a thread, wherever it is running.

        `said` are messages besides: this reader keeps them to its end.
        """
        key = (view.thread.scope, view.thread.id)
        live = self._live.get(key)
        if live is not None and not live.runner.stream.ended:
            messages, state = live.runner.shown()
            stream = live.runner.stream
            return stream.attach(run_id, peer, messages=messages, state=state, said=said)
        watched = self._watched.get(key)
        if watched is None:
            run_key = view.run.key if view.run is not None else ""
            stream = RunStream(view.thread.id, run_key, unread=self._limits.unread)
            watched = self._watched[key] = _Watched(stream, Bell(self._store, self._clock))
            self._spawn(self._watch(key, watched, view), f"watch of thread {key[1]!r}")
        messages, state = visible(view.messages), view.thread.state
        return watched.stream.attach(run_id, peer, messages=messages, state=state, said=said)

    def stop(self, scope: str, thread_id: str, stopper: Stopper) -> Runner | None:
        """Stop the run of a thread, if it is here; it ends at its next record, or at once."""
        live = self._live.get((scope, thread_id))
        if live is None:
            return None
        live.runner.stop(stopper)
        return live.runner

    def follows(self, scope: str, thread_id: str, run_id: str) -> bool:
        """Whether somebody reads the run of a thread, here, under that id of its own."""
        live = self._live.get((scope, thread_id))
        return live is not None and run_id in live.runner.stream.readers

    def told_to_stop(self, lease: Lease) -> None:
        """Another process was asked to stop the run under this lease."""
        live = self._live.get((lease.scope, lease.thread_id))
        if live is not None and live.runner.lease == lease:
            live.runner.stop(Stopper(None))

    def is_here(self, scope: str, thread_id: str) -> bool:
        """Whether this process runs the thread."""
        return (scope, thread_id) in self._live

    def start(self, *, follow: bool) -> None:
        """Run what is claimed, also after a `close`; `follow`: hear of what other processes do."""
        if self._over is not None:
            self._over, self._pool = None, self._new_pool()
        if follow:
            self._store.follow(self._heard)

    def _new_pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._tool_threads, thread_name_prefix="sayso-tool")

    def _heard(self, scope: str | None, thread_id: str | None) -> None:
        """A thread (None: any) may have changed elsewhere, or be asked to stop here: look."""
        key = None if scope is None or thread_id is None else (scope, thread_id)
        self._changed(scope)
        self._keeper.look(key)
        for one in self._watched if key is None else (key,):
            watched = self._watched.get(one)
            if watched is not None:
                watched.bell.ring()

    async def _watch(self, key: Key, watched: _Watched, first: ThreadView) -> None:
        """Follow a run elsewhere; however that fails, its readers are told the end of it."""
        try:
            await self._look(key, watched, first)
        except Exception:
            if self._watched.get(key) is watched:
                del self._watched[key]
            watched.stream.finish(_UNSEEN)
            raise

    async def _look(self, key: Key, watched: _Watched, first: ThreadView) -> None:
        """Look until the run elsewhere has ended, or this process has taken it over.

        Meanwhile readers are shown what it has recorded; pieces of a message that is being written
        are known to its own process alone.
        """
        stream, shown = watched.stream, _shown(first)
        while self._watched.get(key) is watched:
            await watched.bell.rest(WATCH)
            if not stream.readers:
                self._watched.pop(key, None)
                return
            try:
                view = await self._store.load(*key)
            except StoreError as error:
                _log.warning("thread %r could not be watched: %s", key[1], error)
                continue
            if self._watched.get(key) is not watched:
                return
            if view is not None and view.thread.holder is not None:
                now = messages, state = _shown(view)
                if now != shown and sum(map(len, messages)) + len(state) <= SHOWN:
                    stream.snapshot(messages=messages, state=state)
                    shown = now
                continue
            del self._watched[key]
            if view is not None:
                stream.snapshot(messages=visible(view.messages), state=view.thread.state)
            stream.finish(present(view) if view is not None else Ending(type="success"))

    def _spawn(self, work: Coroutine[Any, Any, None], what: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=what)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("%s failed", task.get_name(), exc_info=error)

    async def close(self, grace: float, ending: Ending) -> None:
        """Let runs end for `grace` seconds; end the streams of those that do not, and let go."""
        running = [live.task for live in self._live.values()]
        if running:
            await asyncio.wait(running, timeout=grace)
        self._over = ending
        dropped = [live.runner for live in self._live.values()]
        for runner in dropped:
            runner.stream.finish(ending)
        for watched in self._watched.values():
            watched.stream.finish(ending)
        self._watched.clear()
        left = list(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await asyncio.gather(*(runner.drop() for runner in dropped))
        self._pool.shutdown(wait=False, cancel_futures=True)


def _shown(view: ThreadView) -> tuple[list[bytes], bytes]:
    return visible(view.messages), view.thread.state
