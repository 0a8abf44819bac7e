"""A person is erased: what is its own goes, in what is others' the name does, and all verifies."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sayso import Approvers, Ed25519, Principal, Problem, Retention, Turn, approval
from sayso.base.directory import DirectoryPerson
from sayso.base.records import Hold
from sayso.base.sessions import Session
from sayso.engine.erasure import Finding
from sayso.stores.proxy import StoreProxy
from tests.apps import app_with
from tests.contract.rest import at_rest, call
from tests.contract.server import Client, Json, Server, answer, approve, served
from tests.contract.test_signatures import new_key
from tests.stores.backends import BACKENDS

NAME = "wilhelmina"
PEOPLE = {
    NAME: Principal(subject=NAME, roles=("lead",)),
    "bob": Principal(subject="bob"),
    "kay": Principal(subject="kay", roles=("keeper", "auditor")),
}
KINDS = (*BACKENDS, "sqlite, encrypted", "redis, encrypted")


async def authenticate(scope: Any) -> Principal | None:
    token = dict(scope["headers"]).get(b"authorization", b"").decode()
    return PEOPLE.get(token.removeprefix("Bearer "))


@pytest.fixture(params=KINDS)
async def company(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A server on which people approve each other's calls."""
    async with served(request.param, tmp_path, authenticate=authenticate) as server:
        declare(server)
        yield server


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Server]:
    """The same in memory."""
    async with served("memory", tmp_path, authenticate=authenticate) as server:
        declare(server)
        yield server


def declare(server: Server) -> None:
    """An agent that asks its owner, or leads, as it is told."""
    app = server.app

    @app.tool(approval=approval.always(by="lead"))
    async def pay(amount: float) -> str:
        return "paid"

    @app.tool(approval=approval.always(remember=True))
    async def send(to: str) -> str:
        return "sent"

    @app.agent("clerk")
    async def clerk(turn: Turn) -> None:
        match turn.input.text:
            case "ask":
                await turn.interrupt("input_required", "Go on?", schema=bool)
            case "pay":
                await turn.call(pay, amount=7.0)
            case "lead":
                who = Approvers(by="lead")
                await turn.interrupt("input_required", "May he?", schema=bool, approvers=who)
            case "send":
                await turn.call(send, to="acme")
            case "work":
                await asyncio.Event().wait()


def tab(server: Server, who: str, thread: str) -> Client:
    """Somebody's client on a thread."""
    return server.client("clerk", thread=thread, headers={"authorization": f"Bearer {who}"})


async def rest(server: Server, who: str, method: str, path: str, body: Any = None) -> Any:
    headers = {"authorization": f"Bearer {who}"}
    run = await call(server.app, method, path, body, headers=headers)
    assert run.status < 300, run.body
    return run.json if run.body else None


async def answered(server: Server, client: Client, said: Json) -> None:
    """Let the person answer what somebody else's thread asks."""
    (asked,) = client.model.pending
    await rest(server, NAME, "POST", f"/interrupts/{asked['id']}/answer", said)
    await at_rest(server, client)


async def lived(server: Server) -> None:
    """What a person leaves: own threads, and the word in those of somebody else."""
    own = {name: tab(server, NAME, f"own-{name}") for name in ("ask", "send", "hello")}
    for text, client in own.items():
        await client.say(text)
    given = approve(remember={"arguments": "any", "scope": "user"})
    await own["send"].resume(given)
    for text, said in (("pay", approve()), ("lead", answer(True))):
        client = tab(server, "bob", f"bob-{text}")
        await client.say(text)
        await answered(server, client, said)
    await tab(server, "bob", "bob-hello").say("hello")
    session = Session(
        digest="d" * 64, scope="default", subject=NAME, issuer="i", lifetime=9**9, idle=9**9
    )
    await server.app.store.add_session(session)


async def erased(server: Server, *, looks: bool = False, app: Any = None) -> list[Finding]:
    erasure = (app or server.app)._engine.erasure("default", NAME, "kay", looks=looks)
    return [finding async for finding in erasure.run()]


async def verified(server: Server) -> None:
    """All that is left of the trail is what was written, and questions are as it says."""
    for thread in ("own-ask", "own-send", "bob-pay", "bob-lead"):
        chain = await rest(server, "kay", "GET", f"/audit/{thread}")
        assert (chain["intact"], chain.get("differs", [])) == (True, []), thread
    tenant = await rest(server, "kay", "GET", "/audit?of=tenant&check=true")
    assert tenant["chain"]["intact"] is True


