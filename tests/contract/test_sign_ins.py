"""Sign-ins that end while somebody reads, or are revoked: streams, and each request."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

import sayso.client
from sayso import DeclarationError, Principal, Sayso, Turn, approval
from sayso.turns import hooks
from tests.contract.rest import at_rest, call, reached
from tests.contract.server import JSON, Client, Server, approve, deny, eventually, served
from tests.contract.test_approvers import PEOPLE, rest, says
from tests.contract.test_inbox_stream import listening
from tests.contract.wire import Exchange

BEGAN = 1_700_000_000_000
"""The first instant of the clock of a test."""
MINUTE = 60


async def authenticate(scope: Any) -> Principal | None:
    """`Bearer ann` for good, `Bearer ann 600` until ten minutes later; `ann@s1` in a session."""
    token = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
    who, _, seconds = token.partition(" ")
    name, _, session = who.partition("@")
    known = PEOPLE.get(name)
    if known is None:
        return None
    return Principal(
        subject=known.subject,
        roles=known.roles,
        expires_at=BEGAN + int(seconds) * 1000 if seconds else None,
        session=session or None,
    )


class Register:
    """A hook that knows what was revoked, and counts how often it is asked."""

    def __init__(self) -> None:
        self.revoked: set[str] = set()
        self.broken: Any = None
        self.asked = 0

    async def __call__(self, principal: Principal) -> bool:
        self.asked += 1
        await asyncio.sleep(0)
        if self.broken == "raises":
            raise RuntimeError("the register is down")
        if self.broken == "hangs":
            await asyncio.Event().wait()
        if self.broken is not None:
            return self.broken  # type: ignore[no-any-return]  # as a hook without types may
        return bool({principal.subject, principal.session} & self.revoked)


@pytest.fixture
def register() -> Register:
    return Register()


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Server]:
    """A server whose sign-ins may run out."""
    async with served("memory", tmp_path, authenticate=authenticate) as server:
        yield server


@pytest.fixture
async def guarded(tmp_path: Path, register: Register) -> AsyncIterator[Server]:
    """The same, where they may be revoked."""
    options = {"authenticate": authenticate, "revoked": register}
    async with served("memory", tmp_path, **options) as server:
        yield server


def bearer(token: str) -> dict[str, str]:
    return JSON | {"authorization": f"Bearer {token}"}


class Slow:
    """An agent whose run lasts until it is let go."""

    def __init__(self, server: Server, token: str) -> None:
        self.go = asyncio.Event()
        self.runs = asyncio.Event()

        async def slow(turn: Turn) -> None:
            async def wait() -> str:
                self.runs.set()
                await self.go.wait()
                return "done"

            await turn.say(await turn.step(wait))

        self.server = server
        self.client = server.client(slow)
        self.client.headers |= bearer(token)

    async def begin(self) -> Exchange:
        self.client.user("go")
        exchange = self.client.open()
        await reached(self.runs)
        return exchange

    def follow(self, token: str, path: str = "") -> Exchange:
        """Another reader of the run: of its endpoint, or of a path."""
        if path:
            return Exchange(self.server.app, "GET", path, b"", bearer(token))
        tab = self.client.again(headers=bearer(token))
        return tab.open(tab.body(messages=[], state={}), action="/connect")


async def ends(server: Server, exchange: Exchange, *, within: float) -> Any:
    """Let time pass until a stream has ended; what was said last."""
    for _ in range(int(within)):
        if exchange.ended:
            break
        await server.clock.advance(1)
    run = await exchange.end()
    return run.events[-1]


async def lasts(server: Server, exchange: Exchange, seconds: float) -> None:
    await server.clock.advance(seconds)
    assert not exchange.ended, exchange.events[-1]


async def test_the_inbox_is_told_no_more_when_the_sign_in_ends(shop: Server) -> None:
    """At that time; the same token lets nobody in any more, and a new one does."""
    exchange = Exchange(shop.app, "GET", "/interrupts/stream", b"", bearer("ann 600"))
    await exchange.until("connected")
    await lasts(shop, exchange, 599)
    last = await ends(shop, exchange, within=2)
    assert (last["type"], last["code"]) == ("closed", "token_expired")
    for token, status in (("ann 600", 401), ("ann 1200", 200), ("ann", 200)):
        assert (await call(shop.app, "GET", "/interrupts", headers=bearer(token))).status == status


async def test_who_follows_a_run_is_cut_and_who_began_it_has_more_time(shop: Server) -> None:
    """The run goes on meanwhile, and is there for the next sign-in."""
    slow = Slow(shop, "ann 600")
    began = await slow.begin()
    follower = slow.follow("ann 600")
    await follower.until("RUN_STARTED")
    await shop.clock.advance(599)
    assert not follower.ended
    last = await ends(shop, follower, within=2)
    assert (last["type"], last["code"]) == ("RUN_ERROR", "token_expired")
    await lasts(shop, began, 15 * MINUTE - 3)
    last = await ends(shop, began, within=4)
    assert (last["type"], last["code"]) == ("RUN_ERROR", "token_expired")
    slow.go.set()
    await at_rest(shop, slow.client)
    again = await slow.follow("ann").end()
    assert again.outcome == "success"


async def test_a_python_client_is_told_to_sign_in_and_not_that_the_run_failed(
    shop: Server,
) -> None:
    """With another token it follows the same run again."""
    slow = Slow(shop, "ann 600")
    began = await slow.begin()
    transport = httpx.ASGITransport(shop.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        url, thread = f"http://localhost/agents/{slow.client.agent}", slow.client.thread
        client = sayso.client.Client(url, thread_id=thread, token="ann 600", http=http)  # noqa: S106 - of no service
        following = asyncio.create_task(_all(client.connect()))

        async def cut() -> bool:
            await shop.clock.advance(60)
            return following.done()

        await eventually(cut)
        with pytest.raises(sayso.client.SignInEnded):
            await following
        assert (client.outcome, client.error) == (None, None)
        client.sign_in("ann")
        slow.go.set()
        await at_rest(shop, slow.client)
        await _all(client.connect())
        assert (client.outcome, client.messages[-1]["content"]) == ("success", "done")
    await began.end()


async def _all(events: AsyncIterator[Any]) -> list[Any]:
    return [event async for event in events]


async def test_a_stream_without_an_end_of_its_sign_in_lasts_for_days(shop: Server) -> None:
    async with listening(shop.app, **bearer("ann")) as exchange:
        shop.clock.jump(3 * 86_400)
        await lasts(shop, exchange, 1)


async def test_a_clock_that_is_set_on_ends_what_has_ended(shop: Server) -> None:
    """As for a machine that slept: within a minute, and not after as long again."""
    exchange = Exchange(shop.app, "GET", "/interrupts/stream", b"", bearer("ann 86400"))
    await exchange.until("connected")
    shop.clock._began += 2 * 86_400_000
    assert (await ends(shop, exchange, within=MINUTE + 1))["code"] == "token_expired"


async def test_a_sign_in_that_is_over_opens_nothing(shop: Server) -> None:
    """Whatever the hook of the app says."""
    client = Slow(shop, "ann 0").client
    stored = shop.dump()
    client.user("go")
    assert (await client.open().end()).problem["code"] == "unauthenticated"
    stream = await call(shop.app, "GET", "/interrupts/stream", headers=bearer("ann -5"))
    assert stream.status == 401
    assert shop.dump() == stored


def paying(server: Server) -> Client:
    """Ann's client of an agent that pays once a lead has said so."""

    @server.app.tool(approval=approval.always(by="lead"))
    async def pay() -> str:
        server.effects.append("paid")
        return "Paid."

    async def agent(turn: Turn) -> None:
        await turn.call(pay)

    client = server.client(agent)
    client.headers |= bearer("ann")
    return client


