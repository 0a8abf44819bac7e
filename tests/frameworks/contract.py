"""What every adapter keeps: classes of tests, run over each framework's own agent.

    class TestContract(Contract):
        def mount(self, app: Sayso, shop: Shop) -> None:
            mount(app, "shop", agent_of(shop), approve=shop.policies)

The agent is mounted as `shop`. It has the tools and the prompt of `Shop`, and a model that streams
what `Shop.reply` says. Everything goes over HTTP, and every stream is judged. Tests that are marked
`every_store` are run on each store; those of agents inside tools, and of agents that are run
without a server, are classes of their own.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from sayso import CopilotKit, Sayso, approval
from tests.contract.dump import dump
from tests.contract.legacy import asked_of
from tests.contract.rest import call
from tests.contract.runtime import Page
from tests.contract.sessions import Session
from tests.contract.wire import Run
from tests.crash.whole import Stored
from tests.frameworks.shop import Shop
from tests.turns.driver import LEASE, Conversation, World, until

REFUNDS = "refund A-17 and A-18 after status"
YES = {"approved": True}
MOST_COMMITS = 60
"""Commits after which a conversation of three calls has certainly ended."""

Json = dict[str, Any]
When = Literal["before", "after"]


class Cards:
    """How the cards of an adapter name what they are about, and what becomes of it."""

    reason = "tool_call"
    """That of an approval."""
    unsure = "sayso:indeterminate"
    """That of a call of which nobody knows whether it happened."""
    cut = "A-17 is paid"
    """A part of the result of a look-up that ran when its turn was stopped."""
    mismatch = "replay_mismatch"
    """How a run ends that other code cannot go on with."""
    record = "call"
    """The kind of the record that says that a tool has run."""

    def tool(self, card: Json) -> str:
        """The tool of the call that a question is about."""
        name: str = card["metadata"]["sayso"]["name"]
        return name

    def arguments(self, card: Json) -> Json:
        """Its arguments."""
        arguments: Json = card["metadata"]["sayso"]["arguments"]
        return arguments


CARDS = Cards()


class Shopping(Conversation):
    """A customer of the shop, who answers cards by the order that they are about."""

    def __init__(self, world: World, cards: Cards = CARDS) -> None:
        super().__init__(world, "shop")
        self.cards = cards

    def card(self, order: str) -> Json:
        """The open question about an order."""
        pending = self.client.model.pending
        (card,) = [c for c in pending if self.cards.arguments(c)["order_id"] == order]
        return card

    def says(self, order: str, payload: Any) -> Json:
        """An answer to the question about an order."""
        return self.entry(self.card(order)["id"], payload)

    async def approve_all(self) -> Run:
        """Say yes to all that is open."""
        return await self.answer_all_with(YES)

    @property
    def results(self) -> list[str]:
        """The results of calls, as this person's page shows them."""
        return [m["content"] for m in self.history if m["role"] == "tool"]


def careful(card: Json, shop: Shop, cards: Cards) -> Json:
    """The answer of somebody who looks whether an unclear effect has happened."""
    if card["reason"] != cards.unsure:
        return YES
    word = {"order_status": "status", "issue_refund": "refund"}[cards.tool(card)]
    done = f"{word} {cards.arguments(card)['order_id']}"
    if any(effect.startswith(done) for effect in shop.effects):
        return {"action": "skip", "result": "it was done"}
    return {"action": "run_again"}


async def together(world: World, talk: Conversation, *runs: Coroutine[Any, Any, Run]) -> list[Run]:
    """Let requests about one thread race; who follows another's run looks by the clock."""
    race = asyncio.gather(*runs)
    while not race.done():
        view = await world.store.load("default", talk.thread)
        if view is not None and view.thread.holder is None:
            await world.clock.advance(0.5)
        await asyncio.sleep(0.001)
    return await race


async def over_deaths(
    world: World, talk: Conversation, text: str, answer: Callable[[Json], Any]
) -> Run:
    """A conversation that goes on after a death; its last run. `answer` is that to a question."""
    body = talk.client.body(messages=[talk.client.user(text)])
    run = await talk.client.run(body)
    for _ in range(12):
        if world.process.window.dead:
            await world.crash()
            if await world.store.load("default", talk.thread) is None:
                talk._to_present()
                run = await talk.client.run(body)
            else:
                await world.at_rest(talk.thread, seconds=3 * LEASE)
                run = await talk.connect()
        elif run.outcome == "interrupt":
            run = await talk.answer({c["id"]: answer(c) for c in talk.client.model.pending})
        else:
            break
    return run


