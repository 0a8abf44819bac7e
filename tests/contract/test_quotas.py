"""The share of a user and of a tenant: over it 429, in no dialect a stream, and a way out."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from sayso import AgentOptions, CopilotKit, Limits, Principal, Quota, Sayso, ServerOptions, Turn
from sayso.base.errors import DeclarationError
from sayso.protocol.frames import events_in
from sayso.testing import FakeClock
from tests.asgi import JSON, Answer, Exchange, call, run_body, scope_of
from tests.bodies import until
from tests.patience import PATIENCE

ONE = Quota(runs=1, streams=1, forks_an_hour=1)
PEOPLE = {"ann": "here", "bob": "here", "eve": "there"}


async def authenticate(scope: Any) -> Principal | None:
    """The bearer's name is the token."""
    who = dict(scope["headers"]).get(b"authorization", b"").decode()
    return Principal(subject=who, scope=PEOPLE[who]) if who in PEOPLE else None


class Desk:
    """An app with an agent that asks, and one that works until it is told to end."""

    def __init__(
        self,
        limits: Limits,
        *,
        refusals: Any = "error",
        routes: Sequence[BaseRoute] = (),
        **options: Any,
    ) -> None:
        self.clock = FakeClock()
        self.done = asyncio.Event()
        self.app = Sayso(
            server=ServerOptions(limits=limits, clock=self.clock, console=False, routes=routes),
            agent_defaults=AgentOptions(refusals=refusals),
            **{"store": "memory:", "authenticate": authenticate, **options},
        )
        self.app.mount(CopilotKit())

        @self.app.agent("asks")
        async def asks(turn: Turn) -> None:
            await turn.interrupt("confirmation", "Go on?")

        @self.app.agent("works")
        async def works(turn: Turn) -> None:
            await turn.say("busy")
            await self.done.wait()

    async def __call__(
        self, who: str, method: str, path: str, body: bytes = b"", **headers: str
    ) -> Answer:
        fields = {**(JSON if body else {}), "authorization": who, **headers}
        return await call(self.app, method, path, headers=fields, body=body)

    async def run(self, who: str, thread: str, agent: str = "asks", **members: Any) -> Answer:
        body = run_body(threadId=thread, runId=f"r-{thread}", protocolVersion="1.0", **members)
        return await self(who, "POST", f"/agents/{agent}", body)

    async def ask(self, who: str, thread: str) -> str:
        """The id of a question that a thread waits for from now on."""
        (asked,) = events_in((await self.run(who, thread)).body)[-1]["outcome"]["interrupts"]
        return str(asked["id"])

    @asynccontextmanager
    async def opened(
        self, who: str, method: str, path: str, mark: bytes, body: bytes = b""
    ) -> AsyncIterator[Exchange]:
        """A stream that is open once it has said `mark`."""
        exchange = Exchange([body])
        fields = {**(JSON if body else {}), "authorization": who}
        served = asyncio.ensure_future(
            self.app(scope_of(method, path, fields), exchange.receive, exchange.send)
        )
        await exchange.until(mark)
        try:
            yield exchange
        finally:
            exchange.gone.set()
            await served

    def working(self, who: str, thread: str) -> Any:
        """A run of that thread that goes on, and the stream of it."""
        body = run_body(threadId=thread, runId=f"r-{thread}", protocolVersion="1.0")
        return self.opened(who, "POST", "/agents/works", b"busy", body)

    def inbox(self, who: str) -> Any:
        return self.opened(who, "GET", "/interrupts/stream", b"connected")


@asynccontextmanager
async def desk(limits: Limits, **options: Any) -> AsyncIterator[Desk]:
    made = Desk(limits, **options)
    async with made.app.lifespan():
        yield made
        made.done.set()


def refusal(answer: Answer) -> tuple[str, int, str]:
    """Which limit, how much there may be, and when to try again; it is no stream."""
    assert answer.status == 429
    assert "json" in answer.headers["content-type"]
    problem = answer.json
    assert (problem.get("error") or problem["code"]) == "too_many"
    assert answer.headers["retry-after"] == str(problem["retryAfter"])
    return problem["limit"], problem["max"], answer.headers["retry-after"]


