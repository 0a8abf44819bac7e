"""Words that retention took away count as erased; what somebody else took away is missed."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sayso import Ed25519, Principal
from sayso.base.audit import NO_THREAD
from sayso.engine import audit
from tests.contract.server import Server, served
from tests.contract.test_approvers import PEOPLE, authenticate, rest
from tests.contract.test_signatures import checks, decided, exported, new_key
from tests.stores.backends import EMBEDDED, SHARED
from tests.tampering import tampered


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(PEOPLE, "aud", Principal(subject="aud", roles=("auditor",)))
    new_key(tmp_path / "keys.pem")
    return tmp_path / "keys.pem"


@pytest.fixture(params=tuple(SHARED))
async def desk(request: pytest.FixtureRequest, tmp_path: Path, keys: Path) -> AsyncIterator[Server]:
    """A company whose server signs, over each store that commands can open beside it."""
    options: dict[str, Any] = {"authenticate": authenticate, "signer": Ed25519.from_file(keys)}
    async with served(request.param, tmp_path, **options) as server:
        yield server


async def test_erased_words_are_counted_and_removed_ones_are_wrong(
    desk: Server, keys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command, beside the server and in an export; so for seals."""
    client, rows = await decided(desk)
    store, own = desk.app.store, desk.app._engine.audit
    url = SHARED[desk.kind](tmp_path)
    heads, _ = await own.heads("default", None)

    async def stored() -> dict[str, Any]:
        return await asyncio.to_thread(checks, keys, None, capsys, store=url)

    assert await stored() == {"words": {"valid": 3}, "bad": []}
    (held,) = [row["number"] for row in rows if row["kind"] == "held"]
    await store.erase_trail("default", client.thread, held, 9, "kay")
    export = await exported(desk, tmp_path / "export")
    gone = {"words": {"valid": 2, "erased": 1}, "bad": []}
    assert await stored() == checks(keys, export, capsys) == gone
    assert (await own.check("default", heads)).lost == ()
    lines = export.read_bytes().splitlines()
    cut = [line for line in lines if b'"kind":"erased"' not in line]
    export.write_bytes(b"\n".join(cut))
    found = checks(keys, export, capsys)
    assert found["words"] == {"valid": 2, "removed": held}
    assert {bad["number"] for bad in found["bad"]} == set(range(1, held + 1))
    if desk.kind == "sqlite":
        with tampered(tmp_path / "sayso.db") as db:
            db.execute("UPDATE audit SET content = NULL, salt = NULL WHERE number = ?", (held + 1,))
        found = await stored()
        assert found["words"]["removed"] == 1
        assert [bad["number"] for bad in found["bad"]] == [held + 1]
        assert (await own.check("default", heads)).lost != ()


@pytest.fixture(params=EMBEDDED)
async def tenant(
    request: pytest.FixtureRequest, tmp_path: Path, keys: Path
) -> AsyncIterator[Server]:
    """A server with an auditor."""
    async with served(request.param, tmp_path, authenticate=authenticate) as server:
        yield server


@pytest.mark.parametrize("through", ["all", None, True, 1.5, {"a": 1}])
async def test_what_a_row_says_of_an_erasure_is_believed_only_as_a_number(
    tenant: Server, through: Any
) -> None:
    """A row that somebody has put there is no error of whoever looks at the others."""
    store = tenant.app.store
    for number in (1, 2):
        await store.note("default", [("said", {"by": "kay", "number": number})], 1)
    await store.erase_trail("default", NO_THREAD, 1, 9, "kay")
    await store.note("default", [("erased", {"by": "eve", "through": through})], 10)
    told = await rest(tenant, "aud", "GET", "/audit?of=tenant&check=true")
    assert (told.status, told.json["chain"]["intact"]) == (200, True)


async def test_an_erased_trail_is_read_twice_and_not_once_for_each_page(
    tenant: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which rows were erased is looked up once for a walk, however long it is."""
    store = tenant.app.store
    await store.note("default", [("said", {"by": "kay"})] * 20, 1)
    await store.erase_trail("default", NO_THREAD, 20, 9, "kay")
    monkeypatch.setattr(audit, "_PAGE_SIZE", 2)
    before = len(tenant.store.calls)
    auditor = Principal(subject="aud", roles=("auditor",))
    chain = await tenant.app._engine.audit.verify_tenant(auditor)
    assert (chain.rows, chain.broken_at) == (21, None)
    assert len(tenant.store.calls) - before <= 2 * 11
