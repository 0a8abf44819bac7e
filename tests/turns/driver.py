"""A world with one store, in which processes come, stop and die, and a person who talks to it.

    world = World(kind, folder, lambda app: app.agent("a")(agent))
    async with world:
        talk = Conversation(world)
        run = await talk.say("go")
        await talk.restart()
        run = await talk.answer("Which?", "that")

All requests go through ASGI, and every stream is judged. At its end a world has seen no error that
nobody retrieved, and no task that died in silence.
"""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sayso import Sayso, Turn
from sayso.base.errors import StoreError
from sayso.base.records import Entry, PageRequest, ThreadView
from sayso.stores.base import Store
from sayso.testing import FaultyStore
from tests.apps import app_with
from tests.contract.server import Client
from tests.contract.wire import Run
from tests.patience import PATIENCE
from tests.stores.backends import BACKENDS
from tests.stores.watched import PatientClock, WatchedStore

__all__ = ["LEASE", "Conversation", "Window", "World", "ticks", "until"]

LEASE = 10.0
"""Seconds after which a dead process's thread may be taken over (design 6)."""

Json = dict[str, Any]
Declare = Callable[[Sayso], object]
Agent = Callable[[Turn, "World"], Awaitable[Any]]


async def ticks(turns: int = 1) -> None:
    """Let other tasks run; no time passes."""
    for _ in range(turns):
        await asyncio.sleep(0)


async def until(true: Callable[[], object]) -> None:
    """Wait for something that another task or thread brings about."""
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110 - threads tell nobody
            await asyncio.sleep(0.001)


class Window(FaultyStore):
    """One process's way to the store that all share; it opens and closes nothing."""

    @property
    def dead(self) -> bool:
        """Whether it was cut."""
        return self._cut

    async def open(self) -> None:
        """The world has opened it."""

    async def close(self) -> None:
        """The world will close it."""


class Process:
    """An app on the world's store."""

    def __init__(self, world: "World", declare: Declare, **options: Any) -> None:
        self.window = Window(world.store)
        self.app = app_with(
            store=self.window, clock=world.clock, console=False, keep_alive=None, **options
        )
        declare(self.app)

    async def start(self) -> Self:
        await self.app._prepare()
        await self.app._engine.start()
        return self

    async def stop(self, grace: float = PATIENCE) -> None:
        """Shut down in order; of a process that was killed, sweep up what is left in memory."""
        await self.app._engine.stop(grace)

    def forget_leases(self) -> None:
        """From now on it renews none, as a process that is stopped by a signal does."""
        self.window.fail("renew", times=1_000)

    def runs(self, thread: str) -> bool:
        """Whether it is alive, and goes on with that thread."""
        return not self.window.dead and self.app._engine._live.is_here("default", thread)

    async def die(self) -> None:
        """From now on nothing of it reaches the store."""
        self.window.disconnect()
        await self.stop(0)


