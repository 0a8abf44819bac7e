"""Each reason not to take somebody's answer, for everybody and on every way in (OC-20)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sayso import (
    Approvers,
    CopilotKit,
    DeclarationError,
    DirectoryPerson,
    Principal,
    Tool,
    Turn,
    approval,
    directory,
)
from sayso.testing import FakeClock
from tests.contract.legacy import command
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest, call
from tests.contract.server import Client, Server, approve, cancel, served
from tests.contract.wire import Run
from tests.stores.backends import BACKENDS

NOW = FakeClock().now()
SIGNED_IN: dict[str, Any] = {"auth_time": NOW - 60_000}
"""A minute before the test begins."""
PEOPLE = {
    "ann": Principal(subject="ann", **SIGNED_IN),
    "lea": Principal(subject="lea", roles=("lead",), **SIGNED_IN),
    "leo": Principal(subject="leo", roles=("lead",), **SIGNED_IN),
    "long-ago": Principal(subject="lou", roles=("lead",), auth_time=NOW - 600_000),
    "unknown-when": Principal(subject="liv", roles=("lead",)),
    "not-yet": Principal(subject="lyn", roles=("lead",), auth_time=NOW * 1_000),
    "bob": Principal(subject="bob", **SIGNED_IN),
    "bot": Principal(subject="bot", roles=("lead",), kind="service", **SIGNED_IN),
}
FRESH = 300.0
RULES = Approvers(by="lead", not_by="requester", step_up=FRESH)
SENT: dict[str, Any] = {"status": "resolved", "payload": {"approved": True}}


async def authenticate(scope: Any) -> Principal | None:
    token = dict(scope["headers"]).get(b"authorization", b"").decode()
    return PEOPLE.get(token.removeprefix("Bearer "))


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Server]:
    """A server that knows everybody."""
    async with served("memory", tmp_path, authenticate=authenticate) as server:
        yield server


@pytest.fixture(params=tuple(BACKENDS))
async def company(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """The same on every store."""
    async with served(request.param, tmp_path, authenticate=authenticate) as server:
        yield server


def client_of(server: Server, owner: str, who: Approvers = RULES, **options: Any) -> Client:
    """The owner's client of an agent that pays once."""

    def pay() -> str:
        server.effects.append("paid")
        return "Paid."

    tool: Tool[..., Any] = Tool(pay, approval=approval.always(approvers=who, remember=True))
    server.app.add_tools(tool)

    async def pays(turn: Turn) -> None:
        done = await turn.call(tool)
        await turn.say(f"{done.status} by {done.by}")

    server.app.agent("payer", **options)(pays)
    server.app.mount(CopilotKit())
    client = server.client("payer")
    client.headers["authorization"] = f"Bearer {owner}"
    return client


def as_who(who: str) -> dict[str, str]:
    return {"authorization": f"Bearer {who}", "content-type": "application/json"}


async def rest(server: Server, who: str, method: str, path: str, body: Any = None) -> Run:
    return await call(server.app, method, path, body, headers=as_who(who))


Way = Callable[[Server, Client, str, str], Awaitable[Run]]


async def by_inbox(server: Server, client: Client, who: str, asked: str) -> Run:
    return await rest(server, who, "POST", f"/interrupts/{asked}/answer", SENT)


async def in_bulk(server: Server, client: Client, who: str, asked: str) -> Run:
    body = {"answers": [{**SENT, "interruptId": asked}]}
    return await rest(server, who, "POST", "/interrupts/answers", body)


async def by_resume(server: Server, client: Client, who: str, asked: str) -> Run:
    body = client.body(resume=[{**SENT, "interruptId": asked}], messages=[])
    return await rest(server, who, "POST", "/agents/payer", body)


async def by_command(server: Server, client: Client, who: str, asked: str) -> Run:
    body = client.body(forwardedProps=command({"approved": True}), messages=[])
    return await rest(server, who, "POST", "/agents/payer", body)


async def in_session(server: Server, client: Client, who: str, asked: str) -> Run:
    body = {"session_id": client.thread, "interrupt_id": asked, "answer": {"approved": True}}
    return await rest(server, who, "POST", "/api/v1/chat/resume", body)


async def by_runtime(server: Server, client: Client, who: str, asked: str) -> Run:
    body = client.body(resume=[{**SENT, "interruptId": asked}], messages=[])
    return await rest(server, who, "POST", "/copilotkit/agent/payer/run", body)


DOORS: dict[str, tuple[Way, dict[str, Any]]] = {
    "inbox": (by_inbox, {}),
    "bulk": (in_bulk, {}),
    "resume": (by_resume, {}),
    "accumulate": (by_resume, {"partial": "accumulate"}),
    "recover": (by_resume, {"refusals": "recover"}),
    "legacy": (by_command, {}),
    "session": (in_session, {}),
    "runtime": (by_runtime, {}),
}
ANYBODYS = ("inbox", "bulk")
"""Doors at which others than the owner of a thread may answer."""
REASONS = {
    # who owns the thread, who answers, what comes of it
    "owner": ("ann", "ann", "own_request"),
    "requester with the role": ("lea", "lea", "own_request"),
    "service that owns": ("bot", "bot", "own_request"),
    "stranger": ("ann", "bob", "unknown_interrupt"),
    "service with the role": ("ann", "bot", "person_required"),
    "approver of long ago": ("ann", "long-ago", "step_up_required"),
    "approver of unknown when": ("ann", "unknown-when", "step_up_required"),
    "approver of the future": ("ann", "not-yet", "step_up_required"),
}


