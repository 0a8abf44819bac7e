"""What is called and not awaited did not happen, and the turn says so before it is told as done."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from sayso import Question, Speak, ToolCall, Turn, approval
from tests.contract.requirements import requirement
from tests.contract.server import Server, approve


async def words() -> AsyncIterator[str]:
    yield "Hm"


async def asks(speak: Speak) -> None:
    """A request to a model."""


async def other(turn: Turn) -> None:
    """An agent to delegate to."""


CALLS: dict[str, Callable[[Turn], Any]] = {
    "say": lambda turn: turn.say("Paid."),
    "stream": lambda turn: turn.stream(words()),
    "activity": lambda turn: turn.activity("PLAN", {}),
    "custom": lambda turn: turn.custom("shop:a", 1),
    "usage": lambda turn: turn.usage("acme", "large", input_tokens=1),
    "set": lambda turn: turn.set("/a", 1),
    "patch": lambda turn: turn.patch([]),
    "step": lambda turn: turn.step(print, "paid"),
    "call": lambda turn: turn.call("pay", {"a": 1}),
    "call_all": lambda turn: turn.call_all([ToolCall("pay", {"a": 1})]),
    "client_tool": lambda turn: turn.client_tool("pick", {}),
    "report": lambda turn: turn.report("search", {"q": "a"}),
    "report_decision": lambda turn: turn.report_decision("a", {}, rule="r", allowed=True),
    "delegate": lambda turn: turn.delegate(other),
    "interrupt": lambda turn: turn.interrupt("confirmation", "Sure?"),
    "interrupt_all": lambda turn: turn.interrupt_all(
        [Question(reason="confirmation", message="Sure?")]
    ),
    "decide": lambda turn: turn.decide(why="w", planned_action="p", options=[]),
    "clarify": lambda turn: turn.clarify("What?"),
    "ask_elsewhere": lambda turn: turn.ask_elsewhere("https://h", "Sign in"),
    "gather": lambda turn: turn.gather(),
    "cancel": lambda turn: turn.cancel("Enough."),
    "note": lambda turn: turn.note("a", 1),
    "parked": lambda turn: turn.parked(asyncio.get_running_loop().create_future()),
    "resting": lambda turn: turn.resting(asyncio.get_running_loop().create_future()),
    "model": lambda turn: turn.model(asks, name="m"),
    "chat": lambda turn: turn.chat(None, model="m"),
    "now": lambda turn: turn.now(),
    "uuid": lambda turn: turn.uuid(),
    "random": lambda turn: turn.random(),
}


def test_every_method_that_has_to_be_awaited_is_tried() -> None:
    """A new one joins the table."""
    source = inspect.getsource(Turn)
    methods = {part.partition("(")[0] for part in source.split("    async def ")[1:]}
    assert methods | {"step"} == set(CALLS)


@requirement("LC-02", "ER-02")
@pytest.mark.parametrize("name", CALLS)
async def test_a_forgotten_await_fails_the_turn_and_names_the_line(
    server: Server, name: str
) -> None:
    """Nobody is told that it was done: what was called never began."""

    async def agent(turn: Turn) -> None:
        CALLS[name](turn)
        await turn.say("Done.")

    run = await server.client(agent).say()
    assert run.outcome == "agent_error"
    line = CALLS[name].__code__.co_firstlineno
    where = f"test_awaiting.py line {line}: turn.{name}("
    assert run.last["message"].startswith(where)
    assert ") was never awaited: what is not awaited does not happen." in run.last["message"]


@pytest.mark.parametrize("change", ["set", "patch"])
async def test_a_change_of_an_activity_that_is_not_awaited_is_named(
    server: Server, change: str
) -> None:
    """What the turn hands out is held to the same."""

    async def agent(turn: Turn) -> None:
        activity = await turn.activity("PLAN", {"step": 1})
        getattr(activity, change)({"step": 2})

    run = await server.client(agent).say()
    assert run.outcome == "agent_error"
    assert f": activity.{change}(" in run.last["message"]
    assert ") was never awaited: what is not awaited does not happen." in run.last["message"]


async def test_text_is_written_whether_or_not_the_write_is_awaited(server: Server) -> None:
    """No word is lost, live and on replay; awaiting it only waits for readers."""

    async def agent(turn: Turn) -> None:
        async with turn.message() as message:
            message.write("Paid").close()
            await message.write(" it.")
        await turn.interrupt("confirmation", "Go on?")

    client = server.client(agent)
    assert (await client.say()).text == "Paid it."
    assert (await client.resume(approve())).outcome == "success"
    history = [one["content"] for one in (await client.connect()).snapshot]
    assert history[:2] == ["go", "Paid it."]


async def test_a_gated_call_that_is_not_awaited_is_named_with_its_tool(server: Server) -> None:
    """All of them, in the order of the lines."""

    @server.app.tool(approval=approval.always)
    async def pay(a: float) -> str:
        server.effects.append(a)
        return "paid"

    async def agent(turn: Turn) -> None:
        turn.call(pay, a=1)  # type: ignore[unused-coroutine]  # that is the point
        turn.say("Paid.")  # type: ignore[unused-coroutine]  # that is the point

    run = await server.client(agent).say()
    first = inspect.getsourcelines(agent)[1]
    assert run.last["message"].startswith(
        f"test_awaiting.py line {first + 1}: turn.call(pay, …) was never awaited; "
        f"test_awaiting.py line {first + 2}: turn.say('Paid.') was never awaited: "
    )
    assert server.effects == []


async def test_what_is_awaited_later_or_elsewhere_or_was_cancelled_is_no_mistake(
    server: Server,
) -> None:
    """Tasks, groups, gather, a coroutine kept for later, one closed, and a task cancelled early."""

    def effect(name: str) -> Callable[[], None]:
        return lambda: server.effects.append(name)

    async def agent(turn: Turn) -> None:
        later = turn.step.options(name="later")(effect("later"))
        task = asyncio.create_task(turn.step.options(name="task")(effect("task")))
        async with asyncio.TaskGroup() as group:
            group.create_task(turn.step.options(name="group")(effect("group")))
        await turn.gather(turn.step.options(name="gather")(effect("gather")), turn.now())
        turn.say("never").close()
        cancelled = asyncio.create_task(turn.say("never"))
        cancelled.cancel()
        await task
        await later
        await turn.interrupt("confirmation", "Go on?")
        asyncio.create_task(turn.say("begun, and not awaited"))  # noqa: RUF006 - that is the point

    client = server.client(agent)
    assert (await client.say()).outcome == "interrupt"
    run = await client.resume(approve())
    assert run.outcome == "success", run.last
    assert sorted(server.effects) == ["gather", "group", "later", "task"]


async def test_a_pause_is_no_mistake(server: Server) -> None:
    """What stands behind the question may still be awaited once it is answered."""

    async def agent(turn: Turn) -> None:
        said = turn.say("Yes.")
        await turn.interrupt("confirmation", "Go on?")
        await said

    client = server.client(agent)
    with pytest.warns(RuntimeWarning, match="Turn.say' was never awaited"):
        assert (await client.say()).outcome == "interrupt"
    assert (await client.resume(approve())).text == "Yes."
