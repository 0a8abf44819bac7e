"""What is older than its days goes, by one process; what runs, waits or is on hold stays."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sayso import Retention, Turn, approval
from sayso.base.errors import DeclarationError, StoreUnavailable
from sayso.base.fastrecords import copy_with
from sayso.base.records import Hold, Page, ThreadView
from sayso.engine.retention import MOST_AT_ONCE, ROUND_REST_S, RetentionSweeper
from sayso.stores.proxy import StoreProxy
from tests.contract.rest import at_rest, delete, get
from tests.contract.server import Client, Server, answer, approve, eventually, served
from tests.stores.backends import EMBEDDED

DAY = 86_400
HOLD = Hold(by="kay", reason="case 7", said_at=1)


@pytest.fixture(params=EMBEDDED)
async def archive(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A server that keeps threads for 30 days."""
    async with served(request.param, tmp_path, retention=Retention(threads=30)) as server:
        yield server


@pytest.fixture(params=EMBEDDED)
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A server whose questions wait for 60 days."""
    kept = Retention(threads=30, open_threads=60, approvals=90)
    async with served(request.param, tmp_path, retention=kept) as server:
        yield server


async def talk(turn: Turn) -> None:
    """Ask whoever says so; else end at once."""
    if turn.input.text == "ask":
        await turn.interrupt("input_required", "Go on?", schema=bool)


def sweeper(server: Server) -> RetentionSweeper:
    return server.app._engine.retention


async def threads(server: Server) -> set[str]:
    return {row["threadId"] for row in (await get(server, "/threads"))["items"]}


async def rows(server: Server, client: Client) -> list[tuple[str, Any]]:
    items = (await get(server, f"/audit?thread={client.thread}"))["items"]
    assert (await get(server, f"/audit/{client.thread}"))["intact"] is True
    return [(item["kind"], item["content"].get("by")) for item in items]


async def view_of(server: Server, client: Client) -> ThreadView:
    view = await server.app.store.load("default", client.thread)
    assert view is not None
    return view


async def hold(server: Server, client: Client, *, lifted: bool = False) -> None:
    revision = (await view_of(server, client)).thread.revision
    await server.app.store.set_hold("default", client.thread, revision, HOLD, lifted=lifted)


async def test_a_finished_thread_goes_when_its_days_are_over(archive: Server) -> None:
    """By the server, as the trail says; one that was active since, waits or is on hold stays."""
    old, young, asks, held = (archive.client(talk) for _ in range(4))
    for client in (old, held):
        await client.say("hello")
    await asks.say("ask")
    await hold(archive, held)
    archive.clock.jump(30 * DAY)
    await young.say("hello")
    assert await sweeper(archive).sweep() == 0  # not older than that to the very second
    archive.clock.jump(ROUND_REST_S)
    await archive.clock.advance(61)
    left = {young.thread, asks.thread, held.thread}

    async def is_gone() -> bool:
        return await threads(archive) == left

    await eventually(is_gone)
    assert await rows(archive, old) == [("deleted", "sayso:retention")]


@pytest.mark.parametrize("archive", ["memory"], indirect=True)
async def test_a_thread_that_is_used_in_that_moment_stays(
    archive: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was old when it was looked at, and is not when it is to be deleted; so one put on hold."""
    used, held = archive.client(talk), archive.client(talk)
    for client in (used, held):
        await client.say("hello")
    archive.clock.jump(31 * DAY)
    store = archive.store.inner
    delete = store.delete

    async def meanwhile(scope: str, thread_id: str, *rest: Any, **more: Any) -> None:
        if thread_id == used.thread:
            await used.say("hello again")
        else:
            await hold(archive, held)
        await delete(scope, thread_id, *rest, **more)

    monkeypatch.setattr(store, "delete", meanwhile)
    assert await sweeper(archive).sweep() == 0
    assert await threads(archive) == {used.thread, held.thread}


async def test_what_waits_too_long_is_stopped_and_then_ages(desk: Server) -> None:
    """Its questions are cancelled, which history and trail say; its days begin there."""
    client, young = desk.client(talk), desk.client(talk)
    await client.say("ask")
    desk.clock.jump(31 * DAY)
    await young.say("ask")
    assert await sweeper(desk).sweep() == 0
    desk.clock.jump(30 * DAY)
    assert await sweeper(desk).sweep() == 1
    (listed,) = (await get(desk, f"/threads/{client.thread}/history"))["interrupts"]
    assert (listed["status"], listed["answer"]["by"]) == ("cancelled", "sayso:retention")
    assert await rows(desk, client) == [
        ("asked", None),
        ("stopped", "sayso:retention"),
        ("cancelled", "sayso:retention"),
    ]
    desk.clock.jump(31 * DAY)
    assert await sweeper(desk).sweep() == 2  # and the young one is stopped
    assert await threads(desk) == {young.thread}


