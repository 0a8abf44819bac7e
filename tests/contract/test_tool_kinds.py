"""Tools that stream, that take the turn, that are incomplete, that fail (design 3)."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from sayso import DeclarationError, Sayso, ServerOptions, ToolCall, Turn, approval, current_call
from tests.contract.rest import get
from tests.contract.server import Client, Server, answer, approve, cancel, deny, taken_over


def once(server: Server, tool: Any, **arguments: Any) -> Client:
    """A client of an agent that makes one call, and says what came of it."""

    async def agent(turn: Turn) -> None:
        done = await turn.call(tool, arguments)
        await turn.say(f"{done.status}: {done}")

    return server.client(agent)


async def test_a_tool_that_streams_is_gated_like_any_other(server: Server) -> None:
    """Chunks leave as an activity while they come; the result is their concatenation."""

    @server.app.tool(approval=approval.always)
    async def tail(lines: int) -> AsyncIterator[str]:
        server.effects.append(current_call().approver)
        for number in range(lines):
            yield f"line {number}\n"

    client = once(server, tail, lines=3)
    run = await client.say()
    assert (run.outcome, server.effects) == ("interrupt", [])
    run = await client.resume(approve())
    assert server.effects == ["local"]
    assert list(run.results.values()) == ["line 0\nline 1\nline 2\n"]
    shown = run.of("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")
    assert [event["type"] for event in shown] == ["ACTIVITY_SNAPSHOT"] + ["ACTIVITY_DELTA"] * 2
    assert shown[0]["activityType"] == "sayso:tool-output"
    assert shown[0]["content"]["toolCallId"] in run.results
    stored = [m for m in (await client.again().connect()).snapshot if m["role"] == "activity"]
    assert [m["content"]["chunks"] for m in stored if m["activityType"] == "sayso:tool-output"] == [
        ["line 0\n", "line 1\n", "line 2\n"]
    ]


async def test_a_denied_stream_never_begins(server: Server) -> None:
    """H9: its body is not entered."""

    @server.app.tool(approval=approval.always)
    async def tail() -> AsyncIterator[str]:
        server.effects.append("entered")
        yield "x"

    client = once(server, tail)
    await client.say()
    run = await client.resume(deny())
    assert server.effects == []
    assert not run.of("ACTIVITY_SNAPSHOT")


@pytest.mark.parametrize(
    ("chunk", "said"),
    [(7, "streams text, but one of its chunks is a int"), (ValueError, "ValueError (error e_")],
)
async def test_a_stream_that_breaks_keeps_what_it_showed_and_fails(
    server: Server, chunk: Any, said: str
) -> None:
    """One result that tells it; the turn goes on."""

    @server.app.tool()
    async def tail() -> AsyncIterator[Any]:
        yield "before"
        if chunk is ValueError:
            raise ValueError("no")
        yield chunk

    run = await once(server, tail).say()
    assert run.outcome == "success"
    (content,) = run.results.values()
    assert content.startswith("Failed: ")
    assert said in content


async def test_a_stream_that_takes_too_long_is_cut(server: Server) -> None:
    """Its timeout counts for all of it; the generator is closed."""

    @server.app.tool(timeout=0.05)
    async def tail() -> AsyncIterator[str]:
        try:
            yield "before"
            await asyncio.Event().wait()
        finally:
            server.effects.append("closed")

    run = await once(server, tail).say()
    assert "ran out of time" in next(iter(run.results.values()))
    assert server.effects == ["closed"]


async def test_a_tool_that_takes_the_turn_may_ask_inside(server: Server) -> None:
    """It is a branch: gated outside, asking inside, entered again, its steps done once."""

    @server.app.tool(approval=approval.always)
    async def migrate(turn: Turn, table: str) -> str:
        count = await turn.step(counted, table)
        sure = await turn.interrupt("confirmation", f"Move {count} rows?")
        if not sure.value:
            return "left"
        await turn.say("Moving.")
        return f"moved {count} of {table} for {current_call().principal.subject}"

    def counted(table: str) -> int:
        server.effects.append(table)
        return 12

    client = once(server, migrate, table="orders")
    first = await client.say()
    arguments = first.interrupts[0]["metadata"]["sayso"]["arguments"]
    assert arguments == {"table": "orders"}
    second = await client.resume(approve())
    assert [one["message"] for one in second.interrupts] == ["Move 12 rows?"]
    run = await client.resume(answer({"approved": True}))
    assert list(run.results.values()) == ["moved 12 of orders for local"]
    assert run.text.startswith("Moving.\nexecuted: moved 12")
    assert server.effects == ["orders"]


async def test_parts_of_a_batch_ask_together(server: Server) -> None:
    """Two tools that take the turn and a free effect: one outcome with both questions."""

    @server.app.tool()
    async def part(turn: Turn, name: str) -> str:
        return str((await turn.interrupt("input_required", f"{name}?", schema=str)).value)

    @server.app.tool()
    def free() -> str:
        server.effects.append("free")
        return "free"

    async def agent(turn: Turn) -> None:
        calls = [ToolCall(part, {"name": name}) for name in ("a", "b")]
        done = await turn.call_all([*calls, ToolCall(free, {})])
        await turn.say(" ".join(map(str, done)))

    client = server.client(agent)
    run = await client.say()
    assert [one["message"] for one in run.interrupts] == ["a?", "b?"]
    assert server.effects == ["free"]
    run = await client.resume(answer("x"), answer("y"))
    assert run.text == "x y free"
    assert server.effects == ["free"]


async def test_a_part_that_raises_has_failed(server: Server) -> None:
    """With its error as the result; what it had done stays done."""

    @server.app.tool()
    async def part(turn: Turn) -> str:
        await turn.step(server.effects.append, "done")
        raise ValueError("no good")

    run = await once(server, part).say()
    assert re.fullmatch(r"failed: Failed: ValueError \(error e_\w{8}\)", run.text)
    assert server.effects == ["done"]


async def test_a_part_goes_on_after_a_crash(server: Server) -> None:
    """Its steps are found in the journal by another process, and nothing is asked about it."""

    @server.app.tool()
    async def part(turn: Turn) -> str:
        await turn.step(server.effects.append, "one")
        await turn.step(server.effects.append, "two")
        return "ended"

    client = once(server, part)
    server.store.fail(
        "commit",
        when="after",
        match=lambda commit: any(e.status == "done" and e.kind == "step" for e in commit.entries),
        hook=server.store.disconnect,
    )
    await client.say()
    server.store.restore()
    await taken_over(server, client)
    assert server.effects == ["one", "two"]
    assert (await client.again().connect()).snapshot[-1]["content"] == "executed: ended"


async def test_missing_arguments_are_asked_for_before_the_call(server: Server) -> None:
    """`complete=True`: a form of what is missing; then the call, gated as ever."""

    @server.app.tool(approval=approval.always, complete=True)
    async def book(town: str, nights: int, breakfast: bool = False) -> str:
        server.effects.append((town, nights, breakfast))
        return "Booked."

    client = once(server, book, town="Ulm")
    run = await client.say()
    (form,) = run.interrupts
    assert (form["reason"], "toolCallId" in form) == ("input_required", False)
    assert form["message"] == "book needs nights."
    assert list(form["responseSchema"]["properties"]) == ["nights"]
    assert not run.of("TOOL_CALL_START")
    assert (await client.resume(answer({"nights": "two"}))).outcome == "invalid_payload"
    (card,) = (await client.resume(answer({"nights": 2}))).interrupts
    assert card["metadata"]["sayso"]["arguments"] == {
        "town": "Ulm",
        "nights": 2,
        "breakfast": False,
    }
    await client.resume(approve())
    assert server.effects == [("Ulm", 2, False)]


async def test_a_call_that_stays_incomplete_is_not_made(server: Server) -> None:
    """Nothing was proposed, so nothing needs a result; the author is told."""

    @server.app.tool(complete=True)
    async def book(town: str) -> str:
        server.effects.append(town)
        return "Booked."

    client = once(server, book)
    await client.say()
    run = await client.resume(cancel())
    assert run.text.startswith("cancelled: Not called: arguments are missing")
    assert (run.results, server.effects) == ({}, [])


async def test_what_only_the_tool_knows_is_checked_before_the_form_is_taken(
    server: Server,
) -> None:
    """The tool's own model refuses at the member, and the form stays."""

    def even(value: int) -> int:
        if value % 2:
            raise ValueError("must be even")
        return value

    async def pick(n: Annotated[int, AfterValidator(even)]) -> int:
        server.effects.append(n)
        return n

    client = once(server, server.app.tool(complete=True)(pick))
    await client.say()
    run = await client.resume(answer({"n": 3}))
    assert run.outcome == "invalid_payload"
    assert run.details["interrupts"][0]["problems"][0]["pointer"] == "/n"
    await client.resume(answer({"n": 4}))
    assert server.effects == [4]


