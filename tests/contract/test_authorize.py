"""`Sayso(authorize=…)`: who may know of an agent, run, copy and restart it, and call its tools."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sayso import CopilotKit, DeclarationError, NotAllowed, Principal, Sayso, Turn, approval
from sayso.turns import hooks
from tests.contract.replicas import replica
from tests.contract.rest import at_rest, call
from tests.contract.server import Client, Server, approve, eventually, served
from tests.contract.test_approvers import authenticate, rest, says
from tests.contract.wire import Run
from tests.stores.backends import BACKENDS, EMBEDDED

Asked = tuple[str, str, str, str | None]


class Guard:
    """A hook that allows all but what is in `no`, and notes what it is asked."""

    def __init__(self) -> None:
        self.no: set[tuple[str, str] | tuple[str, str, str]] = set()
        self.asked: list[Asked] = []
        self.broken: Any = None
        self.only: str | None = None
        """The one action that it fails for, if not for all."""

    async def __call__(
        self, principal: Principal, action: str, agent: str, tool: str | None
    ) -> bool:
        self.asked.append((principal.subject, action, agent, tool))
        if self.only not in (None, action):
            return True
        if self.broken == "raises":
            raise RuntimeError("the directory is down")
        if self.broken == "hangs":
            await asyncio.Event().wait()
        if self.broken == "stubborn":
            while True:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    return True
        if self.broken is not None:
            return self.broken  # type: ignore[no-any-return]  # as a hook without types may
        return (action, agent) not in self.no and (action, agent, tool) not in self.no

    def times(self, action: str) -> int:
        """How often it was asked for that."""
        return sum(1 for asked in self.asked if asked[1] == action)


@pytest.fixture
def guard() -> Guard:
    return Guard()


@pytest.fixture(params=EMBEDDED)
async def shop(
    request: pytest.FixtureRequest, tmp_path: Path, guard: Guard
) -> AsyncIterator[Server]:
    """A server with a hook."""
    options = {"authenticate": authenticate, "authorize": guard}
    async with served(request.param, tmp_path, **options) as server:
        yield server


@pytest.fixture(params=tuple(BACKENDS))
async def company(
    request: pytest.FixtureRequest, tmp_path: Path, guard: Guard
) -> AsyncIterator[Server]:
    """The same on every store."""
    options = {"authenticate": authenticate, "authorize": guard}
    async with served(request.param, tmp_path, **options) as server:
        yield server


async def pays(turn: Turn) -> None:
    """Pays, and says what came of it."""
    done = await turn.call("pay", {})
    await turn.say(f"{done.status} {done.rule}: {done.text}")


def client_of(server: Server, policy: approval.Policy = approval.never, **options: Any) -> Client:
    """Ann's client of an agent that pays once."""

    def pay() -> str:
        server.effects.append("paid")
        return "Paid."

    server.app.tool(name="pay", approval=policy, **options)(pay)
    server.app.agent("payer")(pays)
    server.app.mount(CopilotKit())
    client = server.client("payer")
    client.headers["authorization"] = "Bearer ann"
    return client


def body(agent: str, client: Client) -> dict[str, Any]:
    sent: dict[str, Any] = client.body(messages=[{"id": "m1", "role": "user", "content": "go"}])
    return sent | {"runId": "run-of-" + agent}


def ways(agent: str, client: Client) -> dict[str, tuple[str, str, Any]]:
    """Every request that names an agent."""
    sent = body(agent, client)
    return {
        "run": ("POST", f"/agents/{agent}", sent),
        "a body that is no run": ("POST", f"/agents/{agent}", {"no": "run"}),
        "another method": ("PUT", f"/agents/{agent}", sent),
        "connect": ("POST", f"/agents/{agent}/connect", sent),
        "show": ("GET", f"/agents/{agent}", None),
        "capabilities": ("GET", f"/agents/{agent}/capabilities", None),
        "session": ("POST", "/api/v1/chat", {"message": "go", "agent": agent}),
        "runtime run": ("POST", f"/copilotkit/agent/{agent}/run", sent),
        "runtime connect": ("POST", f"/copilotkit/agent/{agent}/connect", sent),
        "runtime suggest": ("POST", f"/copilotkit/agent/{agent}/suggest", sent),
        "runtime stop": ("POST", f"/copilotkit/agent/{agent}/stop/t", None),
        "runtime threads": ("GET", f"/copilotkit/threads?agentId={agent}", None),
        "runtime single": (
            "POST",
            "/copilotkit",
            {"method": "agent/run", "params": {"agentId": agent}, "body": sent},
        ),
    }


async def asks(server: Server, way: tuple[str, str, Any]) -> Run:
    method, path, sent = way
    return await call(server.app, method, path, sent, headers={"authorization": "Bearer ann"})


def plain(run: Run) -> tuple[int, bytes]:
    """What a client can see of an answer, but for ids that are new each time."""
    return run.status, run.body.replace(b"payer", b"nobody")


