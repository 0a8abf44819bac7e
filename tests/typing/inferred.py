"""What type checkers infer of a turn: nobody runs this file, mypy and pyright read it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any, assert_type

from pydantic import BaseModel

from sayso import (
    Answer,
    AskFirst,
    Call,
    Decision,
    KeyedBranch,
    Legacy,
    Option,
    ReportedCall,
    Sayso,
    SchemaViolation,
    Speak,
    Told,
    Tool,
    ToolCall,
    Turn,
    approval,
    current_call,
    parts,
)
from sayso.providers import Completions, Provider, last

app = Sayso()


class Closing(BaseModel):
    """What closes a ticket."""

    note: str


@app.tool(approval=approval.always, effect="irreversible")
async def pay(order_id: int, amount: float = 1.0) -> str:
    """An effect that is awaited."""
    return f"{order_id}: {amount}"


@app.tool
def look_up(order_id: int) -> list[int]:
    """One that runs in a thread."""
    return [order_id]


@app.tool(timeout=5)
async def poem(topic: str) -> AsyncIterator[str]:
    """One that streams text."""
    yield topic


@app.tool()
async def book(turn: Turn, town: str) -> Closing:
    """A part of the turn."""
    await turn.say(town)
    return Closing(note=town)


@app.tool
async def bare(turn: Turn) -> int:
    """A part of the turn that takes nothing else."""
    return len(turn.key)


@app.tool
async def settle(order_id: int) -> Told[Closing]:
    """One that says something else than it gives back."""
    return Told(Closing(note=str(order_id)), "Settled.")


@app.tool(idempotent=True)
def look_at(order_id: int) -> Told[int]:
    """One that does so in a thread."""
    return Told(order_id, "Seen.")


@app.tool
async def visit(turn: Turn, town: str) -> Told[str]:
    """One that does so as a part of the turn."""
    return Told(turn.key, town)


def fetch(page: int, *, size: int = 10) -> dict[str, int]:
    """A function of a step."""
    return {"page": page, "size": size}


async def charge(order_id: int) -> bytes:
    """A coroutine function of a step."""
    return bytes(order_id)


def send(*, name: str) -> str:
    """Its own `name` is not the step's."""
    return name


async def tools(turn: Turn) -> None:
    """A call gives what its tool returns, whatever kind of function that is."""
    assert_type(await turn.call(pay, 1, amount=2.0), Call[str])
    assert_type((await turn.call(pay, order_id=1)).value, str | None)
    assert_type(await turn.call(look_up, order_id=1), Call[list[int]])
    assert_type(await turn.call(poem, topic="rain"), Call[str])
    assert_type(await turn.call(book, town="Bern"), Call[Closing])
    assert_type(await turn.call(bare), Call[int])
    assert_type(await turn.call(pay, {"order_id": 1}), Call[str])
    assert_type(await turn.call(settle, 1), Call[Closing])
    assert_type(await turn.call(look_at, order_id=1), Call[int])
    assert_type(await turn.call(visit, town="Bern"), Call[str])
    assert_type(await turn.call("pay", {"order_id": 1}), Call[Any])
    assert_type(await turn.call_all([ToolCall(pay, {"order_id": 1})]), list[Call[Any]])
    assert_type(await turn.call(ToolCall(pay, {}, call=fetch, told_as="m1")), Call[Any])
    asked = ToolCall(pay, {}, approval=approval.always(by="lead"), editable=True)
    assert_type(await turn.call(asked), Call[Any])
    made = Tool.of("made", parameters={}, call=made_of, result=Closing)
    assert_type(made, Tool[..., Closing])
    assert_type(await turn.call(made, {"order_id": 1}), Call[Closing])
    loose = Tool.of("loose", parameters={}, call=made_of, check=fits, approval=approval.always)
    assert_type(await turn.call(loose, order_id=1), Call[Any])
    called = await turn.call(pay, order_id=1)
    assert_type((called.id, called.told_as), tuple[str, str | None])
    same: Tool[[int], list[int]] = Tool(fetch_all, name="fetch", idempotent=True)
    assert_type(await turn.call(same, 3), Call[list[int]])


def fetch_all(pages: int) -> list[int]:
    """A function that `Tool` itself makes a tool."""
    return [pages]


async def made_of(arguments: dict[str, Any]) -> Closing:
    """A function of a tool that has a JSON Schema."""
    return Closing(note=str(arguments))


def fits(arguments: dict[str, Any]) -> list[SchemaViolation]:
    """What its schema does not say."""
    return [SchemaViolation("/order_id", "is missing")] if not arguments else []


