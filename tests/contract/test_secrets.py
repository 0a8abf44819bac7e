"""What a question marks as secret reaches the agent and nobody else (SE: no secret is told)."""

import json
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, field_serializer, field_validator

from sayso import (
    Breakpoints,
    Call,
    DeclarationError,
    Scrub,
    StepFailed,
    Told,
    ToolCall,
    ToolFailed,
    Turn,
    approval,
)
from tests.contract.optional import client_of
from tests.contract.rest import at_rest, get, post
from tests.contract.server import Server, answer, approve, served
from tests.contract.test_approvers import company, rest, says
from tests.stores.backends import BACKENDS

__all__ = ("company",)


class Login(BaseModel):
    user: str
    password: str = Field(json_schema_extra={"format": "password", "writeOnly": True})


@pytest.fixture(params=BACKENDS)
async def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    async with served(request.param, tmp_path) as server:
        yield server


async def test_a_secret_answer_is_in_no_view_and_no_trail(anywhere: Server) -> None:
    """Held or settled: history, the question itself, lists, and the rows for auditors."""

    async def agent(turn: Turn) -> None:
        login, sure = await turn.gather(
            turn.interrupt("input_required", "Who?", schema=Login),
            turn.interrupt("confirmation", "Sure?"),
        )
        anywhere.effects.append((login.value, sure.value))

    client = anywhere.client(agent)
    await client.say()
    asked = client.model.pending[0]["id"]
    given = answer({"user": "ann", "password": "hunter2"})
    await post(anywhere, f"/interrupts/{asked}/answer", given)

    async def told() -> str:
        views: list[Any] = [
            await get(anywhere, path)
            for path in (
                f"/interrupts/{asked}",
                "/interrupts?status=all",
                f"/threads/{client.thread}",
                f"/threads/{client.thread}/history",
                f"/threads/{client.thread}/state",
                f"/audit?thread={client.thread}",
            )
        ]
        return repr(views)

    assert "hunter2" not in await told()
    assert "(not shown)" in await told()
    await client.again().connect()
    await client.resume(given, answer({"approved": True}))
    assert "hunter2" not in await told()
    ((login, sure),) = anywhere.effects
    assert (login.password, sure) == ("hunter2", True)
    rows = (await get(anywhere, f"/audit?thread={client.thread}"))["items"]
    assert {"user": "ann", "password": "(not shown)"} in [
        row["content"].get("payload") for row in rows
    ]


ADDRESS = "postgresql://svc:hunter2@10.0.0.5/prod"


class Row(BaseModel):
    key: str

    @field_serializer("key")
    def _written(self, key: str) -> str:
        raise RuntimeError(ADDRESS)


class Stored(BaseModel):
    key: str

    @field_validator("key")
    @classmethod
    def _read(cls, key: str) -> str:
        raise RuntimeError(ADDRESS)


class Mute(RuntimeError):
    def __str__(self) -> str:
        raise RuntimeError(ADDRESS)


def breaking(server: Server, **options: Any) -> list[Any]:
    """One tool of each kind, all of which fail with a text that holds a password."""

    @server.app.tool(**options)
    async def plain() -> str:
        raise RuntimeError(ADDRESS)

    @server.app.tool(**options)
    def threaded() -> str:
        raise RuntimeError(ADDRESS)

    @server.app.tool(**options)
    async def part(turn: Turn) -> str:
        async def read() -> str:
            raise RuntimeError(ADDRESS)

        return str(await turn.step(read))

    @server.app.tool(**options)
    async def streamed() -> AsyncIterator[str]:
        yield "rows"
        raise RuntimeError(ADDRESS)

    @server.app.tool(**options)
    async def mute() -> str:
        raise Mute

    @server.app.tool(**options)
    async def unread() -> Stored:
        return Stored.model_construct(key="1")

    @server.app.tool(**options)
    async def unwritten() -> Row:
        return Row(key="1")

    return [plain, threaded, part, streamed, mute, unread, unwritten]


async def everything(server: Server, thread: str, *asked: str) -> str:
    """All that clients, owners and auditors read of a thread."""
    paths = [f"/threads/{thread}", f"/threads/{thread}/history", f"/audit?thread={thread}"]
    paths += [f"/interrupts/{one}" for one in asked]
    return repr([await get(server, path) for path in paths])


