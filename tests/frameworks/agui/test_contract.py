"""What every adapter keeps, with agents that are streams of AG-UI events: here, and elsewhere."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sayso import Sayso
from sayso.agui import mount_events, mount_remote
from tests.contract.rest import call
from tests.contract.wire import Run
from tests.frameworks.agui.elsewhere import Elsewhere
from tests.frameworks.agui.producers import shop_agent
from tests.frameworks.chat.served import tools_of
from tests.frameworks.contract import (
    MOST_COMMITS,
    REFUNDS,
    YES,
    Cards,
    Contract,
    Shopping,
    When,
    careful,
)
from tests.frameworks.shop import Shop
from tests.stores.watched import PatientClock
from tests.turns.driver import LEASE, Json, World, until


class TestContract(Contract):
    """The contract's tests, with a function of this process."""

    def mount(self, app: Sayso, shop: Shop) -> None:
        mount_events(app, "shop", shop_agent(shop), tools=tools_of(shop), again=True)


async def at_once(seconds: float) -> None:
    """Wait for nothing but others."""
    assert seconds <= 60
    await asyncio.sleep(0.01)


class FarCards(Cards):
    """An agent elsewhere is told what came of its question, and makes its own result of that."""

    reason = "far:tool_call"
    unsure = "far:indeterminate"
    cut = "the turn was stopped before"
    mismatch = "agent_error"

    def tool(self, card: Json) -> str:
        name: str = card["metadata"]["tool"]
        return name

    def arguments(self, card: Json) -> Json:
        arguments: Json = card["metadata"]["arguments"]
        return arguments


class TestRemote(Contract):
    """The same, with an agent behind a URL, whose tools and policies are those of its server."""

    cards = FarCards()

    @asynccontextmanager
    async def world(
        self, kind: str, folder: Path, shop: Shop, beside: Any = None, **options: Any
    ) -> AsyncIterator[World]:
        clock = PatientClock()
        async with (
            Elsewhere(folder / "elsewhere", shop, clock=clock, **options) as self.far,
            super().world(kind, folder, shop, beside, clock=clock, **options) as world,
        ):
            yield world

    def mount(self, app: Sayso, shop: Shop) -> None:
        root = "http://127.0.0.1"
        stop = f"{root}/threads/{{threadId}}/stop"
        http = self.far.http(shop)
        mount_remote(app, "shop", f"{root}/agents/shop", http=http, stop=stop, again=True)

    async def heard_of_stop(self) -> None:
        await until(lambda: any(path.endswith("/stop") for path in self.far.answered))

    def maker_of_calls(self, world: World) -> World:
        return self.far

    async def recover(self, talk: Shopping, entry: Json) -> Run:
        assert talk.run.outcome == "agent_error"
        await self._far_dies(talk)
        return await talk.send([entry])

    async def _far_dies(self, talk: Shopping) -> None:
        await self.far.crash()
        for _ in range(int(2 * LEASE)):
            await talk.world.elapse(1)

    async def _over_a_death(self, talk: Shopping, run: Coroutine[Any, Any, Run]) -> Run:
        """A run in which the server elsewhere may die, and another goes on there."""
        running = asyncio.create_task(run)
        while not running.done():
            if self.far.process.window.dead:
                await self._far_dies(talk)
            await asyncio.sleep(0.001)
        return await running

    @pytest.mark.parametrize("when", ["before", "after"])
    async def test_a_death_elsewhere_at_any_commit_repeats_no_effect_and_loses_none(
        self, tmp_path: Path, when: When, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in ("rounds", "remote"):
            monkeypatch.setattr(f"sayso.frameworks.agui.{module}.sleep", at_once)
        for number in range(1, MOST_COMMITS):
            folder = tmp_path / f"{number}"
            folder.mkdir()
            shop = Shop()
            async with self.world("memory", folder, shop) as world:
                window = self.far.process.window
                death = window.fail("commit", n=number, when=when, hook=window.disconnect)
                talk = Shopping(world, self.cards)
                run = await self._over_a_death(talk, talk.say(REFUNDS))
                for _ in range(12):
                    if run.outcome != "interrupt":
                        break
                    answers = {
                        card["id"]: careful(card, shop, self.cards)
                        for card in talk.client.model.pending
                    }
                    run = await self._over_a_death(talk, talk.answer(answers))
            assert run.outcome == "success", (number, run.last)
            done = sorted(shop.effects)
            assert done == ["refund A-17 240", "refund A-18 240", "status A-17"], (number, done)
            if not death.fired:
                assert number > 4
                return
        raise AssertionError("the conversation never ended")

    @pytest.mark.every_store
    async def test_a_copy_at_a_question_goes_its_own_way(self, talk: Shopping, shop: Shop) -> None:
        """It goes none: the agent elsewhere knows the thread that was copied, which goes on."""
        await talk.say("refund A-17 after status")
        at = {"interruptId": talk.card("A-17")["id"]}
        made = await call(talk.world.app, "POST", f"/threads/{talk.thread}/fork", at)
        copy = Shopping(talk.world, self.cards)
        copy.client = talk.client.again(thread=made.json["threadId"])
        await copy.connect()
        run = await copy.send([copy.says("A-17", YES)])
        assert (run.outcome, shop.effects) == ("agent_error", ["status A-17"])
        assert "copy" in run.last["message"]
        assert (await talk.approve_all()).outcome == "success"
        assert shop.effects == ["status A-17", "refund A-17 240"]
        assert (await copy.say("hello")).outcome == "success"
