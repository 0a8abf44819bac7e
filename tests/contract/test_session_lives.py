"""Sessions over restarts, lost readers, their time, and beside the other dialects (design 5)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sayso import Principal, Question, Sessions, Turn, approval
from sayso.engine.sessions import AskedQuestion
from tests.contract.legacy import asked_of, ids
from tests.contract.rest import inbox
from tests.contract.server import Client, Server, answer, approve, eventually, served
from tests.contract.sessions import PATH, Session, frames_of, session_of, told
from tests.contract.tools import Kit, kit


async def test_what_was_shown_stays_so_over_a_restart(tmp_path: Path) -> None:
    """A4: the note is in the store, so another process takes the answer at once."""
    async with served("sqlite", tmp_path) as server:
        session = session_of(server, kit(server).refunding)
        await session.say()
        agent = session.agent or ""
    async with served("sqlite", tmp_path) as again:
        again.app.agent(agent)(kit(again).refunding)
        session.app = again.app
        assert (await session.answer("yes"))[-1]["type"] == "done"
        assert len(again.effects) == 1


async def test_a_fork_has_seen_nothing(server: Server, tools: Kit) -> None:
    """Its question has another id and another session: it is shown before it is answered."""
    session = session_of(server, tools.refunding)
    asked = (await session.say())[-1]["interrupt_id"]
    forked = await server.request(
        "POST", f"/threads/{session.id}/fork", {"interruptId": asked}
    ).end()
    other = Session(server.app, session_id=forked.json["threadId"])
    frames = await other.answer("yes")
    assert frames[-1]["type"] == "interrupt"
    assert frames[-1]["interrupt_id"] != asked


async def test_an_answer_that_its_deadline_overtakes_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """404 though its agent runs by then: nobody resumed it, its time was up after it was read."""
    async with served("memory", tmp_path) as server:
        server.app.mount(Sessions(ttl=60))
        expired, release = asyncio.Event(), asyncio.Event()

        async def agent(turn: Turn) -> None:
            await turn.interrupt("input_required", "What?", schema=str)
            expired.set()
            await release.wait()

        session = session_of(server, agent)
        interrupt_id = (await session.say())[-1]["interrupt_id"]
        sessions = server.app._engine.sessions
        read = sessions.asked

        async def overtaken(*which: Any) -> AskedQuestion:
            question = await read(*which)
            monkeypatch.undo()
            await server.clock.advance(60)
            await expired.wait()
            return question

        monkeypatch.setattr(sessions, "asked", overtaken)
        late = await session.send("late", interrupt_id=interrupt_id)
        assert (late.status, late.json["detail"]) == (404, "checkpoint not found")
        release.set()


async def test_a_checkpoint_has_its_time(tmp_path: Path) -> None:
    """Design 5: past its TTL a checkpoint is not found; the agent knows that nobody decided."""
    for kind in ("memory", "sqlite"):
        folder = tmp_path / kind
        folder.mkdir()
        async with served(kind, folder) as server:
            server.app.mount(Sessions(ttl=60))
            answers: list[str] = []

            async def agent(turn: Turn, answers: list[str] = answers) -> None:
                got = await turn.interrupt("input_required", "What?", schema=str)
                answers.append(got.status)

            session = session_of(server, agent)
            asked = (await session.say())[-1]
            assert "expires_at" in asked
            await server.clock.advance(60)
            run = await session.send("late", interrupt_id=asked["interrupt_id"])
            assert (run.status, run.json["detail"]) == (404, "checkpoint not found")

            async def expired(answers: list[str] = answers) -> bool:
                await server.clock.advance(1)
                return answers == ["expired"]

            await eventually(expired)
            assert (await session.send("late")).json["detail"] == "checkpoint not found"
            # Others are not touched by it.
            plain = server.client(agent)
            assert "expiresAt" not in (await plain.say()).interrupts[0]


@pytest.mark.parametrize("together", [False, True])
async def test_past_its_time_a_checkpoint_is_not_another_that_was_answered(
    tmp_path: Path, together: bool
) -> None:
    """Design 5: not found before and after the server settles it; the one asked last counts."""
    for kind in ("memory", "sqlite"):
        folder = tmp_path / kind
        folder.mkdir()
        async with served(kind, folder) as server:
            server.app.mount(Sessions(ttl=60))
            over: list[bool] = []

            async def agent(turn: Turn, over: list[bool] = over) -> None:
                asked = [Question(reason="input_required", message=m, schema=str) for m in "12"]
                if together:
                    await turn.interrupt_all(asked)
                else:
                    for one in asked:
                        await turn.interrupt_all([one])
                over.append(True)

            session = session_of(server, agent)
            given = waits = (await session.say())[-1]["interrupt_id"]
            if together:
                given = (await inbox(server))[-1]["id"]
                path = f"/interrupts/{given}/answer"
                assert (await server.request("POST", path, answer("1")).end()).status == 202
            else:
                waits = (await session.answer("1"))[-1]["interrupt_id"]
            assert given != waits
            await server.clock.advance(60)
            run = await session.send("2")
            assert (run.status, run.json["detail"]) == (404, "checkpoint not found")

            async def settled(over: list[bool] = over) -> bool:
                await server.clock.advance(1)
                return bool(over)

            await eventually(settled)
            run = await session.send("2")
            assert (run.status, run.json["detail"]) == (404, "checkpoint not found")
            assert waits in run.json["message"]
            assert (await session.send("1", interrupt_id=given)).status == 409


async def test_a_lost_reader_finds_the_session_as_it_stands(server: Server) -> None:
    """N1, N4: the run goes on without it; `GET` tells all, then what is said from now on."""

    async def agent(turn: Turn) -> None:
        await turn.say("first")
        await server.clock.sleep(5)
        await turn.say("second")

    session = session_of(server, agent)
    session.id = "gone"
    exchange = session.open("POST", PATH, session.chat_body("go"))
    await exchange.until("message")
    await exchange.disconnect()
    follows = session.open("GET", f"{PATH}?session_id=gone")
    await follows.until("message")
    busy = await session.call("POST", PATH, session.chat_body("more"))
    assert (busy.status, busy.json["code"]) == (409, "thread_busy")
    await server.clock.advance(5)
    frames = frames_of(await follows.end())
    assert [(f["role"], f["content"]) for f in frames[:-1]] == [
        ("user", "go"),
        ("assistant", "first"),
        ("assistant", "second"),
    ]
    assert told(await session.show()) == ["go", "first", "second"]


async def test_who_comes_back_is_told_that_the_last_run_failed(server: Server) -> None:
    """Not that it is done: an answer from the inbox may have begun that run."""

    async def failing(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Sure?")
        raise RuntimeError("no such order")

    session = session_of(server, failing)
    await session.say()
    failed = (await session.answer({"approved": True}))[-1]
    assert failed["type"] == "error"
    assert (await session.show())[-1] == failed


async def test_a_thread_of_one_dialect_is_answered_in_another(server: Server, tools: Kit) -> None:
    """Design 5: one state; opened by AG-UI and answered here, and the other way round."""
    client = server.client(tools.refunding)
    await client.say()
    session = Session(server.app, session_id=client.thread)
    # It was shown, but not on this session.
    assert (await session.answer("yes"))[-1]["type"] == "interrupt"
    assert (await session.answer("yes"))[-1]["type"] == "done"
    assert (await client.connect()).outcome == "success"

    opened = session_of(server, tools.mailing)
    asked = (await opened.say())[-1]["interrupt_id"]
    held = await server.request("POST", f"/interrupts/{asked}/answer", approve()).end()
    assert held.json["remaining"] == 2
    tab = Client(server.app, opened.agent or "", thread=opened.id)
    await tab.connect()
    assert len(tab.model.pending) == 2
    assert (await opened.answer("yes"))[-1]["type"] == "interrupt"  # the second was not shown yet
    await tab.connect()
    assert (await tab.resume(approve(), approve())).outcome == "success"
    assert (await opened.send("yes")).json["detail"] == "already resumed"
    assert len([e for e in server.effects if e[0] == "email"]) == 3


async def test_a_stop_ends_a_session_that_waits(server: Server, tools: Kit) -> None:
    """A session is a thread: `POST /threads/{id}/stop` cancels what it waits for."""
    session = session_of(server, tools.refunding)
    await session.say()
    await server.request("POST", f"/threads/{session.id}/stop").end()
    assert (await session.send("yes")).json["detail"] == "already resumed"
    assert server.effects == []
    frames = await session.show()
    assert "stopped before anyone decided" in frames[-2]["content"]
    assert frames[-1]["type"] == "done"


async def test_a_question_is_withdrawn_without_an_answer(server: Server, tools: Kit) -> None:
    """Design 5, TB-10: a cancellation is no denial; each question of several on its own."""
    session = session_of(server, tools.mailing)
    await session.say()
    assert (await session.cancel())[-1]["remaining"] == 1
    assert (await session.answer("yes"))[-1]["remaining"] == 0
    frames = await session.cancel()
    assert frames[-1]["type"] == "done"
    assert [e[1] for e in server.effects if e[0] == "email"] == ["ben"]
    assert told(frames) == ["executed, cancelled, executed, cancelled"]
    run = await session.send(status="cancelled")
    assert (run.status, run.json["detail"]) == (409, "already resumed")


async def test_a_question_that_was_not_shown_is_not_withdrawn(server: Server, tools: Kit) -> None:
    """Design 5: as with answers: it is shown, and nothing is taken; a name says which is meant."""
    client = server.client(tools.refunding)
    await client.say()
    session = Session(server.app, session_id=client.thread)
    stored = server.dump()
    (shown,) = await session.cancel()
    assert shown["type"] == "interrupt"
    await session.show()
    other = Session(server.app, session_id=client.thread)
    assert (await other.cancel(interrupt_id=shown["interrupt_id"]))[-1]["type"] == "done"
    assert server.dump() != stored
    assert server.effects == []


@pytest.mark.parametrize(
    ("policy", "owner", "taken"),
    [
        (approval.always(by="lead"), "ann", False),
        (approval.always(by="lead"), "lea", True),
        (approval.always(by="clerk", approvals=2), "ann", None),
    ],
)
async def test_who_may_approve_is_asked_in_every_dialect(
    tmp_path: Path, policy: Any, owner: str, taken: bool | None
) -> None:
    """OC-20: a role that the caller lacks; others who have yet to agree."""
    people = {
        "ann": Principal(subject="ann", roles=("clerk",)),
        "lea": Principal(subject="lea", roles=("lead",)),
    }

    async def authenticate(scope: Any) -> Principal | None:
        return people.get(dict(scope["headers"]).get(b"authorization", b"").decode())

    async with served("memory", tmp_path, authenticate=authenticate) as server:

        @server.app.tool(approval=policy)
        async def pay(amount: float) -> str:
            server.effects.append(amount)
            return "Paid."

        async def agent(turn: Turn) -> None:
            await turn.call(pay, amount=5.0)

        session = session_of(server, agent, headers={"authorization": owner})
        asked = (await session.say())[-1]["interrupt_id"]
        tab = Client(
            server.app, session.agent or "", thread=session.id, headers={"authorization": owner}
        )
        hook = asked_of(tab)
        await hook.connect()
        if taken:
            assert (await session.answer("yes"))[-1]["type"] == "done"
            assert server.effects == [5.0]
            return
        if taken is None:
            # One of two agrees, and again: the question stays, whichever dialect it comes in.
            for _ in range(2):
                assert (await session.answer("yes"))[-1]["interrupt_id"] == asked
            assert ids((await hook.reply({"approved": True})).asked) == [asked]
        else:
            assert (await hook.reply({"approved": True})).outcome == "not_an_approver"
            assert (await session.send("yes")).status == 403
        assert server.effects == []
