"""`Sayso(directory=…)`: who may be assigned to a question, and whose yes still counts later."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sayso import (
    Approvers,
    DeclarationError,
    Directory,
    DirectoryPerson,
    Principal,
    Sayso,
    Tool,
    ToolCall,
    Turn,
    approval,
    directory,
)
from sayso.turns import hooks
from tests.contract.payers import payer
from tests.contract.replicas import replica
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest, call
from tests.contract.server import Client, Server, answer, approve, cancel, deny, served
from tests.contract.test_approvers import authenticate, open_for, rest, says
from tests.contract.wire import Run
from tests.stores.backends import BACKENDS, EMBEDDED

LEAD = Approvers(by="lead")


class Company(Directory):
    """A directory that people join and leave, and that breaks."""

    def __init__(self) -> None:
        self.people = {
            "ann": DirectoryPerson(subject="ann"),
            "lea": DirectoryPerson(subject="lea", roles=("lead",)),
            "leo": DirectoryPerson(subject="leo", roles=("lead", "finance")),
            "fay": DirectoryPerson(subject="fay", roles=("finance",)),
            "bob": DirectoryPerson(subject="bob"),
            "ina": DirectoryPerson(subject="ina", roles=("lead",), active=False),
        }
        self.broken: Any = None
        self.looks = 0

    async def person(self, scope: str, subject: str) -> DirectoryPerson | None:
        await self._breaks()
        return self.people.get(subject) if scope == "default" else None

    async def members(self, scope: str, role: str) -> Sequence[DirectoryPerson]:
        await self._breaks()
        return [person for person in self.people.values() if role in person.roles]

    async def _breaks(self) -> None:
        self.looks += 1
        if self.broken == "raises":
            raise RuntimeError("the directory is down")
        if self.broken == "hangs":
            await asyncio.Event().wait()


@pytest.fixture
def known() -> Company:
    return Company()


@pytest.fixture(params=tuple(BACKENDS))
async def company(
    request: pytest.FixtureRequest, tmp_path: Path, known: Company
) -> AsyncIterator[Server]:
    """A server with a directory, on every store."""
    options = {"authenticate": authenticate, "directory": known}
    async with served(request.param, tmp_path, **options) as server:
        yield server


@pytest.fixture(params=EMBEDDED)
async def office(
    request: pytest.FixtureRequest, tmp_path: Path, known: Company
) -> AsyncIterator[Server]:
    """The same on the stores that are fast to begin."""
    options = {"authenticate": authenticate, "directory": known}
    async with served(request.param, tmp_path, **options) as server:
        yield server


def paying(server: Server, who: Approvers, **options: Any) -> Client:
    """Ann's client of an agent that pays once."""

    def pay() -> str:
        server.effects.append("paid")
        return "Paid."

    return payer(server, "ann", pay, approval.always(approvers=who, **options))


def asking(server: Server) -> Client:
    """Ann's client of an agent that asks its owner."""

    async def asks(turn: Turn) -> None:
        got = await turn.interrupt("shop:go", "Go on?", schema={"type": "boolean"})
        server.effects.append((got.value, got.by))

    client = server.client(asks)
    client.headers["authorization"] = "Bearer ann"
    return client


async def assign(server: Server, who: str, asked: Any, to: str | None) -> Run:
    return await rest(server, who, "POST", f"/interrupts/{asked['id']}/assign", {"to": to})


async def may(server: Server, who: str, asked: Any) -> list[str]:
    shown = await rest(server, who, "GET", f"/interrupts/{asked['id']}")
    verbs: list[str] = shown.json["metadata"]["sayso"]["may"]
    return verbs


