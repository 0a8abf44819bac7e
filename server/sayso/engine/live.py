"""The runs that are going on: those of this process, and those of others that somebody watches.

A run continues without readers (`on_disconnect="finish"`), but not forever: one that nobody has
read for `unattended_timeout` seconds is ended (N1, N2, N3). Under `"cancel"` it begins no effect as
soon as its last reader has gone, and is ended if none is back within `GRACE_S`: a page that is
loaded again finds its run going on. Either way effects are never cut, and a run that never had a
reader has lost none.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from sayso.base import jsonvalue
from sayso.base.clock import Clock
from sayso.base.codes import Code
from sayso.base.errors import StoreError, TurnError
from sayso.base.logs import log_context
from sayso.base.options import AgentOptions
from sayso.base.records import Lease, Principal, ThreadView
from sayso.engine.claims import Claimed
from sayso.engine.instrumented import log_ended
from sayso.engine.leases import LeaseKeeper
from sayso.engine.quotas import Quotas, Seat
from sayso.engine.runner import Runner, StopPaused
from sayso.engine.snapshots import current_outcome
from sayso.engine.stop import StopRequest
from sayso.gate.history import visible
from sayso.protocol.client_profile import ClientProfile
from sayso.protocol.runinput import RunInput
from sayso.streams.ending import Ending
from sayso.streams.reader import Reader
from sayso.streams.stream import RunStream
from sayso.turns.journal.journal import traces
from sayso.turns.replay.effects import ToolThreads
from sayso.turns.replay.wakeup import Wakeup
from sayso.turns.services import Services

if TYPE_CHECKING:
    from sayso.base.tracing import Tracing

_log = logging.getLogger("sayso.engine.live")

WATCH_POLL_S = 0.5
"""Seconds between looks at a run that another process is running, if the store does not tell."""
GRACE_S = 5.0
"""Seconds that a client has to come back before its run is cancelled."""
MAX_SHOWN_BYTES = 256 * 1024
"""Bytes of messages and state up to which its readers here are sent them, look by look."""
_UNSEEN = Ending(
    type="error",
    code=Code.INTERNAL_ERROR.value,
    message="What the turn does elsewhere could not be shown; the server's log says why.",
    details={"code": Code.INTERNAL_ERROR.value},
    continues_elsewhere=True,
)

Key = tuple[str, str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Live:
    runner: Runner
    task: asyncio.Task[Ending | None]


@dataclass(frozen=True, slots=True)
class _Watched:
    stream: RunStream
    wakeup: Wakeup


class LiveRuns:
    """Runs by thread. A run belongs to the process, not to the request that began it."""

    def __init__(
        self,
        services: Services,
        keeper: LeaseKeeper,
        tool_threads: Callable[[], ToolThreads],
        stop_paused: StopPaused,
        quotas: Quotas,
    ) -> None:
        self._services, self._tracing = services, services.tracing
        self._quotas = quotas
        self._keeper = keeper
        self._new_threads, self._threads = tool_threads, tool_threads()
        self._stop_paused = stop_paused
        self._over: Ending | None = None
        """The ending of streams from now on, once nothing runs here."""
        self._live: dict[Key, _Live] = {}
        self._watched: dict[Key, _Watched] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def running(self) -> int:
        """The number of runs in this process."""
        return len(self._live)

    def start(
        self,
        claimed: Claimed,
        run_id: str,
        peer: ClientProfile,
        *,
        holds: RunInput | None = None,
        seat: Seat | None = None,
    ) -> Reader:
        """Run a claimed turn, and read it: its first reader is there before anything happens.

        `seat` is what the run has held until now; it leaves it at its end.

        `holds` is a request whose sender holds the messages and the state that it brought: the
        reader is told only what differs. The run does not depend on readers, nor on whether one
        can be shown what there is: it has its answers.
        """
        runner = self._runner_of(claimed)
        try:
            messages, state = (
                runner.shown() if holds is None else _unknown_to(holds, claimed, runner)
            )
            return runner.stream.attach(run_id, peer, messages=messages, state=state)
        finally:
            self._go(claimed, runner, seat)

    def start_unread(self, claimed: Claimed) -> asyncio.Task[Ending | None]:
        """Run a claimed turn, which nobody reads yet; the task gives its ending."""
        return self._go(claimed, self._runner_of(claimed))

    def _runner_of(self, claimed: Claimed) -> Runner:
        """The runner of a claimed thread; whoever watched the thread becomes its reader."""
        key = (claimed.lease.scope, claimed.lease.thread_id)
        watched = self._watched.pop(key, None)
        if watched is not None:
            watched.wakeup.notify()
            stream = watched.stream
        else:
            stream = self._new_stream(claimed)
        runner = self._new_runner(claimed, stream)
        self._services.changed(claimed.lease.scope)
        if watched is not None:
            messages, state = runner.shown()
            stream.snapshot(messages=messages, state=state)
        return runner

    async def look(self, unclaimed: Claimed) -> TurnError | None:
        """See how the code fits a turn that nobody runs, as `Runner.look` does."""
        return await self._new_runner(unclaimed, self._new_stream(unclaimed), looks=True).look()

    def _new_runner(self, claimed: Claimed, stream: RunStream, *, looks: bool = False) -> Runner:
        pool = self._threads.share((claimed.lease.scope, claimed.turn.principal.subject))
        return Runner(claimed, stream, self._services, pool, self._stop_paused, looks=looks)

    def _new_stream(self, claimed: Claimed) -> RunStream:
        unread = self._services.limits.unread
        return RunStream(claimed.lease.thread_id, claimed.run.key, unread=unread)

    def _go(
        self, claimed: Claimed, runner: Runner, seat: Seat | None = None
    ) -> asyncio.Task[Ending | None]:
        """Start the run; it does not depend on readers."""
        key = (claimed.lease.scope, claimed.lease.thread_id)
        disconnect = DisconnectWatch(runner, claimed.agent.options, self._services.clock)
        held = seat or self._quotas.count_run(claimed.turn.principal)

        async def run() -> Ending | None:
            left_behind = self._over is not None
            try:
                if self._over is not None:  # claimed too late: another process continues it
                    runner.stream.finish(self._over)
                    return None
                with log_context(thread=key[1], run=claimed.run.run_id, agent=claimed.agent.name):
                    if self._tracing is None:
                        await runner.run()
                    else:
                        await _traced(self._tracing, claimed, runner)
                    log_ended(runner.ending)
            except asyncio.CancelledError:
                # By a shutdown, at whose end the leases that are still held are released.
                left_behind = True
                raise
            finally:
                held.leave()
                disconnect.close()
                if not left_behind:
                    self._keeper.forget(claimed.lease)
                self._services.changed(claimed.lease.scope)
                live = self._live.get(key)
                if live is not None and live.runner is runner:
                    del self._live[key]
            await runner.abandon()
            return runner.ending

        task = self._spawn(run(), f"run of thread {claimed.lease.thread_id!r}")
        self._live[key] = _Live(runner, task)
        return task

    def attach(
        self,
        principal: Principal,
        view: ThreadView,
        run_id: str,
        peer: ClientProfile,
        said: Sequence[bytes] = (),
    ) -> Reader:
        """Follow the run of a thread, wherever it is running.

        `said` are messages besides: this reader keeps them to its end.

        Raises:
            Problem: `too_many`, the caller has as many streams as may be.
        """
        seat = self._quotas.stream(principal)
        try:
            reader = self._attach(view, run_id, peer, said)
        except BaseException:
            seat.leave()
            raise
        reader.on_detach = seat.leave
        return reader

    def _attach(
        self, view: ThreadView, run_id: str, peer: ClientProfile, said: Sequence[bytes]
    ) -> Reader:
        key = (view.thread.scope, view.thread.id)
        live = self._live.get(key)
        if live is not None and not live.runner.stream.ended:
            messages, state = live.runner.shown()
            stream = live.runner.stream
            return stream.attach(run_id, peer, messages=messages, state=state, said=said)
        watched = self._watched.get(key)
        if watched is None:
            run_key = view.run.key if view.run is not None else ""
            stream = RunStream(view.thread.id, run_key, unread=self._services.limits.unread)
            watched = _Watched(stream, Wakeup())
            watched.wakeup.notify()  # it may have ended since the view was read
            self._watched[key] = watched
            self._spawn(self._watch(key, watched, view), f"watch of thread {key[1]!r}")
        messages, state = visible(view.messages), view.thread.state
        return watched.stream.attach(run_id, peer, messages=messages, state=state, said=said)

    def stop(self, scope: str, thread_id: str, fence: int, stopper: StopRequest) -> Runner | None:
        """Stop the run that has a thread under this fence, if it is here.

        It ends at its next record, or at once. One that has lost the thread is not the one meant.
        """
        live = self._live.get((scope, thread_id))
        if live is None or live.runner.lease.fence != fence:
            return None
        live.runner.stop(stopper)
        return live.runner

    def follows(self, scope: str, thread_id: str, run_id: str) -> bool:
        """True if somebody reads the run of a thread, here, under that id of its own."""
        live = self._live.get((scope, thread_id))
        return live is not None and run_id in live.runner.stream.readers

    def told_to_stop(self, lease: Lease) -> None:
        """Stop the run under this lease, as another process was asked to."""
        live = self._live.get((lease.scope, lease.thread_id))
        if live is not None and live.runner.lease == lease:
            live.runner.stop(StopRequest(None))

    def is_here(self, scope: str, thread_id: str) -> bool:
        """True if this process runs the thread."""
        return (scope, thread_id) in self._live

    def open(self, *, follow: bool) -> None:
        """Run what is claimed, also after a `close`; `follow`: hear of what other processes do."""
        if self._over is not None:
            self._over, self._threads = None, self._new_threads()
        if follow:
            self._services.store.subscribe(self._heard)

    def _heard(self, scope: str | None, thread_id: str | None) -> None:
        """A thread (None: any) may have changed elsewhere, or be asked to stop here: look."""
        key = None if scope is None or thread_id is None else (scope, thread_id)
        self._services.changed(scope)
        self._keeper.renew_now(key)
        for changed in self._watched if key is None else (key,):
            watched = self._watched.get(changed)
            if watched is not None:
                watched.wakeup.notify()

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
            await watched.wakeup.within(WATCH_POLL_S, self._services.sleep_between_looks)
            if not stream.readers:
                self._watched.pop(key, None)
                return
            try:
                view = await self._services.store.load(*key)
            except StoreError as error:
                _log.warning("thread %r could not be watched: %s", key[1], error)
                continue
            if self._watched.get(key) is not watched:
                return
            if view is not None and view.thread.holder is not None:
                now = messages, state = _shown(view)
                if now != shown and sum(map(len, messages)) + len(state) <= MAX_SHOWN_BYTES:
                    stream.snapshot(messages=messages, state=state)
                    shown = now
                continue
            del self._watched[key]
            if view is not None:
                stream.snapshot(messages=visible(view.messages), state=view.thread.state)
            stream.finish(current_outcome(view) if view is not None else Ending(type="success"))

    def _spawn(self, work: Coroutine[Any, Any, T], what: str) -> asyncio.Task[T]:
        task = asyncio.create_task(work, name=what)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("%s failed", task.get_name(), exc_info=error)

    async def close(self, grace: float, ending: Ending) -> None:
        """Let runs end for `grace` seconds; cancel those that do not, and end their streams."""
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
        await asyncio.gather(*(runner.cancel() for runner in dropped))
        self._threads.shutdown()


async def _traced(tracing: "Tracing", claimed: Claimed, runner: Runner) -> None:
    """Run a turn in a span, linked with what it continues."""
    ids = {
        "agent": claimed.agent.name,
        "thread": claimed.lease.thread_id,
        "turn": claimed.turn.key,
        "run": claimed.run.run_id,
    }
    with tracing.span("turn", ids, links=traces(claimed.entries)) as span:
        await runner.run()
        if (ending := runner.ending) is not None:
            span.note(status=ending.type, code=ending.code)


class DisconnectWatch:
    """Watches the readers of one run, from its beginning until `close`."""

    def __init__(self, runner: Runner, options: AgentOptions, clock: Clock) -> None:
        self._runner = runner
        self._options = options
        self._clock = clock
        self._had_readers = False
        self._alone: asyncio.Task[None] | None = None
        runner.stream.on_readers = self._changed
        self._changed()

    def close(self) -> None:
        """Stop watching; idempotent."""
        self._runner.stream.on_readers = lambda: None
        self._forget()

    def _forget(self) -> None:
        if self._alone is not None:
            self._alone.cancel()
            self._alone = None

    def _changed(self) -> None:
        if self._runner.stream.readers:
            self._had_readers = True
            self._forget()
            self._runner.attended.set()
        elif self._alone is None and not self._runner.stream.ended:
            self._leave()

    def _leave(self) -> None:
        """The last reader has gone, or there was none to begin with."""
        seconds, why = (
            self._options.unattended_timeout,
            "Nobody read this run for {:g} s: it was ended.",
        )
        if self._had_readers and self._options.on_disconnect == "cancel":
            self._runner.attended.clear()
            seconds, why = GRACE_S, "Its last reader was gone for {:g} s: this run was cancelled."
        if seconds is not None:
            self._alone = asyncio.create_task(
                self._end(seconds, why.format(seconds)), name="attendance"
            )

    async def _end(self, seconds: float, why: str) -> None:
        await self._clock.sleep(seconds)
        self._runner.stop(StopRequest(None, why))


def _unknown_to(
    request: RunInput, claimed: Claimed, runner: Runner
) -> tuple[Iterable[bytes] | None, bytes | None]:
    """The messages and the state of a new run, None for what its request has brought."""
    brought = [message.id for message in request.messages]
    shown = [message.id for message in claimed.messages if message.visibility != "hidden"]
    messages = None if brought == shown else runner.bodies()
    state = runner.state()
    return messages, jsonvalue.encode(state) if _lacks(request, state) else None


def _lacks(request: RunInput, state: Any) -> bool:
    """True if the sender of a request does not hold the state that its run begins with.

    Absent is the empty object; who says null holds nothing that a delta could be applied to.
    """
    held = {} if request.state is None else request.state
    return request.null_state or not jsonvalue.equal(held, state)


def _shown(view: ThreadView) -> tuple[list[bytes], bytes]:
    return visible(view.messages), view.thread.state