async def test_nothing_in_the_store_has_the_name_and_all_of_it_verifies(company: Server) -> None:
    """Others' threads tell by an id who it was; a look before says the same and does nothing.

    Begun again, as after a death behind the last write, it writes nothing more.
    """
    await lived(company)
    before = company.dump()
    assert NAME in before
    looked = await erased(company, looks=True)
    assert company.dump() == before
    done = await erased(company)
    assert done == looked
    assert Counter(finding.what for finding in done) == {
        "thread": 3,
        "trail": 2,
        "approval": 1,
        "session": 1,
        "renamed": 2,
        "person": 1,
    }
    assert NAME not in company.dump()
    await verified(company)
    shown = await rest(company, "bob", "GET", "/threads/bob-lead/history")
    (item,) = shown["interrupts"]
    (message,) = [m for m in shown["messages"] if m["role"] == "activity"]
    assert item["answer"]["by"].startswith("p_")
    assert message["content"]["by"] == item["answer"]["by"]
    rows = (await rest(company, "kay", "GET", "/audit?thread=bob-pay"))["items"]
    assert {row["content"]["by"] for row in rows if row["kind"] in ("resolved", "executed")} == {
        item["answer"]["by"]
    }
    *_, last = (await rest(company, "kay", "GET", "/audit?of=tenant"))["items"]
    assert (last["kind"], last["content"]["by"]) == ("erased", "kay")
    after = company.dump()
    assert [finding.what for finding in await erased(company)] == ["person"]
    assert company.dump() == after


async def test_an_erasure_that_died_anywhere_goes_on(tmp_path: Path) -> None:
    """Whichever write was its last: the next one ends like one that did not die."""

    class Dying(StoreProxy):
        left = 0

        async def _around(self, name: str, call: partial[Any]) -> Any:
            if name not in WRITES:
                return await call()
            self.left -= 1
            value = await call()
            if self.left == 0:
                raise SystemError("died")
            return value

    for step in range(1, 40):
        folder = tmp_path / str(step)
        folder.mkdir()
        async with served("memory", folder, authenticate=authenticate) as server:
            declare(server)
            await lived(server)
            dying = Dying(server.store)
            app = app_with(store=dying, clock=server.clock, **server.options)
            dying.left = step
            try:
                await erased(server, app=app)
            except SystemError:
                # A thread that it had just claimed is somebody's until the lease runs out.
                while "person" not in {finding.what for finding in await erased(server)}:
                    await server.clock.advance(11)
                assert NAME not in server.dump(), step
                await verified(server)
            else:
                assert step > 8
                return
    raise AssertionError("it never ended")


WRITES = frozenset(
    (
        "amend",
        "claim",
        "commit",
        "delete",
        "delete_approval",
        "end_sessions",
        "erase_person",
        "erase_trail",
        "note",
        "person",
        "purge_files",
        "update_idle",
    )
)


async def test_signatures_under_an_erased_person_s_words_stay_valid(tmp_path: Path) -> None:
    """They were made over the id."""
    new_key(keys := tmp_path / "keys.pem")
    options: Any = {"authenticate": authenticate, "signer": Ed25519.from_file(keys)}
    async with served("memory", tmp_path, **options) as server:
        declare(server)
        await lived(server)
        before = (await rest(server, "kay", "GET", "/audit/bob-pay"))["signatures"]
        assert before == {"valid": 1}
        await erased(server)
        assert NAME not in server.dump()
        assert (await rest(server, "kay", "GET", "/audit/bob-pay"))["signatures"] == before


async def test_what_is_on_hold_keeps_the_name_and_all_else_of_its_own_goes(office: Server) -> None:
    """Own or somebody else's; once it is lifted, the next one ends it."""
    await lived(office)
    store = office.app.store

    async def hold(thread: str, *, lifted: bool = False) -> None:
        view = await store.load("default", thread)
        assert view is not None
        word = Hold(by="kay", reason="case 7", said_at=1)
        await store.set_hold("default", thread, view.thread.revision, word, lifted=lifted)

    for thread in ("own-ask", "bob-lead"):
        await hold(thread)
    left = {(f.what, f.id) for f in await erased(office) if f.what not in ("session", "approval")}
    assert left == {
        ("held", "own-ask"),
        ("held", "bob-lead"),
        ("thread", "own-send"),
        ("thread", "own-hello"),
        ("trail", "own-send"),
        ("renamed", "bob-pay"),
    }
    await verified(office)
    shown = await rest(office, "bob", "GET", "/threads/bob-pay/history")
    assert shown["interrupts"][0]["answer"]["by"] == NAME
    for thread in ("own-ask", "bob-lead"):
        await hold(thread, lifted=True)
    await erased(office)
    assert NAME not in office.dump()
    await verified(office)