@requirement("OC-20")
@pytest.mark.parametrize(
    ("to", "taken"),
    [
        ("leo", True),
        ("role:lead", True),
        ("role:finance", True),  # leo is of it, and a lead
        ("ina", False),
        ("fay", False),
        ("ann", False),
        ("nobody", False),
        ("role:", False),
        ("role:chief", False),
    ],
)
async def test_only_who_may_answer_is_assigned(office: Server, to: str, taken: bool) -> None:
    """It grants nothing: whoever could answer before can, and nobody else."""
    client = paying(office, LEAD)
    (asked,) = (await client.say()).interrupts
    stored = office.dump()
    run = await assign(office, "lea", asked, to)
    if taken:
        assert (run.status, run.json["assignedTo"]) == (200, to)
    else:
        assert (run.status, run.problem["code"]) == (422, "unknown_person")
        assert run.problem["errors"] == [{"pointer": "/to", "message": "is nobody who may answer"}]
        assert office.dump() == stored
    for who in ("fay", "bob"):
        assert await open_for(office, who) == []
        assert (await says(office, who, asked, approve())).status == 404
    assert (await says(office, "lea", asked, approve())).status == 200
    await at_rest(office, client)
    assert office.effects == ["paid"]


async def test_an_insider_assigns_nothing_to_himself(company: Server) -> None:
    """Neither the owner, nor a stranger, nor who has another role."""
    client = paying(company, LEAD)
    (asked,) = (await client.say()).interrupts
    path = f"/interrupts/{asked['id']}"
    stood = (await rest(company, "lea", "GET", path)).json
    for who, status, code in (
        ("ann", 403, "not_an_approver"),
        ("fay", 404, "unknown_interrupt"),
        ("bob", 404, "unknown_interrupt"),
    ):
        run = await assign(company, who, asked, who)
        assert (run.status, run.problem["code"]) == (status, code)
        assert (await says(company, who, asked, approve())).status == status
    assert ((await rest(company, "lea", "GET", path)).json, company.effects) == (stood, [])


async def test_nobody_is_looked_up_for_who_may_assign_nobody(
    office: Server, known: Company
) -> None:
    """So neither time nor a directory that fails tells who there is, and nobody makes it work."""
    client = paying(office, LEAD)
    (asked,) = (await client.say()).interrupts
    known.looks, known.broken = 0, "raises"
    for who, status in (("ann", 403), ("fay", 404), ("bob", 404)):
        for to in ("leo", "nobody", "role:lead"):
            assert (await assign(office, who, asked, to)).status == status
    assert known.looks == 0
    assert (await assign(office, "lea", asked, "leo")).status == 503
    known.broken = None
    (asked,) = (await asking(office).say()).interrupts
    await assign(office, "ann", asked, "bob")
    known.looks = 0
    assert (await assign(office, "bob", asked, "fay")).status == 403
    assert known.looks == 0


@requirement("OC-20")
@pytest.mark.parametrize(("to", "others"), [("bob", ["fay", "lea"]), ("role:lead", ["fay", "bob"])])
async def test_an_owner_grants_its_own_question(
    company: Server, to: str, others: list[str]
) -> None:
    """Who is named finds it and answers it; the owner still may; nobody else does."""
    client = paying(company, Approvers())
    (asked,) = (await client.say()).interrupts
    who = "lea" if to == "role:lead" else to
    assert await open_for(company, who) == []
    assert (await assign(company, "ann", asked, to)).status == 200
    assert await open_for(company, who) == await open_for(company, "ann") == [asked["id"]]
    assert await may(company, who, asked) == ["answer", "cancel"]
    assert await may(company, "ann", asked) == ["answer", "cancel", "assign"]
    for other in others:
        assert await open_for(company, other) == []
        assert (await says(company, other, asked, approve())).status == 404
    handed = await assign(company, who, asked, "fay")
    assert (handed.status, handed.problem["code"]) == (403, "not_an_approver")
    assert (await says(company, who, asked, approve())).status == 200
    await at_rest(company, client)
    assert company.effects == ["paid"]
    rows = (await rest(company, "ann", "GET", f"/audit?thread={client.thread}")).json["items"]
    told = [row["content"] for row in rows if row["kind"] == "assigned"]
    assert [(row["to"], row["by"]) for row in told] == [(to, "ann")]