def codes_of(run: Run) -> list[str]:
    """The known codes that an answer holds."""
    known: tuple[str, ...] = (
        "own_request",
        "not_an_approver",
        "person_required",
        "step_up_required",
    )
    known += ("unknown_interrupt", "unknown_thread")
    return [code for code in known if code.encode() in run.body]


@requirement("OC-20", "SE-02")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("reason", REASONS)
async def test_nobody_answers_who_may_not(office: Server, reason: str, door: str) -> None:
    """Nothing changes, and nobody offers it; then an approver answers."""
    owner, who, code = REASONS[reason]
    way, options = DOORS[door]
    client = client_of(office, owner, **options)
    (interrupt,) = (await client.say()).interrupts
    asked = interrupt["id"]
    stood = (await rest(office, "leo", "GET", f"/interrupts/{asked}")).json
    run = await way(office, client, who, asked)
    if owner != who and door not in ANYBODYS:
        assert codes_of(run)[0] in ("unknown_thread", "unknown_interrupt")
    else:
        assert codes_of(run) == [code]
    now = (await rest(office, "leo", "GET", f"/interrupts/{asked}")).json
    assert (now, office.effects) == (stood, [])
    shown = await rest(office, who, "GET", f"/interrupts/{asked}")
    if shown.status == 200:
        assert "answer" not in shown.json["metadata"]["sayso"]["may"]
    else:
        assert code == "unknown_interrupt"
    assert (await by_inbox(office, client, "leo", asked)).status == 200
    await at_rest(office, client)
    assert office.effects == ["paid"]


@pytest.mark.parametrize("door", DOORS)
async def test_an_owner_without_the_role_is_no_approver(office: Server, door: str) -> None:
    """Whether requesters are barred or not."""
    way, options = DOORS[door]
    client = client_of(office, "ann", Approvers(by="lead", not_by=None), **options)
    (interrupt,) = (await client.say()).interrupts
    assert codes_of(await way(office, client, "ann", interrupt["id"])) == ["not_an_approver"]
    assert office.effects == []


OWNERS = Approvers(step_up=FRESH)


@requirement("OC-20")
@pytest.mark.parametrize("door", DOORS)
async def test_an_owner_signs_in_again(office: Server, door: str) -> None:
    """Where the owner answers, the sign-in has to be as recent; a new one is taken."""
    way, options = DOORS[door]
    client = client_of(office, "long-ago", OWNERS, **options)
    (interrupt,) = (await client.say()).interrupts
    assert codes_of(await way(office, client, "long-ago", interrupt["id"])) == ["step_up_required"]
    shown = (await rest(office, "long-ago", "GET", f"/interrupts/{interrupt['id']}")).json
    assert shown["metadata"]["sayso"]["may"] == ["signIn", "cancel", "assign"]
    PEOPLE["anew"] = Principal(subject="lou", roles=("lead",), auth_time=NOW)
    assert (await way(office, client, "anew", interrupt["id"])).status == 200
    await at_rest(office, client)
    assert office.effects == ["paid"]


async def test_an_owner_of_long_ago_lets_nobody_else_answer(tmp_path: Path) -> None:
    """A grant is as good as an answer: who finds a session open hands no question to a friend."""
    people = directory.fixed([DirectoryPerson(subject="bob")])
    async with served("memory", tmp_path, authenticate=authenticate, directory=people) as server:
        client = client_of(server, "long-ago", OWNERS)
        (interrupt,) = (await client.say()).interrupts
        path = f"/interrupts/{interrupt['id']}"
        run = await rest(server, "long-ago", "POST", f"{path}/assign", {"to": "bob"})
        assert (run.status, run.problem["code"]) == (403, "step_up_required")
        assert (await by_inbox(server, client, "bob", interrupt["id"])).status == 404
        PEOPLE["anew"] = Principal(subject="lou", roles=("lead",), auth_time=NOW)
        run = await rest(server, "anew", "POST", f"{path}/assign", {"to": "bob"})
        assert run.status == 200
        # To take it back makes nothing possible.
        run = await rest(server, "long-ago", "POST", f"{path}/assign", {"to": None})
        assert run.status == 200
        assert server.effects == []


