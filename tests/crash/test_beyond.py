"""Inner agents and the client's own tools through deaths at every write, and in two processes."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import pytest

from sayso import Sayso, Turn, approval
from sayso.testing.points import Point
from tests.contract.frontend import OFFERED
from tests.contract.requirements import requirement
from tests.contract.wire import Run
from tests.crash.test_every_write import WRITES, in_any_order_of_results, shape
from tests.crash.test_two_processes import at_once, until_both_have_ended
from tests.turns.driver import Conversation, World

EFFECTS = dict.fromkeys(["price flight", "price room", "book flight", "book room", "file"], 1)
RESULT = {
    "flight": "booked flight",
    "room": None,
    "slot": "picked 1",
    "seat": "picked 2",
    "same": "picked 1",
    "filed": "file",
}
INDETERMINATE = "sayso:indeterminate"


def declare(world: World, app: Sayso) -> None:
    """A turn that waits for two inner agents of one name and for its client, then for it again."""

    @app.tool(approval=approval.always)
    async def book(what: str) -> str:
        world.effect(f"book {what}")
        return f"booked {what}"

    async def booker(turn: Turn) -> str | None:
        what = turn.input.text
        await turn.say(f"Looking for a {what}.")
        await turn.step.options(name=f"price {what}")(world.effect, f"price {what}")
        await turn.set(f"/{what}", "asked")
        done = await turn.call(book, what=what)
        await turn.say(f"{what}: {done.status}")
        return done.value

    @app.agent("agent")
    async def agent(turn: Turn) -> Any:
        await turn.say("Hello.")
        flight, room, slot = await turn.gather(
            turn.delegate(booker, "flight", name="booker"),
            turn.delegate(booker, "room", name="booker"),
            turn.client_tool("pick", {"n": 1}),
        )
        async with turn.phase("after"):
            seat = await turn.client_tool("pick", {"n": 2})
            same = await turn.client_tool("pick", {"n": 1})
        filed = await turn.step.options(name="file")(world.effect, "file")
        return {
            "flight": flight,
            "room": room,
            "slot": slot.value,
            "seat": seat.value,
            "same": same.value,
            "filed": filed,
        }


class Page:
    """A page with a tool of its own, and a person before it who books flights and no rooms."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.talk = Conversation(world)
        self.ran: dict[str, dict[str, Any]] = {}
        """What came of each call of its tool, once for each call."""
        self.deaths = 0

    async def begin(self) -> Run:
        talk = self.talk
        if not talk.history:
            self.body = talk.client.body(messages=[talk.client.user("go")], tools=OFFERED)
        talk._to_present()
        return talk._took(await talk.client.run(self.body))

    async def to_the_end(self) -> Run:
        """Answer whoever asks, recover from what dies, until the turn is over."""
        run = await self.begin()
        for _ in range(40):
            if self.world.process.window.dead:
                self.deaths += 1
                run = await self._survive()
            elif run.outcome == "success" and not self.talk.history[1:]:
                run = await self.begin()  # nobody took the first message
            elif self.open or run.outcome == "interrupt":
                run = await self._answer()
            else:
                return run
        raise AssertionError("this never ends")

    async def _survive(self) -> Run:
        if await self.world.store.load("default", self.talk.thread) is None:
            await self.world.crash()
            return await self.talk.connect()
        return await self.talk.recover()

    @property
    def open(self) -> list[dict[str, Any]]:
        """The calls that wait for this page, as any client derives them."""
        answered = {m.get("toolCallId") for m in self.talk.history}
        calls = [call for m in self.talk.history for call in m.get("toolCalls", ())]
        mine = [call for call in calls if call["function"]["name"] == "pick"]
        return [call for call in mine if call["id"] not in answered]

    async def _answer(self) -> Run:
        for call in self.open:
            n = call["function"]["arguments"].split(":")[1].rstrip("}")
            message = {"id": f"t-{call['id']}", "role": "tool", "toolCallId": call["id"]}
            self.ran.setdefault(call["id"], {**message, "content": f"picked {n}"})
            self.talk.history.append(self.ran[call["id"]])
        entries = [
            self.talk.entry(item["id"], self._decide(item))
            for item in self.talk.client.model.pending
        ]
        return await self.talk.send(entries)

    def _decide(self, item: dict[str, Any]) -> Any:
        shown = item["metadata"]["sayso"]
        if item["reason"] != INDETERMINATE:
            return {"approved": shown["arguments"]["what"] == "flight"}
        what = shown.get("arguments", {}).get("what")
        effect = shown["name"] if what is None else f"book {what}"
        if effect not in self.world.effects:
            return {"action": "run_again"}
        return {"action": "skip", "result": effect if what is None else f"booked {what}"}