async def test_who_was_revoked_decides_nothing(guarded: Server, register: Register) -> None:
    """On any way in, within ten seconds; the question waits for somebody else."""
    client = paying(guarded)
    (asked,) = (await client.say()).interrupts
    assert (await rest(guarded, "lea", "GET", "/interrupts")).status == 200
    register.revoked = {"lea", "ann"}
    await guarded.clock.advance(10)
    stored = guarded.dump()
    for said in (approve(), deny("no")):
        run = await says(guarded, "lea", asked, said)
        assert (run.status, run.problem["code"]) == (401, "unauthenticated")
    both = {"answers": [{"interruptId": asked["id"], **approve()}]}
    assert (await rest(guarded, "lea", "POST", "/interrupts/answers", both)).status == 401
    assert (await client.run(resume=client.entries(approve()))).status == 401
    path = f"/threads/{client.thread}"
    assert (await rest(guarded, "ann", "POST", f"{path}/stop")).status == 401
    assert (await rest(guarded, "ann", "POST", "/api/v1/chat", {"message": "go"})).status == 401
    assert (guarded.dump(), guarded.effects) == (stored, [])
    assert (await says(guarded, "leo", asked, approve())).status == 200
    await at_rest(guarded, client)
    assert guarded.effects == ["paid"]


class Begun(NamedTuple):
    """A request under way."""

    go_on: asyncio.Event
    answered: asyncio.Task[httpx.Response]

    async def status(self) -> int:
        self.go_on.set()
        return (await self.answered).status_code