@pytest.mark.parametrize("door", DOORS)
async def test_a_service_answers_nothing_of_its_own(office: Server, door: str) -> None:
    """It may withdraw."""
    way, options = DOORS[door]
    client = client_of(office, "bot", Approvers(), **options)
    (interrupt,) = (await client.say()).interrupts
    assert codes_of(await way(office, client, "bot", interrupt["id"])) == ["person_required"]
    shown = (await rest(office, "bot", "GET", f"/interrupts/{interrupt['id']}")).json
    assert shown["metadata"]["sayso"]["may"] == ["cancel"]
    sent = {"status": "cancelled"}
    path = f"/interrupts/{interrupt['id']}/answer"
    assert (await rest(office, "bot", "POST", path, sent)).status == 200
    assert office.effects == []


@pytest.mark.parametrize("door", DOORS)
async def test_services_decide_where_the_app_lets_them(tmp_path: Path, door: str) -> None:
    way, options = DOORS[door]
    opened = {"authenticate": authenticate, "services_may_decide": True}
    async with served("memory", tmp_path, **opened) as server:
        client = client_of(server, "bot", Approvers(), **options)
        (interrupt,) = (await client.say()).interrupts
        assert (await way(server, client, "bot", interrupt["id"])).status == 200
        await at_rest(server, client)
        assert server.effects == ["paid"]


async def test_services_decide_in_copies_where_the_app_lets_them_now(tmp_path: Path) -> None:
    """However the question stood that was copied."""
    opened = {"authenticate": authenticate, "services_may_decide": True}
    async with served("sqlite", tmp_path, **opened) as server:
        client = client_of(server, "bot", Approvers())
        (asked,) = (await client.say()).interrupts
        assert (await by_inbox(server, client, "bot", asked["id"])).status == 200
        await at_rest(server, client)
    async with served("sqlite", tmp_path, authenticate=authenticate) as server:
        client_of(server, "bot", Approvers())
        path, body = f"/threads/{client.thread}/fork", {"interruptId": asked["id"]}
        copy = (await rest(server, "bot", "POST", path, body)).json["threadId"]
        (again,) = (await rest(server, "bot", "GET", f"/threads/{copy}")).json["interrupts"]
        run = await by_inbox(server, client, "bot", again["id"])
        assert codes_of(run) == ["person_required"]
        assert server.effects == []


async def test_a_service_hides_and_hurries_nothing_of_others(company: Server) -> None:
    """Neither by withdrawing, nor by another end, nor by an assignee."""
    client = client_of(company, "ann", Approvers(by="lead"))
    (interrupt,) = (await client.say()).interrupts
    path = f"/interrupts/{interrupt['id']}"
    stood = (await rest(company, "leo", "GET", path)).json
    for body, where in (
        (cancel(), "answer"),
        ({"to": "bot"}, "assign"),
        ({"seconds": 60}, "extend"),
    ):
        run = await rest(company, "bot", "POST", f"{path}/{where}", body)
        assert (run.status, run.problem["code"]) == (403, "person_required"), where
    shown = (await rest(company, "bot", "GET", path)).json
    assert shown["metadata"]["sayso"]["may"] == []
    assert (await rest(company, "leo", "GET", path)).json == stood


async def test_time_passes_between_sign_in_and_answer(company: Server) -> None:
    """By the server's clock; what is offered is what is taken."""
    client = client_of(company, "ann", RULES)
    (interrupt,) = (await client.say()).interrupts
    assert interrupt["metadata"]["sayso"]["approvers"]["stepUp"] == FRESH
    path = f"/interrupts/{interrupt['id']}"
    for seconds, verb in ((240, "answer"), (0.001, "signIn")):
        await company.clock.advance(seconds)
        details = (await rest(company, "lea", "GET", path)).json["metadata"]["sayso"]
        assert details["may"][0] == verb
    refused = await by_inbox(company, client, "lea", interrupt["id"])
    assert (refused.status, refused.problem["code"]) == (403, "step_up_required")
    assert company.effects == []
    assert await client.resume(cancel()) is not None


async def test_a_yes_that_takes_a_fresh_sign_in_is_not_remembered(office: Server) -> None:
    client = client_of(office, "ann", RULES)
    (interrupt,) = (await client.say()).interrupts
    assert "remember" not in interrupt["responseSchema"]["properties"]
    body = approve(remember=True)
    path = f"/interrupts/{interrupt['id']}/answer"
    assert (await rest(office, "lea", "POST", path, body)).status == 422


@pytest.mark.parametrize("seconds", [0, -1, True, "5", float("nan"), float("inf")])
def test_a_sign_in_lasts_for_seconds(seconds: Any) -> None:
    with pytest.raises(DeclarationError, match="step_up= of approvers"):
        Approvers(by="lead", step_up=seconds)


def test_silence_is_no_fresh_sign_in() -> None:
    with pytest.raises(DeclarationError, match="silence cannot count"):
        Tool(
            lambda: "Paid.",
            name="pay",
            on_expire="approve",
            approval=approval.always(approvers=OWNERS),
        )


@pytest.mark.parametrize(
    "members",
    [{"kind": "robot"}, {"auth_time": 1.5}, {"issuer": 7}, {"token_id": b"x"}, {"session": 1}],
)
def test_a_principal_is_what_it_says(members: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="of a Principal"):
        Principal(**members)