@pytest.mark.parametrize("options", [{}, {"on_error": "type"}])
async def test_what_a_tool_raises_is_told_by_its_type_and_the_log_has_the_text(
    server: Server, caplog: pytest.LogCaptureFixture, options: dict[str, str]
) -> None:
    """In the stream, the history, the trail, the agent's own view: one id leads to the log."""
    tools = breaking(server, **options)

    async def agent(turn: Turn) -> list[str | None]:
        done = await turn.call_all([ToolCall(tool=tool, args={}) for tool in tools])
        return [one.reason or str(one) for one in done]

    client = server.client(agent)
    run = await client.say()
    assert run.outcome == "success"
    read = await everything(server, client.thread)
    assert "hunter2" not in read + repr(run.events)
    assert "hunter2" in caplog.text
    *failed, _, unread, unwritten = run.last["result"]
    for ran in (unread, unwritten):
        assert "RuntimeError" in ran and "Do not call it again" in ran
    for reason, kind in zip(failed, ["Runtime"] * 2 + ["StepFailed", "Runtime"], strict=True):
        number = reason.partition("(error ")[2].rstrip(")")
        assert reason.startswith(kind) and number.startswith("e_") and number in read
        (record,) = [one for one in caplog.records if number in one.getMessage()]
        assert record.exc_info is not None and "hunter2" in str(record.exc_info[1])


async def test_a_question_about_an_error_tells_its_type(server: Server) -> None:
    """`on_error="ask"`: the card, the inbox and the result of the skipped call."""

    @server.app.tool(on_error="ask")
    async def tool() -> str:
        raise RuntimeError(ADDRESS)

    async def agent(turn: Turn) -> None:
        await turn.call(tool)

    client = server.client(agent)
    run = await client.say()
    (asked,) = run.interrupts
    assert "failed: RuntimeError (error e_" in asked["message"]
    again = await client.resume(answer({"action": "skip"}))
    read = await everything(server, client.thread, asked["id"])
    assert "hunter2" not in read + repr([run.events, again.events])


async def test_a_turn_that_a_tool_fails_tells_its_type(server: Server) -> None:
    """`tool_errors="fail"` of the agent: RUN_ERROR has the id and not the text."""
    tool = breaking(server)[0]

    async def agent(turn: Turn) -> None:
        await turn.call(tool)

    client = client_of(server, agent, tool_errors="fail")
    run = await client.say()
    assert "RuntimeError (error e_" in run.last["message"]
    assert "hunter2" not in await everything(server, client.thread) + repr(run.events)


async def test_texts_of_tools_are_told_where_somebody_says_so(server: Server) -> None:
    """`text` for an agent or one tool; `ToolFailed` is in the author's own words always."""

    @server.app.tool()
    async def find(order: str) -> str:
        raise ToolFailed(f"there is no order {order}")

    raising = breaking(server)[0]

    async def agent(turn: Turn) -> list[str]:
        return [str(await turn.call(find, order="A-1")), str(await turn.call(raising))]

    run = await client_of(server, agent, tool_errors="text").say()
    assert run.last["result"] == [
        "Failed: there is no order A-1",
        f"Failed: RuntimeError: {ADDRESS}",
    ]
    run = await server.client(agent).say()
    assert run.last["result"][0] == "Failed: there is no order A-1"
    assert "hunter2" not in run.last["result"][1]


async def test_a_breakpoint_behind_a_step_that_raised_shows_its_type(server: Server) -> None:
    """The agent has the text, as live and on replay; whoever looks at the card has the type."""

    async def read() -> str:
        raise RuntimeError(ADDRESS)

    async def agent(turn: Turn) -> None:
        await turn.step.options(name="read")(read)

    for texts in ("type", "text"):
        stop = Breakpoints(after=["read"])
        run = await client_of(server, agent, breakpoints=stop, tool_errors=texts).say()
        assert ("hunter2" in repr(run.events)) == (texts == "text")


async def test_a_secret_that_a_person_writes_into_a_call_is_told_to_the_tool_alone(
    company: Server,
) -> None:
    """Each of two who agree has changed the password beside the yes: no row, no text has it."""

    @company.app.tool(approval=approval.always(by=("lead", "finance"), approvals=2), editable=True)
    async def login(
        user: str, password: Annotated[str, Field(json_schema_extra={"writeOnly": True})]
    ) -> str:
        company.effects.append(password)
        return "in"

    async def agent(turn: Turn) -> None:
        await turn.say(str(await turn.call(login, user="ann", password="none yet")))  # noqa: S106

    client = company.client(agent)
    client.headers["authorization"] = "Bearer ann"
    (asked,) = (await client.say()).interrupts
    given = approve(editedArgs={"user": "bob", "password": "hunter2"})
    first = await says(company, "lea", asked, given)
    assert first.status == 202
    shown = (await rest(company, "fay", "GET", f"/interrupts/{asked['id']}")).json
    assert '"path": "/user"' in json.dumps(shown) and "hunter2" not in json.dumps(shown)
    assert (await says(company, "fay", asked, given)).status == 200
    await at_rest(company, client)
    assert company.effects == ["hunter2"]
    rows = (await rest(company, "ann", "GET", f"/audit?thread={client.thread}")).json["items"]
    assert {"agreed", "resolved", "started", "executed"} <= {row["kind"] for row in rows}
    edited = {"user": "bob", "password": "(not shown)"}
    assert edited in [row["content"].get("editedArgs") for row in rows]
    history = (await rest(company, "ann", "GET", f"/threads/{client.thread}/history")).json
    again = await client.again(headers=client.headers).connect()
    assert "the call ran with" in repr(again.events)
    assert "hunter2" not in json.dumps([rows, history, first.json]) + repr(again.events)


