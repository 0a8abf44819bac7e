"""The session dialect: an agent behind three plain requests (design 5)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sayso import Turn
from sayso.base.records import ThreadView
from tests.contract.optional import interrupt_of
from tests.contract.rest import at_rest, reached
from tests.contract.server import Client, Server
from tests.contract.sessions import PATH, Session, frames_of, session_of, told
from tests.contract.tools import Kit

CHOICE = {
    "type": "object",
    "properties": {"when": {"enum": ["now", "later"]}, "note": {"type": "string"}},
    "required": ["when"],
}


async def test_a_turn_is_told_in_frames(server: Server, tools: Kit) -> None:
    """Design 5: messages, calls, results; an interrupt with reason and prompt, and no done."""
    session = session_of(server, tools.refunding)
    frames = await session.say("go")
    assert [frame["type"] for frame in frames] == ["message", "tool_call", "interrupt"]
    assert told(frames) == ["Looking it up."]
    call, asked = frames[1:]
    assert (call["name"], call["args"]) == (
        "issue_refund",
        {"order_id": "A-17", "amount": 240.0},
    )
    assert asked["reason"] == "tool_call"
    assert "240" in asked["prompt"]
    assert asked["schema"]["properties"]["approved"] == {"type": "boolean", "title": "Approve"} or (
        asked["schema"]["properties"]["approved"]["type"] == "boolean"
    )
    assert asked["tool_call_id"] == call["tool_call_id"]
    assert asked["remaining"] == 0
    assert asked["interrupt_id"].startswith("int_")
    assert server.effects == []
    done = await session.answer("yes")
    assert [frame["type"] for frame in done] == ["tool_result", "message", "done"]
    assert done[0]["tool_call_id"] == call["tool_call_id"]
    assert done[-1] == {"type": "done", "session_id": session.id}
    assert server.effects == [("refund", "A-17", 240.0)]


async def test_what_a_tool_says_is_told_to_who_asks_for_pieces(server: Server) -> None:
    """While it runs; its result is all of it."""

    @server.app.tool
    async def tail() -> AsyncIterator[str]:
        yield "one"
        yield " two"

    async def agent(turn: Turn) -> None:
        await turn.call(tail)

    session = session_of(server, agent)
    pieces = await session.say("go", stream=True)
    call, *said, result, _ = pieces
    assert said == [
        {
            "type": "tool_output",
            "tool_call_id": call["tool_call_id"],
            "name": "tail",
            "delta": delta,
        }
        for delta in ("one", " two")
    ]
    assert (result["type"], result["content"]) == ("tool_result", "one two")
    whole = await Session(server.app, agent=session.agent).say("go")
    assert [frame["type"] for frame in whole] == ["tool_call", "tool_result", "done"]


async def test_no_text_ends_a_line_of_a_frame(server: Server) -> None:
    """Also where lines are cut as `str.splitlines` does."""
    text = "a\u2028b\u2029c\u0085data: x"

    async def agent(turn: Turn) -> None:
        await turn.say(text)
        await turn.interrupt("shop:any", text)

    session = session_of(server, agent)
    body = {"message": "go", "agent": session.agent}
    run = await session.call("POST", PATH, body)
    assert all(line == "" or line.startswith("data: {") for line in run.body.decode().splitlines())
    frames = frames_of(run)
    assert (told(frames), frames[-1]["prompt"]) == ([text], text)


async def test_a_session_is_a_thread(server: Server, tools: Kit) -> None:
    """Design 5: its id is the thread's, made by the server or brought by the client."""
    made = session_of(server, tools.greeting)
    await made.say("Ann")
    assert made.id is not None
    thread = await server.request("GET", f"/threads/{made.id}").end()
    assert thread.json["agent"] == made.agent
    own = session_of(server, tools.greeting, session_id="my-own")
    assert told(await own.say("Ben")) == ["Hello, Ben."]
    by_header = Session(server.app, agent=own.agent, headers={"X-Session-Id": "by-header"})
    await by_header.say("Cyd")
    assert by_header.id == "by-header"
    # The agent need not be named again.
    assert told(await Session(server.app, session_id="my-own").say("Dee")) == ["Hello, Dee."]
    assert await server.store.load("default", "by-header") is not None


@pytest.mark.parametrize(
    ("answer", "effect"),
    [
        ("yes", True),
        ("YES ", True),
        ("y", True),
        (True, True),
        ({"approved": True}, True),
        ('{"approved": true}', True),
        ("no", False),
        ("n", False),
        (False, False),
        ({"approved": False, "reason": "too much"}, False),
    ],
)
async def test_where_a_yes_is_asked_a_word_will_do(
    server: Server, tools: Kit, answer: Any, effect: bool
) -> None:
    """Design 5: a string, `yes` or `no`, or JSON."""
    session = session_of(server, tools.refunding)
    await session.say()
    frames = await session.answer(answer)
    assert frames[-1]["type"] == "done"
    assert bool(server.effects) is effect
    item = await interrupt_of(server, await asked_id(server, session))
    assert (item.status, item.decided_by, item.channel) == ("resolved", "local", "session")


