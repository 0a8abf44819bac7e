"""Approvals that are remembered: patterns, scope, expiry, use, revocation (design 3, V5)."""

from typing import Any

import pytest

from sayso import Turn, approval
from sayso.base.clock import MAX_WAIT_S
from tests.contract.rest import call, delete, get
from tests.contract.server import Client, Server, approve, deny
from tests.contract.test_forks import forked
from tests.contract.test_owners import calling, guarded  # noqa: F401 - a fixture

ALWAYS = approval.always(remember=True)


def fetching(server: Server, policy: approval.Policy = ALWAYS, **options: Any) -> Client:
    """A client of an agent that fetches what the user says: a method and a URL, or neither."""

    @server.app.tool(approval=policy, **options)
    async def fetch(method: str = "GET", url: str | None = None) -> str:
        server.effects.append((method, url))
        return "Fetched."

    async def agent(turn: Turn) -> None:
        given = dict(zip(("method", "url"), turn.input.text.split(maxsplit=1), strict=False))
        done = await turn.call(fetch, given)
        await turn.say(f"{done.status} by {done.by}, rule {done.rule}")

    return server.client(agent)


async def asked(client: Client, text: str) -> bool:
    """Whether saying something leads to a card; it is denied, since the user may speak again."""
    run = await client.say(text)
    if run.outcome == "interrupt":
        await client.resume(deny())
        return True
    assert run.outcome == "success"
    return False


async def standing(server: Server) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await get(server, "/approvals"))["items"]
    return items


async def test_a_yes_may_be_remembered_for_the_same_arguments(server: Server) -> None:
    """`true` stands for exactly these, in all threads of the user; the second call asks nobody."""
    client = fetching(server)
    (interrupt,) = (await client.say("GET a")).interrupts
    assert interrupt["responseSchema"]["properties"]["remember"]["anyOf"][0] == {"type": "boolean"}
    await client.resume(approve(remember=True))
    run = await client.again(thread="elsewhere").say("GET a")
    assert run.outcome == "success"
    assert run.text == "executed by local, rule always"
    assert server.effects == [("GET", "a")] * 2
    assert await asked(client, "GET b")


@pytest.mark.parametrize(
    ("remember", "free", "gated"),
    [
        (True, [""], ["GET a", "POST"]),
        ({"arguments": "same"}, [""], ["GET a"]),
        ({"arguments": "any"}, ["", "GET a", "POST b"], []),
        (False, [], [""]),
        (None, [], [""]),
    ],
)
async def test_no_arguments_and_any_arguments_are_different_things(
    server: Server, remember: Any, free: list[str], gated: list[str]
) -> None:
    """Design 3: a call without arguments that is allowed for good allows no other."""
    client = fetching(server)
    await client.say("")
    said = approve() if remember is None else approve(remember=remember)
    await client.resume(said)
    assert [text for text in (*free, *gated) if await asked(client, text)] == gated


@pytest.mark.parametrize(
    "to",
    [
        "eve@evil.com,bob@example.com",
        "eve@evil.com;bob@example.com",
        "eve@evil.com bob@example.com",
        "<eve@evil.com>bob@example.com",
        "eve@evil.com@example.com",
        '"eve"bob@example.com',
        "eve@evil.com\nbob@example.com",
    ],
)
async def test_a_star_in_an_address_stands_for_no_second_one(server: Server, to: str) -> None:
    """Design 3, V5: a list of addresses that ends like the one that was allowed asks."""
    client = fetching(server)
    await client.say("MAIL ann@example.com")
    await client.resume(approve(remember={"arguments": {"url": "*@example.com"}}))
    assert not await asked(client, "MAIL bob.b+shop@example.com")
    assert await asked(client, f"MAIL {to}")