@pytest.mark.parametrize("desk", ["memory"], indirect=True)
async def test_an_answer_in_that_moment_counts(
    desk: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes first: a question that was answered meanwhile is not cancelled."""
    client = desk.client(talk)
    await client.say("ask")
    desk.clock.jump(61 * DAY)
    stopping = sweeper(desk)._removal._stopping
    end = stopping.end

    async def meanwhile(view: ThreadView, *rest: Any) -> Any:
        await client.resume(answer(True))
        return await end(view, *rest)

    monkeypatch.setattr(stopping, "end", meanwhile)
    assert await sweeper(desk).sweep() == 0
    (listed,) = (await get(desk, f"/threads/{client.thread}/history"))["interrupts"]
    assert (listed["status"], listed["answer"]["by"]) == ("resolved", "local")


async def test_a_remembered_approval_goes_by_its_days(desk: Server) -> None:
    """Valid or not, unless the thread that it was given in is on hold."""

    @desk.app.tool(approval=approval.always(remember=True))
    async def pay(amount: int) -> str:
        return "Paid."

    async def paying(turn: Turn) -> None:
        await turn.call(pay, amount=1)

    client = desk.client(paying)
    await client.say("pay")
    await client.resume(approve(remember={"scope": "user", "arguments": "any"}))
    await at_rest(desk, client)
    await hold(desk, client)
    desk.clock.jump(91 * DAY)
    assert await sweeper(desk).sweep() == 0
    assert len((await desk.app.store.approvals("default", None)).items) == 1
    await hold(desk, client, lifted=True)
    desk.clock.jump(ROUND_REST_S)
    assert await sweeper(desk).sweep() == 2  # and the thread
    assert (await desk.app.store.approvals("default", None)).items == ()


@pytest.fixture(params=EMBEDDED)
async def registry(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A server that keeps contents of the trail for 90 days."""
    async with served(request.param, tmp_path, retention=Retention(trail=90)) as server:
        yield server


async def trail_of(server: Server, client: Client) -> list[tuple[str, bool]]:
    """The rows of a thread that is intact, and which of them were erased."""
    items = (await get(server, f"/audit?thread={client.thread}"))["items"]
    chain = await get(server, f"/audit/{client.thread}")
    assert (chain["intact"], chain["rows"], chain.get("differs")) == (True, len(items), None)
    assert all(("content" in row) is not row.get("erased", False) for row in items)
    return [(row["kind"], row.get("erased", False)) for row in items]


async def test_old_contents_of_the_trail_go_and_the_rows_stay_intact(registry: Server) -> None:
    """Of threads that are over or gone; a row says so, and is no reason to do it again."""
    over, gone, asks, held = (registry.client(talk) for _ in range(4))
    for client in (over, gone, asks, held):
        await client.say("ask")
    for client in (over, gone, held):
        await client.resume(answer(True))
    await hold(registry, held)
    assert (await delete(registry, f"/threads/{gone.thread}")).status == 204
    registry.clock.jump(91 * DAY)
    assert await sweeper(registry).sweep() == 2
    asked = [("asked", True), ("resolved", True)]
    assert await trail_of(registry, over) == [*asked, ("erased", False)]
    assert await trail_of(registry, gone) == [*asked, ("deleted", True), ("erased", False)]
    assert await trail_of(registry, asks) == [("asked", False)]
    assert await trail_of(registry, held) == [
        ("asked", False),
        ("resolved", False),
        ("hold", False),
    ]
    registry.clock.jump(91 * DAY)
    assert await sweeper(registry).sweep() == 0


async def test_contents_that_somebody_else_took_away_are_broken(registry: Server) -> None:
    """Only a row of the thread says that they were erased, and up to where."""
    client = registry.client(talk)
    await client.say("ask")
    await client.resume(answer(True))
    store = registry.app.store
    await store.erase_trail("default", client.thread, 1, 9, "kay")
    assert await trail_of(registry, client) == [
        ("asked", True),
        ("resolved", False),
        ("erased", False),
    ]
    rows = (await store.audit("default", thread_id=client.thread)).items
    emptied = tuple(copy_with(row, content=None, salt=None) for row in rows[:2])

    class Robbed(StoreProxy):
        async def _around(self, name: str, call: Any) -> Any:
            page = await call()
            return Page(items=(*emptied, *rows[2:])) if name == "audit" else page

    registry.app._engine.audit._store = Robbed(store)
    chain = await get(registry, f"/audit/{client.thread}")
    assert (chain["intact"], chain["brokenAt"]) == (False, 2)


async def test_who_may_only_add_to_the_trail_sweeps_all_else(
    archive: Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That contents stay is said in the log; threads go all the same."""
    monkeypatch.setattr(sweeper(archive), "_retention", Retention(threads=30, trail=30))
    client = archive.client(talk)
    await client.say("ask")
    await client.resume(answer(True))
    archive.clock.jump(31 * DAY)
    error = StoreUnavailable("must be owner of table audit")
    archive.store.fail("erase_trail", error=error)
    assert await sweeper(archive).sweep() == 1
    assert await threads(archive) == set()
    assert "must be owner of table audit" in caplog.text


@pytest.mark.parametrize("archive", ["memory"], indirect=True)
async def test_one_process_sweeps_and_another_takes_over(archive: Server) -> None:
    """While one has the duty the others do nothing; once it is silent, one of them does."""
    for _ in range(3):
        await archive.client(talk).say("hello")
    assert not await archive.app.store.take_duty("retention", "another", 180_000)
    archive.clock.jump(31 * DAY)
    assert await archive.app.store.take_duty("retention", "another", 180_000)
    await archive.clock.advance(150)
    assert len(await threads(archive)) == 3
    await archive.clock.advance(120)
    assert await threads(archive) == set()


@pytest.mark.parametrize("archive", ["memory"], indirect=True)
async def test_a_pass_takes_no_more_than_its_share(archive: Server) -> None:
    """The next one goes on where it was."""
    for _ in range(MOST_AT_ONCE + 2):
        await archive.client(talk).say("hello")
    archive.clock.jump(31 * DAY)
    assert await sweeper(archive).sweep() == MOST_AT_ONCE
    assert await sweeper(archive).sweep() == 2
    assert await threads(archive) == set()


def test_days_are_whole_numbers() -> None:
    """Anything else is refused where it is written, and None keeps all."""
    assert not Retention().ends
    assert Retention(approvals=1).ends
    wrong: Any
    for wrong in (0, -1, 1.5, True, "30"):
        for name in ("threads", "open_threads", "approvals", "trail"):
            with pytest.raises(DeclarationError, match=f"{name} of Retention"):
                Retention(**{name: wrong})
