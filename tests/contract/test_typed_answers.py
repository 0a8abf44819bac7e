"""Answers that fit the schema and not the author's type: refused, whichever way they come.

A schema cannot say all that a type does. So a payload is read with the type before anything
changes: the question stays open, nothing is entered, and the corrected answer is taken.
"""

import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, FutureDate, NaiveDatetime, model_validator

from sayso import DeclarationError, Option, Question, Tool, Turn, approval
from tests.contract.replicas import replica
from tests.contract.requirements import requirement
from tests.contract.rest import call
from tests.contract.server import Client, Json, Server, answer, eventually
from tests.contract.sessions import Session
from tests.patience import PATIENCE
from tests.time_limits import TimeLimits

KINDS = ("sqlite",)


class Stay(BaseModel):
    """Ends after it begins."""

    start: date
    end: date

    @model_validator(mode="after")
    def ordered(self) -> "Stay":
        if self.end < self.start:
            raise ValueError("end is before start")
        return self


def _even(value: int) -> int:
    if value % 2:
        raise ValueError("is odd")
    return value


def _in_may(value: date) -> date:
    if value.month != 5:
        raise ValueError("is not in May")
    return value


class Party(BaseModel):
    guests: Annotated[int, AfterValidator(_even)]


class Either(BaseModel):
    what: Stay | Party


class Price(BaseModel):
    amount: Annotated[Decimal, AfterValidator(lambda amount: _even(int(amount)) and amount)]


class Trip(BaseModel):
    on: FutureDate


LONG_AGO = "2001-01-01"
ONE_DAY = (datetime.now(UTC) + timedelta(days=400)).date().isoformat()
RIGHT = {"start": "2026-05-01", "end": "2026-05-02"}
WRONG = {"start": "2026-05-02", "end": "2026-05-01"}
TYPES: dict[str, tuple[Any, Any, Any, str]] = {
    "a model": (Stay, WRONG, RIGHT, ""),
    "a field": (Party, {"guests": 3}, {"guests": 4}, "/guests"),
    "a list": (list[Party], [{"guests": 2}, {"guests": 3}], [{"guests": 2}], "/1/guests"),
    "a union": (Either, {"what": {"guests": 1}}, {"what": {"guests": 2}}, "/what/guests"),
    "a decimal": (Price, {"amount": "3.5"}, {"amount": "4.5"}, "/amount"),
    "the future": (Trip, {"on": LONG_AGO}, {"on": ONE_DAY}, "/on"),
    "no zone": (NaiveDatetime, "2026-05-02T10:00:00Z", "2026-05-02T10:00:00", ""),
    "a time": (time, "10:00:00+02:00", "10:00:00", ""),
}


def asking(response: Any, entered: list[str]) -> Callable[[Turn], Awaitable[Any]]:
    """An agent that does something, asks, and does something more."""

    async def charge() -> None:
        entered.append("charge")

    async def agent(turn: Turn) -> Any:
        await turn.step(charge)
        came = await turn.interrupt("input_required", "What?", schema=response)
        entered.append("went on")
        return came.status

    return agent


@requirement("CR-6")
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
async def test_a_payload_that_its_type_refuses_leaves_the_question_open(
    server: Server, name: str, *, elsewhere: bool
) -> None:
    """Also where another process has the question: that one looks before it claims."""
    response, wrong, right, pointer = TYPES[name]
    entered: list[str] = []
    agent = asking(response, entered)
    client = server.client(agent)
    (asked,) = (await client.say()).interrupts
    named = {"interruptId": asked["id"]}
    async with replica(server, (client.agent, agent)) as other:
        app = other if elsewhere else server.app
        path = f"/interrupts/{asked['id']}/answer"
        for _ in range(2):
            refused = await call(app, "POST", path, answer(wrong))
            assert refused.status == 422
            assert f"/payload{pointer}" in [one["pointer"] for one in refused.json["errors"]]
        assert entered == ["charge"]
        run = await client.again(app=app).resume({**answer(wrong), **named})
        assert run.outcome == "invalid_payload"
        assert entered == ["charge"]
        run = await client.again(app=app).resume({**answer(right), **named})
        assert (run.outcome, run.last["result"]) == ("success", "resolved")
        assert entered == ["charge", "went on"]


