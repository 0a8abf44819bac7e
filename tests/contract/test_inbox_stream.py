"""The inbox while it changes: `GET /interrupts/stream` (design 5, 6; case Q4)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sayso import Question, Turn
from sayso.engine import inbox as module
from tests.contract.replicas import replica
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest, delete, inbox, post, stop
from tests.contract.server import Client, Server, approve, deny, eventually, served
from tests.contract.test_owners import authenticate, calling
from tests.contract.tools import Kit, kit
from tests.contract.wire import Exchange

Event = dict[str, Any]


@asynccontextmanager
async def listening(app: Any, **headers: str) -> AsyncIterator[Exchange]:
    """A listener that has been connected; it goes away at the end."""
    exchange = Exchange(app, "GET", "/interrupts/stream", b"", headers)
    await exchange.until("connected")
    yield exchange
    if not exchange.ended:
        await exchange.disconnect()


async def told(exchange: Exchange, *kinds: str) -> list[Event]:
    """All that was told after the connection, once these are the kinds of it, in order.

    But for what came of calls, which comes in its own time.
    """
    await exchange.when(lambda events: len(_of_questions(events)) > len(kinds))
    events = _of_questions(exchange.events)[1:]
    assert [event["type"] for event in events] == list(kinds)
    return events


def _of_questions(events: list[Event]) -> list[Event]:
    return [event for event in events if event["type"] != "result"]


async def has_come(server: Server, exchange: Exchange, kind: str) -> bool:
    """Whether an event of that kind is there; if not, a tenth of a second passes."""
    come = kind in {event["type"] for event in exchange.events}
    if not come:
        await server.clock.advance(0.1)
    return come


@requirement("EN-03", "EN-04", "EN-05", "EN-10")
async def test_every_change_is_told_with_the_interrupt_as_it_stands(
    server: Server, tools: Kit
) -> None:
    """Q4: opened, held, withdrawn, assigned, settled; at once, without a poll."""
    async with listening(server.app) as exchange:
        assert exchange.headers["content-type"] == "text/event-stream"
        assert "no-cache" in exchange.headers["cache-control"]
        client = server.client(tools.mailing)
        await client.say()
        opened = await told(exchange, "opened", "opened", "opened")
        assert [e["interrupt"] for e in opened] == await inbox(server)
        first, second, third = (e["interruptId"] for e in opened)
        assert opened[0]["threadId"] == client.thread
        assert opened[0]["at"] == "2023-11-14T22:13:20.000Z"
        await post(server, f"/interrupts/{first}/answer", approve())
        await delete(server, f"/interrupts/{first}/answer")
        await post(server, f"/interrupts/{second}/assign", {"to": "bob"})
        before = ["opened"] * 3
        changed = (await told(exchange, *before, "held", "withdrawn", "assigned"))[3:]
        assert changed[0]["interruptId"] == first
        assert changed[2]["interrupt"]["assignedTo"] == "bob"
        await client.resume(deny(), deny(), deny())
        every = [*before, "held", "withdrawn", "assigned", *["settled"] * 3]
        settled = (await told(exchange, *every))[6:]
        assert [e["interruptId"] for e in settled] == [first, second, third]
        assert {e["interrupt"]["status"] for e in settled} == {"resolved"}
        assert b"\r" not in b"".join(exchange.sent)


async def test_no_text_ends_a_line_of_a_notice(server: Server) -> None:
    """Also where lines are cut as `str.splitlines` does."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("shop:any", "a\u2028b\u0085data: x")

    async with listening(server.app) as exchange:
        await server.client(agent).say()
        (opened,) = await told(exchange, "opened")
        assert opened["interrupt"]["message"] == "a\u2028b\u0085data: x"
        lines = b"".join(exchange.sent).decode().splitlines()
        assert all(line == "" or line.startswith(("data: {", ":")) for line in lines)


