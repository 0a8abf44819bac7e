"""Who asked, decided and did what, and that nobody can write it anew (cases U; design 7)."""

import hashlib
from pathlib import Path
from typing import Any

from sayso import Principal, Turn, approval, auth
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest, call, get, post
from tests.contract.server import Client, Server, approve, deny, served
from tests.contract.test_owners import authenticate
from tests.contract.tools import Kit, kit
from tests.tampering import tampered


async def rows(server: Server, client: Client) -> list[dict[str, Any]]:
    """The audit trail of a client's thread."""
    found: list[dict[str, Any]] = (await get(server, f"/audit?thread={client.thread}"))["items"]
    return found


@requirement("TB-14", "SE-05")
async def test_an_edit_through_the_inbox_has_all_its_rows_in_order(
    server: Server, tools: Kit
) -> None:
    """U1: proposed, edited and executed, by whom and by which way, with the result's digest."""
    client = server.client(tools.refunding)
    await client.say()
    (one,) = [item["id"] for item in client.model.pending]
    edited = {"order_id": "A-17", "amount": 100.0}
    await post(server, f"/interrupts/{one}/answer", approve(editedArgs=edited))
    await at_rest(server, client)
    asked, resolved, started, executed = await rows(server, client)
    assert [row["kind"] for row in (asked, resolved, started, executed)] == [
        "asked",
        "resolved",
        "started",
        "executed",
    ]
    assert asked["content"]["metadata"]["sayso"]["arguments"]["amount"] == 240.0
    assert resolved["content"]["payload"]["editedArgs"] == edited
    assert (resolved["content"]["by"], resolved["content"]["channel"]) == ("local", "inbox")
    assert executed["content"]["editedArgs"] == edited
    assert executed["content"]["toolCallId"] == asked["content"]["toolCallId"]
    assert executed["content"]["resultDigest"]
    assert [row["number"] for row in (asked, resolved, started, executed)] == [1, 2, 3, 4]


async def test_a_reason_is_kept_word_for_word(server: Server, tools: Kit) -> None:
    """V3: what the reviewer wrote, with the decision and with the call that it ended."""
    client = server.client(tools.refunding)
    await client.say()
    await client.resume(deny("Ask Ann first."))
    _, resolved, denied = await rows(server, client)
    assert resolved["content"]["payload"] == {"approved": False, "reason": "Ask Ann first."}
    assert (denied["kind"], denied["content"]["reason"]) == ("denied", "Ask Ann first.")


async def test_a_call_that_a_rule_let_through_names_the_rule(server: Server) -> None:
    """U3: nobody was asked, and the row says why."""

    @server.app.tool(approval=approval.when(lambda amount: amount > 100))
    async def pay(amount: float) -> str:
        return "paid"

    async def agent(turn: Turn) -> None:
        await turn.call(pay, amount=5.0)

    client = server.client(agent)
    await client.say()
    started, executed = await rows(server, client)
    assert executed["kind"] == "executed"
    assert executed["content"]["rule"] == started["content"]["rule"]
    assert executed["content"]["rule"]
    assert "by" not in executed["content"]


async def test_the_caller_is_who_answered_whatever_the_payload_says(tmp_path: Path) -> None:
    """U2: identity comes from the authenticated request; others read nothing of it."""
    async with served("memory", tmp_path, authenticate=authenticate) as server:
        client = server.client(kit(server).refunding)
        client.headers["authorization"] = "Bearer ann"
        await client.say()
        (one,) = client.model.pending
        await client.resume({**deny("no"), "metadata": {"by": "boss"}})
        mine = await call(server.app, "GET", "/audit", headers={"authorization": "Bearer ann"})
        resolved = mine.json["items"][1]
        assert resolved["content"]["interruptId"] == one["id"]
        assert resolved["content"]["by"] == "ann"
        assert resolved["content"]["metadata"] == {"by": "boss"}
        other = await call(server.app, "GET", "/audit", headers={"authorization": "Bearer bob"})
        assert other.json["items"] == []
        path = f"/audit/{client.thread}"
        other = await call(server.app, "GET", path, headers={"authorization": "Bearer bob"})
        assert other.status == 404


