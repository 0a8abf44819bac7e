"""What people decide is signed before it is kept, and public keys alone tell what is worth what."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sayso import Ed25519, Principal, ToolCall, Turn, approval
from sayso.base.audit import GENESIS, chained
from sayso.cli.admin import signatures
from sayso.turns import hooks
from tests.contract.rest import at_rest
from tests.contract.server import Client, Server, approve, cancel, deny, served
from tests.contract.test_approvers import PEOPLE, authenticate, paying, rest, says
from tests.patience import PATIENCE
from tests.stores.backends import EMBEDDED
from tests.tampering import tampered


def new_key(file: Path, since: str | None = None) -> str:
    """Add a key to a file; returns its text."""
    private = Ed25519PrivateKey.generate()
    kind = serialization.PrivateFormat.PKCS8
    none = serialization.NoEncryption()
    pem = private.private_bytes(serialization.Encoding.PEM, kind, none).decode()
    text = pem if since is None else f"Since: {since}\n{pem}"
    with file.open("a") as opened:
        opened.write(text)
    return text


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    new_key(tmp_path / "keys.pem")
    return tmp_path / "keys.pem"


@pytest.fixture(params=EMBEDDED)
async def desk(
    request: pytest.FixtureRequest, tmp_path: Path, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Server]:
    """A company whose server signs."""
    monkeypatch.setitem(PEOPLE, "aud", Principal(subject="aud", roles=("auditor",)))
    options: dict[str, Any] = {"authenticate": authenticate, "signer": Ed25519.from_file(keys)}
    async with served(request.param, tmp_path, **options) as server:
        yield server


def twice(server: Server) -> Client:
    """Ann's client of an agent that asks her about two payments at once."""

    @server.app.tool(approval=approval.always)
    async def send(amount: float) -> str:
        return "Sent."

    async def agent(turn: Turn) -> None:
        await turn.call_all([ToolCall(tool="send", args={"amount": float(n)}) for n in range(2)])

    return server.client(agent, headers={"authorization": "Bearer ann"})


async def rows_of(server: Server, client: Client) -> list[dict[str, Any]]:
    answer = await rest(server, "aud", "GET", f"/audit?thread={client.thread}")
    items: list[dict[str, Any]] = answer.json["items"]
    return items


async def trail_of(server: Server) -> list[Any]:
    items: list[Any] = (await rest(server, "aud", "GET", "/audit?limit=500")).json["items"]
    return items


async def decided(server: Server) -> tuple[Client, list[dict[str, Any]]]:
    """A thread in which people have held, agreed, withdrawn and decided."""
    client = twice(server)
    first, second = (await client.say()).interrupts
    assert (await says(server, "ann", first, approve())).status == 202
    assert (await says(server, "ann", second, deny("no"))).status == 200
    await at_rest(server, client)
    return client, await rows_of(server, client)