@pytest.mark.parametrize("refusals", ["error", "recover"])
async def test_a_run_too_many_is_refused_in_every_dialect_and_an_answer_is_taken(
    refusals: Any,
) -> None:
    async with desk(Limits(per_user=ONE), refusals=refusals) as it:
        asked = await it.ask("ann", "t")
        another = await it.ask("ann", "u")
        assert (await it.run("ann", "v")).status == 200
        async with it.working("ann", "busy"):
            body = run_body(threadId="new", runId="r2", protocolVersion="1.0")
            for path, sent in (
                ("/agents/works", body),
                ("/copilotkit/agent/works/run", body),
                ("/api/v1/chat", b'{"message":"hi","agent":"works"}'),
                ("/threads/v/restart", b"{}"),
            ):
                assert refusal(await it("ann", "POST", path, sent)) == ("runs", 1, "5")
            assert (await it("ann", "GET", "/threads/new")).status == 404
            assert (await it.run("bob", "bobs")).status == 200
            resume = [{"interruptId": asked, "status": "resolved", "payload": {"approved": True}}]
            taken = await it.run("ann", "t", messages=[], resume=resume)
            assert events_in(taken.body)[-1]["outcome"]["type"] == "success"
            given = await it(
                "ann", "POST", f"/interrupts/{another}/answer", b'{"status":"cancelled"}'
            )
            assert given.status == 200
            assert (await it("ann", "POST", "/threads/busy/stop", b"{}")).status == 200
            assert (await it("ann", "DELETE", "/threads/v")).status == 204
        it.done.set()
        await until(lambda: not it.app._engine._live.running())
        assert (await it.run("ann", "w")).status == 200


async def test_no_more_runs_begin_than_there_are_places_for_however_close_they_come() -> None:
    async with desk(Limits(per_user=Quota(runs=3))) as it:
        async with asyncio.TaskGroup() as group:
            begun = [group.create_task(it.run("ann", f"t{n}", "works")) for n in range(10)]
            await until(lambda: sum(task.done() for task in begun) == 7)
            it.done.set()
        assert sorted(task.result().status for task in begun) == [200] * 3 + [429] * 7


async def test_a_tenant_has_a_share_too() -> None:
    async with desk(Limits(per_tenant=ONE)) as it, it.working("ann", "busy"):
        assert refusal(await it.run("bob", "b")) == ("runs", 1, "5")
        assert "organization" in (await it.run("bob", "b")).json["detail"]
        assert (await it.run("eve", "e")).status == 200


async def test_streams_that_follow_are_counted_and_those_of_runs_that_they_begin_are_not() -> None:
    async with (
        desk(Limits(per_user=Quota(streams=1))) as it,
        it.working("ann", "busy"),
        it.working("ann", "too"),
    ):
        look = run_body(threadId="busy", runId="look", messages=[], protocolVersion="1.0")
        again = run_body(threadId="busy", runId="r-busy", protocolVersion="1.0")
        async with it.inbox("ann"):
            assert refusal(await it("ann", "GET", "/interrupts/stream")) == ("streams", 1, "5")
            for path, body in (
                ("/agents/works/connect", look),
                ("/agents/works", again),
                ("/copilotkit/agent/works/connect", look),
            ):
                assert refusal(await it("ann", "POST", path, body)) == ("streams", 1, "5")
            assert refusal(await it("ann", "GET", "/api/v1/chat?session_id=busy"))[0] == "streams"
            idle = await it("ann", "POST", "/agents/asks/connect", run_body(threadId="idle"))
            assert idle.status == 200  # it shows, and follows nothing
            async with it.inbox("bob"):
                pass
        async with it.opened("ann", "POST", "/agents/works/connect", b"busy", look):
            assert (await it("ann", "GET", "/interrupts/stream")).status == 429
        async with it.inbox("ann"):
            pass


async def test_the_rate_of_requests_counts_everything_and_comes_back_with_time() -> None:
    async with desk(Limits(per_user=Quota(requests_a_minute=3))) as it:
        for path in ("/threads", "/nothing", "/agents"):
            assert (await it("ann", "GET", path)).status != 429
        exchange = Exchange([b"{", b"}"])
        fields = {**JSON, "authorization": "ann"}
        await it.app(scope_of("POST", "/agents/asks", fields), exchange.receive, exchange.send)
        assert refusal(exchange.answer) == ("requests_a_minute", 3, "20")
        assert exchange.asked == 0  # its body was not read
        for path in ("/api/v1/chat", "/copilotkit/info"):
            assert refusal(await it("ann", "GET", path)) == ("requests_a_minute", 3, "20")
        assert (await it("bob", "GET", "/threads")).status == 200
        assert (await call(it.app, "GET", "/healthz")).status == 200
        it.clock.jump(20)
        assert (await it("ann", "GET", "/threads")).status == 200
        assert (await it("ann", "GET", "/threads")).status == 429


async def test_forks_are_counted_by_the_hour() -> None:
    async with desk(Limits(per_user=ONE)) as it:
        asked = await it.ask("ann", "t")
        body = b'{"interruptId":"%s"}' % asked.encode()
        assert (await it("ann", "POST", "/threads/t/fork", body)).status == 201
        late = await it("ann", "POST", "/threads/t/fork", body)
        assert refusal(late) == ("forks_an_hour", 1, "3600")
        it.clock.jump(3600)
        assert (await it("ann", "POST", "/threads/t/fork", body)).status == 201