async def on_the_thread(client: Client, asked: Json, payload: Any) -> int:
    run = await client.resume({"interruptId": asked["id"], **answer(payload)})
    return 422 if run.outcome == "invalid_payload" else run.status


async def from_the_inbox(client: Client, asked: Json, payload: Any) -> int:
    path = f"/interrupts/{asked['id']}/answer"
    return (await call(client.app, "POST", path, answer(payload))).status


async def in_bulk(client: Client, asked: Json, payload: Any) -> int:
    body = {"answers": [{"interruptId": asked["id"], **answer(payload)}]}
    return (await call(client.app, "POST", "/interrupts/answers", body)).status


async def by_command(client: Client, asked: Json, payload: Any) -> int:
    run = await client.run(forwardedProps={"command": {"resume": payload}})
    return 422 if run.outcome == "invalid_payload" else run.status


async def in_a_session(client: Client, asked: Json, payload: Any) -> int:
    session = Session(client.app, session_id=client.thread)
    await session.show()
    return (await session.send(payload)).status


DOORS = [on_the_thread, from_the_inbox, in_bulk, by_command, in_a_session]


async def decides(turn: Turn) -> Any:
    options = [Option("Book", "book", schema=Stay), Option("Leave it", "leave")]
    return (await turn.decide(why="w", planned_action="p", options=options)).params


async def clarifies(turn: Turn) -> Any:
    return (await turn.clarify("When?", schema=Stay)).value


async def completes(turn: Turn) -> Any:
    return (await turn.call("book", {"end": "2026-05-03"})).value


ASKED = {
    "decide": (decides, {"action": "book", "params": WRONG}, {"action": "book", "params": RIGHT}),
    "clarify": (clarifies, WRONG, RIGHT),
    "complete": (completes, {"start": "2026-06-04"}, {"start": "2026-05-02"}),
}


@requirement("CR-6")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
async def test_every_door_reads_an_answer_with_the_type_of_what_asked(
    server: Server, name: str, door: Any, *, elsewhere: bool
) -> None:
    """A decision's params, a clarification, the arguments that a call lacked."""
    agent, wrong, right = ASKED[name]

    @server.app.tool(complete=True)
    async def book(start: Annotated[date, AfterValidator(_in_may)], end: date) -> str:
        return f"{start} to {end}"

    client = server.client(agent)
    (asked,) = (await client.say()).interrupts
    async with replica(server, (client.agent, agent)) as other:
        there = client.again(app=other) if elsewhere else client
        assert await door(there, asked, wrong) == 422
        view = await call(there.app, "GET", f"/threads/{client.thread}")
        assert [one["id"] for one in view.json["interrupts"]] == [asked["id"]]
        assert await door(there, asked, right) == 200
        await eventually(partial(_finished, there))


async def _finished(client: Client) -> bool:
    view = await call(client.app, "GET", f"/threads/{client.thread}")
    return bool(view.json["status"] == "finished")


@requirement("CR-6")
async def test_answers_that_are_kept_are_read_first(server: Server) -> None:
    """One of a set, held until the others come: it is refused now, while somebody is there."""

    async def agent(turn: Turn) -> list[str]:
        asked = [Question(reason="shop:when", message=m, schema=Stay) for m in ("a", "b")]
        return [answer.status for answer in await turn.interrupt_all(asked)]

    client = server.client(agent)
    first, second = (await client.say()).interrupts
    async with replica(server, (client.agent, agent)) as other:
        there = client.again(app=other)
        assert await from_the_inbox(there, first, WRONG) == 422
        assert await from_the_inbox(there, first, RIGHT) == 202
        assert await from_the_inbox(client, second, WRONG) == 422
        assert await from_the_inbox(there, second, RIGHT) == 200
        await eventually(partial(_finished, client))


@requirement("CR-6")
async def test_a_message_that_answers_is_read_with_the_type(server: Server) -> None:
    """`on_message="answer"`: the text stays a text, and the question open."""

    async def agent(turn: Turn) -> Any:
        kind = Annotated[str, AfterValidator(lambda text: str(_even(len(text))) and text)]
        return (await turn.interrupt("input_required", "Even?", schema=kind)).value

    server.app.agent("even", on_message="answer")(agent)
    client = server.client("even")
    await client.say()
    run = await client.say("odd")
    assert run.outcome == "invalid_payload"
    assert (await client.again().say("even")).last["result"] == "even"


