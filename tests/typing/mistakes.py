"""Mistakes that type checkers find, each with the error: nobody runs this file.

A comment that no longer fits fails both: mypy warns of an unused one, and so does pyright.
"""

from sayso import (
    AgentOptions,
    CopilotKit,
    Option,
    Sayso,
    ServerOptions,
    ToolCall,
    Turn,
    approval,
)

app = Sayso()


@app.tool(approval=approval.always)
async def pay(order_id: int, amount: float = 1.0) -> str:
    """A tool."""
    return f"{order_id}: {amount}"


@app.tool
async def book(turn: Turn, town: str) -> int:
    """A part of the turn."""
    return len(turn.key + town)


def look_up(order_id: int) -> str:
    """A function of a step."""
    return str(order_id)


async def work() -> int:
    """A coroutine function."""
    return 1


async def of_steps(turn: Turn) -> None:
    """A step's function and its arguments, the step's options."""
    await turn.step(look_up, 5, nope=3)  # type: ignore[arg-type, call-arg]  # pyright: ignore[reportCallIssue]
    await turn.step(look_up, "5")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    await turn.step(look_up)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await turn.step(look_up, 5, idempotent=True)  # type: ignore[arg-type, call-arg]  # pyright: ignore[reportCallIssue]
    await turn.step.options(idempotnt=True)(look_up, 5)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await turn.step.options(timeout="5")(look_up, 5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await turn.step(work())  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    count: int = await turn.step(look_up, 5)  # type: ignore[call-overload]  # pyright: ignore[reportAssignmentType]
    assert count


async def of_calls(turn: Turn) -> None:
    """A tool's arguments and its result."""
    await turn.call(pay, order_id=1, amont="x")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await turn.call(pay, order_id="A-17")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    await turn.call(pay)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await turn.call(book, turn, "Bern")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await turn.call(look_up, 5)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    await turn.call("pay", order_id=1)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    wrong: int | None = (await turn.call(pay, order_id=1)).value  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    assert wrong
    await turn.call_all([pay])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    await turn.call_all([ToolCall(pay, order_id=1)])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def of_questions(turn: Turn) -> None:
    """What a question asks for, and how long."""
    sure: str | None = (await turn.interrupt("shop:ok", "Sure?", schema=bool)).value  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    assert sure
    await turn.interrupt("shop:ok", "Sure?", response=bool)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await turn.interrupt("shop:ok", "Sure?", schema=bool, expire_in=60)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await turn.clarify("Which?", options=[Option("A", "a")], schema=str)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await turn.client_tool("pick", of=3)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    text: str | None = (await turn.client_tool("pick", schema=int)).value  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    assert text


async def of_results(turn: Turn) -> None:
    """What comes of several things."""
    one, two = await turn.gather(turn.now(), turn.random(), turn.uuid())  # type: ignore[misc]  # pyright: ignore[reportAssignmentType]
    assert one, two
    (await turn.gather(turn.now(), turn.random())).append(1)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def of_declarations() -> None:
    """What is said of a tool."""
    app.tool(approvl=approval.always)(look_up)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    app.tool(effect="writes")(look_up)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    app.tool(name="look_up")(5)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    approval.always(of=2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def of_options() -> None:
    """The groups of options, and what stands in which."""
    Sayso(partial="accumulate")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Sayso(server=AgentOptions())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    AgentOptions(partial="some")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ServerOptions(hosts=7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    app.replace(hosts=["box"])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    app.agent("a", max_unattended=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    app.mount("/copilotkit")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    CopilotKit(emission="loud")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
