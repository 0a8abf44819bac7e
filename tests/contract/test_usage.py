"""Usage through a whole server: told with every ending, once, by the run that spent it."""

from typing import Any

import pytest

from sayso import Turn
from tests.contract.requirements import requirement
from tests.contract.server import Server, answer, approve

Json = dict[str, Any]


async def model(turn: Turn, tokens: int) -> None:
    """A model call that is no step: the code runs again on replay, the tokens were spent once."""
    await turn.usage("acme", "large", input_tokens=tokens, output_tokens=1)


def spent(tokens: int, calls: int = 1) -> list[Json]:
    return [
        {
            "provider": "acme",
            "model": "large",
            "inputTokens": tokens,
            "outputTokens": calls,
            "totalTokens": tokens + calls,
        }
    ]


@requirement("US-01", "US-05")
@pytest.mark.parametrize("version", ["1.0", None])
async def test_a_resumed_run_reports_its_own_calls_only(
    server: Server, version: str | None
) -> None:
    """US-05: the sums of the two runs are the true total, for both generations of clients."""

    async def agent(turn: Turn) -> None:
        await model(turn, 10)
        await model(turn, 20)
        await turn.interrupt("confirmation", "Go on?")
        await model(turn, 400)
        await turn.say("Done.")

    client = server.client(agent, version=version)
    assert (await client.say()).last["usage"] == spent(30, 2)
    body = client.body(resume=client.entries(approve()))
    assert (await client.run(body)).last["usage"] == spent(400)
    again = await client.run(body)
    assert again.outcome == "success"
    assert "usage" not in again.last, "a replay costs nothing"
    assert "usage" not in (await client.again().connect()).last


@requirement("US-01")
async def test_a_run_that_fails_says_what_it_cost(server: Server) -> None:
    """US-01: RUN_ERROR has usage too."""

    async def agent(turn: Turn) -> None:
        await model(turn, 7)
        raise ValueError("no")

    run = await server.client(agent).say()
    assert run.last["type"] == "RUN_ERROR"
    assert run.last["usage"] == spent(7)


@requirement("US-02", "US-03", "TR-34")
async def test_a_wrong_report_costs_no_ending_and_none_is_none(server: Server) -> None:
    """TR-34: an interrupt arrives whatever was reported; nothing reported is no member."""

    async def agent(turn: Turn) -> None:
        if turn.input.text == "wrong":
            wrong: Any = {"input_tokens": 1.5, "output_tokens": -1, "reasoning_tokens": "many"}
            await turn.usage("acme", "large", **wrong)
        await turn.interrupt("input_required", "Which?", schema=int)

    for text in ("wrong", "nothing"):
        client = server.client(agent)
        run = await client.say(text)
        assert run.outcome == "interrupt"
        assert "usage" not in run.last
        assert (await client.resume(answer(3))).outcome == "success"


@requirement("US-05")
async def test_calls_inside_steps_and_messages_count_where_they_run(server: Server) -> None:
    """US-05: a step that comes out of the journal has cost nothing this time."""

    async def agent(turn: Turn) -> None:
        async def ask_model() -> str:
            await model(turn, 3)
            return "yes"

        said = await turn.step(ask_model)
        async with turn.message() as message:
            await message.write(said)
            await model(turn, 4)
        await turn.interrupt("confirmation", "Go on?")

    client = server.client(agent)
    assert (await client.say()).last["usage"] == spent(7, 2)
    assert "usage" not in (await client.resume(approve())).last


@requirement("US-05")
async def test_a_message_that_waited_is_answered_on_the_same_bill(server: Server) -> None:
    """US-05: a run that holds two turns reports both."""

    async def agent(turn: Turn) -> None:
        if turn.input.text == "go":
            await turn.interrupt("confirmation", "Go on?")
            await model(turn, 5)
        else:
            await model(turn, 6)

    client = server.client(agent)
    await client.say()
    client.user("and then")
    run = await client.resume(approve())
    assert run.outcome == "success"
    assert run.last["usage"] == spent(11, 2)