async def test_a_pattern_allows_what_is_like_it_and_nothing_else(server: Server) -> None:
    """V5: GET to *.example.org passes, POST asks; revoked, it asks again; a restart keeps it."""
    client = fetching(server)
    await client.say("GET https://api.example.org/x")
    pattern = {"method": "GET", "url": "https://*.example.org/*"}
    await client.resume(approve(remember={"arguments": pattern}))
    assert not await asked(client, "GET https://www.example.org/")
    assert await asked(client, "POST https://www.example.org/")
    assert await asked(client, "GET https://example.com/")
    (kept,) = await standing(server)
    assert (kept["tool"], kept["matches"], kept["arguments"]) == ("fetch", "like", pattern)
    assert (kept["owner"], kept["givenBy"], kept["rules"]) == ("local", "local", ["always"])
    assert (kept["uses"], kept["others"]) == (1, {})
    app = server.another()
    assert (await call(app, "GET", f"/approvals/{kept['id']}")).json["uses"] == 1
    revoked = await delete(server, f"/approvals/{kept['id']}")
    assert (revoked.status, revoked.json["revokedBy"]) == (200, "local")
    assert (await delete(server, f"/approvals/{kept['id']}")).json == revoked.json
    assert await standing(server) == []
    assert await asked(client, "GET https://www.example.org/")


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.com/.example.org/x",
        "https://evil.com/?q=.example.org/",
        "https://evil.com#.example.org/",
        "https://evil.com\\.example.org/",
        "https://user@b.example.org/",
        "https://evil.com:443@b.example.org/",
        "https://b.example.org:8443/",
        "https://b.example.org.evil.com/",
        "https://a.b.example.org/",
        "http://b.example.org/",
        "https://b.example.org/../x",
        "https://b.example.org/%2E%2e/x",
        "https://b.example.org/\u202ex",
        "https://\uff45vil.com\uff0f.example.org/",
    ],
)
async def test_a_star_in_a_url_stays_in_its_part_of_it(server: Server, url: str) -> None:
    """Design 3, V5: what looks like the host that was allowed, and is another, asks."""
    client = fetching(server)
    await client.say("GET https://a.example.org/x")
    await client.resume(approve(remember={"arguments": {"url": "https://*.example.org/*"}}))
    assert not await asked(client, "GET https://B.example.org/y/z?q=1#top")
    assert await asked(client, f"GET {url}")


def paying(server: Server) -> Client:
    """A client of an agent that pays the same twice."""

    @server.app.tool(approval=ALWAYS)
    async def pay(amount: float) -> str:
        server.effects.append(amount)
        return "Paid."

    async def agent(turn: Turn) -> None:
        for _ in range(2):
            await turn.say((await turn.call(pay, amount=5.0)).status)

    return server.client(agent)


async def test_what_was_denied_does_not_run_on_a_yes_remembered_elsewhere(server: Server) -> None:
    """V4: a no counts until the user speaks in that thread, whatever is allowed in general."""
    client = paying(server)
    await client.say()
    other = client.again(thread="elsewhere")
    await other.say()
    assert (await other.resume(approve(remember=True))).text == "executed\nexecuted"
    run = await client.resume(deny("not this one"))
    assert (run.outcome, run.text) == ("success", "denied\ndenied")
    assert all("Reason: not this one" in content for content in run.results.values())
    assert server.effects == [5.0] * 2
    assert (await client.say("now, please")).text == "executed\nexecuted"


async def test_a_no_in_a_copy_outweighs_the_yes_that_was_remembered_before(server: Server) -> None:
    """V4: the same question, answered the other way, leaves nothing of its first answer."""
    client = paying(server)
    (asked,) = (await client.say()).interrupts
    await client.resume(approve(remember=True))
    copy = await forked(server, client, asked["id"])
    assert (await copy.resume(deny())).text == "denied\ndenied"
    assert server.effects == [5.0] * 2