def verdicts(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    said: dict[str, list[str]] = {}
    for row in rows:
        for one in row.get("signatures", ()):
            said.setdefault(row["kind"], []).append(f"{one['by']} {one['is']}")
    return said


def written(file: Path, body: bytes) -> Path:
    file.write_bytes(body)
    return file


def text_of(file: Path) -> str:
    return file.read_text()


async def exported(server: Server, file: Path) -> Path:
    server.clock.jump(30)
    return written(file, (await rest(server, "aud", "GET", "/audit/export")).body)


def checks(
    keys: Path,
    file: Path | None,
    capsys: pytest.CaptureFixture[str],
    *,
    store: str | None = None,
) -> dict[str, Any]:
    """What the command finds in an export, with nothing but the file and keys, or in a store."""
    capsys.readouterr()
    where: dict[str, Any] = {"thread": None, "store": store, "app": None, "scope": "default"}
    good = signatures.verify(keys, file, json=True, **where)
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert good is (not told["bad"])
    return told


async def test_each_word_of_a_person_is_signed_when_it_is_given(
    desk: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Held, settled, agreed and cancelled; the server's keys check it without it."""
    _, rows = await decided(desk)
    assert verdicts(rows) == {"held": ["ann valid"], "resolved": ["ann valid"] * 2}
    held, first = _signatures(rows)[:2]
    assert held == first, "an answer that was held is not signed again when it counts"
    client = paying(desk, approval.always(by="lead", approvals=2))
    (interrupt,) = (await client.say()).interrupts
    assert (await says(desk, "lea", interrupt, approve())).status == 202
    assert (await says(desk, "leo", interrupt, approve())).status == 200
    await at_rest(desk, client)
    rows = await rows_of(desk, client)
    assert verdicts(rows) == {"agreed": ["lea valid"], "resolved": ["leo valid"]}
    thread = (await rest(desk, "ann", "GET", f"/threads/{client.thread}")).json
    (row,) = [row for row in rows if row["kind"] == "resolved"]
    assert thread["lastDecision"]["digest"] == row["digest"]
    assert (
        thread["lastDecision"]["signature"]["value"]
        == (row["content"]["proof"]["signature"]["value"])
    )
    await client.say()
    assert (await client.resume(cancel())).outcome == "success"
    chain = (await rest(desk, "aud", "GET", f"/audit/{client.thread}")).json
    assert (chain["intact"], chain["signatures"]) == (True, {"valid": 3})
    listed = written(tmp_path / "keys.json", (await rest(desk, "bob", "GET", "/audit/keys")).body)
    found = checks(listed, await exported(desk, tmp_path / "export"), capsys)
    assert found == {"words": {"valid": 6}, "bad": []}


def _signatures(rows: list[dict[str, Any]]) -> list[Any]:
    """The signatures under answers, in order."""
    contents = [row["content"].get("answer", row["content"]) for row in rows]
    return [c["proof"]["signature"] for c in contents if "signature" in c.get("proof", {})]


@pytest.mark.parametrize("fault", ["hangs", "raises", "lies", "says nothing", "another's"])
async def test_without_a_signature_nothing_is_decided(
    desk: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """By inbox and request; the question is as it was, and the same answer counts later."""
    new_key(tmp_path / "other.pem")
    other = Ed25519.from_file(tmp_path / "other.pem")
    signing = desk.app._engine._services.signing
    assert signing is not None
    good = signing._signer

    async def signer(data: bytes) -> Any:
        if fault == "hangs":
            await asyncio.Event().wait()
        if fault == "raises":
            raise OSError("the key service is away")
        key, _ = await good(data)
        return {"lies": (key, b"\0" * 64), "says nothing": None}.get(fault) or await other(data)

    client = paying(desk, approval.always(by="lead"))
    (interrupt,) = (await client.say()).interrupts
    own = twice(desk)
    first = (await own.say()).interrupts[0]
    before = desk.effects, await trail_of(desk)
    monkeypatch.setattr(signing, "_signer", signer)
    if fault == "hangs":
        monkeypatch.setattr(hooks, "HOOK_TIMEOUT_S", 0.05)
    for run in (
        await says(desk, "lea", interrupt, approve()),
        await says(desk, "ann", first, approve()),
        await own.run(resume=own.entries(approve(), approve())),
    ):
        assert (run.status, run.problem["code"]) == (503, "signer_unavailable")
    assert (desk.effects, await trail_of(desk)) == before
    for question in (interrupt, first):
        waiting = (await rest(desk, "ann", "GET", f"/interrupts/{question['id']}")).json
        assert (waiting["status"], "answer" in waiting) == ("open", False)
    monkeypatch.setattr(signing, "_signer", good)
    monkeypatch.setattr(hooks, "HOOK_TIMEOUT_S", PATIENCE)
    assert (await says(desk, "lea", interrupt, approve())).status == 200
    await at_rest(desk, client)
    assert verdicts(await rows_of(desk, client)) == {"resolved": ["lea valid"]}


async def test_the_newest_key_signs_and_older_ones_check(
    desk: Server, keys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also beside a server that has the old file; a key that nobody has is told, not passed."""
    old = text_of(keys)
    await decided(desk)
    new_key(keys, since="2026-01-01T00:00:00Z")
    async with desk.another(signer=Ed25519.from_file(keys)).lifespan():
        listed = (await rest(desk, "bob", "GET", "/audit/keys")).json["items"]
        assert len(listed) == 1
    app, desk.app = desk.app, desk.another(signer=Ed25519.from_file(keys))
    async with desk.app.lifespan():
        both = (await rest(desk, "bob", "GET", "/audit/keys")).json["items"]
        assert [key.get("since") for key in both] == [None, "2026-01-01T00:00:00.000Z"]
        assert both[0] == listed[0]
        client, rows = await decided(desk)
        assert verdicts(rows) == {"held": ["ann valid"], "resolved": ["ann valid"] * 2}
        desk.app, new = app, desk.app
        assert verdicts(await rows_of(desk, client)) == {
            "held": ["ann unknown"],
            "resolved": ["ann unknown"] * 2,
        }
        desk.app = new
        export = await exported(desk, tmp_path / "export")
    desk.app = app
    assert checks(keys, export, capsys) == {"words": {"valid": 6}, "bad": []}
    found = checks(written(tmp_path / "old.pem", old.encode()), export, capsys)
    assert found["words"] == {"valid": 3, "unknown": 3}
    assert {bad["is"] for bad in found["bad"]} == {"unknown"}


async def test_what_was_decided_before_anything_was_signed_is_told_apart(
    desk: Server, keys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By when the oldest key began; without that, each word needs a signature."""
    app, desk.app = desk.app, desk.another(signer=None)
    async with desk.app.lifespan():
        client, rows = await decided(desk)
        assert verdicts(rows) == {}
        thread = (await rest(desk, "ann", "GET", f"/threads/{client.thread}")).json
        assert "lastDecision" not in thread
        desk.app = app
        unsigned = {"held": ["ann unsigned"], "resolved": ["ann unsigned"] * 2}
        assert verdicts(await rows_of(desk, client)) == unsigned
        export = await exported(desk, tmp_path / "export")
    assert checks(keys, export, capsys)["words"] == {"unsigned": 3}
    dated = tmp_path / "dated.pem"
    new_key(dated, since="2999-01-01T00:00:00Z")
    assert checks(dated, export, capsys) == {"words": {"earlier": 3}, "bad": []}


async def test_a_word_that_was_changed_is_told_in_a_store_and_an_export(
    desk: Server, keys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the whole chain was computed anew. Who is forgotten makes nothing false."""
    if desk.kind == "memory":
        return
    client, _ = await decided(desk)
    export = await exported(desk, tmp_path / "export")
    lines = export.read_bytes().splitlines()
    for old, new in (
        (b'"approved":true', b'"approved":false'),
        (b'"reason":"no"', b'"reason":"go"'),
        (b'"by":"ann"', b'"by":"eve"'),
        (b'"channel":"inbox"', b'"channel":"run"'),
        (client.thread.encode(), b"another"),
    ):
        export.write_bytes(b"\n".join(lines).replace(old, new))
        found = checks(keys, export, capsys)
        assert found["words"].get("invalid"), (old, found)
    export.write_bytes(b"\n".join(lines).replace(b'"signature":{', b'"sig":{'))
    assert set(checks(keys, export, capsys)["words"]) == {"unsigned"}
    export.write_bytes(b"\n".join(lines).replace(b'{"threadId"', b'{"threadid"', 1))
    assert checks(keys, export, capsys)["words"]["unreadable"] == 1
    with tampered(tmp_path / "sayso.db") as db:
        digest = GENESIS
        read = "SELECT number, owner, at, kind, content, salt FROM audit WHERE thread_id = ?"
        rows = db.execute(f"{read} ORDER BY number", (client.thread,)).fetchall()
        for number, owner, at, kind, content, salt in rows:
            forged = content.replace(b'"approved":false', b'"approved":true')
            whose = ("default", client.thread, owner)
            inner, digest = chained(whose, digest, number, at, kind, forged, salt)
            db.execute(
                "UPDATE audit SET content = ?, content_digest = ?, digest = ?"
                " WHERE thread_id = ? AND number = ?",
                (forged, inner, digest, client.thread, number),
            )
    chain = (await rest(desk, "aud", "GET", f"/audit/{client.thread}")).json
    assert (chain["intact"], chain["signatures"]) == (True, {"valid": 2, "invalid": 1})


async def test_who_is_forgotten_makes_no_signature_false(desk: Server, tmp_path: Path) -> None:
    """The name is gone; what was signed has an id."""
    if desk.kind == "memory":
        return
    client, _ = await decided(desk)
    with tampered(tmp_path / "sayso.db") as db:
        db.execute("DELETE FROM person WHERE name = 'ann'")
    rows = await rows_of(desk, client)
    counts = Counter(one["is"] for row in rows for one in row.get("signatures", ()))
    people = {person for row in rows for person in (row["owner"], row["content"].get("by"))}
    assert (counts, "ann" in people) == ({"valid": 3}, False)


async def test_what_nobody_said_has_no_signature_and_needs_none(
    desk: Server, keys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An expiry, and a stop, which answers nothing."""
    client = paying(desk, approval.always(expires_in=10))
    await client.say()
    desk.clock.jump(11)
    await desk.app._engine._sweeper.sweep()
    await at_rest(desk, client)
    other = twice(desk)
    await other.say()
    assert (await rest(desk, "ann", "POST", f"/threads/{other.thread}/stop")).status == 200
    for one, kind in ((client, "expired"), (other, "cancelled")):
        rows = await rows_of(desk, one)
        assert kind in {row["kind"] for row in rows}
        assert verdicts(rows) == {}
    assert checks(keys, await exported(desk, tmp_path / "export"), capsys)["bad"] == []