async def test_an_owner_takes_a_grant_back(company: Server) -> None:
    """Then it is the owner's own question again, and another one may be named."""
    client = paying(company, Approvers())
    (asked,) = (await client.say()).interrupts
    assert (await assign(company, "ann", asked, "bob")).status == 200
    assert (await assign(company, "ann", asked, "fay")).status == 200
    assert await open_for(company, "bob") == []
    assert (await says(company, "bob", asked, approve())).status == 404
    assert await open_for(company, "fay") == [asked["id"]]
    assert (await assign(company, "ann", asked, None)).status == 200
    assert await open_for(company, "fay") == []
    assert (await says(company, "fay", asked, approve())).status == 404
    assert (await client.resume(approve())).outcome == "success"
    assert company.effects == ["paid"]


@pytest.mark.parametrize(
    ("to", "stands"), [(None, False), ("fay", False), ("bob", True), ("role:lead", False)]
)
async def test_a_yes_that_is_held_ends_with_the_grant(
    company: Server, to: str | None, stands: bool
) -> None:
    """Nothing runs on it once its author may not answer any more; the question waits again."""

    async def pay(amount: float) -> str:
        company.effects.append(amount)
        return "Paid."

    tool: Tool[..., Any] = Tool(pay, approval=approval.always)
    company.app.add_tools(tool)

    async def pays(turn: Turn) -> None:
        await turn.call_all([ToolCall(tool="pay", args={"amount": n}) for n in (1.0, 2.0)])

    client = company.client(pays)
    client.headers["authorization"] = "Bearer ann"
    first, second = (await client.say()).interrupts
    await assign(company, "ann", first, "bob")
    assert (await says(company, "bob", first, approve())).status == 202
    assert (await assign(company, "ann", first, to)).status == 200
    shown = (await rest(company, "ann", "GET", f"/interrupts/{first['id']}")).json
    ours = shown["metadata"]["sayso"]
    assert ("held" in ours.get("waitsFor", ours)) is stands
    said = await says(company, "ann", second, approve())
    assert said.status == (200 if stands else 202)
    await at_rest(company, client)
    assert company.effects == ([1.0, 2.0] if stands else [])
    if not stands:
        assert await open_for(company, "bob") == []
        assert (await says(company, "ann", first, approve())).status == 200
        await at_rest(company, client)
        assert sorted(company.effects) == [1.0, 2.0]


async def test_whoever_is_let_answer_once_says_nothing_for_later(office: Server) -> None:
    """A yes to later calls of the owner is the owner's to give."""
    client = paying(office, Approvers(), remember=True)
    (asked,) = (await client.say()).interrupts
    await assign(office, "ann", asked, "bob")
    run = await says(office, "bob", asked, approve(remember=True))
    assert (run.status, run.problem["errors"][0]["pointer"]) == (422, "/payload/remember")
    assert (await says(office, "bob", asked, approve())).status == 200


@pytest.mark.parametrize("said", [approve(), deny("no")])
async def test_an_assignment_and_an_answer_at_once_are_one_after_the_other(
    company: Server, known: Company, said: dict[str, Any]
) -> None:
    """Of two processes: whoever was named last answers, or is told that it was decided."""

    async def same(turn: Turn) -> None:
        await turn.say("elsewhere")

    client = paying(company, Approvers())
    (asked,) = (await client.say()).interrupts
    await assign(company, "ann", asked, "bob")
    async with replica(company, ("other", same)) as other:
        path = f"/interrupts/{asked['id']}"
        headers = {"authorization": "Bearer ann", "content-type": "application/json"}
        given, moved = await asyncio.gather(
            says(company, "bob", asked, said),
            call(other, "POST", f"{path}/assign", {"to": "fay"}, headers=headers),
        )
    if given.status == 200:
        await at_rest(company, client)
        assert company.effects == (["paid"] if said == approve() else [])
        assert moved.status in (200, 404, 409)
    else:
        assert (given.status, moved.status) == (404, 200)
        assert company.effects == []