class World:
    """The store, the clock, the effects, and the processes."""

    def __init__(
        self,
        kind: str,
        folder: Path,
        declare: Declare,
        *,
        clock: PatientClock | None = None,
        **options: Any,
    ) -> None:
        """`clock`: that of another world, with which this one goes on."""
        self.clock = clock or PatientClock()
        self.watched = WatchedStore(BACKENDS[kind](folder, self.clock), self.clock)
        self.store: Store = self.watched
        self.effects: list[Any] = []
        self.noise: list[str] = []
        self.expected_noise = ""
        self.declare = declare
        self.options = options
        self.processes: list[Process] = []
        self.tools: Any = None
        self._declared: Sayso | None = None

    @classmethod
    def of(
        cls,
        kind: str,
        folder: Path,
        agent: "Agent",
        tools: "Callable[[World, Sayso], Any] | None" = None,
        **options: Any,
    ) -> "World":
        """A world with one agent, which gets the world beside its turn; and with its tools."""
        world: World = cls(kind, folder, lambda app: world.register(app, agent, tools), **options)
        return world

    def register(
        self, app: Sayso, agent: "Agent", tools: "Callable[[World, Sayso], Any] | None" = None
    ) -> None:
        """Declare the agent, and the tools: those of the first process serve all that follow."""
        if tools is not None:
            if self._declared is None:
                self._declared, self.tools = app, tools(self, app)
            else:
                app.add_tools(*self._declared.tools)

        @app.agent("agent")
        async def run(turn: Turn) -> Any:
            return await agent(turn, self)

    @property
    def process(self) -> Process:
        """The one that serves now."""
        return self.processes[-1]

    @property
    def app(self) -> Sayso:
        return self.process.app

    async def __aenter__(self) -> Self:
        asyncio.get_running_loop().set_exception_handler(self._heard)
        await self.store.open()
        await self.begin()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self.processes:
            await process.stop()
        await self.store.close()
        await ticks(3)
        gc.collect()
        await ticks(3)
        if error is None:
            heard = [
                n for n in self.noise if not self.expected_noise or self.expected_noise not in n
            ]
            assert heard == [], f"the event loop was told: {heard}"

    def _heard(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.noise.append(f"{context['message']} {context.get('exception')!r}")

    async def begin(self, declare: Declare | None = None) -> Process:
        """One more process on the store, which serves from now on."""
        process = Process(self, declare or self.declare, **self.options)
        self.processes.append(process)
        return await process.start()

    async def restart(self, declare: Declare | None = None) -> None:
        """Stop in order, start anew, maybe with other code."""
        await self.process.stop()
        await self.begin(declare)

    async def crash(self, declare: Declare | None = None) -> None:
        """Kill the process at once, start another, and let leases run out."""
        await self.process.die()
        await self.begin(declare)

    def effect(self, name: Any, result: Any = None) -> Any:
        """An effect on the world: written down, and counted by the tests."""
        self.effects.append(name)
        return name if result is None else result

    async def slowly(self, name: Any, turns: int = 20) -> Any:
        """An effect that takes a while."""
        await ticks(turns)
        return self.effect(name)

    async def view(self, thread: str) -> ThreadView:
        """The thread as it is stored."""
        found = await self.store.load("default", thread)
        assert found is not None, f"no thread {thread!r}"
        return found

    async def journal(self, thread: str) -> tuple[Entry, ...]:
        """The journal of the thread's newest turn."""
        turn = (await self.view(thread)).turn
        assert turn is not None
        return await self.store.journal("default", turn.key)

    async def elapse(self, seconds: int) -> None:
        """Let time pass, second by second, and what is due in it happen."""
        for _ in range(seconds):
            await self.clock.advance(1.0)

    async def at_rest(self, thread: str, *, seconds: float = 3 * LEASE) -> ThreadView:
        """Move time on until nobody holds the thread and nothing of it is due."""
        async with asyncio.timeout(PATIENCE):
            for _ in range(int(seconds)):
                await self.clock.advance(1.0)
                if await self._rests(thread):
                    return await self.view(thread)
        raise AssertionError(f"thread {thread!r} did not come to rest within {seconds:g} s")

    async def _rests(self, thread: str) -> bool:
        for _ in range(20):
            await self.watched.rests()
            with suppress(StoreError):
                # In this order: what is claimed in between is held by then.
                due = (await self.store.due_threads(self.clock.now(), PageRequest(limit=100))).items
                view = await self.view(thread)
                if view.thread.holder is None and not any(d.thread_id == thread for d in due):
                    return True
            if not any(one.runs(thread) for one in self.processes):
                return False  # all that helps is time
            await asyncio.sleep(0.001)  # a step's thread tells nobody
        return False


class Conversation:
    """A person and a thread: says things, answers questions by their message, and remembers."""

    def __init__(self, world: World, agent: str = "agent", **options: Any) -> None:
        self.world = world
        self.client = Client(world.app, agent, **options)
        self.runs: list[Run] = []

    @property
    def thread(self) -> str:
        return self.client.thread

    @property
    def run(self) -> Run:
        """The last one."""
        return self.runs[-1]

    @property
    def pending(self) -> dict[str, Json]:
        """Open questions by their message."""
        return {item["message"]: item for item in self.client.model.pending}

    @property
    def asked(self) -> list[str]:
        """The messages of the open questions, sorted."""
        return sorted(item["message"] for item in self.client.model.pending)

    async def say(self, text: str = "go", **members: Any) -> Run:
        """Send a user message."""
        self._to_present()
        return self._took(await self.client.say(text, **members))

    async def answer(self, answers: dict[str, Any], **members: Any) -> Run:
        """Answer open questions, each named by its message or its id."""
        entries = [self.entry(name, payload) for name, payload in answers.items()]
        return await self.send(entries, **members)

    async def answer_all(self, payload: Callable[[str], Any]) -> Run:
        """Answer all that is open, by a function of the question's message."""
        return await self.answer({name: payload(name) for name in self.pending})

    async def answer_all_with(self, payload: Any, **members: Any) -> Run:
        """Answer all that is open alike."""
        return await self.answer(dict.fromkeys(self.pending, payload), **members)

    async def cancel(self, *names: str, **members: Any) -> Run:
        """Cancel open questions."""
        return await self.send(
            [{"interruptId": self._id(name), "status": "cancelled"} for name in names], **members
        )

    async def send(self, entries: Iterable[Json], **members: Any) -> Run:
        """Send resume entries as they are."""
        self._to_present()
        return self._took(await self.client.run(resume=list(entries), **members))

    async def connect(self) -> Run:
        """Load the thread anew."""
        self._to_present()
        return self._took(await self.client.connect())

    async def restart(self, declare: Declare | None = None) -> None:
        """The server restarts; this person's page stays."""
        await self.world.restart(declare)

    async def recover(self, declare: Declare | None = None) -> Run:
        """The server dies; another takes over; this person loads the thread when it rests."""
        await self.world.crash(declare)
        await self.world.at_rest(self.thread)
        return await self.connect()

    def entry(self, name: str, payload: Any) -> Json:
        return {"interruptId": self._id(name), "status": "resolved", "payload": payload}

    def _id(self, name: str) -> str:
        found: str = self.pending[name]["id"] if name in self.pending else name
        return found

    def _to_present(self) -> None:
        self.client.app = self.world.app

    def _took(self, run: Run) -> Run:
        self.runs.append(run)
        return run

    @property
    def history(self) -> list[Json]:
        """The messages as this person's page shows them."""
        return self.client.model.messages

    @property
    def texts(self) -> list[str]:
        """What the assistant has said, in order."""
        return [m["content"] for m in self.history if m["role"] == "assistant" and m.get("content")]
