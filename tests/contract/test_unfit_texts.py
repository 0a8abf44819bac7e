"""Texts and results that cannot be kept as they are: what happened is told as what it was."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from sayso import Turn, approval, parts
from sayso.base.errors import StepFailed
from tests.contract.requirements import requirement
from tests.contract.server import Server, approve

NAME = "r\udce9sum\udce9.txt"
"""The name of a file, as Python gives out what is no UTF-8."""
KEPT = "r\ufffdsum\ufffd.txt"


@pytest.fixture(autouse=True)
def unlogged() -> Iterator[None]:
    """What the log says of such errors holds halves of characters, which no report can carry."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


class Mute(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise KeyError("no text")


ERRORS: dict[str, tuple[Callable[[], Exception], str]] = {
    "half": (lambda: RuntimeError(f"cannot read {NAME}"), f"RuntimeError: cannot read {KEPT}"),
    "mute": (Mute, "Mute: (what it says cannot be read)"),
}


@requirement("TC-16", "EN-08")
@pytest.mark.parametrize("kind", ERRORS)
async def test_a_tool_whose_error_is_no_text_has_failed_and_nobody_is_asked(
    server: Server, kind: str
) -> None:
    """B2: no server died, so nothing is unsure."""
    raised, said = ERRORS[kind]

    @server.app.tool(on_error="text")
    async def read() -> str:
        raise raised()

    @server.app.tool(on_error="text")
    async def part(turn: Turn) -> str:
        raise raised()

    async def agent(turn: Turn) -> Any:
        results = [str(await turn.call(tool)) for tool in (read, part)]
        await turn.interrupt("confirmation", "Go on?")
        return results

    client = server.client(agent)
    run = await client.say()
    assert [item["message"] for item in run.interrupts] == ["Go on?"]
    assert list(run.results.values()) == [f"Failed: {said}"] * 2
    again = await client.resume(approve())
    assert again.last["result"] == [f"Failed: {said}"] * 2


@pytest.mark.parametrize("kind", ERRORS)
async def test_a_step_or_stream_whose_error_is_no_text_has_failed(
    server: Server, kind: str
) -> None:
    """Rule 4: the same live and on replay."""
    raised, said = ERRORS[kind]

    def fails() -> None:
        raise raised()

    async def words() -> AsyncIterator[str]:
        yield "Hm"
        raise raised()

    async def agent(turn: Turn) -> Any:
        found = []
        for work in (turn.step.options(name=f"read {NAME}")(fails), turn.stream(words())):
            try:
                await work
            except StepFailed as error:
                found.append(f"{error.error_type}: {error.message}")
        await turn.interrupt("confirmation", "Go on?")
        return found

    client = server.client(agent)
    run = await client.say()
    assert [item["message"] for item in run.interrupts] == ["Go on?"]
    assert (await client.resume(approve())).last["result"] == [said] * 2


@requirement("TC-16", "EN-08")
@pytest.mark.parametrize(
    "told", [NAME, {NAME: [NAME]}, [parts.text(NAME)]], ids=["text", "object", "parts"]
)
async def test_a_result_with_half_a_character_is_kept_without_it(server: Server, told: Any) -> None:
    """J1: it ran, so it is executed; the author gets the same live and on replay."""

    @server.app.tool(approval=approval.always)
    async def charge() -> Any:
        return told

    async def agent(turn: Turn) -> Any:
        charged = await turn.call(charge)
        stepped = await turn.step.options(name="charge")(lambda: told)
        await turn.interrupt("confirmation", f"Go on with {NAME}?", metadata={"shop": NAME})
        return [charged.status, repr(charged.value), repr(stepped)]

    client = server.client(agent)
    await client.say()
    run = await client.resume(approve())
    (item,) = run.interrupts
    assert (item["message"], item["metadata"]["shop"]) == (f"Go on with {KEPT}?", KEPT)
    status, charged, stepped = (await client.resume(approve())).last["result"]
    assert status == "executed"
    assert KEPT in charged
    assert KEPT in stepped


@requirement("TC-16")
async def test_a_tool_whose_result_cannot_be_kept_was_executed(server: Server) -> None:
    """The money is gone: the model is told not to call it again; the next card says that it ran."""

    @server.app.tool(approval=approval.always, on_error="ask")
    async def charge(x: int) -> int:
        server.effects.append(x)
        return "receipt 12"  # type: ignore[return-value]  # the annotation is wrong

    async def agent(turn: Turn) -> Any:
        first = await turn.call(charge, x=1)
        second = await turn.call(charge, x=1)
        return [first.status, first.value, second.status]

    client = server.client(agent)
    run = await client.say()
    assert run.interrupts[0]["message"] == "Approve charge(x=1)?"
    run = await client.resume(approve())
    (said,) = run.results.values()
    assert said.startswith("Executed; its result could not be recorded (")
    assert said.endswith("Do not call it again.")
    (item,) = run.interrupts
    assert item["message"] == (
        "Approve charge(x=1)? The same call already ran in this turn (executed)."
    )
    assert item["metadata"]["sayso"]["ranBefore"] == "executed"
    run = await client.resume(approve())
    assert run.last["result"] == ["executed", None, "executed"]
    assert server.effects == [1, 1]


async def test_a_step_whose_result_cannot_be_kept_says_that_it_ran(server: Server) -> None:
    """B2: it is not tried again, and nobody is asked."""

    def charge() -> Any:
        server.effects.append("charged")
        return object()

    async def agent(turn: Turn) -> Any:
        try:
            await turn.step(charge)
        except StepFailed as error:
            await turn.interrupt("confirmation", "Go on?")
            return error.message

    client = server.client(agent)
    run = await client.say()
    assert [item["message"] for item in run.interrupts] == ["Go on?"]
    told = (await client.resume(approve())).last["result"]
    assert told.startswith("the step ran, and its result could not be recorded: ")
    assert server.effects == ["charged"]


@requirement("EN-08", "TR-36")
async def test_halves_of_an_emoji_meet_and_a_lone_one_is_replaced(server: Server) -> None:
    """Models cut text anywhere; no reader sees half a character, and no turn ends over one."""

    async def halves() -> AsyncIterator[str]:
        for piece in ("Hi \ud83d", "\ude00", "!", "\ud83d"):
            yield piece

    @server.app.tool()
    async def hums() -> AsyncIterator[str]:
        async for piece in halves():
            yield piece

    async def agent(turn: Turn) -> Any:
        async with turn.message() as message:
            async for piece in halves():
                await message.write(piece)
        async with turn.reasoning(encrypted="\ud83d") as thought:
            async for piece in halves():
                await thought.write(piece)
        streamed = await turn.stream(halves())
        await turn.say("\ud83d")
        async with turn.phase("\ud83d"):
            await turn.activity("PLAN", {"\ud83d": "\ud83d"})
        await turn.set("/a", "\ud83d")
        await turn.custom("shop:\ud83d", "\ud83d")
        return [streamed, str(await turn.call(hums))]

    client = server.client(agent)
    run = await client.say()
    whole = "Hi \U0001f600!\ufffd"
    assert run.last["result"] == [whole, whole]
    said = [m for m in client.model.messages if m["role"] in ("assistant", "reasoning")]
    assert [m["content"] for m in said if "content" in m] == [whole, whole, whole, "\ufffd"]
    fresh = client.again()
    await fresh.connect()
    assert {m["id"]: m for m in fresh.model.messages} == {m["id"]: m for m in client.model.messages}


@requirement("EN-08")
async def test_half_a_character_in_an_argument_is_replaced_before_anybody_sees_it(
    server: Server,
) -> None:
    """What is shown is what runs."""

    @server.app.tool(approval=approval.always)
    async def send(to: str) -> str:
        server.effects.append(to)
        return to

    async def agent(turn: Turn) -> Any:
        return str(await turn.call(send, to="\ud83d\ude00 \ud83d"))

    client = server.client(agent)
    (item,) = (await client.say()).interrupts
    assert item["metadata"]["sayso"]["arguments"] == {"to": "\U0001f600 \ufffd"}
    assert (await client.resume(approve())).last["result"] == "\U0001f600 \ufffd"
    assert server.effects == ["\U0001f600 \ufffd"]