def failing(server: Server, **options: Any) -> Any:
    """A tool that fails the first time."""

    @server.app.tool(**options)
    async def send(to: str) -> str:
        server.effects.append(current_call().key)
        if len(server.effects) == 1:
            raise ConnectionError("no line")
        return "Sent."

    return send


@pytest.mark.parametrize(
    ("said", "outcome", "text", "count"),
    [
        (answer({"action": "retry"}), "success", "executed: Sent.", 2),
        (answer({"action": "skip"}), "success", "failed: Failed: ConnectionError: no line", 1),
        (cancel(), "success", "failed: Failed: ConnectionError: no line", 1),
        (answer({"action": "stop"}), "cancelled", "", 1),
    ],
)
async def test_a_person_decides_about_an_error(
    server: Server, said: Any, outcome: str, text: str, count: int
) -> None:
    """`on_error="ask"`: retry under the same key, skip, stop; exactly one result."""
    server.app = server.another(tool_errors="text")
    client = once(server, failing(server, on_error="ask"), to="ann")
    (asked,) = (await client.say()).interrupts
    assert asked["reason"] == "sayso:failed"
    assert asked["message"] == 'send(to="ann") failed: ConnectionError: no line. What now?'
    actions = asked["responseSchema"]["properties"]["action"]["oneOf"]
    assert [one["const"] for one in actions] == ["retry", "skip", "stop"]
    run = await client.resume(said)
    assert (run.outcome, run.text) == (outcome, text)
    assert len(run.results) == 1
    assert (len(server.effects), len(set(server.effects))) == (count, 1)