async def test_without_a_directory_an_assignment_is_a_label(tmp_path: Path) -> None:
    async with served("memory", tmp_path, authenticate=authenticate) as server:
        client = paying(server, Approvers())
        (asked,) = (await client.say()).interrupts
        assert (await assign(server, "ann", asked, "bob")).status == 200
        assert (await says(server, "bob", asked, approve())).status == 404
        assert (await client.resume(approve())).outcome == "success"


@pytest.mark.parametrize("broken", ["raises", "hangs"])
async def test_a_directory_that_fails_assigns_nobody(
    office: Server, known: Company, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = paying(office, Approvers())
    (asked,) = (await client.say()).interrupts
    stored = office.dump()
    known.broken = broken
    monkeypatch.setattr(hooks, "HOOK_TIMEOUT_S", 0.05)
    run = await assign(office, "ann", asked, "bob")
    assert (run.status, run.problem["code"]) == (503, "auth_unavailable")
    assert office.dump() == stored
    # Nobody has to be looked up to take an assignment back, or to answer.
    assert (await assign(office, "ann", asked, None)).status == 200
    assert (await client.resume(cancel())).outcome == "success"


async def remembered(server: Server, client: Client) -> str:
    """Lea says yes for later as well; the id of what is remembered."""
    (asked,) = (await client.say()).interrupts
    assert (await says(server, "lea", asked, approve(remember=True))).status == 200
    await at_rest(server, client)
    (row,) = (await rest(server, "lea", "GET", "/approvals")).json["items"]
    identifier: str = row["id"]
    return identifier


@pytest.mark.parametrize(
    "now",
    [
        None,
        DirectoryPerson(subject="lea"),
        DirectoryPerson(subject="lea", roles=("lead",), active=False),
    ],
)
async def test_a_yes_ends_with_the_role_of_who_gave_it(
    company: Server, known: Company, now: DirectoryPerson | None
) -> None:
    """Looked up at each use, within a minute: gone, inactive, or without the role."""
    client = paying(company, LEAD, remember=True)
    approval_id = await remembered(company, client)
    assert (await client.again(thread="second").say()).outcome == "success"
    known.people.pop("lea")
    if now is not None:
        known.people["lea"] = now
    assert (await client.again(thread="third").say()).outcome == "success"  # known for a minute
    await company.clock.advance(60)
    (asked,) = (await client.again(thread="fourth").say()).interrupts
    (stale,) = asked["metadata"]["sayso"]["stale"]
    assert (stale["id"], stale["givenBy"]) == (approval_id, "lea")
    row = (await rest(company, "lea", "GET", f"/approvals/{approval_id}")).json
    assert (row["revokedBy"], row["stale"]) == ("sayso:entitlement", True)
    assert "whoever gave it has left" in row["why"]
    assert company.effects == ["paid"] * 3
    told = [line for line in company.app._engine.health.metrics.lines() if "stale" in line]
    assert 'sayso_remembered_stale_total{reason="entitlement"} 1' in told
    # It is not given back with the role.
    known.people["lea"] = DirectoryPerson(subject="lea", roles=("lead",))
    await company.clock.advance(60)
    assert (await client.again(thread="fifth").say()).outcome == "interrupt"


@pytest.mark.parametrize("broken", ["raises", "hangs"])
async def test_a_directory_that_fails_lets_nothing_pass_and_revokes_nothing(
    office: Server, known: Company, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People are asked instead; the yes counts again once the directory answers."""
    client = paying(office, LEAD, remember=True)
    await remembered(office, client)
    known.broken = broken
    with monkeypatch.context() as impatient:
        impatient.setattr(hooks, "HOOK_TIMEOUT_S", 0.05)
        assert (await client.again(thread="second").say()).outcome == "interrupt"
    known.broken = None
    assert (await client.again(thread="third").say()).outcome == "success"
    assert office.effects == ["paid"] * 2


async def test_an_owners_own_yes_stands_though_no_directory_knows_the_owner(
    office: Server, known: Company
) -> None:
    """Customers are in no directory; who is there and has left has no word left either."""
    client = paying(office, Approvers(), remember=True)
    await client.say()
    assert (await client.resume(approve(remember=True))).outcome == "success"
    del known.people["ann"]
    assert (await client.again(thread="second").say()).outcome == "success"
    known.people["ann"] = DirectoryPerson(subject="ann", active=False)
    await office.clock.advance(60)
    assert (await client.again(thread="third").say()).outcome == "interrupt"


async def test_a_table_of_people_is_a_directory() -> None:
    """The same people everywhere, or those of each scope."""
    lea, leo = (
        DirectoryPerson(subject="lea", roles=["lead"]),
        DirectoryPerson(subject="leo", roles=["lead"]),
    )
    everywhere = directory.fixed([lea, leo])
    assert await everywhere.person("any", "lea") is lea
    assert await everywhere.person("any", "eve") is None
    assert list(await everywhere.members("any", "lead")) == [lea, leo]
    apart = directory.fixed({"one": [lea], "two": [leo]})
    assert await apart.person("one", "leo") is None
    assert list(await apart.members("two", "lead")) == [leo]
    assert list(await apart.members("three", "lead")) == []
    with pytest.raises(DeclarationError, match="'lea' twice"):
        directory.fixed([lea, lea])
    wrong: Any = ["lea"]
    with pytest.raises(DeclarationError, match="lists DirectoryPerson"):
        directory.fixed(wrong)


def test_a_directory_has_its_two_methods() -> None:
    wrong: Any = {"lea": Principal(subject="lea")}
    with pytest.raises(DeclarationError, match="directory has the async methods"):
        Sayso(store="memory:", directory=wrong)


async def test_an_answer_of_the_author_s_is_granted_too(office: Server) -> None:
    """Whatever the owner is asked."""
    client = asking(office)
    (asked,) = (await client.say()).interrupts
    await assign(office, "ann", asked, "bob")
    assert (await says(office, "bob", asked, answer(True))).status == 200
    await at_rest(office, client)
    assert office.effects == [(True, "bob")]


@requirement("OC-20")
@pytest.mark.parametrize(
    ("who", "short"),
    [
        (Approvers(approvals={"lead": 1, "finance": 1}), None),
        (Approvers(approvals={"lead": 2, "finance": 1}), None),
        (Approvers(by="lead", approvals=2), None),
        (Approvers(approvals={"lead": 2, "finance": 2}), "people with the role"),
        (Approvers(by="lead", approvals=3), "too few people who"),
        (Approvers(by="chief"), "too few people who"),
        (Approvers(people=["ina"]), "too few people who"),
        (Approvers(people=["ann"], not_by="requester"), "too few people who"),
        (Approvers(people=["ann"], not_by=None), None),
        (Approvers(), None),
    ],
)
@pytest.mark.parametrize("asked_by", ["rule", "author"])
async def test_a_quorum_that_nobody_can_fill_is_told(
    office: Server,
    who: Approvers,
    short: str | None,
    asked_by: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """On the card and in the log; it is asked all the same, for people come."""

    async def asks(turn: Turn) -> None:
        await turn.interrupt("shop:go", "Go on?", schema={"type": "boolean"}, approvers=who)

    client = paying(office, who) if asked_by == "rule" else office.client(asks)
    client.headers["authorization"] = "Bearer ann"
    (asked,) = (await client.say()).interrupts
    told = asked.get("metadata", {}).get("sayso", {}).get("unfilled")
    logged = [line for line in caplog.messages if "directory knows too few" in line]
    if short is None:
        assert (told, logged) == (None, [])
    else:
        assert short in told
        assert len(logged) == 1


async def test_a_directory_that_fails_says_nothing_of_a_quorum(
    office: Server, known: Company
) -> None:
    known.broken = "raises"
    (asked,) = (await paying(office, Approvers(by="chief")).say()).interrupts
    assert "unfilled" not in asked["metadata"]["sayso"]