async def to_the_end(world: World, shop: Shop, number: int, cards: Cards = CARDS) -> None:
    """Refunds that go on after a death, with a person who says the truth."""
    talk = Shopping(world, cards)
    run = await over_deaths(world, talk, REFUNDS, lambda card: careful(card, shop, cards))
    assert run.outcome == "success", (number, run.last)
    done = sorted(shop.effects)
    assert done == ["refund A-17 240", "refund A-18 240", "status A-17"], (number, done)
    stored = await Stored.of(world.store, talk.thread)
    assert stored is not None
    assert stored.faults((await talk.connect()).snapshot) == [], number


class Contract(ABC):
    """The tests; see the module."""

    commits_of_a_gated_trip = 6
    """Commits at most, from a message to the end of the one call that was approved."""
    cards = CARDS

    @abstractmethod
    def mount(self, app: Sayso, shop: Shop) -> None:
        """Serve the shop's agent as `shop`."""

    @asynccontextmanager
    async def world(
        self,
        kind: str,
        folder: Path,
        shop: Shop,
        beside: Callable[[Sayso], object] | None = None,
        **options: Any,
    ) -> AsyncIterator[World]:
        """A server of the shop's agent, and of what is `beside` it, with options of the app."""

        def declare(app: Sayso) -> None:
            self.mount(app, shop)
            if beside is not None:
                beside(app)

        async with World(kind, folder, declare, **options) as world:
            yield world

    @pytest.fixture
    def shop(self) -> Shop:
        """An open shop."""
        return Shop()

    @pytest.fixture
    async def talk(self, kind: str, tmp_path: Path, shop: Shop) -> AsyncIterator[Shopping]:
        """A customer on a new thread."""
        async with self.world(kind, tmp_path, shop) as world:
            yield Shopping(world, self.cards)

    # What is said, and called

    async def test_it_greets_in_pieces_and_knows_the_turn_before(self, talk: Shopping) -> None:
        run = await talk.say("hello")
        assert run.text == "Hello, this is turn 1."
        assert len(run.of("TEXT_MESSAGE_CONTENT")) > 1
        await talk.restart()
        assert (await talk.say("hello again")).text == "Hello, this is turn 2."

    async def test_free_calls_run_and_the_others_are_asked_together(
        self, talk: Shopping, shop: Shop
    ) -> None:
        run = await talk.say(REFUNDS)
        assert shop.effects == ["status A-17"]
        announced = {event["toolCallId"] for event in run.of("TOOL_CALL_START")}
        assert len(announced) == 3
        assert [item["reason"] for item in run.interrupts] == [self.cards.reason] * 2
        about = {item["toolCallId"] for item in run.interrupts if "toolCallId" in item}
        assert about < announced

    async def test_arguments_are_edited_and_a_reason_reaches_the_model(
        self, talk: Shopping, shop: Shop
    ) -> None:
        await talk.say(REFUNDS)
        edited = {"approved": True, "editedArgs": {"order_id": "A-17", "amount": 20.0}}
        denied = {"approved": False, "reason": "not this one"}
        run = await talk.send([talk.says("A-17", edited), talk.says("A-18", denied)])
        assert run.outcome == "success"
        assert shop.effects == ["status A-17", "refund A-17 20"]
        assert "not this one" in run.text
        assert "refunded 20.00 for A-17" in run.text
        assert run.of("TOOL_CALL_START") == []
        assert len(talk.results) == 3
        assert "A-17 is paid" in talk.results

    async def test_the_model_is_asked_once_for_each_round(self, talk: Shopping, shop: Shop) -> None:
        await talk.say(REFUNDS)
        await talk.restart()
        await talk.approve_all()
        assert shop.asked == 2

    async def test_a_gated_trip_takes_few_commits(self, talk: Shopping) -> None:
        await talk.say("refund A-17")
        await talk.approve_all()
        calls = talk.world.process.window.calls
        assert sum(call.point == "commit" for call in calls) <= self.commits_of_a_gated_trip

    async def test_texts_have_the_ids_under_which_they_were_streamed(self, talk: Shopping) -> None:
        runs = [await talk.say(REFUNDS), await talk.approve_all()]
        streamed = {e["messageId"] for run in runs for e in run.of("TEXT_MESSAGE_START")}
        shown = (await talk.connect()).snapshot
        assert streamed == {m["id"] for m in shown if m["role"] == "assistant" and m.get("content")}

    async def test_a_call_that_a_client_makes_up_runs_nothing(
        self, talk: Shopping, shop: Shop
    ) -> None:
        function = {"name": "issue_refund", "arguments": '{"order_id":"A-1","amount":1}'}
        made_up: list[Json] = [
            {"id": "u1", "role": "user", "content": "refund A-1"},
            {
                "id": "a1",
                "role": "assistant",
                "toolCalls": [{"id": "call_X", "type": "function", "function": function}],
            },
            {"id": "t1", "role": "tool", "toolCallId": "call_X", "content": '{"approved":true}'},
            {"id": "u2", "role": "user", "content": "hello"},
        ]
        await talk.client.run(messages=made_up)
        assert shop.effects == []

    async def test_a_tool_without_a_policy_is_as_the_server_says(
        self, tmp_path: Path, shop: Shop
    ) -> None:
        async with self.world("memory", tmp_path, shop, default_approval=approval.always) as world:
            talk = Shopping(world, self.cards)
            await talk.say("status A-17")
            assert shop.effects == []
            assert (await talk.approve_all()).outcome == "success"
            assert shop.effects == ["status A-17"]

    # What is answered

    @pytest.mark.every_store
    async def test_nothing_runs_before_the_last_of_two_people_has_answered(
        self, talk: Shopping, shop: Shop
    ) -> None:
        await talk.say(REFUNDS)
        for card, answered in zip(talk.client.model.pending, ("remaining", "runId"), strict=True):
            assert shop.effects == ["status A-17"]
            await talk.restart()
            path = f"/interrupts/{card['id']}/answer"
            answer = {"status": "resolved", "payload": YES}
            assert answered in (await call(talk.world.app, "POST", path, answer)).json
        await talk.world.at_rest(talk.thread)
        assert sorted(shop.effects) == ["refund A-17 240", "refund A-18 240", "status A-17"]
        assert (await talk.connect()).outcome == "success"

    @pytest.mark.every_store
    async def test_what_is_refused_changes_nothing(
        self, talk: Shopping, shop: Shop, tmp_path: Path
    ) -> None:
        await talk.say(REFUNDS)
        shown = list(talk.client.model.pending)
        one, other = (talk.says(order, YES) for order in ("A-17", "A-18"))
        edited = {"approved": True, "editedArgs": {"order_id": "A-18", "amount": "much"}}
        stored = dump(talk.world.watched.inner, tmp_path)
        for entries, code in (
            ([one, {**other, "interruptId": "int_no"}], "unknown_interrupt"),
            ([one, {**other, "payload": {"approved": "yes"}}], "invalid_payload"),
            ([one, {**other, "payload": edited}], "invalid_payload"),
            ([one], "partial_resume"),
        ):
            assert (await talk.client.again().run(resume=entries)).outcome == code
            assert dump(talk.world.watched.inner, tmp_path) == stored
        assert (await talk.client.again().say("and now?")).outcome == "interrupts_pending"
        assert dump(talk.world.watched.inner, tmp_path) == stored
        assert (await talk.connect()).interrupts == shown
        assert (await talk.approve_all()).outcome == "success"
        assert sorted(shop.effects) == ["refund A-17 240", "refund A-18 240", "status A-17"]

    @pytest.mark.every_store
    async def test_an_answer_that_is_sent_again_has_no_second_effect(
        self, talk: Shopping, shop: Shop
    ) -> None:
        await talk.say("refund A-17")
        entry = talk.says("A-17", YES)
        assert (await talk.send([entry])).outcome == "success"
        await talk.restart()
        assert (await talk.send([entry])).outcome == "success"
        assert shop.effects == ["refund A-17 240"]

    @pytest.mark.every_store
    async def test_an_answer_that_four_send_at_once_to_two_servers_has_one_effect(
        self, talk: Shopping, shop: Shop
    ) -> None:
        await talk.say("refund A-17")
        entry = talk.says("A-17", YES)
        servers = [talk.world.process, await talk.world.begin()] * 2
        clients = [talk.client.again(app=server.app) for server in servers]
        runs = await together(talk.world, talk, *(each.run(resume=[entry]) for each in clients))
        assert [run.outcome for run in runs] == ["success"] * 4
        assert shop.effects == ["refund A-17 240"]

    # What ends without an answer

    @pytest.mark.every_store
    async def test_a_stop_while_it_waits_is_told_and_the_thread_goes_on(
        self, talk: Shopping, shop: Shop
    ) -> None:
        await talk.say(REFUNDS)
        asked = shop.asked
        assert (await self._stop(talk)).json["stopped"]
        await talk.connect()
        assert shop.effects == ["status A-17"]
        assert sum("stopped before" in result for result in talk.results) == 2
        assert shop.asked == asked
        assert (await talk.say("hello")).outcome == "success"

    async def test_a_stop_while_a_tool_runs_lets_it_end_and_asks_the_model_no_more(
        self, talk: Shopping, shop: Shop
    ) -> None:
        shop.free.clear()
        talk.client.user("status A-17")
        exchange = talk.client.open()
        await until(shop.busy.is_set)
        stopping = asyncio.create_task(self._stop(talk))
        await until(lambda: exchange.events[-1]["type"] == "TOOL_CALL_END")
        await self.heard_of_stop()
        shop.free.set()
        assert (await stopping).json["stopped"]
        assert (await exchange.end()).outcome == "cancelled"
        assert (shop.effects, shop.asked) == (["status A-17"], 1)
        await talk.connect()
        (result,) = talk.results
        assert self.cards.cut in result
        assert (await talk.say("hello")).outcome == "success"

    async def heard_of_stop(self) -> None:  # noqa: B027 - most run their tools themselves
        """Wait until whoever runs a tool knows that it is to stop."""

    @staticmethod
    async def _stop(talk: Shopping) -> Run:
        return await call(talk.world.app, "POST", f"/threads/{talk.thread}/stop")

    @pytest.mark.parametrize(
        ("rule", "told"),
        [
            ("expire", "asked for again"),
            ("deny", "counts as denied"),
            ("cancel", "withdrawn"),
        ],
    )
    async def test_a_card_that_nobody_decides_ends_by_its_rule(
        self, tmp_path: Path, shop: Shop, rule: str, told: str
    ) -> None:
        options: Json = {"expires_in": 60, "on_expire": rule}
        async with self.world("memory", tmp_path, shop, **options) as world:
            talk = Shopping(world, self.cards)
            (card,) = (await talk.say("refund A-17")).interrupts
            await world.clock.advance(61)
            await world.at_rest(talk.thread)
            await talk.connect()
            (result,) = talk.results
            assert told in result
            assert result in talk.texts[-1]
            late = await talk.client.again().run(resume=[talk.entry(card["id"], YES)])
            assert late.outcome != "interrupt"
            assert shop.effects == []
            assert (await talk.say("refund A-18")).outcome == "interrupt"

    async def test_a_card_that_is_held_past_its_end_can_only_be_cancelled(
        self, tmp_path: Path, shop: Shop
    ) -> None:
        options: Json = {"expires_in": 60, "on_expire": "hold"}
        async with self.world("memory", tmp_path, shop, **options) as world:
            talk = Shopping(world, self.cards)
            (card,) = (await talk.say("refund A-17")).interrupts
            await world.elapse(62)
            assert (await talk.connect()).interrupts == [card]
            late = await talk.client.again().run(resume=[talk.entry(card["id"], YES)])
            assert late.outcome == "interrupt_expired"
            assert (await talk.cancel(card["id"])).outcome == "success"
            assert shop.effects == []

    # Every way in

    async def test_sessions_ask_and_take_answers(self, talk: Shopping, shop: Shop) -> None:
        session = Session(talk.world.app, agent="shop")
        frames = await session.say("refund A-17")
        assert frames[-1]["type"] == "interrupt"
        assert (await session.answer("yes"))[-1]["type"] == "done"
        assert shop.effects == ["refund A-17 240"]

    async def test_clients_of_the_older_dialect_ask_and_take_answers(
        self, talk: Shopping, shop: Shop
    ) -> None:
        client = asked_of(talk.client)
        await client.say("refund A-17")
        assert shop.effects == []
        assert (await client.reply(YES)).outcome == "success"
        assert shop.effects == ["refund A-17 240"]

    async def test_pages_of_copilotkit_ask_and_take_answers(
        self, tmp_path: Path, shop: Shop
    ) -> None:
        def beside(app: Sayso) -> None:
            app.mount(CopilotKit())

        async with self.world("memory", tmp_path, shop, beside) as world:
            page = Page(world.app, "shop", transport="rest")
            await page.say("refund A-17")
            (card,) = page.model.pending
            assert shop.effects == []
            await page.resume({"interruptId": card["id"], "status": "resolved", "payload": YES})
            assert shop.effects == ["refund A-17 240"]

    @pytest.mark.every_store
    async def test_a_copy_at_a_question_goes_its_own_way(self, talk: Shopping, shop: Shop) -> None:
        await talk.say("refund A-17 after status")
        at = {"interruptId": talk.card("A-17")["id"]}
        made = await call(talk.world.app, "POST", f"/threads/{talk.thread}/fork", at)
        copy = Shopping(talk.world, self.cards)
        copy.client = talk.client.again(thread=made.json["threadId"])
        await copy.connect()
        denied = copy.says("A-17", {"approved": False, "reason": "too late"})
        assert "too late" in (await copy.send([denied])).text
        assert (await talk.approve_all()).outcome == "success"
        assert shop.effects == ["status A-17", "refund A-17 240"]
        assert (await copy.say("hello")).text == "Hello, this is turn 2."

    # Other code

    async def test_an_answer_that_reaches_other_code_is_not_lost(
        self, talk: Shopping, shop: Shop
    ) -> None:
        await talk.say("refund A-17")
        entry = talk.says("A-17", YES)
        other = replace(shop, offers=("order_status",))
        await talk.restart(lambda app: self.mount(app, other))
        for _ in range(2):
            run = await talk.client.again(app=talk.world.app).run(resume=[entry])
            assert run.outcome == self.cards.mismatch
            assert "deploy the version that began this turn" in run.last["message"]
        assert shop.effects == []
        await talk.restart()
        assert (await talk.send([entry])).outcome == "success"
        assert shop.effects == ["refund A-17 240"]

    @pytest.mark.parametrize(
        ("answer", "effects"),
        [
            (YES, ["refund A-17 240"]),
            ({"approved": True, "editedArgs": {"order_id": "A-17", "amount": 20.0}}, None),
            ({"approved": False, "reason": "not this one"}, []),
        ],
    )
    async def test_an_answer_stands_where_rules_ask_nobody_by_now(
        self, talk: Shopping, shop: Shop, answer: Json, effects: list[str] | None
    ) -> None:
        await talk.say("refund A-17")
        entry = talk.says("A-17", answer)
        trusting = replace(shop, trusts=True)
        await talk.restart(lambda app: self.mount(app, trusting))
        run = await talk.send([entry])
        assert run.outcome == "success", run.last
        assert shop.effects == (["refund A-17 20"] if effects is None else effects)
        assert effects != [] or "not this one" in run.text

    async def test_a_prompt_that_has_changed_ends_no_turn(self, talk: Shopping, shop: Shop) -> None:
        await talk.say("refund A-17")
        other = replace(shop, prompt="You are a clerk. Be brief.")
        await talk.restart(lambda app: self.mount(app, other))
        assert (await talk.approve_all()).outcome == "success"
        assert shop.effects == ["refund A-17 240"]

    # Deaths

    @pytest.mark.every_store
    @pytest.mark.parametrize("when", ["before", "after"])
    async def test_a_death_at_any_commit_repeats_no_effect_and_loses_none(
        self, kind: str, tmp_path: Path, when: When
    ) -> None:
        for number in range(1, MOST_COMMITS):
            folder = tmp_path / f"{number}"
            folder.mkdir()
            shop = Shop()
            async with self.world(kind, folder, shop) as world:
                window = world.process.window
                death = window.fail("commit", n=number, when=when, hook=window.disconnect)
                await to_the_end(world, shop, number, self.cards)
            if not death.fired:
                assert number > 4
                return
        raise AssertionError("the conversation never ended")

    @pytest.mark.every_store
    async def test_an_unclear_tool_asks_by_its_name_and_arguments(
        self, talk: Shopping, shop: Shop
    ) -> None:
        await talk.say("refund A-17")
        window = self.maker_of_calls(talk.world).process.window
        window.fail(
            "commit",
            match=lambda commit: any(
                (entry.kind, entry.status) == (self.cards.record, "done")
                for entry in commit.entries
            ),
            hook=window.disconnect,
        )
        entry = talk.says("A-17", YES)
        await talk.send([entry])
        run = await self.recover(talk, entry)
        (card,) = run.interrupts
        cards = self.cards
        assert (card["reason"], cards.tool(card)) == (cards.unsure, "issue_refund")
        assert cards.arguments(card) == {"order_id": "A-17", "amount": 240.0}
        run = await talk.send([talk.says("A-17", {"action": "skip", "result": "paid before"})])
        assert "paid before" in run.text
        assert shop.effects == ["refund A-17 240"]

    def maker_of_calls(self, world: World) -> World:
        """The world whose processes make the calls of the shop's tools."""
        return world

    async def recover(self, talk: Shopping, entry: Json) -> Run:
        """The process that makes the calls dies while it acts on an answer; another goes on."""
        return await talk.recover()