async def test_errors_may_fail_the_turn(server: Server) -> None:
    """`tool_errors="fail"`: the call has its result, and the run ends in an error."""
    app = server.another(tool_errors="fail")
    server.app = app
    run = await once(server, failing(server), to="ann").say()
    assert run.outcome == "agent_error"
    assert "tool 'send' failed: ConnectionError (error e_" in run.last["message"]
    assert len(run.results) == 1
    server.effects.clear()
    tolerant = failing(server, name="other", on_error="text")
    assert (await once(server, tolerant, to="ann").say()).outcome == "success"


async def test_a_result_that_cannot_be_encoded_was_executed_all_the_same(server: Server) -> None:
    """Rule 5: the tool ran, so nobody is told that it failed, or asked to run it again."""

    @server.app.tool()
    async def odd() -> Any:
        return object()

    run = await once(server, odd).say()
    assert run.outcome == "success"
    (said,) = run.results.values()
    assert said.startswith("Executed; its result could not be recorded (the result of tool 'odd'")
    assert said.endswith("Do not call it again.")


async def test_a_question_inside_a_tool_knows_its_calls(server: Server) -> None:
    """From the outside in, with id, name and arguments; a gated call names those around it."""

    @server.app.tool(approval=approval.always)
    async def remove(path: str) -> str:
        return path

    @server.app.tool()
    async def inner(turn: Turn, path: str) -> str:
        await turn.interrupt("need_approval", "Really?", schema=bool)
        return str(await turn.call(remove, path=path))

    @server.app.tool()
    async def cleanup(turn: Turn, folder: str) -> str:
        return str((await turn.gather(turn.call(inner, path=f"{folder}/a")))[0])

    client = once(server, cleanup, folder="tmp")
    run = await client.say()
    (item,) = run.interrupts
    assert item["reason"] == "need_approval"
    around = [
        {"id": call["id"], "name": call["function"]["name"], "arguments": args}
        for (call,), args in zip(
            (m["toolCalls"] for m in client.model.messages if "toolCalls" in m),
            ({"folder": "tmp"}, {"path": "tmp/a"}),
            strict=True,
        )
    ]
    assert item["metadata"]["sayso"]["within"] == around
    (item,) = (await client.resume(answer(True))).interrupts
    assert item["reason"] == "tool_call"
    assert item["metadata"]["sayso"]["within"] == around


async def test_the_journal_says_how_far_a_part_has_come(server: Server) -> None:
    """`GET /threads/{id}/state`: the call is begun, the question inside is open."""

    @server.app.tool()
    async def part(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Go on?")

    client = once(server, part)
    await client.say()
    state = await get(server, f"/threads/{client.thread}/state")
    assert state["next"] == ["part", "confirmation"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout": 1}, "timeout"),
        ({"idempotent": True}, "idempotent"),
        ({"on_error": "ask"}, "on_error='ask'"),
    ],
)
def test_a_part_is_no_effect_itself(options: dict[str, Any], said: str) -> None:
    """What belongs to effects is given to its steps."""
    app = Sayso(store="memory:", server=ServerOptions(console=False))

    async def part(turn: Turn) -> None:
        """A part."""

    with pytest.raises(DeclarationError, match=said):
        app.tool(**options)(part)


def test_tools_of_no_kind_fail_their_declaration() -> None:
    """A plain generator, a part that is synchronous, editing what nobody is asked about."""
    app = Sayso(store="memory:", server=ServerOptions(console=False))

    def plain() -> Any:
        yield "x"

    def sync(turn: Turn) -> None:
        """No coroutine."""

    with pytest.raises(DeclarationError, match="async def"):
        app.tool()(plain)
    with pytest.raises(DeclarationError, match="async def"):
        app.tool()(sync)
    with pytest.raises(DeclarationError, match="nobody is ever asked"):
        app.tool(editable=True)(lambda x: x)
    with pytest.raises(DeclarationError, match="on_error"):
        app.tool(on_error="maybe")(lambda x: x)  # type: ignore[call-overload]