@asynccontextmanager
async def begun(server: Server, token: str, path: str, body: Any) -> AsyncIterator[Begun]:
    """A request whose body has begun to come; what is left of it comes when it is told to go on."""
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def drip() -> AsyncIterator[bytes]:
        yield b" "
        arrived.set()
        await go_on.wait()
        yield json.dumps(body).encode()

    transport = httpx.ASGITransport(app=server.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        request = http.post(path, content=drip(), headers=bearer(token))
        answered = asyncio.create_task(request)
        await reached(arrived)
        yield Begun(go_on, answered)
        await asyncio.wait((answered,))


@pytest.mark.parametrize("ends_by", ["its time", "a revocation"])
async def test_who_has_left_decides_nothing_by_a_body_that_was_begun_before(
    guarded: Server, register: Register, ends_by: str
) -> None:
    """It may take hours to come: one answer, several, and in a run."""
    client = paying(guarded)
    (asked,) = (await client.say()).interrupts
    token = "lea 600" if ends_by == "its time" else "lea"
    entry = {"interruptId": asked["id"], **approve()}
    one, all_of = f"/interrupts/{asked['id']}/answer", "/interrupts/answers"
    async with (
        begun(guarded, token, one, approve()) as first,
        begun(guarded, token, all_of, {"answers": [entry]}) as second,
        begun(guarded, f"ann{token[3:]}", f"/threads/{client.thread}/stop", {}) as third,
    ):
        if ends_by == "a revocation":
            register.revoked = {"lea", "ann"}
        await guarded.clock.advance(600)
        stored = guarded.dump()
        assert [await each.status() for each in (first, second, third)] == [401, 401, 401]
    assert (guarded.dump(), guarded.effects) == (stored, [])
    async with begun(guarded, "leo 6000", one, approve()) as last:
        await guarded.clock.advance(60)
        assert await last.status() == 200


async def test_the_word_of_the_hook_counts_for_ten_seconds(
    guarded: Server, register: Register
) -> None:
    """Many requests of one sign-in ask together; another one of the same person is asked about."""
    read = "GET", "/interrupts"
    runs = await asyncio.gather(*(rest(guarded, "lea@one", *read) for _ in range(20)))
    assert ({run.status for run in runs}, register.asked) == ({200}, 1)
    register.revoked = {"one"}
    assert (await rest(guarded, "lea@one", *read)).status == 200
    assert (await rest(guarded, "lea@two", *read)).status == 200
    assert register.asked == 2
    await guarded.clock.advance(10)
    assert (await rest(guarded, "lea@one", *read)).status == 401
    assert (await rest(guarded, "lea@two", *read)).status == 200
    register.revoked = set()
    await guarded.clock.advance(10)
    assert (await rest(guarded, "lea@one", *read)).status == 200


async def test_a_revocation_ends_what_is_open_within_a_minute(
    guarded: Server, register: Register
) -> None:
    """Also the stream of whoever began the run; the run goes on."""
    slow = Slow(guarded, "ann")
    began = await slow.begin()
    follower = slow.follow("ann")
    await follower.until("RUN_STARTED")
    other = Exchange(guarded.app, "GET", "/interrupts/stream", b"", bearer("lea"))
    inbox = Exchange(guarded.app, "GET", "/interrupts/stream", b"", bearer("ann"))
    for stream in (inbox, other):
        await stream.until("connected")
    await guarded.clock.advance(3 * MINUTE)
    register.revoked = {"ann"}
    for stream, kind in ((inbox, "closed"), (follower, "RUN_ERROR"), (began, "RUN_ERROR")):
        last = await ends(guarded, stream, within=MINUTE + 1)
        assert (last["type"], last["code"]) == (kind, "token_expired")
    await lasts(guarded, other, 2 * MINUTE)
    await other.disconnect()
    slow.go.set()
    await at_rest(guarded, slow.client)
    assert guarded.clock.sleeping < 20


@pytest.mark.parametrize("broken", ["raises", "hangs", "no", 0, ()], ids=str)
async def test_a_hook_that_fails_lets_nobody_in(
    guarded: Server, register: Register, broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """503, streams end, nothing changes; once it answers, all goes on."""
    client = paying(guarded)
    (asked,) = (await client.say()).interrupts
    stream = Exchange(guarded.app, "GET", "/interrupts/stream", b"", bearer("lea"))
    await stream.until("connected")
    register.broken = broken
    stored = guarded.dump()
    with monkeypatch.context() as impatient:
        impatient.setattr(hooks, "HOOK_TIMEOUT_S", 0.05)
        await guarded.clock.advance(MINUTE)
        last = (await stream.end()).events[-1]
        assert (last["type"], last["code"]) == ("closed", "auth_unavailable")
        for who in ("lea", "ann"):
            run = await says(guarded, who, asked, approve())
            assert (run.status, run.problem["code"]) == (503, "auth_unavailable")
    assert (guarded.dump(), guarded.effects) == (stored, [])
    register.broken = None
    assert (await says(guarded, "lea", asked, approve())).status == 200
    await at_rest(guarded, client)
    assert guarded.effects == ["paid"]


async def test_metrics_are_for_nobody_who_was_revoked(tmp_path: Path, register: Register) -> None:
    options = {"authenticate": authenticate, "revoked": register, "metrics": "authenticated"}
    async with served("memory", tmp_path, **options) as server:
        assert (await rest(server, "lea", "GET", "/metrics")).status == 200
        register.revoked = {"lea"}
        await server.clock.advance(10)
        assert (await rest(server, "lea", "GET", "/metrics")).status == 401


def test_the_hook_is_an_async_function() -> None:
    hook: Any = lambda _: False  # noqa: E731 - what an author may write
    with pytest.raises(DeclarationError, match="revoked is an async function"):
        Sayso(store="memory:", revoked=hook)