async def steps(turn: Turn) -> None:
    """A step gives what its function returns."""
    assert_type(await turn.step(fetch, 1, size=3), dict[str, int])
    assert_type(await turn.step(charge, 1), bytes)
    assert_type(await turn.step(send, name="Ann"), str)
    once = turn.step.options(name="charge", timeout=5, idempotent=True)
    assert_type(await once(charge, order_id=1), bytes)
    assert_type(await once.options(name="fetch")(fetch, 1), dict[str, int])
    assert_type(await turn.step(lambda: 5), int)
    assert_type(await turn.step.options(returns=int, shown="Five")(lambda: 5), int)


async def people(turn: Turn, shape: dict[str, Any]) -> None:
    """An answer is of the type that was asked for."""
    assert_type(await turn.interrupt("input_required", "Why?", schema=Closing), Answer[Closing])
    closing = await turn.interrupt("input_required", "Why?", schema=Closing, expires_in=60)
    assert_type(closing.value, Closing | None)
    assert_type(await turn.interrupt("confirmation", "Sure?"), Answer[Any])
    assert_type(await turn.interrupt("shop:any", "What?", schema=shape), Answer[Any])
    assert_type(await turn.clarify("Which?"), Answer[str])
    assert_type(await turn.clarify("How many?", schema=int, scope="all"), Answer[int])
    assert_type(await turn.clarify("Which?", options=[Option("A", "a")]), Decision)


async def clients(turn: Turn, shape: dict[str, Any]) -> None:
    """A tool of the client gives a text, or what it was asked for."""
    assert_type(await turn.client_tool("pick"), Call[str])
    assert_type(await turn.client_tool("pick", {"of": 3}, schema=Closing), Call[Closing])
    assert_type(await turn.client_tool("pick", schema=dict[str, int]), Call[dict[str, int]])
    assert_type(await turn.client_tool("pick", {}, schema=shape), Call[Any])


async def side_by_side(turn: Turn) -> None:
    """Results of different types keep them, however many of one type there are."""
    assert_type(
        await turn.gather(turn.step(charge, 1), turn.call(pay, order_id=1), turn.random()),
        tuple[bytes, Call[str], float],
    )
    assert_type(await turn.gather(*(turn.step(charge, n) for n in range(9))), tuple[bytes, ...])


async def close(speak: Speak) -> Closing:
    """A request to a model."""
    await speak.text("Closing.")
    return Closing(note="closed")


async def plain(speak: Speak) -> Any:
    """A request whose result is read back as a type."""


async def models(turn: Turn, client: Provider) -> None:
    """A model gives what its request returns, or what it is read back as."""
    assert_type(await turn.model(close, name="close", returns=Closing), Closing)
    assert_type(await turn.model(plain, name="close", returns=Closing), Closing)
    assert_type(await turn.model(plain, name="plain"), Any)
    words = await turn.chat(client, model="m", tools=[pay, "book"], messages=last(9), seed=1)
    assert_type(words, str)
    assert_type(await turn.chat(Completions("http://box/v1"), model="m"), str)


@app.tool
async def seat(flight: str) -> str:
    """One that asks first."""
    call = current_call()
    assert_type(call.answer, Answer[Any] | None)
    assert_type(call.attempt, int)
    raise AskFirst(f"Which row of {flight}?", schema=Closing, metadata={"flight": flight})


async def frameworks(turn: Turn) -> None:
    """What is awaited parked keeps its type."""
    assert_type(await turn.parked(turn.call(pay, order_id=1)), Call[str])
    assert_type(turn.halted, bool)
    assert_type(turn.stopped, bool)
    assert_type(await turn.resting(asyncio.Queue[int]().get()), int)
    assert_type(turn.notes("log"), tuple[Any, ...])
    async with turn.at("calls:1", agent="researcher", description="reads") as part:
        assert_type(part, KeyedBranch)
        await turn.note("log", {"n": 1}, durable=True)
        await part.end(error=None)
    reported = await turn.report("web_search", {"query": "paper"}, told_as="srv_1")
    assert_type(reported, ReportedCall)
    assert_type(reported.id, str)
    assert_type(reported.told_as, str | None)
    assert_type(await reported.result([parts.text("Three.")], error="slow"), None)
    await turn.report_decision("web_search", {}, rule="small", allowed=False)
    assert_type(turn.kept, Mapping[str, bytes])
    assert_type(turn.keep("checkpoint", b"1"), None)
    phase = turn.phase("search")
    assert_type(await phase.begin(), None)
    assert_type(await phase.end(), None)


def declarations() -> None:
    """A policy is one with and without a way to ask; an app made of another is an app."""
    assert_type(approval.always(by="lead", approvals=2), approval.Policy)
    assert_type(app.replace(server=replace(app.server, hosts=["box"])), Sayso)
    assert_type(app.agent_defaults.legacy, Legacy)
    app.add_tools(pay, agent="till")
    assert_type(app.tools_of("till"), tuple[Tool[..., Any], ...])
    assert_type(Sayso(on_start=[declare]), Sayso)


async def declare(app: Sayso) -> None:
    """What is known at the start alone."""
    app.add_tools(look_up)