@pytest.fixture(params=BACKENDS)
async def scrubbing(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    async with served(request.param, tmp_path, scrub=Scrub(["sk_[0-9a-f]+"])) as server:
        yield server


async def test_credentials_are_in_no_error_no_log_and_no_text_of_the_trail(
    scrubbing: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """Errors before they are recorded; what people wrote is told to the agent as it is."""
    key, other = f"sk_{secrets.token_hex(12)}", f"sk_{secrets.token_hex(12)}"

    @scrubbing.app.tool()
    async def find() -> str:
        raise ToolFailed(f"no order at {key}")

    @scrubbing.app.tool(on_error="text")
    async def read() -> str:
        raise RuntimeError(f"https://ann:{key}@h")

    async def look() -> None:
        raise RuntimeError(f"Bearer {key}")

    async def agent(turn: Turn) -> None:
        for tool in (find, read):
            await turn.say(str(await turn.call(tool)))
        try:
            await turn.step(look)
        except StepFailed as failed:
            await turn.say(str(failed))
        asked = await turn.interrupt("input_required", f"Is it {other}?", schema=str)
        scrubbing.effects.append(asked.value)

    client = scrubbing.client(agent)
    run = await client.say()
    (asked,) = run.interrupts
    assert other in asked["message"], "what an author asks is asked as it is"
    assert "no order at [scrubbed]" in repr(run.events)
    assert "https://[scrubbed]@h" in repr(run.events) and "Bearer [scrubbed]" in repr(run.events)
    assert key not in repr(run.events) + caplog.text + scrubbing.dump()
    await client.resume(answer(f"it is {other}"))
    assert scrubbing.effects == [f"it is {other}"]
    rows = await get(scrubbing, f"/audit?thread={client.thread}")
    assert other not in repr(rows) and "it is [scrubbed]" in repr(rows)
    chain = await get(scrubbing, f"/audit/{client.thread}")
    assert (chain["intact"], chain.get("differs")) == (True, None)


async def test_the_result_of_a_tool_is_scrubbed_before_it_is_recorded(anywhere: Server) -> None:
    """So the agent, clients, the store and a replay have the same.

    A type that does not take the mark has no result. What is built in needs no Scrub of the app.
    """
    password = secrets.token_hex(12)
    address = f"https://ann:{password}@h/x"

    class Place(BaseModel):
        at: list[str]

    class Narrow(BaseModel):
        at: str = Field(pattern="^https://ann:")

    @anywhere.app.tool(scrub=True)
    async def find() -> Place:
        return Place(at=[address])

    @anywhere.app.tool(scrub=True)
    async def told() -> Told[str]:
        return Told(address, f"It is at {address}")

    @anywhere.app.tool(scrub=True)
    async def narrow() -> Narrow:
        return Narrow(at=address)

    async def agent(turn: Turn) -> None:
        done: list[Call[Any]] = [await turn.call(tool) for tool in (find, told, narrow)]
        anywhere.effects.append([(one.value, str(one)) for one in done])
        await turn.interrupt("confirmation", "Sure?")

    client = anywhere.client(agent)
    run = await client.say()
    again = await client.again().connect()
    await client.resume(answer({"approved": True}))
    live, replayed = anywhere.effects
    assert live == replayed
    assert live[0][0] == Place(at=["https://[scrubbed]@h/x"])
    assert live[1] == ("https://[scrubbed]@h/x", "It is at https://[scrubbed]@h/x")
    assert "its result could not be recorded" in live[2][1]
    assert password not in repr([run.events, again.events]) + anywhere.dump()


def test_a_tool_that_streams_is_not_scrubbed(server: Server) -> None:
    """Its pieces are gone before anybody could see what they are together."""

    async def pieces() -> AsyncIterator[str]:
        yield "https://ann:"

    with pytest.raises(DeclarationError, match="streams"):
        server.app.tool(scrub=True)(pieces)