@requirement("CR-6")
@pytest.mark.parametrize("kind", ["step", "tool"])
async def test_the_result_that_goes_on_in_place_of_an_effect_is_one_of_its_own(
    server: Server, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """*Skip* of an effect of which nobody knows whether it happened."""
    came: list[str] = []
    limits, go_on = TimeLimits(monkeypatch), threading.Event()

    @server.app.tool(timeout=5)
    def book() -> Stay:
        came.append("booked")
        limits.run_out()
        go_on.wait(PATIENCE)
        return Stay.model_validate(RIGHT)

    async def agent(turn: Turn) -> Any:
        if kind == "tool":
            return (await turn.call("book", {})).value
        return await turn.step.options(timeout=5)(book.fn)

    client = server.client(agent)
    (asked,) = (await client.say()).interrupts
    assert asked["reason"] == "sayso:indeterminate"
    go_on.set()
    async with replica(server, (client.agent, agent)) as other:
        for app in (server.app, other):
            there = client.again(app=app)
            skip = {"action": "skip", "result": WRONG}
            refused = await call(app, "POST", f"/interrupts/{asked['id']}/answer", answer(skip))
            assert refused.status == 422
            assert refused.json["errors"][0]["pointer"] == "/payload/result"
        run = await there.resume(
            {"interruptId": asked["id"], **answer({"action": "skip", "result": RIGHT})}
        )
        assert (run.outcome, run.last["result"]) == ("success", RIGHT)
        assert came == ["booked"]


async def test_a_look_writes_nothing_and_begins_no_effect(server: Server) -> None:
    """Another process enters the code to find the type, and stops at what waits or is live."""
    entered: list[str] = []

    async def effect() -> None:
        entered.append("effect")

    async def agent(turn: Turn) -> None:
        async def beside() -> None:
            await turn.interrupt("shop:other", "Other?", schema=Party)
            await turn.step(effect)

        entered.append("in")
        await turn.gather(turn.interrupt("shop:when", "When?", schema=Stay), beside())

    client = server.client(agent)
    first, second = (await client.say()).interrupts
    async with replica(server, (client.agent, agent)) as other:
        before = server.dump()
        assert await from_the_inbox(client.again(app=other), first, WRONG) == 422
        assert server.dump() == before
        assert entered == ["in", "in"]
        assert await from_the_inbox(client.again(app=other), second, {"guests": 1}) == 422
        assert entered == ["in", "in"], "it has met both questions"


async def test_an_answer_that_its_type_refuses_later_leaves_the_turn_as_it_was(
    server: Server,
) -> None:
    """The world has changed since: nothing is executed, and the answer can be given anew."""
    bound = [10]

    def below(value: int) -> int:
        if value >= bound[0]:
            raise ValueError("is too much")
        return value

    async def agent(turn: Turn) -> list[Any]:
        one = await turn.interrupt("shop:a", "A?", schema=Annotated[int, AfterValidator(below)])
        two = await turn.interrupt("shop:b", "B?", schema=Annotated[int, AfterValidator(below)])
        return [one.value, two.value]

    client = server.client(agent)
    await client.say()
    await client.resume(answer(5))
    bound[0] = 3
    run = await client.resume(answer(1))
    assert run.outcome == "replay_mismatch"
    assert "is too much" in run.last["message"] and "5" not in run.last["message"]
    bound[0] = 10
    run = await client.again().connect()
    (asked,) = run.interrupts
    run = await client.resume({"interruptId": asked["id"], **answer(1)})
    assert run.last["result"] == [5, 1]


async def test_a_tool_that_the_app_does_not_have_is_not_called(server: Server) -> None:
    """Nobody could hold edited arguments against it."""

    async def pay(x: int) -> str:
        return "paid"

    stray = Tool(pay, approval=approval.always, editable=True)

    async def agent(turn: Turn) -> str:
        try:
            await turn.call(stray, x=1)
        except DeclarationError as error:
            return str(error)
        return "called"

    run = await server.client(agent).say()
    assert "app.add_tools(pay)" in run.last["result"]