async def test_an_expiry_an_extension_a_stop_and_a_deletion_are_told(server: Server) -> None:
    """R1, R3: what no person did, and what ends a card for good."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("confirmation", "?", expires_in=60)

    async with listening(server.app) as exchange:
        client = server.client(agent)
        await client.say()
        (opened,) = await told(exchange, "opened")
        await post(server, f"/interrupts/{opened['interruptId']}/extend", {"seconds": 60})
        extended = (await told(exchange, "opened", "extended"))[1]
        assert extended["interrupt"]["expiresAt"] == "2023-11-14T22:15:20.000Z"
        kinds = ["opened", "extended", "reminded", "expired"]
        for seconds, kind in ((97, "reminded"), (20, "expired")):
            await server.clock.advance(seconds)
            await eventually(partial(has_come, server, exchange, kind))
        assert (await told(exchange, *kinds))[3]["interrupt"]["status"] == "expired"
        other = server.client(agent)
        await other.say()
        assert await stop(server, other)
        # What is gone when it is looked for is told as deleted alone.
        await told(exchange, *kinds, "opened", "settled")
        await delete(server, f"/threads/{other.thread}")
        last = (await told(exchange, *kinds, "opened", "settled", "deleted"))[4:]
        assert last[1]["interrupt"]["answer"]["channel"] == "stop"
        assert last[2]["threadId"] == other.thread
        assert "interrupt" not in last[2]


@pytest.mark.every_store
async def test_changes_of_another_process_are_seen(server: Server, tools: Kit) -> None:
    """Design 6: with a poll behind; answered there, the card here vanishes (Q4)."""
    client = server.client(tools.refunding)
    async with (
        replica(server, (client.agent, tools.refunding)) as other,
        listening(server.app) as exchange,
    ):
        there = client.again(app=other)
        await there.say()
        await server.clock.advance(1)
        await exchange.until("opened")
        (one,) = [item["id"] for item in there.model.pending]
        await post(server, f"/interrupts/{one}/answer", approve(), app=other)
        await at_rest(server, client)
        await server.clock.advance(1)
        await told(exchange, "opened", "settled")


async def test_nobody_is_told_of_others_threads(tmp_path: Path) -> None:
    """Design 7: neither of another owner's nor of another scope's."""
    async with served("memory", tmp_path, authenticate=authenticate) as server:
        tools = kit(server)
        ann = server.client(tools.refunding)
        ann.headers["authorization"] = "Bearer ann"
        bearers = {who: {"authorization": f"Bearer {who}"} for who in ("ann", "bob", "eve")}
        async with (
            listening(server.app, **bearers["ann"]) as hers,
            listening(server.app, **bearers["bob"]) as his,
            listening(server.app, **bearers["eve"]) as elsewhere,
        ):
            await ann.say()
            eve = calling(server, ann, "eve")
            await eve.say()
            await told(hers, "opened")
            (event,) = await told(elsewhere, "opened")
            assert event["interruptId"] == eve.model.pending[0]["id"]
            assert his.events == [{"type": "connected"}]


@requirement("EN-06")
async def test_silence_is_filled_with_comments(tmp_path: Path) -> None:
    """EN-06: a proxy must not take it for dead."""
    async with (
        served("memory", tmp_path, keep_alive=0.01) as server,
        listening(server.app) as exchange,
    ):
        while b": keep-alive\n\n" not in b"".join(exchange.sent):
            await exchange.next_bytes()
        assert exchange.events == [{"type": "connected"}]


async def test_a_server_that_ends_says_so(server: Server) -> None:
    """Design 5: the body ends in order."""
    async with listening(server.app) as exchange:
        await server.app._engine.stop()
        run = await exchange.end()
        assert [event["type"] for event in run.events] == ["connected", "closed"]
        assert run.last["code"] == "shutting_down"


async def test_who_leaves_costs_nothing_more(server: Server, tools: Kit) -> None:
    """Design 6: nothing is looked for when nobody listens."""
    async with listening(server.app), listening(server.app) as second:
        await server.client(tools.refunding).say()
        await second.until("opened")
    assert server.app._engine.inbox._hubs == {}

    async def nothing_runs() -> bool:
        return not server.app._engine.inbox._tasks

    await eventually(nothing_runs)


async def test_who_misses_too_much_is_told_to_read_anew(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Design 5: a listener that does not read keeps no memory growing."""
    monkeypatch.setattr(module, "MAX_UNREAD", 3)

    async def agent(turn: Turn) -> None:
        await turn.interrupt_all(
            [Question(reason="confirmation", message=str(n)) for n in range(9)]
        )

    async with listening(server.app) as exchange:
        client = server.client(agent)
        listener = server.app._engine.inbox._hubs["default"].listeners[0]
        monkeypatch.setattr(listener, "_wake", lambda: None)
        await client.say()

        async def missed() -> bool:
            return [notice.kind for notice in listener._unread[:1]] == ["gap"]

        await eventually(missed)
        monkeypatch.undo()
        await post(server, f"/interrupts/{client.model.pending[0]['id']}/assign", {"to": "bob"})
        await exchange.until("reload", "assigned")
        assert [event["type"] for event in exchange.events][:2] == ["connected", "reload"]


async def test_what_is_large_is_told_piece_by_piece(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks about much at once takes no memory for each of those who follow."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt_all(
            [Question(reason="confirmation", message=f"{n} {'z' * 100_000}") for n in range(9)]
        )

    async with listening(server.app) as exchange:
        client = server.client(agent)
        listener = server.app._engine.inbox._hubs["default"].listeners[0]
        monkeypatch.setattr(listener, "_wake", lambda: None)
        await client.say()

        async def all_wait() -> bool:
            return len(listener._unread) == 9

        await eventually(all_wait)
        monkeypatch.undo()
        await post(server, f"/interrupts/{client.model.pending[0]['id']}/assign", {"to": "bob"})
        events = await told(exchange, *["opened"] * 9, "assigned")
        assert [event["interrupt"]["message"][0] for event in events[:9]] == list("012345678")
        assert max(map(len, exchange.sent)) < 400_000


async def test_changes_that_the_store_forgot_are_a_reload(server: Server, tools: Kit) -> None:
    """`Store.changes`: a gap means that lists must be read anew."""
    async with listening(server.app) as exchange:
        hub = server.app._engine.inbox._hubs["default"]
        hub.mark += 1_000_000
        await server.client(tools.refunding).say()
        await exchange.until("reload")


async def test_a_store_that_fails_for_a_while_loses_no_change(server: Server, tools: Kit) -> None:
    """The mark stays where it was, so the next look finds all."""
    async with listening(server.app) as exchange:
        server.store.fail("changes", times=1)
        client: Client = server.client(tools.refunding)
        await client.say()
        await server.clock.advance(1)
        await exchange.until("opened")
        await told(exchange, "opened")