def made(kind: str, folder: Path) -> World:
    world: World = World(kind, folder, lambda app: declare(world, app))
    return world


def expected_effects() -> Counter[str]:
    return Counter({name: n for name, n in EFFECTS.items() if name != "book room"})


async def undisturbed(kind: str, folder: Path) -> tuple[list[Any], dict[Point, int]]:
    async with made(kind, folder) as world:
        page = Page(world)
        run = await page.to_the_end()
        assert run.last["result"] == RESULT
        assert Counter(world.effects) == expected_effects()
        count = Counter(call.point for call in world.process.window.calls)
        run = await page.talk.connect()
        return shape(run.snapshot), {point: count[point] for point in WRITES if count[point]}


@requirement("ID-04", "LC-20", "SA-06", "TC-14")
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_death_at_any_write_repeats_no_effect_and_no_call_of_the_client(
    kind: str, when: Literal["before", "after"], tmp_path: Path
) -> None:
    """Design 3: each effect once, each call of the page's tool made and run once, one history."""
    expected, writes = await undisturbed(kind, tmp_path)
    assert writes["commit"] > 8
    for point, count in writes.items():
        for n in range(1, count + 1):
            where = f"death {when} {point} {n} of {count}"
            folder = tmp_path / where
            folder.mkdir()
            async with made(kind, folder) as world:
                window = world.process.window
                window.fail(point, n=n, when=when, hook=window.disconnect)
                page = Page(world)
                run = await page.to_the_end()
                assert run.last.get("result", RESULT) == RESULT, (where, run.last)
                assert Counter(world.effects) == expected_effects(), where
                assert page.deaths <= 1, where  # what rides with what differs by a turn of the loop
                assert len(page.ran) == 2, where
                run = await page.talk.connect()
                assert in_any_order_of_results(shape(run.snapshot)) == in_any_order_of_results(
                    expected
                ), where
                ids = [message["id"] for message in run.snapshot]
                assert len(set(ids)) == len(ids), where


@requirement("ID-07")
@pytest.mark.parametrize("kind", ["sqlite", "memory"])
async def test_two_processes_take_one_result_of_the_client(kind: str, tmp_path: Path) -> None:
    """Two tabs ran the tool and reach two servers at once: one result counts, one turn goes on."""

    async def agent(turn: Turn, world: World) -> Any:
        await turn.step(world.effect, "before")
        picked = await turn.client_tool("pick")
        await turn.step(world.effect, f"after {picked.value}")
        return picked.value

    async with World.of(kind, tmp_path, agent) as world:
        first, second = world.process, await world.begin()
        for _ in range(5):
            world.effects.clear()
            talk = Conversation(world)
            run = await talk.say(tools=OFFERED)
            (call,) = run.last["outcome"]["pendingToolCallIds"]
            bodies = [
                talk.client.body(
                    messages=[{"id": f"t-{n}", "role": "tool", "toolCallId": call, "content": n}]
                )
                for n in ("1", "2")
            ]
            runs = asyncio.ensure_future(
                at_once(
                    world,
                    (first, talk.client.again(), bodies[0]),
                    (second, talk.client.again(), bodies[1]),
                )
            )
            await until_both_have_ended(world, talk, runs)
            assert [one.outcome for one in runs.result()] == ["success", "success"]
            assert world.effects in (["before", "after 1"], ["before", "after 2"])
            shown = (await talk.connect()).snapshot
            told = [m["content"] for m in shown if m["role"] == "tool"]
            assert [f"after {content}" for content in told] == world.effects[1:]
