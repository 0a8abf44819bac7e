"""`turn.model`: asked once, recorded when it returns, asked again after a death, cut by a stop."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from sayso import Sayso, Speak, StepFailed, Turn
from sayso.testing import Conversation as Talk
from tests.contract.requirements import requirement
from tests.turns.driver import Conversation, World


class Weather(BaseModel):
    """What a model was asked for."""

    town: str
    degrees: int


async def test_what_a_model_says_streams_and_what_it_returns_is_recorded(
    kind: str, tmp_path: Path
) -> None:
    async def agent(turn: Turn, world: World) -> Any:
        async def ask(speak: Speak) -> Weather:
            world.effect("asked")
            await speak.think("Where is ")
            await speak.think("that?", encrypted="sealed", encrypted_type="fake.thinking")
            await speak.text("It is ")
            await speak.text("")
            await speak.text("cold.")
            speak.usage("fake", "fake-1", input_tokens=3, output_tokens=2)
            return Weather(town="Bern", degrees=-3)

        weather = await turn.model(ask, name="weather", returns=Weather)
        answer = await turn.interrupt(
            "input_required", f"{weather.degrees} degrees: go?", schema=str
        )
        return [weather.town, answer.value]

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        run = await talk.say("go")
        assert [e["delta"] for e in run.of("TEXT_MESSAGE_CONTENT")] == ["It is ", "cold."]
        (sealed,) = run.of("REASONING_ENCRYPTED_VALUE")
        assert sealed["encryptedValue"] == "sealed"
        assert run.last["usage"][0]["inputTokens"] == 3
        await talk.restart()
        run = await talk.answer_all(lambda _: "yes")
        assert (run.last["result"], world.effects) == (["Bern", "yes"], ["asked"])
        assert "usage" not in run.last


@requirement("LC-20")
@pytest.mark.parametrize("thinks", [True, False])
async def test_a_model_that_died_is_asked_again_under_the_same_message_id_and_counted_once(
    kind: str, tmp_path: Path, thinks: bool
) -> None:
    """A thought that comes only once gives the text no other id."""
    stop = asyncio.Event()

    async def agent(turn: Turn, world: World) -> Any:
        async def ask(speak: Speak) -> str:
            world.effect("asked")
            first = len(world.effects) == 1
            if first or thinks:
                await speak.think("Hm.")
            speak.usage("fake", "fake-1", input_tokens=3, output_tokens=2)
            await speak.text("Half")
            if first:
                await stop.wait()
            await speak.text(" and half")
            return "done"

        return await turn.model(ask, name="model")

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        talk.client.user("go")
        reader = talk.client.open()
        await reader.when(lambda events: any(e.get("delta") == "Half" for e in events))
        talk.client.model.take(reader.events)
        (begun,) = [e for e in reader.events if e["type"] == "TEXT_MESSAGE_START"]
        await world.crash()
        await reader.disconnect()
        stop.set()
        await world.at_rest(talk.thread)
        run = await talk.connect()
        assert run.outcome == "success"
        said = [(m["id"], m["content"]) for m in talk.history if m["role"] == "assistant"]
        assert said == [(begun["messageId"], "Half and half")]
        (spent,) = [e.data for e in await world.journal(talk.thread) if e.kind == "spent"]
        assert b'"inputTokens":3,' in spent


def test_a_changed_prompt_ends_no_turn_that_waits() -> None:
    """The request is no part of the record."""

    def app_of(prompt: str) -> Sayso:
        app = Sayso(store="memory:")

        @app.agent("writer")
        async def writer(turn: Turn) -> Any:
            async def ask(speak: Speak) -> str:
                return prompt

            told = await turn.model(ask, name="model")
            answer = await turn.interrupt("input_required", "Go on?", schema=str)
            return [told, answer.value]

        return app

    with Talk(app_of("Be kind.")) as agent:
        agent.say("go")
        agent.restart(app_of("Be brief."))
        assert agent.answer("yes").result == ["Be kind.", "yes"]


def test_an_error_of_the_model_fails_the_step_and_a_text_that_was_said_stays() -> None:
    app = Sayso(store="memory:")

    @app.agent("writer")
    async def writer(turn: Turn) -> None:
        async def ask(speak: Speak) -> str:
            await speak.text("Let me")
            speak.usage("fake", "fake-1", input_tokens=3, output_tokens=1)
            raise ConnectionError("it is gone")

        try:
            await turn.model(ask, name="model")
        except StepFailed as failed:
            await turn.say(f"({failed.error_type})")

    with Talk(app) as agent:
        run = agent.say("go")
        assert agent.texts == ["Let me", "(ConnectionError)"]
        assert run.events[-1]["usage"][0]["outputTokens"] == 1


@pytest.mark.parametrize("wrong", ["called", "no function", "no count"])
def test_a_wrong_use_is_told(wrong: str) -> None:
    app = Sayso(store="memory:")

    async def ask(speak: Speak) -> str:
        speak.usage("fake", "fake-1", tokens=3)
        return ""

    @app.agent("writer")
    async def writer(turn: Turn) -> None:
        asks: Any = {"called": lambda: ask(None), "no function": lambda: "ask"}  # type: ignore[arg-type]  # as a careless author has it
        await turn.model(asks.get(wrong, lambda: ask)(), name="model")

    says = {
        "called": "what ask\\(\\) returned",
        "no function": "an async function of a Speak",
        "no count": "usage takes cache_write",
    }
    with Talk(app) as agent, pytest.raises(Exception, match=says[wrong]):
        agent.say("go")
