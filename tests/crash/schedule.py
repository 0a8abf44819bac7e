"""One thread, two processes, a person with several tabs, and whatever goes wrong, by a seed.

What a message makes the agent do stands in the message itself, so that each effect has a name of
its own: it must have happened once if a person approved it, and never otherwise.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Literal, get_args

from sayso import Sayso, ToolCall, Turn, approval
from sayso.base.records import PageRequest
from sayso.testing.points import Point, When
from tests.contract.rest import call
from tests.contract.server import Client, answer, approve, cancel, deny
from tests.contract.wire import Exchange, Run
from tests.crash.whole import Stored
from tests.patience import PATIENCE
from tests.turns.driver import LEASE, Process, World, ticks

__all__ = ["Schedule"]

Json = dict[str, Any]
Words = Literal["round", "step", "ask", "fail"]

INDETERMINATE = "sayso:indeterminate"
PATIENT = 20.0
"""Seconds after which a form of the agent expires."""
POINTS: tuple[Point, ...] = (
    "claim",
    "commit",
    "commit",
    "commit",
    "update_idle",
    "load",
    "journal",
)

ENDINGS = {
    *("success", "interrupt", "agent_error", "cancelled"),
    *("interrupts_pending", "partial_resume", "unknown_interrupt", "already_resolved"),
    *("interrupt_expired", "thread_busy"),
    *("store_unavailable", "lease_lost", "shutting_down"),
}
"""How a run may end in a world where stores fail and processes die."""
STATUSES = {200, 202, 404, 409, 410, 503}
"""The same for the inbox and for stops."""
ACTIONS = (
    *("say", "say", "answer", "answer", "answer", "retry", "race", "leave", "reload"),
    *("inbox", "inbox", "withdraw", "stop", "wait"),
)
DISASTERS = ("death", "death", "death", "failure", "sleeper", "restart", "calm")


class Schedule:
    """A seed's life: `await Schedule(kind, folder, seed).play()` raises when a promise was broken.

    The seed decides what is done and what goes wrong. On a store with threads of its own, when
    exactly a write ends is not the seed's to say.
    """

    def __init__(self, kind: str, folder: Path, seed: int) -> None:
        self.kind = kind
        self.random = random.Random(seed)  # noqa: S311 - a play, not a secret
        self.world = World(kind, folder, self.declare)
        self.told: list[str] = []
        """What was done, in order, for whoever reads a failure."""
        self.acknowledged: dict[str, bool] = {}
        """What the inbox said it had taken for good: the interrupt, and whether it was a yes."""
        self.stops = 0
        self._messages = 0
        self._body: Json | None = None

    # The agent

    def declare(self, app: Sayso) -> None:
        """A tool that a person decides on, a step, a form that expires, a failure."""
        world = self.world

        async def did(name: str) -> str:
            world.effect(name)
            await ticks(self.random.choice((0, 0, 3)))
            return f"did {name}"

        @app.tool(approval=approval.always, editable=True)
        async def act(name: str) -> str:
            return await did(name)

        @app.agent("agent")
        async def agent(turn: Turn) -> None:
            name, *words = turn.input.text.split()
            for at, word in enumerate(words):
                if word == "round":
                    names = [f"{name}.{at}.{n}" for n in range(1 + at % 2)]
                    calls = [ToolCall(act, {"name": one}) for one in names]
                    await turn.call_all(calls)
                elif word == "step":
                    step = f"{name}.{at}"
                    await turn.set(f"/{name}", await turn.step.options(name=step)(did, step))
                elif word == "ask":
                    await turn.interrupt(
                        "input_required", "How many?", schema=int, expires_in=PATIENT
                    )
                else:
                    raise RuntimeError("as told")
            await turn.say(f"{name} done")

    # What happens

    async def play(self, actions: int = 4) -> None:
        """The whole schedule, and what must be true after it."""
        async with self.world:
            await self.world.begin()
            self.tab = Client(self.process.app, "agent")
            await self.say()
            for _ in range(actions):
                await self.befall()
                action = self.random.choice(ACTIONS)
                self.told.append(action)
                await getattr(self, action)()
                await self.revive()
            await self.finish()

    @property
    def alive(self) -> list[Process]:
        return self.world.processes[-2:]

    @property
    def process(self) -> Process:
        """The one that the proxy sends the next request to."""
        return self.random.choice(self.alive)

    async def befall(self) -> None:
        """Arm what will go wrong, somewhere in what comes."""
        disaster = self.random.choice(DISASTERS)
        self.told.append(f"[{disaster}]")
        window = self.process.window
        when = self.random.choice(get_args(When))
        n = self.random.randint(1, 5)
        if disaster == "death":
            window.fail(self.random.choice(POINTS), n=n, when=when, hook=window.disconnect)
        elif disaster == "failure":
            window.fail(self.random.choice(POINTS), n=n, when=when)
        elif disaster == "restart":
            await self.replace(self.process, self.random.choice((0.0, 0.01)))
        elif disaster == "sleeper":
            self.process.forget_leases()

    async def replace(self, process: Process, grace: float) -> None:
        """End a process, in order if it still reaches the store, and begin another."""
        await process.stop(grace)
        at = self.world.processes.index(process)
        await self.world.begin()
        # The list's last two serve.
        survivor = next(one for one in self.world.processes[-3:-1] if one is not process)
        self.world.processes.remove(survivor)
        self.world.processes.insert(max(at, len(self.world.processes) - 1), survivor)

    async def revive(self) -> None:
        """Whoever died is started again by its supervisor."""
        for process in list(self.alive):
            if process.window.dead:
                await self.replace(process, 0)

    async def ended(self, *works: Awaitable[Run]) -> list[Run]:
        """Wait for responses; time passes meanwhile, and the dead are revived."""
        waiting = asyncio.gather(*works)
        async with asyncio.timeout(2 * PATIENCE):
            while not waiting.done():
                await self.pause()
                if not waiting.done():
                    await self.revive()
                    await self.world.clock.advance(0.5)
        return waiting.result()

    async def send(self, body: Json, *, tab: Client | None = None, action: str = "") -> Run:
        """One request to one of the two, and its whole answer."""
        tab = tab or self.tab
        tab.app = self.process.app
        (run,) = await self.ended(tab.run(body, action=action))
        assert run.is_stream or run.status == 503, f"{run.status} {run.body!r}"
        ending = run.outcome if run.is_stream else str(run.status)
        assert ending in ENDINGS | {"503"}, run.last
        self.told.append(f"-> {ending}")
        return run

    async def rest(self, method: str, path: str, body: Json | None = None) -> Run:
        (run,) = await self.ended(call(self.process.app, method, path, body))
        assert run.status in STATUSES, f"{method} {path}: {run.status} {run.body!r}"
        self.told.append(f"-> {run.status}")
        return run

    # What the person does

    async def reload(self) -> None:
        """A fresh tab; one that could not load the thread shows nothing, and nobody acts on it."""
        fresh = self.tab.again()
        run = await self.send(fresh.body(messages=[], state={}), tab=fresh, action="/connect")
        if run.is_stream and run.outcome != "store_unavailable":
            self.tab = fresh

    async def say(self) -> None:
        """A new message, from a tab that may be stale."""
        if self.random.random() < 0.5:
            await self.reload()
        self._messages += 1
        words = [w for w in get_args(Words) if self.random.random() < 0.5]
        self.random.shuffle(words)
        before = list(self.tab.model.messages)
        self.tab.user(" ".join([f"m{self._messages}", *words, "round"]))
        self._body = self.tab.body()
        run = await self.send(self._body)
        if not run.is_stream or run.outcome in ("interrupts_pending", "thread_busy"):
            self.tab.model.messages = before

    async def retry(self) -> None:
        """The same POST once more, byte for byte, wherever the proxy sends it."""
        if self._body is not None:
            await self.send(self._body)

    async def answer(self) -> None:
        """Decide all that this tab shows, in one resume; say something if nobody asks."""
        if self.random.random() < 0.3 or not self.tab.model.pending:
            await self.reload()
        if not self.tab.model.pending:
            await self.say()
            return
        self._body = self.tab.body(resume=self.entries())
        await self.send(self._body)

    async def race(self) -> None:
        """Two tabs decide, each as it likes, and reach one process each."""
        if not self.tab.model.pending:
            await self.answer()
            return
        tabs = [self.tab, self.tab.again()]
        bodies = [self.tab.body(resume=self.entries()) for _ in tabs]
        for tab, process in zip(tabs, self.alive, strict=True):
            tab.app = process.app
        runs = await self.ended(*(tab.run(body) for tab, body in zip(tabs, bodies, strict=True)))
        self.told.append(f"-> {[run.outcome if run.is_stream else run.status for run in runs]}")

    async def leave(self) -> None:
        """Close the tab while the answer streams."""
        if not self.tab.model.pending:
            await self.answer()
            return
        self.tab.app = self.process.app
        self._body = self.tab.body(resume=self.entries())
        exchange = self.tab.open(self._body)
        await self.until_it_streams(exchange)
        await exchange.disconnect()

    async def until_it_streams(self, exchange: Exchange) -> None:
        async with asyncio.timeout(PATIENCE):
            while not exchange.sent and not exchange.ended:
                await self.pause()
                await self.world.clock.advance(0.1)

    async def inbox(self) -> None:
        """Decide one that waits, or one that the tab still shows."""
        shown = await self.shown()
        if shown:
            item = self.random.choice(shown)
            entry = self.decide(item)
            path = f"/interrupts/{entry.pop('interruptId')}/answer"
            run = await self.rest("POST", path, entry)
            if run.status == 200 and item["reason"] == "tool_call":
                yes = entry.get("payload", {}).get("approved", False)
                self.acknowledged.setdefault(item["id"], yes)

    async def withdraw(self) -> None:
        """Take an answer back, if it is still kept."""
        shown = await self.shown()
        if shown:
            one = self.random.choice(shown)["id"]
            await self.rest("DELETE", f"/interrupts/{one}/answer")

    async def shown(self) -> list[Json]:
        run = await self.rest("GET", f"/interrupts?threadId={self.tab.thread}")
        return [*(run.json["items"] if run.status == 200 else ()), *self.tab.model.pending]

    async def stop(self) -> None:
        run = await self.rest("POST", f"/threads/{self.tab.thread}/stop")
        self.stops += run.status in (200, 503)

    async def wait(self) -> None:
        """Time passes: leases run out, forms expire."""
        for _ in range(self.random.choice((3, int(LEASE) + 2, int(PATIENT) + 2))):
            await self.world.clock.advance(1.0)
            await self.pause()

    def entries(self) -> list[Json]:
        return [self.decide(item) for item in self.tab.model.pending]

    def decide(self, item: Json, *, kindly: bool = False) -> Json:
        """Anything, but the truth where the server asks what happened."""
        choose = self.random.choice
        if item["reason"] == INDETERMINATE:
            shown = item["metadata"]["sayso"]
            name = shown.get("arguments", {}).get("name", shown["name"])
            happened = name in self.world.effects
            skip = {"action": "skip", "result": f"did {name}"}
            chosen = answer(skip if happened else {"action": "run_again"})
        elif item["reason"] == "tool_call":
            old = item["metadata"]["sayso"]["arguments"]["name"]
            edited = approve(editedArgs={"name": f"{old.rstrip('!')}!"})
            chosen = choose([approve(), approve(), edited, deny("no"), cancel()])
            chosen = approve() if kindly else chosen
        else:
            chosen = choose([answer(3), cancel()])
        return {"interruptId": item["id"], **chosen}

    # The end

    async def finish(self) -> None:
        """Nothing breaks any more: time passes, the person answers all that is asked."""
        for process in self.alive:
            if not process.window.dead:
                process.window.restore()
        await self.revive()
        for _ in range(30):
            await self.at_rest()
            await self.revive()  # a death that was under way when all was mended
            await self.reload()
            assert self.tab.model.pending == [] or self.told[-1] == "-> interrupt"
            if not self.tab.model.pending:
                break
            entries = [self.decide(item, kindly=True) for item in self.tab.model.pending]
            await self.send(self.tab.body(resume=entries))
        else:
            raise AssertionError("this never ends")
        other = self.tab.again()
        await self.send(other.body(messages=[], state={}), tab=other, action="/connect")
        assert other.model.messages == self.tab.model.messages
        stored = await Stored.of(self.world.store, self.tab.thread)
        if stored is None:
            assert self.world.effects == []
            return
        faults = stored.faults(self.tab.model.messages)
        assert not faults, faults
        self.count(stored)

    async def at_rest(self) -> None:
        """Let time pass until nobody holds the thread and nothing of it is due."""
        store, thread = self.world.store, self.tab.thread
        async with asyncio.timeout(PATIENCE):
            while True:
                # In this order: what is claimed in between is held by then.
                due = (
                    await store.due_threads(self.world.clock.now(), PageRequest(limit=100))
                ).items
                view = await store.load("default", thread)
                if view is None or (view.thread.holder is None and not due):
                    return
                await self.pause()
                await self.world.clock.advance(1.0)

    async def pause(self) -> None:
        """Let others run; a store on disk has threads, which tell nobody."""
        await (ticks(20) if self.kind == "memory" else asyncio.sleep(0.001))

    def count(self, stored: Stored) -> None:
        """Each effect at most once; what a person approved, once; nothing else."""
        happened = Counter(self.world.effects)
        assert set(happened.values()) <= {1}, happened
        calls = {name for name in happened if name.count(".") == 2}
        approved = stored.approved()
        assert calls <= approved, f"nobody approved {calls - approved}"
        told = stored.executed()
        assert told <= calls, f"told, and never done: {told - calls}"
        if not self.stops:
            assert approved <= calls, f"approved, and never done: {approved - calls}"
            assert calls <= told, f"done, and never told: {calls - told}"
        for one, yes in self.acknowledged.items():
            assert stored.decisions.get(one) is yes, f"{one} was acknowledged as {yes}"
