"""The log says of each decision what happened to it: by whom, and never with what in it."""

import json
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from sayso import Turn
from sayso.base.logs import JsonLines, TextLines
from tests.contract.rest import post
from tests.contract.server import Server, answer, approve, deny, eventually, served
from tests.contract.sessions import session_of
from tests.contract.tools import Kit
from tests.stores.backends import BACKENDS

LOGGER = logging.getLogger("sayso.decisions")


class Kept(logging.Handler):
    """Keeps lines as the server writes them."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonLines())
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(self.format(record)))

    def told(self, *members: str) -> list[tuple[str, ...]]:
        """Each line's message, and these members of it."""
        return [(one["message"], *(one.get(name, "") for name in members)) for one in self.lines]


@pytest.fixture
def kept() -> Iterator[Kept]:
    handler, before = Kept(), LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    yield handler
    LOGGER.removeHandler(handler)
    LOGGER.setLevel(before)


@pytest.fixture(params=BACKENDS)
async def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    async with served(request.param, tmp_path) as server:
        yield server


async def test_each_step_of_a_decision_is_one_line(anywhere: Server, kept: Kept) -> None:
    """On every store, in the chat and from the inbox: refused, held, answered, resumed, ended."""

    async def agent(turn: Turn) -> None:
        await turn.gather(
            turn.interrupt("confirmation", "secret A?"),
            turn.interrupt("input_required", "secret B?", schema=str),
        )

    client = anywhere.client(agent)
    await client.say()
    first, second = (one["id"] for one in client.model.pending)
    assert kept.told("reason", "code") == [
        ("asked", "confirmation", ""),
        ("asked", "input_required", ""),
        ("ended", "", "interrupt"),
    ]
    assert all(one["thread"] == client.thread for one in kept.lines)
    kept.lines.clear()
    await client.say("and?")
    await post(anywhere, f"/interrupts/{first}/answer", approve())
    await post(anywhere, f"/interrupts/{second}/answer", answer("a secret"))

    async def is_over() -> bool:
        return kept.told()[-1:] == [("ended",)]

    await eventually(is_over)  # the line comes after the commit at which the store is at rest
    assert kept.told("code") == [
        ("refused", "interrupts_pending"),
        ("held", ""),
        ("answered", "resolved"),
        ("answered", "resolved"),
        ("resumed", ""),
        ("ended", "success"),
    ]
    about = [one["interrupt"] for one in kept.lines[:4]]
    assert about == [f"{first} {second}", first, first, second]
    assert {one["subject"] for one in kept.lines[:4]} == {"local"}
    assert "secret" not in json.dumps(kept.lines)


async def test_what_nobody_answered_is_logged_as_expired(server: Server, kept: Kept) -> None:
    async def agent(turn: Turn) -> None:
        await turn.interrupt("confirmation", "?", expires_in=60)

    client = server.client(agent)
    await client.say()
    kept.lines.clear()
    await server.clock.advance(61)

    async def is_over() -> bool:
        await server.clock.advance(1)  # the sweeper looks once a second
        return kept.told()[-1:] == [("ended",)]

    await eventually(is_over)
    assert kept.told("reason") == [("expired", "confirmation"), ("resumed", ""), ("ended", "")]


async def test_a_refusal_of_a_session_is_logged_once(
    server: Server, tools: Kit, kept: Kept
) -> None:
    """With the session, which is the thread."""
    session = session_of(server, tools.refunding)
    await session.say("go")
    kept.lines.clear()
    refused = await session.send({"approved": "maybe"})
    assert refused.status == 422
    assert kept.told("thread", "code") == [("refused", str(session.id), "invalid_payload")]


async def test_a_denial_and_a_withdrawal_are_answers(
    server: Server, tools: Kit, kept: Kept
) -> None:
    client = server.client(tools.refunding)
    await client.say()
    await client.resume(deny("a secret reason"))
    assert ("answered", "resolved") in kept.told("code")
    assert "secret" not in json.dumps(kept.lines)


def test_a_line_for_people_has_its_time_and_ids_and_steers_no_terminal() -> None:
    record = logging.LogRecord("sayso.http", logging.WARNING, "", 0, "/a\x1b[2J\nb", (), None)
    record.created = 0.0
    line = TextLines().format(record)
    assert line == "1970-01-01T00:00:00.000Z WARNING sayso.http: /a\\x1b[2J\\nb"