@pytest.mark.parametrize("whose", ["per_user", "per_tenant"])
@pytest.mark.parametrize(
    ("limit", "most"), [("threads", 2), ("open_questions", 2), ("bytes", 1_500)]
)
async def test_what_is_stored_has_limits_with_a_way_out(whose: str, limit: str, most: int) -> None:
    """It is looked at anew after ten seconds. What asks is never refused, the next run is."""
    long = [{"id": "u", "role": "user", "content": "z" * 600}]
    quota: dict[str, Any] = {whose: Quota(**{limit: most})}
    async with desk(Limits(**quota)) as it:
        asked = await it.ask("ann", "t")
        assert (await it.run("ann", "u", messages=long)).status == 200
        it.clock.jump(10)
        body = run_body(threadId="new", runId="r2", protocolVersion="1.0")
        for path, sent in (
            ("/agents/asks", body),
            ("/copilotkit/agent/asks/run", body),
            ("/api/v1/chat", b'{"message":"hi","agent":"asks"}'),
            ("/threads/t/fork", b'{"interruptId":"%s"}' % asked.encode()),
        ):
            assert refusal(await it("ann", "POST", path, sent)) == (limit, most, "10")
        others = await it.run("bob", "b")
        assert others.status == (200 if whose == "per_user" else 429)
        assert (await it.run("eve", "e")).status == 200
        resume = [{"interruptId": asked, "status": "resolved", "payload": {"approved": True}}]
        taken = await it.run("ann", "t", messages=[], resume=resume)
        assert events_in(taken.body)[-1]["outcome"]["type"] == "success"
        said = run_body(threadId="t", runId="again", protocolVersion="1.0")
        again = await it("ann", "POST", "/agents/asks", said)
        assert again.status == (200 if limit == "threads" else 429)  # it makes no thread
        assert (await it("ann", "DELETE", "/threads/u")).status == 204
        it.clock.jump(10)
        assert (await it.run("ann", "w")).status == 200


async def test_two_servers_see_what_either_stores(tmp_path: Path) -> None:
    limits = Limits(per_user=Quota(threads=2))
    url = f"sqlite:///{tmp_path / 'both.db'}"
    async with desk(limits, store=url) as here, desk(limits, store=url) as there:
        assert (await here.run("ann", "t")).status == 200
        assert (await there.run("ann", "u")).status == 200
        assert (await here.run("ann", "v")).status == 200  # it does not know of the other yet
        for server in (here, there):
            server.clock.jump(10)
            assert refusal(await server.run("ann", "w")) == ("threads", 2, "10")


async def test_refusals_are_counted() -> None:
    async with desk(Limits(per_user=Quota(requests_a_minute=1))) as it:
        for _ in range(3):
            await it("ann", "GET", "/threads")
        lines = list(it.app._engine.health.metrics.lines())
        assert 'sayso_refusals_total{code="too_many"} 2' in lines


@pytest.mark.parametrize(("options", "most"), [({}, 20), ({"authenticate": None}, 22)])
async def test_the_defaults_count_where_users_are_told_apart(options: Any, most: int) -> None:
    async with desk(Limits(), **options) as it:
        async with asyncio.TaskGroup() as group:
            begun = [group.create_task(it.run("ann", f"t{n}", "works")) for n in range(22)]
            await until(lambda: sum(map(asyncio.Task.done, begun)) == 22 - most)
            await until(lambda: it.app._engine._live.running() == most)
            it.done.set()
        assert [task.result().status for task in begun].count(200) == most


async def test_a_quota_that_is_given_counts_always() -> None:
    async with desk(Limits(per_user=ONE), authenticate=None) as it, it.working("ann", "busy"):
        assert refusal(await it.run("bob", "b")) == ("runs", 1, "5")


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "9"])
def test_a_quota_is_a_whole_number_or_none(value: Any) -> None:
    with pytest.raises(DeclarationError, match="runs of Quota"):
        Quota(runs=value)
    with pytest.raises(DeclarationError, match="per_user of Limits is Quota"):
        Limits(per_user=value)
    assert Quota(runs=None).runs is None