async def test_what_a_pattern_does_not_name_stays_as_it_was(server: Server) -> None:
    """Another method is another call, unless the reviewer said `*`."""
    client = fetching(server)
    (interrupt,) = (await client.say("GET https://a.example.org/x")).interrupts
    offered = interrupt["responseSchema"]["properties"]["remember"]["anyOf"][1]["properties"]
    assert "All others are as in this call" in offered["arguments"]["anyOf"][1]["description"]
    pattern = {"url": "https://*.example.org/*"}
    await client.resume(approve(remember={"arguments": pattern}))
    (kept,) = await standing(server)
    assert (kept["arguments"], kept["others"]) == (pattern, {"method": "GET"})
    assert not await asked(client, "GET https://b.example.org/")
    await client.say("POST https://b.example.org/")
    await client.resume(approve(remember={"arguments": {**pattern, "method": "*"}}))
    assert not await asked(client, "DELETE https://c.example.org/")


async def test_nobody_remembers_for_longer_than_a_time_that_can_be_written(server: Server) -> None:
    """The same bound as that of `/interrupts/{id}/extend`."""
    client = fetching(server)
    (interrupt,) = (await client.say("GET a")).interrupts
    offered = interrupt["responseSchema"]["properties"]["remember"]["anyOf"][1]["properties"]
    assert offered["seconds"]["maximum"] == MAX_WAIT_S
    for absurd in (1e308, 1e17, 1e12, MAX_WAIT_S + 1):
        run = await client.resume(approve(remember={"seconds": absurd}))
        assert run.outcome == "invalid_payload"
    await client.resume(approve(remember={"seconds": MAX_WAIT_S}))
    (kept,) = await standing(server)
    assert kept["expiresAt"].startswith("2124-")