async def test_what_is_not_over_yet_keeps_the_name(office: Server) -> None:
    """An own thread that runs is asked to stop; one of others that waits is left alone."""
    await lived(office)
    working = tab(office, NAME, "own-work")
    run = working.open(working.body(messages=[working.user("work")]))
    await run.until("RUN_STARTED")
    waiting = tab(office, "bob", "bob-waits")
    await waiting.say("lead")
    (asked,) = waiting.model.pending
    await rest(office, NAME, "POST", f"/interrupts/{asked['id']}/assign", {"to": NAME})
    left = [f for f in await erased(office) if f.what in ("running", "open", "person")]
    assert {(f.what, f.id) for f in left} == {("running", "own-work"), ("open", "bob-waits")}


async def test_who_copies_a_thread_while_being_erased_is_erased_the_next_time(
    office: Server,
) -> None:
    """What was said would go on in the copy, and the keeper would be told that it is gone."""
    await lived(office)
    own = tab(office, NAME, "own-copied")
    (asked,) = (await own.say("ask")).interrupts

    class Copying(StoreProxy):
        made = ""

        async def _around(self, name: str, call: partial[Any]) -> Any:
            if name == "end_sessions" and not self.made:
                self.made = "now"
            value = await call()
            if name == "threads" and self.made == "now":
                body = {"interruptId": asked["id"]}
                copied = await rest(office, NAME, "POST", "/threads/own-copied/fork", body)
                self.made = copied["threadId"]
            return value

    store = Copying(office.store)
    app = app_with(store=store, clock=office.clock, **office.options)
    findings = await erased(office, app=app)
    assert [f.id for f in findings if f.what in ("used", "person")] == [store.made]
    assert "person" in {finding.what for finding in await erased(office)}
    assert NAME not in office.dump()


async def test_a_name_that_comes_into_a_thread_behind_the_look_at_it_goes_as_well(
    office: Server,
) -> None:
    """Nothing had named the person, and the keeper was told that all is gone."""
    asks = tab(office, "bob", "bob-asks")
    await asks.say("lead")

    class Answering(StoreProxy):
        has_answered = False

        async def _around(self, name: str, call: partial[Any]) -> Any:
            if name == "service_tokens" and not self.has_answered:  # all threads were looked at
                self.has_answered = True
                await answered(office, asks, answer(True))
            return await call()

    app = app_with(store=Answering(office.store), clock=office.clock, **office.options)
    findings = await erased(office, app=app)
    assert [f.what for f in findings] == ["renamed", "person"]
    assert NAME not in office.dump()
    assert [f.what for f in await erased(office)] == ["person"]


async def test_contents_of_others_in_the_same_trail_stay(office: Server) -> None:
    """Whoever took the id of a thread that was somebody else's cannot erase what was said there."""
    first = tab(office, "bob", "shared")
    await first.say("ask")
    await first.resume(answer(True))
    await rest(office, "bob", "DELETE", "/threads/shared")
    await tab(office, NAME, "shared").say("ask")
    found = {finding.what for finding in await erased(office)}
    assert found == {"thread", "shared_trail", "person"}
    rows = (await rest(office, "kay", "GET", "/audit?thread=shared"))["items"]
    assert all("content" in row for row in rows)


@pytest.mark.parametrize(
    ("options", "by"),
    [
        ({}, NAME),
        ({}, "sayso:retention"),
        ({}, ""),
        ({"retention": Retention(keeper="lou")}, "kay"),
        ({"directory": "kept"}, "bob"),
        ({"directory": "kept"}, "nobody"),
    ],
)
async def test_only_a_keeper_who_is_somebody_else_erases(
    tmp_path: Path, options: dict[str, Any], by: str
) -> None:
    """As far as it is known who is one."""

    class Kept:
        async def person(self, scope: str, subject: str) -> DirectoryPerson | None:
            known = PEOPLE.get(subject)
            return None if known is None else DirectoryPerson(subject=subject, roles=known.roles)

        async def members(self, scope: str, role: str) -> list[DirectoryPerson]:
            return []

    given = {**options, **({"directory": Kept()} if "directory" in options else {})}
    async with served("memory", tmp_path, authenticate=authenticate, **given) as server:
        keepers = server.app._engine.keepers
        with pytest.raises(Problem) as refused:
            await keepers.check("default", NAME, by)
        assert refused.value.code == "not_allowed"
        right = "lou" if "retention" in options else "kay"
        await keepers.check("default", NAME, right)