async def test_a_state_and_a_context_that_a_request_brings_have_a_size() -> None:
    """Unless the thread has that state, which clients send back."""
    large = {"text": "z" * 2_000}
    async with desk(Limits(state=1_000, context=1_000)) as it:
        for members, pointer in (
            ({"state": large}, "/state"),
            ({"context": [{"description": "d", "value": "z" * 2_000}]}, "/context"),
        ):
            answer = await it.run("ann", "t", **members)
            assert (answer.status, answer.json["errors"][0]["pointer"]) == (422, pointer)
        assert (await it("ann", "GET", "/threads/t")).status == 404
        assert (await it.run("ann", "t", state={"text": "z"})).status == 200
        patch = b'{"values":{"text":"%s"}}' % (b"z" * 2_000)
        edit = await it("ann", "PATCH", "/threads/t/state", patch)
        assert (edit.status, edit.json["errors"][0]["pointer"]) == (422, "/values")

        @it.app.agent("keeps")
        async def keeps(turn: Turn) -> None:
            await turn.set("/text", large["text"])

        assert (await it.run("ann", "s", "keeps")).status == 200
        said = {"id": "u2", "role": "user", "content": "again"}
        back = run_body(threadId="s", runId="r2", messages=[said], state=large)
        assert (await it("ann", "POST", "/agents/keeps", back)).status == 200


async def test_a_refusal_names_as_many_errors_as_are_allowed() -> None:
    """Of a run, of a body, and of answers to what nobody asked."""
    wrong = [{"interruptId": 7}] * 9
    many = b",".join(b'{"interruptId":"i%d","status":"cancelled"}' % n for n in range(9))
    async with desk(Limits(errors=3)) as it:
        for answer in (
            await it.run("ann", "t", context=[7] * 9),
            await it.run("ann", "t", resume=wrong),
            await it("ann", "POST", "/interrupts/answers", b'{"answers":[%s]}' % many),
        ):
            assert answer.status in (404, 422)
            assert len(answer.json["errors"]) == 3


class Uploads:
    """Bodies that come in parts, from several people at once."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self.held, self._at_once = asyncio.Event(), asyncio.Event()
        self._at_once.set()

    async def begin(self, who: str, size: int) -> "asyncio.Task[httpx.Response]":
        """Send so many bytes; the rest once nobody holds it."""
        arrived = asyncio.Event()
        task = asyncio.create_task(self._send(who, "/interrupts/answers", size, self.held, arrived))
        async with asyncio.timeout(PATIENCE):
            await arrived.wait()
        return task

    async def send(self, who: str, size: int, path: str = "/interrupts/answers") -> httpx.Response:
        """Send so many bytes, and then the rest."""
        return await self._send(who, path, size, self._at_once, asyncio.Event())

    async def _send(
        self, who: str, path: str, size: int, go_on: asyncio.Event, arrived: asyncio.Event
    ) -> httpx.Response:
        async def drip() -> AsyncIterator[bytes]:
            yield b" " * size
            arrived.set()
            await go_on.wait()
            yield b'{"answers": []}'

        fields = {**JSON, "authorization": who}
        return await self._http.post(path, content=drip(), headers=fields)


@asynccontextmanager
async def uploads(desk: Desk) -> AsyncIterator[Uploads]:
    transport = httpx.ASGITransport(app=desk.app)
    async with (
        desk.app.lifespan(),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        yield Uploads(http)


LARGE = Limits(body=1_000_000, history=40_000, payload=10_000)


async def test_bodies_that_still_come_have_a_bound_for_each_user() -> None:
    """Two of the largest; what is whole, given up, or of somebody else does not count."""
    async with uploads(Desk(LARGE)) as it:
        waiting = [await it.begin("ann", 900_000) for _ in range(2)]
        late = await it.send("ann", 900_000)
        assert (late.status_code, late.json()["limit"]) == (429, "body")
        assert (await it.send("bob", 900_000)).status_code == 422
        given_up = waiting.pop()
        given_up.cancel()
        await asyncio.wait([given_up])
        assert (await it.send("ann", 900_000)).status_code == 422
        it.held.set()
        assert (await waiting.pop()).status_code == 422
        again = [await it.begin("ann", 900_000) for _ in range(2)]
        assert {(await each).status_code for each in again} == {422}


async def test_a_small_answer_in_parts_comes_through_whatever_else_is_on_its_way() -> None:
    async with uploads(Desk(LARGE)) as it:
        waiting = [await it.begin("ann", 990_000) for _ in range(2)]
        fills = await it.begin("ann", 2_000_000 - 2 * 990_000 + 3 * 65_536 - 1_000)
        assert (await it.send("ann", 67_000)).status_code == 429
        assert (await it.send("ann", 65_000)).status_code == 422
        it.held.set()
        assert {(await each).status_code for each in (*waiting, fills)} == {422}


async def test_what_a_route_of_the_application_reads_has_no_bound_here() -> None:
    """It keeps nothing: the application says what may come."""
    taken: list[int] = []

    async def take(request: Request) -> Response:
        taken.extend([len(chunk) async for chunk in request.stream()])
        return Response()

    routes = [Route("/files", take, methods=["POST"])]
    async with uploads(Desk(LARGE, routes=routes)) as it:
        assert (await it.send("ann", 5_000_000, "/files")).status_code == 200
    assert sum(taken) > 5_000_000