async def asked_id(server: Server, session: Session) -> str:
    view: ThreadView | None = await server.store.load("default", session.id or "")
    assert view is not None
    return view.interrupts[-1].id


@pytest.mark.parametrize(
    "answer", ["maybe", "yes please", "", "1", 1, None, {}, [], {"approved": "yes"}, "null"]
)
async def test_an_answer_that_does_not_fit_leaves_the_question_open(
    server: Server, tools: Kit, answer: Any
) -> None:
    """Design 5: 422, with a pointer into the answer; nothing runs, nothing is stored."""
    session = session_of(server, tools.refunding)
    await session.say()
    stored = server.dump()
    run = await session.send(answer)
    assert (run.status, run.json["code"]) == (422, "invalid_payload")
    assert run.json["errors"]
    assert all(one["pointer"].startswith("/answer") for one in run.json["errors"])
    assert (server.dump(), server.effects) == (stored, [])
    assert (await session.answer("yes"))[-1]["type"] == "done"


async def test_who_sends_what_does_not_fit_is_told_what_would(server: Server, tools: Kit) -> None:
    """Design 5: in the words of this dialect, where an answer is one string."""
    number = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    for asks, answer, words in (
        (tools.refunding, "maybe", 'takes `yes` or `no`, or JSON such as {"approved": true}.'),
        (asking(None, "confirmation"), "maybe", "takes `yes` or `no`, or JSON such as"),
        (asking({"type": "boolean"}), "maybe", "takes `yes` or `no`."),
        (asking(number), "x", "takes the value of `n`, or JSON with `n`."),
        (tools.filing, "Q1", "takes JSON with `quarter`, `year`."),
        (asking({"type": "integer"}), "x", "takes JSON that fits its `schema`."),
    ):
        session = session_of(server, asks)
        await session.say()
        run = await session.send(answer)
        assert words in run.json["detail"]
        assert run.json["message"] == run.json["detail"]


def asking(schema: Any, reason: str = "shop:any") -> Any:
    """An agent with one question."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt(reason, "Well?", schema=schema)

    return agent


async def test_text_is_text_and_null_is_an_answer(server: Server) -> None:
    """G1, G3: a question that takes strings gets them as they are, `yes` included."""
    for schema, answer, got in (
        ({"type": "string"}, "yes", "yes"),
        ({"type": "string"}, "123", "123"),
        ({"type": ["string", "null"]}, None, None),
        ({"type": "integer"}, "7", 7),
        ({"type": "integer"}, 7, 7),
        ({"type": "boolean"}, "yes", True),
        ({"type": "boolean"}, "false", False),
        ({}, "yes", "yes"),
        ({"enum": [1, "yes"]}, "yes", "yes"),
        (CHOICE, "later", {"when": "later"}),
        (CHOICE, {"when": "now", "note": "!"}, {"when": "now", "note": "!"}),
    ):
        values: list[Any] = []

        async def agent(turn: Turn, schema: Any = schema, values: list[Any] = values) -> None:
            values.append((await turn.interrupt("input_required", "What?", schema=schema)).value)

        session = session_of(server, agent)
        await session.say()
        await session.answer(answer)
        assert values == [got]


async def test_several_are_asked_one_after_another(server: Server, tools: Kit) -> None:
    """Design 5: each frame says how many remain; the turn goes on after the last answer."""
    session = session_of(server, tools.mailing)
    frames = await session.say()
    assert frames[-1]["remaining"] == 2
    ids = [frames[-1]["interrupt_id"]]
    for answer, remaining in (("yes", 1), ("no", 0)):
        frames = await session.answer(answer)
        assert [frame["type"] for frame in frames] == ["interrupt"]
        assert frames[-1]["remaining"] == remaining
        ids.append(frames[-1]["interrupt_id"])
        assert [e for e in server.effects if e[0] == "email"] == []
    assert len(set(ids)) == 3
    assert (await session.answer("yes"))[-1]["type"] == "done"
    assert [e[1] for e in server.effects if e[0] == "email"] == ["ann", "cyd"]


async def test_any_of_several_can_be_named(server: Server, tools: Kit) -> None:
    """Design 5: `interrupt_id` says which; the first of the rest is asked again."""
    session = session_of(server, tools.mailing)
    first = (await session.say())[-1]["interrupt_id"]
    view = await server.store.load("default", session.id or "")
    assert view is not None
    last = view.interrupts[-1].id
    frames = await session.answer("yes", interrupt_id=last)
    assert frames[-1]["interrupt_id"] == first
    again = await session.send("yes", interrupt_id=last)
    assert (again.status, again.json["detail"]) == (409, "already resumed")


async def test_a_second_resume_has_no_second_effect(server: Server, tools: Kit) -> None:
    """Design 5: 409 `already resumed`, equal or not, named or not, in any process."""
    session = session_of(server, tools.refunding)
    asked = (await session.say())[-1]["interrupt_id"]
    await session.answer("yes")
    stored = server.dump()
    for answer in ("yes", "no", {"nonsense": 1}):
        for members in ({}, {"interrupt_id": asked}):
            run = await session.send(answer, **members)
            assert (run.status, run.json["detail"]) == (409, "already resumed")
            assert run.json["by"] == "local"
            assert server.dump() == stored
    assert len(server.effects) == 1


async def test_resumes_that_race_have_one_effect(server: Server, tools: Kit) -> None:
    """Q2: one of them runs; whoever is late is told so."""
    session = session_of(server, tools.refunding)
    asked = (await session.say())[-1]["interrupt_id"]
    calls = [
        session.send(answer, **members)
        for answer, members in (
            ("yes", {}),
            ("yes", {"interrupt_id": asked}),
            ("no", {}),
            ("yes", {}),
        )
    ]
    runs = await asyncio.gather(*calls)
    taken = [run for run in runs if run.status == 200]
    assert len(taken) == 1
    assert {run.json["detail"] for run in runs if run.status != 200} == {"already resumed"}
    assert len(server.effects) <= 1


async def test_what_is_not_there_is_not_found(server: Server, tools: Kit) -> None:
    """Design 5: 404 `checkpoint not found`: no session, no question, another one's question."""
    session = session_of(server, tools.greeting, session_id="quiet")
    other = session_of(server, tools.refunding)
    foreign = (await other.say())[-1]["interrupt_id"]
    stored = server.dump()
    for members in ({}, {"interrupt_id": "int_nobody"}, {"interrupt_id": foreign}):
        run = await session.send("yes", **members)
        assert (run.status, run.json["detail"]) == (404, "checkpoint not found")
    assert server.dump() == stored
    await session.say("Ann")
    assert (await session.send("yes")).json["detail"] == "checkpoint not found"
    assert server.effects == ["greeted"]
    shown = await Session(server.app, session_id="nobody").call("GET", f"{PATH}?session_id=nobody")
    assert (shown.status, shown.json["detail"]) == (404, "session not found")