@pytest.mark.parametrize("way", ways("a", Client(None, "a")))
async def test_what_a_caller_may_not_see_is_what_is_not_there(
    shop: Server, guard: Guard, way: str
) -> None:
    """The same status and the same words, and nothing stored."""
    client = client_of(shop)
    stored = shop.dump()
    guard.no = {("see", "payer")}
    hidden = await asks(shop, ways("payer", client)[way])
    absent = await asks(shop, ways("nobody", client)[way])
    assert plain(hidden) == plain(absent)
    assert hidden.status == 404
    assert (shop.dump(), shop.effects) == (stored, [])


@pytest.mark.parametrize("way", ways("a", Client(None, "a")))
@pytest.mark.parametrize("broken", [None, "raises"])
async def test_the_hook_is_asked_as_often_about_what_is_not_there(
    shop: Server, guard: Guard, way: str, broken: str | None
) -> None:
    """Neither its time nor its failure tells a hidden agent from none."""
    client = client_of(shop)
    guard.no, guard.broken = {("see", "payer"), ("see", "nobody")}, broken
    hidden = await asks(shop, ways("payer", client)[way])
    about_hidden = [asked[1] for asked in guard.asked if asked[2] == "payer"]
    guard.asked.clear()
    absent = await asks(shop, ways("nobody", client)[way])
    assert plain(hidden) == plain(absent)
    assert [asked[1] for asked in guard.asked if asked[2] == "nobody"] == about_hidden == ["see"]


async def test_lists_leave_out_what_a_caller_may_not_see(shop: Server, guard: Guard) -> None:
    client_of(shop)
    shop.app.agent("other")(pays)
    guard.no = {("see", "payer")}
    listed = (await rest(shop, "ann", "GET", "/agents")).json["items"]
    assert [agent["name"] for agent in listed] == ["other"]
    info = (await rest(shop, "ann", "GET", "/copilotkit/info")).json
    assert list(info["agents"]) == ["other"]
    # The only one that is left needs no name.
    said = await rest(shop, "ann", "POST", "/api/v1/chat", {"message": "go"})
    assert said.status == 200
    assert ("ann", "run", "other", None) in guard.asked


@pytest.mark.parametrize(
    "way", ["run", "session", "runtime run", "runtime suggest", "runtime single"]
)
async def test_who_may_not_run_an_agent_begins_nothing(
    shop: Server, guard: Guard, way: str
) -> None:
    client = client_of(shop)
    stored = shop.dump()
    guard.no = {("run", "payer")}
    run = await asks(shop, ways("payer", client)[way])
    assert (run.status, b"not_allowed" in run.body) == (403, True)
    assert (shop.dump(), shop.effects) == (stored, [])
    assert (await asks(shop, ways("payer", client)["show"])).status == 200


async def test_who_may_run_no_more_answers_in_no_run_but_may_withdraw(
    shop: Server, guard: Guard
) -> None:
    """The way out stays open, and so do the approvers' doors."""
    client = client_of(shop, approval.always(by="lead"))
    (asked,) = (await client.say()).interrupts
    guard.no = {("run", "payer")}
    assert (await client.run(resume=client.entries(approve()))).status == 403
    assert (await says(shop, "lea", asked, approve())).status == 200
    await at_rest(shop, client)
    assert shop.effects == ["paid"]


@pytest.mark.parametrize("action", ["fork", "restart"])
@pytest.mark.parametrize("no", ["action", "see"])
async def test_who_may_not_copy_or_restart_changes_nothing(
    company: Server, guard: Guard, action: str, no: str
) -> None:
    client = client_of(company, approval.always(by="lead"))
    (asked,) = (await client.say()).interrupts
    stored = company.dump()
    guard.no = {(action if no == "action" else "see", "payer")}
    sent = {"interruptId": asked["id"]} if action == "fork" else None
    path = f"/threads/{client.thread}/{action}"
    run = await rest(company, "ann", "POST", path, sent)
    expected = (403, "not_allowed") if no == "action" else (404, "unknown_agent")
    assert (run.status, run.problem["code"]) == expected
    assert company.dump() == stored
    guard.no = set()
    assert (await rest(company, "ann", "POST", path, sent)).status in (200, 201)


@pytest.mark.parametrize("policy", [approval.never, approval.always])
async def test_a_call_that_is_not_allowed_is_denied_and_recorded(
    company: Server, guard: Guard, policy: approval.Policy
) -> None:
    """Nobody is asked about it, and a replay asks nothing again."""
    guard.no = {("call", "payer", "pay")}
    client = client_of(company, policy)
    run = await client.say()
    assert run.text.startswith("denied authorize")
    assert (run.outcome, company.effects) == ("success", [])
    rows = (await rest(company, "ann", "GET", f"/audit?thread={client.thread}")).json["items"]
    ended = [(row["kind"], row["content"]["rule"]) for row in rows if row["kind"] == "denied"]
    assert ended == [("denied", "authorize")]


async def test_a_rule_that_denies_speaks_first(shop: Server, guard: Guard) -> None:
    """The hook is not asked about what is denied anyway."""
    client = client_of(shop, approval.deny(lambda: True, name="closed"))
    assert (await client.say()).text.startswith("denied closed")
    assert guard.times("call") == 0