async def test_a_row_that_ends_beyond_all_years_is_listed(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one may be stored from before there was a bound; it can be seen and revoked."""
    for module in ("agents.remembered", "schemas.responses"):
        monkeypatch.setattr(f"sayso.{module}.MAX_WAIT_S", 10**15)
    client = fetching(server)
    await client.say("GET a")
    await client.resume(approve(remember={"seconds": 1e14}))
    (kept,) = await standing(server)
    assert kept["expiresAt"] == "9999-12-31T23:59:59.999Z"
    assert (await delete(server, f"/approvals/{kept['id']}")).status == 200


async def test_a_pattern_has_to_fit_the_call_that_it_is_given_for(server: Server) -> None:
    """Nobody allows by mistake what was never on the card; nothing changes."""
    client = fetching(server)
    await client.say("GET https://a.example.org/")
    stored = server.dump()
    for wrong, pointer in (
        ({"arguments": {"url": "https://b.*"}}, "/remember/arguments/url"),
        ({"arguments": {"body": "x"}}, "/remember/arguments"),
        ({"arguments": {}}, "/remember/arguments"),
        ({"arguments": "all"}, "/remember/arguments"),
        ({"scope": "world"}, "/remember/scope"),
        ({"seconds": 0}, "/remember/seconds"),
        ("yes", "/remember"),
    ):
        run = await client.resume(approve(remember=wrong))
        assert run.outcome == "invalid_payload"
        pointers = [p["pointer"] for p in run.details["interrupts"][0]["problems"]]
        assert all(one.startswith("/remember") for one in pointers), (pointer, pointers)
    assert (server.dump(), server.effects) == (stored, [])


async def test_a_denial_is_not_remembered(server: Server) -> None:
    """It is said so, and the card stays."""
    client = fetching(server)
    await client.say("GET a")
    run = await client.resume({**deny(), "payload": {"approved": False, "remember": True}})
    assert run.outcome == "invalid_payload"
    assert run.details["interrupts"][0]["problems"][0]["pointer"] == "/remember"


async def test_what_was_not_offered_cannot_be_remembered(server: Server) -> None:
    """TB-06 in spirit: the schema names what there is."""
    client = fetching(server, approval.always)
    (interrupt,) = (await client.say("GET a")).interrupts
    assert "remember" not in interrupt["responseSchema"]["properties"]
    assert (await client.resume(approve(remember=True))).outcome == "invalid_payload"


async def test_it_may_be_for_one_thread_and_for_a_time(server: Server) -> None:
    """Scope and expiry; the author's are the widest."""
    narrow = approval.Remember(arguments=("same",), scopes=("thread",), expires_in=60)
    client = fetching(server, approval.always(remember=narrow))
    await client.say("GET a")
    run = await client.resume(approve(remember={"arguments": "any"}))
    assert run.outcome == "invalid_payload"
    run = await client.resume(approve(remember={"seconds": 61}))
    assert run.outcome == "invalid_payload"
    await client.resume(approve(remember={"seconds": 30}))
    (kept,) = await standing(server)
    assert kept["threadId"] == client.thread
    assert kept["expiresAt"] == "2023-11-14T22:13:50.000Z"
    assert not await asked(client, "GET a")
    assert await asked(client.again(thread="elsewhere"), "GET a")
    await server.clock.advance(30)
    assert await asked(client, "GET a")
    assert await standing(server) == []


async def test_what_a_reviewer_wrote_is_what_is_remembered(server: Server) -> None:
    """The effective arguments: those that ran."""
    client = fetching(server, editable=True)
    await client.say("GET a")
    await client.resume(approve(editedArgs={"url": "b"}, remember=True))
    assert server.effects == [("GET", "b")]
    assert await asked(client, "GET a")
    assert not await asked(client, "GET b")


async def test_a_rule_that_denies_is_not_overruled_by_what_is_remembered(server: Server) -> None:
    """V5: deny beats allow, also an allowance of a person."""
    policy = approval.all_of(ALWAYS, approval.deny(lambda method: method == "POST"))
    client = fetching(server, policy)
    await client.say("GET a")
    await client.resume(approve(remember={"arguments": "any"}))
    assert not await asked(client, "GET b")
    await client.say("POST b")
    assert server.effects == [("GET", "a"), ("GET", "b")]


async def test_it_answers_the_rule_that_it_was_given_to(server: Server) -> None:
    """Another rule, that nobody was asked about, still asks."""
    policy = approval.all_of(
        approval.when(lambda url: url == "b", name="special"),
        approval.always(name="any", remember=True),
    )
    client = fetching(server, policy)
    await client.say("GET a")
    await client.resume(approve(remember={"arguments": "any"}))
    assert not await asked(client, "GET c")
    (interrupt,) = (await client.say("GET b")).interrupts
    assert interrupt["metadata"]["sayso"]["rule"] == "special"
    assert "remember" not in interrupt["responseSchema"]["properties"]


async def test_each_use_is_noted(server: Server) -> None:
    """With the call, the thread and the time; the journal names the approval too."""
    client = fetching(server)
    await client.say("GET a")
    await client.resume(approve(remember=True))
    await server.clock.advance(5)
    run = await client.say("GET a")
    (kept,) = await standing(server)
    whole = await get(server, f"/approvals/{kept['id']}")
    (called,) = run.results
    assert whole["recentUses"] == [
        {"toolCallId": called, "threadId": client.thread, "at": whole["lastUsedAt"]}
    ]


async def test_nobody_sees_or_revokes_what_is_another_s(
    guarded: Server,  # noqa: F811 - the fixture
) -> None:
    """Owner and scope are checked: 404 and nothing told; nor does it serve another's calls."""
    client = fetching(guarded)
    client.headers["authorization"] = "Bearer ann"
    await client.say("GET a")
    await client.resume(approve(remember={"arguments": "any"}))
    ann, bob, eve = ({"authorization": f"Bearer {who}"} for who in ("ann", "bob", "eve"))
    (kept,) = (await call(guarded.app, "GET", "/approvals", headers=ann)).json["items"]
    for who in (bob, eve):
        assert (await call(guarded.app, "GET", "/approvals", headers=who)).json == {"items": []}
        for method in ("GET", "DELETE"):
            run = await call(guarded.app, method, f"/approvals/{kept['id']}", headers=who)
            assert (run.status, run.problem["code"]) == (404, "unknown_approval")
    theirs = calling(guarded, client, "bob").again(thread="of-bob")
    assert (await theirs.say("GET a")).outcome == "interrupt"
    run = await call(guarded.app, "GET", "/approvals?cursor=nonsense", headers=ann)
    assert (run.status, run.problem["code"]) == (422, "invalid_input")