async def test_an_answer_counts_only_for_what_was_shown(server: Server, tools: Kit) -> None:
    """Design 5: a frame that did not go out whole is sent again, and nothing is taken."""
    session = session_of(server, tools.refunding)
    session.id = "lost"
    exchange = session.open("POST", PATH, session.chat_body("go"))
    await exchange.until("message")
    await exchange.disconnect()
    await at_rest(server, Client(server.app, session.agent or "", thread="lost"))
    frames = await session.answer("yes")
    assert [frame["type"] for frame in frames] == ["interrupt"]
    assert server.effects == []
    assert (await session.answer("yes"))[-1]["type"] == "done"
    assert len(server.effects) == 1


async def test_an_answer_right_behind_its_question_counts(
    server: Server, tools: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its delivery is being noted while the answer comes: it waits for the note."""
    session = session_of(server, tools.refunding)
    session.id = "quick"
    release, looked = asyncio.Event(), asyncio.Event()
    update_idle, load = server.store.update_idle, server.store.load

    async def slow(*args: Any) -> None:
        await release.wait()
        await update_idle(*args)

    async def noticed(*args: Any, **more: Any) -> Any:
        found = await load(*args, **more)
        looked.set()
        return found

    monkeypatch.setattr(server.store, "update_idle", slow)
    exchange = session.open("POST", PATH, session.chat_body("go"))
    await exchange.until("interrupt")
    monkeypatch.setattr(server.store, "load", noticed)
    quick = asyncio.create_task(session.send("yes"))
    await reached(looked)
    release.set()
    assert frames_of(await quick)[-1]["type"] == "done"
    await exchange.end()


async def test_a_message_on_a_waiting_session_is_told_the_question_again(
    server: Server, tools: Kit
) -> None:
    """E1: nothing begins; the problem is with the question, which can be answered then."""
    session = session_of(server, tools.refunding)
    first = (await session.say())[-1]
    stored = server.dump()
    frames = await session.say("and?")
    assert frames[0]["interrupt_id"] == first["interrupt_id"]
    assert frames[0]["problem"]["code"] == "interrupts_pending"
    assert server.dump() == stored
    assert (await session.answer("no"))[-1]["type"] == "done"


async def test_pieces_come_when_they_are_asked_for(server: Server) -> None:
    """`stream`: each piece, then the whole."""

    async def agent(turn: Turn) -> None:
        async with turn.message() as message:
            for piece in ("a", "b", "c"):
                await message.write(piece)

    session = session_of(server, agent)
    frames = await session.say("go", stream=True)
    assert [f["delta"] for f in frames if "delta" in f] == ["a", "b", "c"]
    assert told(frames) == ["abc"]
    assert told(await session.say("go")) == ["abc"]


async def test_a_failing_agent_ends_in_an_error(server: Server) -> None:
    """Design 5: an `error` frame, nothing of the exception in it, and no done."""

    async def agent(turn: Turn) -> None:
        raise RuntimeError("secret")

    run = await session_of(server, agent).call(
        "POST", PATH, {"message": "go", "agent": server.client(agent).agent}
    )
    frames = frames_of(run)
    assert frames[-1]["type"] == "error"
    assert frames[-1]["code"] == "agent_error"
    assert b"secret" not in run.body