async def test_a_thread_under_the_id_of_a_deleted_one_has_an_intact_chain(tmp_path: Path) -> None:
    """Design 7: its rows go on behind those of who had the id; each reads its own."""
    async with served("memory", tmp_path, authenticate=authenticate) as server:
        client = server.client(kit(server).refunding)
        for who in ("ann", "bob"):
            headers = {"authorization": f"Bearer {who}"}
            own = client.again(headers=headers)
            await own.say()
            await own.resume(deny("no"))
            found = await call(server.app, "GET", f"/audit/{own.thread}", headers=headers)
            assert found.json["intact"] is True
            assert found.json["rows"] == (3 if who == "ann" else 7)
            shown: list[int] = []
            cursor = ""
            while True:
                path = f"/audit?thread={own.thread}&limit=2{cursor}"
                page = (await call(server.app, "GET", path, headers=headers)).json
                shown += [row["number"] for row in page["items"]]
                if page.get("nextCursor") is None:
                    break
                cursor = f"&cursor={page['nextCursor']}"
            assert shown == ([1, 2, 3] if who == "ann" else [5, 6, 7])
            await call(server.app, "DELETE", f"/threads/{own.thread}", headers=headers)
        path = f"/audit/{client.thread}"
        other = await call(server.app, "GET", path, headers={"authorization": "Bearer eve"})
        assert other.status == 404


async def test_who_deletes_a_thread_leaves_what_was_decided_in_it(tmp_path: Path) -> None:
    """U1: the requester cannot erase the evidence; the trail says that and by whom it was tried."""
    roles = {"ann": (), "lea": ("lead",), "aud": ("auditor",)}
    people = {
        f"token-of-{who}-0123": Principal(subject=who, roles=has) for who, has in roles.items()
    }
    tokens = {who: {"authorization": f"Bearer token-of-{who}-0123"} for who in roles}
    async with served("memory", tmp_path, authenticate=auth.bearer(people)) as server:

        @server.app.tool(approval=approval.always(by="lead"))
        async def pay(amount: float) -> str:
            return f"Paid {amount:.2f}."

        async def agent(turn: Turn) -> None:
            await turn.call(pay, amount=1.0)

        client = server.client(agent, headers=tokens["ann"])
        await client.say()
        (asked,) = [one["id"] for one in client.model.pending]
        yes = {"status": "resolved", "payload": {"approved": True}}
        path = f"/interrupts/{asked}/answer"
        said = await call(server.app, "POST", path, yes, headers=tokens["lea"])
        assert said.status == 200
        await at_rest(server, client)
        where = f"/audit?thread={client.thread}"
        before = (await call(server.app, "GET", where, headers=tokens["aud"])).json["items"]
        path = f"/threads/{client.thread}"
        assert (await call(server.app, "DELETE", path, headers=tokens["ann"])).status == 204
        after = (await call(server.app, "GET", where, headers=tokens["aud"])).json["items"]
        assert after[:-1] == before
        assert (after[-1]["kind"], after[-1]["content"]) == ("deleted", {"by": "ann"})
        kept = {row["kind"]: row["content"] for row in after}
        assert kept["resolved"]["by"] == "lea"
        path = f"/audit/{client.thread}"
        chain = (await call(server.app, "GET", path, headers=tokens["aud"])).json
        assert (chain["intact"], chain["rows"]) == (True, len(after))


async def test_extending_and_assigning_say_who_did_it(server: Server) -> None:
    """R4: an extension is an audited call."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Sure?", expires_in=60)

    client = server.client(agent)
    await client.say()
    (one,) = [item["id"] for item in client.model.pending]
    await post(server, f"/interrupts/{one}/extend", {"seconds": 600})
    await post(server, f"/interrupts/{one}/assign", {"to": "cyd"})
    _, extended, assigned = await rows(server, client)
    assert (extended["kind"], extended["content"]["by"]) == ("extended", "local")
    assert (assigned["kind"], assigned["content"]["to"]) == ("assigned", "cyd")


async def test_a_row_that_somebody_rewrote_breaks_the_chain(tmp_path: Path) -> None:
    """Design 7: from there on; what was not touched still holds."""
    async with served("sqlite", tmp_path) as server:
        client = server.client(kit(server).refunding)
        await client.say()
        await client.resume(deny("no"))
        path = f"/audit/{client.thread}"
        before = await get(server, path)
        assert before == {**before, "rows": 3, "intact": True}
        with tampered(server.folder / "sayso.db") as db:
            forged = b'{"by":"boss"}'
            digest = hashlib.sha256(forged).hexdigest()
            change = "UPDATE audit SET content = ?, content_digest = ? WHERE number = 2"
            db.execute(change, (forged, digest))
        after = await get(server, path)
        assert (after["intact"], after["brokenAt"]) == (False, 2)