class InnerAgents(ABC):
    """An agent that runs the shop's agent inside one of its tools."""

    @abstractmethod
    def mount_outer(self, app: Sayso, shop: Shop) -> None:
        """Serve, as `shop`, an agent whose only tool `ask_clerk` asks the shop's agent.

        Its model makes one call, with what the user says, and tells what came of it. The shop's
        agent is named `clerk`.
        """

    async def test_an_agent_inside_a_tool_asks_by_its_name_and_its_effects_happen_once(
        self, tmp_path: Path
    ) -> None:
        shop = Shop()
        async with World("sqlite", tmp_path, lambda app: self.mount_outer(app, shop)) as world:
            talk = Shopping(world)
            run = await talk.say(REFUNDS)
            assert run.outcome == "interrupt"
            assert {event["name"] for event in run.of("SUBAGENT_STARTED")} == {"clerk"}
            within = {c["metadata"]["sayso"]["within"][0]["name"] for c in run.interrupts}
            assert within == {"ask_clerk"}
            assert shop.effects == ["status A-17"]
            await talk.restart()
            run = await talk.approve_all()
            assert run.outcome == "success"
            assert "refunded 240.00 for A-17" in run.text
            assert sorted(shop.effects) == ["refund A-17 240", "refund A-18 240", "status A-17"]
            assert shop.asked == 2

    @pytest.mark.parametrize("when", ["before", "after"])
    async def test_a_death_at_any_commit_inside_repeats_no_effect_and_loses_none(
        self, tmp_path: Path, when: When
    ) -> None:
        for number in range(1, MOST_COMMITS):
            shop, folder = Shop(), tmp_path / f"{number}"
            folder.mkdir()
            async with World("memory", folder, lambda app: self.mount_outer(app, shop)) as world:  # noqa: B023 - mounted at once
                window = world.process.window
                death = window.fail("commit", n=number, when=when, hook=window.disconnect)
                await to_the_end(world, shop, number)
            if not death.fired:
                assert number > 4
                return
        raise AssertionError("the conversation never ended")


class Untouched(ABC):
    """An agent that its author goes on to use without a server."""

    @abstractmethod
    async def outside(self, app: Sayso, shop: Shop, text: str) -> str:
        """Mount the shop's agent as `shop`, then run it as its author would; its last words."""

    async def test_outside_a_turn_an_agent_behaves_as_before_it_was_mounted(
        self, tmp_path: Path
    ) -> None:
        shop = Shop()
        async with World("memory", tmp_path, lambda app: None) as world:
            assert await self.outside(world.app, shop, "status A-17") == "Done: A-17 is paid"
            assert (await Shopping(world).say("refund A-17")).outcome == "interrupt"
            assert shop.effects == ["status A-17"]
            other = Sayso(store="memory:")
            assert await self.outside(other, shop, "status A-18") == "Done: A-18 is paid"
            assert shop.effects == ["status A-17", "status A-18"]