async def test_a_replay_does_not_ask_for_what_is_recorded(shop: Server, guard: Guard) -> None:
    """Neither while a question waits, nor where another process continues."""

    async def twice(turn: Turn) -> None:
        await turn.call("pay", {})
        answer = await turn.interrupt("shop:go", "Go on?")
        await turn.say(f"{answer.status}")

    client_of(shop)
    shop.app.agent("twice")(twice)
    client = shop.client("twice")
    client.headers["authorization"] = "Bearer ann"
    (asked,) = (await client.say()).interrupts
    assert guard.times("call") == 1
    guard.no = {("call", "twice", "pay")}
    async with replica(shop, ("twice", twice)) as other:
        path = f"/interrupts/{asked['id']}/answer"
        said = {"status": "resolved", "payload": {}}
        headers = {"authorization": "Bearer ann"}
        assert (await call(other, "POST", path, said, headers=headers)).status == 200

        async def over() -> bool:
            view = await shop.store.load("default", client.thread)
            return view is not None and view.turn is not None and view.turn.status == "finished"

        await eventually(over)
    assert (guard.times("call"), shop.effects) == (1, ["paid"])


async def test_an_inner_agent_is_run_by_who_may_run_it(shop: Server, guard: Guard) -> None:
    """The refusal is recorded: a replay raises it again and asks nobody."""
    caught: list[str] = []

    async def outer(turn: Turn) -> None:
        try:
            await turn.delegate("payer")
        except NotAllowed as error:
            caught.append(str(error))
        await turn.interrupt("shop:go", "Go on?")

    client_of(shop)
    shop.app.agent("outer")(outer)
    client = shop.client("outer")
    client.headers["authorization"] = "Bearer ann"
    guard.no = {("run", "payer")}
    (asked,) = (await client.say()).interrupts
    assert (len(caught), shop.effects) == (1, [])
    guard.no = set()
    before = guard.times("run")
    assert (await says(shop, "ann", asked, {"status": "resolved", "payload": {}})).status == 200
    await at_rest(shop, client)
    assert (len(caught), shop.effects, guard.times("run")) == (2, [], before)


def delegating(shop: Server) -> Client:
    """Ann's client of an agent that leaves everything to another."""

    async def outer(turn: Turn) -> None:
        await turn.delegate("payer")

    client_of(shop)
    shop.app.agent("outer")(outer)
    client = shop.client("outer")
    client.headers["authorization"] = "Bearer ann"
    return client


async def test_an_agent_that_is_not_seen_may_be_an_inner_one(shop: Server, guard: Guard) -> None:
    """Its name is the author's word, not the caller's: helpers of other agents can be hidden."""
    client = delegating(shop)
    guard.no = {("see", "payer")}
    assert (await client.say()).outcome == "success"
    assert shop.effects == ["paid"]


async def test_the_calls_of_an_inner_agent_are_its_own(shop: Server, guard: Guard) -> None:
    client = delegating(shop)
    guard.no = {("call", "payer", "pay")}
    await client.say()
    assert shop.effects == []
    assert ("ann", "call", "payer", "pay") in guard.asked


async def test_an_inner_agent_that_nobody_catches_ends_the_run(shop: Server, guard: Guard) -> None:
    client = delegating(shop)
    guard.no = {("run", "payer")}
    assert (await client.say()).last["code"] == "not_allowed"


BROKEN = ["raises", "hangs", "stubborn", "yes", None.__class__, 1]


@pytest.mark.parametrize("broken", BROKEN, ids=str)
async def test_a_hook_that_fails_allows_nothing(
    shop: Server, guard: Guard, broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It raises, takes too long, does not heed being cancelled, or says what is no bool."""
    monkeypatch.setattr(hooks, "HOOK_TIMEOUT_S", 0.05)
    client = client_of(shop)
    stored = shop.dump()
    guard.broken = broken
    for name, way in ways("payer", client).items():
        run = await asks(shop, way)
        assert (run.status, b"auth_unavailable" in run.body) == (503, True), name
    assert (await rest(shop, "ann", "GET", "/agents")).status == 503
    assert (shop.dump(), shop.effects) == (stored, [])


@pytest.mark.parametrize("policy", [approval.never, approval.always])
async def test_a_call_waits_for_a_hook_that_fails(
    company: Server, guard: Guard, policy: approval.Policy
) -> None:
    """The run ends with the code, nothing is recorded, and the turn continues by itself later."""
    guard.broken, guard.only = "raises", "call"
    client = client_of(company, policy)
    run = await client.say()
    assert (run.last["code"], company.effects) == ("auth_unavailable", [])
    guard.broken = None

    async def goes_on() -> bool:
        await company.clock.advance(1)
        asked = (await rest(company, "ann", "GET", "/interrupts")).json["items"]
        return bool(company.effects or asked)

    await eventually(goes_on)
    assert company.effects == ([] if policy is approval.always else ["paid"])


def test_a_hook_is_an_async_function() -> None:
    hook: Any = lambda *_: True  # noqa: E731 - what an author may write
    with pytest.raises(DeclarationError, match="authorize is an async function"):
        Sayso(store="memory:", authorize=hook)
