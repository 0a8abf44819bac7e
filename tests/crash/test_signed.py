"""A process may die before or after a signature, and around the step that keeps it.

So may one that signs somebody in: nobody is signed in whom no row tells of.
"""

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from sayso import Ed25519, Principal, Sayso, Turn, approval
from sayso.base.audit import content_of, first_broken
from sayso.base.errors import StoreError
from sayso.base.signatures import words_of
from sayso.engine.logins import Logins
from sayso.testing.points import Point
from sayso.turns.signing import verdict
from tests.contract.test_signatures import new_key
from tests.turns.driver import Conversation, World

WRITES: tuple[Point, ...] = ("claim", "commit", "update_idle")
NAMES = ("ann", "ben")


def tools(world: World, app: Sayso) -> Any:
    @app.tool(approval=approval.always)
    async def mail(to: str) -> str:
        return str(world.effect(to))

    return mail


async def agent(turn: Turn, world: World) -> None:
    for name in NAMES:
        await turn.call(world.tools, to=name)


def made(kind: str, folder: Path, signer: Any) -> World:
    return World.of(kind, folder, agent, tools, signer=signer)


async def to_the_end(world: World) -> Conversation:
    """Say yes to what is asked, again where somebody died, until both mails are sent."""
    talk = Conversation(world)
    body = talk.client.body(messages=[talk.client.user("go")])
    await talk.client.run(body)
    for _ in range(12):
        if world.process.window.dead:
            await world.crash()
            if await world.store.load("default", talk.thread) is None:
                talk._to_present()
                await talk.client.run(body)
                continue
            await world.at_rest(talk.thread)
            await talk.connect()
        elif talk.pending:
            await talk.answer(
                {
                    item["id"]: {"action": "run_again"}
                    if item["reason"] == "sayso:indeterminate"
                    else {"approved": True}
                    for item in talk.client.model.pending
                }
            )
        else:
            break
    view = await world.at_rest(talk.thread)
    assert view.turn is not None
    assert view.turn.status == "finished"
    return talk


async def check(world: World, talk: Conversation) -> None:
    """Each yes stands there once, under a valid signature, and the chain is whole."""
    rows = (await world.store.audit("default", thread_id=talk.thread)).items
    assert first_broken("default", rows) is None
    keys = world.app._engine.audit._keys
    said = [
        (word.interrupt_id, verdict(keys, "default", talk.thread, word))
        for row in rows
        for word in words_of(row.kind, content_of(row) or {})
        if row.kind == "resolved"
    ]
    assert {how for _, how in said} == {"valid"}
    assert len(dict(said)) == len(said)
    approved = [
        content
        for row in rows
        if (content := json.loads(row.content or b"{}"))
        and row.kind == "resolved"
        and content["reason"] == "tool_call"
    ]
    assert len(approved) == len(NAMES)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_death_at_any_write_leaves_each_yes_once_and_signed(
    kind: str, when: Literal["before", "after"], tmp_path: Path
) -> None:
    """Whoever takes over signs nothing again, and nothing that was not said."""
    new_key(tmp_path / "keys.pem")
    signer = Ed25519.from_file(tmp_path / "keys.pem")
    (tmp_path / "whole").mkdir()
    async with made(kind, tmp_path / "whole", signer) as world:
        await check(world, await to_the_end(world))
        calls = [call.point for call in world.process.window.calls]
    for point in WRITES:
        for n in range(1, calls.count(point) + 1):
            folder = tmp_path / f"{point} {n}"
            folder.mkdir()
            async with made(kind, folder, signer) as world:
                window = world.process.window
                window.fail(point, n=n, when=when, hook=window.disconnect)
                await check(world, await to_the_end(world))
                assert len(world.processes) == 2
                assert set(world.effects) == set(NAMES)


@pytest.mark.parametrize("signed", [False, True])
async def test_a_death_at_the_signer_decides_nothing(
    kind: str, signed: bool, tmp_path: Path
) -> None:
    """Before it has signed, and once it has: the signature alone is no decision."""
    new_key(tmp_path / "keys.pem")
    good = Ed25519.from_file(tmp_path / "keys.pem")
    deaths: list[World] = []

    class Dying:
        keys = good.keys

        async def __call__(self, statement: bytes) -> tuple[str, bytes]:
            signature = await good(statement)
            if not deaths:
                deaths.append(world)
                world.process.window.disconnect()
                if not signed:
                    raise OSError("the key service is away")
            return signature

    async with made(kind, tmp_path, Dying()) as world:
        await check(world, await to_the_end(world))
        assert len(world.processes) == 2
        assert world.effects == list(NAMES)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("point", ["note", "add_session"])
async def test_nobody_is_signed_in_without_a_row(
    kind: str, point: Point, when: Literal["before", "after"], tmp_path: Path
) -> None:
    """The row comes first: one of a sign-in that came to nothing is better than none."""
    async with made(kind, tmp_path, None) as world:
        window = world.process.window
        window.fail(point, when=when, hook=window.disconnect)
        ann = Principal(subject="ann", issuer="https://id.example.org")
        with pytest.raises(StoreError):
            await Logins(world.app._engine._services).begin(ann, lifetime=60, idle=60)
        await world.crash()
        rows = (await world.store.audit("default")).items
        noted = (point, when) != ("note", "before")
        assert [row.kind for row in rows] == ["signed_in"] * noted
        logins = Logins(world.app._engine._services)
        await logins.end_elsewhere("https://id.example.org", "ann", None)
        rows = (await world.store.audit("default")).items
        kept = (point, when) == ("add_session", "after")
        assert [row.kind for row in rows] == ["signed_in"] * noted + ["signed_out"] * kept
