"""Tokens of services from a terminal: made once, listed, revoked, in a store that a server uses."""

import asyncio
import json
from pathlib import Path

import pytest

from sayso import Sayso as App
from sayso import ServerOptions
from sayso.stores.sqlite.store import SqliteStore
from tests.contract.rest import call
from tests.process.conftest import Sayso
from tests.stores.backends import opened

STORE = "sqlite:///sayso.db"


@pytest.fixture(autouse=True)
def a_store(sayso: Sayso, tmp_path: Path) -> None:
    """The store of a server that was there before."""
    asyncio.run(_made(tmp_path))


async def _made(folder: Path) -> None:
    async with opened(SqliteStore(folder / "sayso.db")):
        pass


async def _status(token: str) -> int:
    app = App(store=STORE, server=ServerOptions(console=False))
    async with app.lifespan():
        headers = {"authorization": f"Bearer {token}"}
        return (await call(app, "GET", "/threads", headers=headers)).status


def test_a_token_is_printed_once_and_opens_a_server_until_it_is_revoked(sayso: Sayso) -> None:
    made = sayso(
        *("service", "add", "ci", "--roles", "asker,ops", "--tools", "deploy_*", "--expires", "90d")
    )
    token = made.out.strip()
    assert (made.code, token.startswith("sayso_sk_"), len(token)) == (0, True, 52)
    assert asyncio.run(_status(token)) == 200
    listed = sayso("service", "list")
    assert token not in listed.out
    assert "ci" in listed.out
    assert "counts  asker,ops  deploy_*" in listed.out
    (item,) = json.loads(sayso("service", "list", "--json").out)["items"]
    assert item["roles"] == ["asker", "ops"]
    assert item["tools"] == ["deploy_*"]
    gone = sayso("service", "revoke", "ci")
    assert (gone.code, gone.out) == (0, f"Revoked {item['id']} of service ci.\n")
    assert asyncio.run(_status(token)) == 401
    assert "revoked" in sayso("service", "list").out
    again = sayso("service", "revoke", item["id"])
    assert (again.code, again.out) == (1, "")
    assert "No token that counts" in again.err


def test_each_scope_has_its_own(sayso: Sayso) -> None:
    assert "No tokens in scope 'default'" in sayso("service", "list").out
    sayso("service", "add", "ci", "--scope", "shop")
    assert "No tokens in scope 'default'" in sayso("service", "list").out
    assert sayso("service", "revoke", "ci").code == 1
    assert sayso("service", "revoke", "ci", "--scope", "shop").code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("add", "c i"),
        ("add", ""),
        ("add", "-ci"),
        ("add", "ci", "--expires", "90"),
        ("add", "ci", "--expires", "0d"),
        ("add", "ci", "--roles", "a,,b"),
        ("add", "ci", "--tools", "deploy *"),
        ("add", "ci", "--store", "sqlite:///elsewhere.db"),
    ],
)
def test_what_cannot_be_meant_makes_nothing(sayso: Sayso, arguments: tuple[str, ...]) -> None:
    said = sayso("service", *arguments)
    assert (said.code, said.out) == (2, "")
    assert "No tokens" in sayso("service", "list").out
