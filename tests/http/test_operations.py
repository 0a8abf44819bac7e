"""`/healthz`, `/readyz` and `/metrics`, through HTTP (design 5: operations)."""

import asyncio
from typing import Any

import orjson
import pytest

from sayso import Principal, Sayso, ServerOptions, Turn
from sayso.base.errors import DeclarationError, StoreUnavailable
from sayso.stores.sqlite.memory import MemoryStore
from sayso.testing import FakeClock, FaultyStore
from tests.apps import app_with
from tests.asgi import JSON, Answer, call, run_body
from tests.bodies import soon
from tests.server import run_input
from tests.stream_checker import events_of


class Server:
    """An app with an agent that asks once, over a store that can break, at a time of the test's."""

    def __init__(self, **options: Any) -> None:
        self.clock = FakeClock()
        self.store = FaultyStore(MemoryStore(clock=self.clock))
        self.app = app_with(store=self.store, clock=self.clock, console=False, **options)
        self.app.agent("asker")(ask)

    async def run(self, thread: str, **parts: Any) -> list[dict[str, Any]]:
        body = orjson.dumps(run_input(thread, **parts))
        answer = await call(self.app, "POST", "/agents/asker", headers=JSON, body=body)
        return events_of(answer.body)

    async def metrics(self, **headers: str) -> dict[str, float]:
        """Every sample by its name with labels."""
        answer = await call(self.app, "GET", "/metrics", headers=headers)
        assert answer.status == 200
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        return samples(answer)


async def ask(turn: Turn) -> None:
    """Asks once."""
    await turn.interrupt("input_required", "Well?", schema=str)


def samples(answer: Answer) -> dict[str, float]:
    lines = [line for line in answer.body.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def question(events: list[dict[str, Any]]) -> str:
    found: str = events[-1]["outcome"]["interrupts"][0]["id"]
    return found


def given(interrupt: str, payload: Any = "yes") -> dict[str, Any]:
    return {"interruptId": interrupt, "status": "resolved", "payload": payload}


async def test_a_server_is_ready_once_its_store_answers() -> None:
    """It opens its store for the probe, so that a mounted app comes to be ready by itself."""
    server = Server()
    ready = await call(server.app, "GET", "/readyz", headers={"host": "10.0.0.7:8000"})
    assert (ready.status, ready.json) == (200, {"status": "ready"})
    head = await call(server.app, "HEAD", "/readyz")
    assert (head.status, head.body) == (200, b"")
    wrong = await call(server.app, "POST", "/readyz")
    assert (wrong.status, wrong.headers["allow"]) == (405, "GET, HEAD")


async def test_a_store_that_fails_makes_a_server_unready_and_no_less_alive() -> None:
    """503 with a problem, until the store is back; restarting the process would not help."""
    server = Server()
    server.store.fail("count_all_open", error=StoreUnavailable("the disk is full"))
    broken = await call(server.app, "GET", "/readyz")
    assert (broken.status, broken.json["code"]) == (503, "store_unavailable")
    assert broken.headers["content-type"] == "application/problem+json"
    assert broken.headers["retry-after"] == "1"
    assert b"disk" not in broken.body
    assert (await call(server.app, "GET", "/healthz")).status == 200
    assert (await call(server.app, "GET", "/readyz")).status == 200


async def test_a_store_that_is_silent_keeps_no_probe_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each probe gives up in time, and all that come meanwhile share one call."""
    server = Server()
    silent = asyncio.Event()
    server.store.fail("count_all_open", hook=silent.wait, error=None)
    probes = [call(server.app, "GET", "/readyz") for _ in range(5)]
    with monkeypatch.context() as impatient:
        impatient.setattr("sayso.engine.health.PROBE_TIMEOUT_S", 0.05)
        answers = await soon(asyncio.gather(*probes))
        assert {(one.status, one.json["code"]) for one in answers} == {(503, "store_unavailable")}
        assert [one.point for one in server.store.calls].count("count_all_open") == 1
        assert (await server.metrics())["sayso_store_up"] == 0
    silent.set()
    assert (await call(server.app, "GET", "/readyz")).status == 200


async def test_a_server_that_drains_says_so_and_serves_on() -> None:
    """Who sends requests hears of it before any is lost (TR-17)."""
    server = Server()
    async with server.app.lifespan():
        server.app.drain()
        gone = await call(server.app, "GET", "/readyz")
        assert (gone.status, gone.json["code"]) == (503, "shutting_down")
        assert (await call(server.app, "GET", "/healthz")).status == 200
        assert question(await server.run("t", text="go"))
    async with server.app.lifespan():
        assert (await call(server.app, "GET", "/readyz")).status == 200


async def test_metrics_tell_what_waits_and_for_how_long() -> None:
    """Open, age, time to decide, settled, runs by outcome, refusals by code, calls of the store."""
    server = Server()
    first = question(await server.run("t-1", text="go"))
    await server.clock.advance(30)
    second = question(await server.run("t-2", text="go"))
    await server.clock.advance(10)
    seen = await server.metrics()
    assert seen["sayso_interrupts_open"] == 2
    assert seen["sayso_interrupt_oldest_seconds"] == 40
    assert seen['sayso_run_seconds_count{outcome="interrupt"}'] == 2

    done = await server.run("t-1", resume=[given(first)])
    assert done[-1].get("outcome") == {"type": "success"}, done
    cancelled = {"interruptId": second, "status": "cancelled"}
    await server.run("t-2", resume=[cancelled])
    assert (await server.run("t-1", resume=[given(first, "no")]))[-1]["type"] == "RUN_ERROR"
    assert (await call(server.app, "GET", "/threads/none")).status == 404
    seen = await server.metrics()
    assert seen["sayso_interrupts_open"] == seen["sayso_interrupt_oldest_seconds"] == 0
    assert seen['sayso_interrupt_decision_seconds_sum{status="resolved"}'] == 40
    assert seen['sayso_interrupt_decision_seconds_sum{status="cancelled"}'] == 10
    assert seen['sayso_interrupt_decision_seconds_bucket{status="resolved",le="15"}'] == 0
    assert seen['sayso_interrupt_decision_seconds_bucket{status="resolved",le="60"}'] == 1
    assert seen['sayso_interrupts_settled_total{status="resolved"}'] == 1
    assert seen['sayso_interrupts_settled_total{status="cancelled"}'] == 1
    assert seen['sayso_refusals_total{code="already_resolved"}'] == 1
    assert seen['sayso_refusals_total{code="unknown_thread"}'] == 1
    assert seen['sayso_store_seconds_count{operation="claim"}'] == 4
    assert seen["sayso_store_up"] == 1
    assert seen["sayso_runs_active"] == 0


async def test_what_expires_is_counted_once_and_decided_by_nobody() -> None:
    """Also when somebody refuses it later, which is noted with it (D6)."""
    server = Server(expires_in=60)
    async with server.app.lifespan():
        late = question(await server.run("t", text="go"))
        await server.clock.advance(61)
        answers = (({"status": "cancelled"}, 200), ({"status": "resolved", "payload": "yes"}, 410))
        for said, status in answers:
            path, body = f"/interrupts/{late}/answer", orjson.dumps(said)
            answer = await call(server.app, "POST", path, headers=JSON, body=body)
            assert answer.status == status
        seen = await server.metrics()
    assert seen['sayso_interrupts_settled_total{status="expired"}'] == 1
    assert seen['sayso_refusals_total{code="interrupt_expired"}'] == 1
    assert not [name for name in seen if name.startswith("sayso_interrupt_decision")]


async def test_a_store_that_is_gone_is_told_by_the_metrics_themselves() -> None:
    """What cannot be known is left out, not zero; what was counted is still there."""
    server = Server()
    await server.run("t", text="go")
    server.store.fail("count_all_open", error=StoreUnavailable("gone"))
    seen = await server.metrics()
    assert seen["sayso_store_up"] == 0
    assert "sayso_interrupts_open" not in seen
    assert seen['sayso_store_failures_total{operation="count_all_open"}'] == 1
    assert seen['sayso_run_seconds_count{outcome="interrupt"}'] == 1


async def known(scope: Any) -> Principal | None:
    """Everybody who names a role."""
    role = dict(scope["headers"]).get(b"x-role")
    return None if role is None else Principal(subject="ann", roles=(role.decode(),))


@pytest.mark.parametrize(
    ("readers", "nobody", "clerk", "operator"),
    [
        ("authenticated", 401, 200, 200),
        ("anybody", 200, 200, 200),
        ("nobody", 404, 404, 404),
        ("role:ops", 401, 404, 200),
        ("role:metrics", 401, 404, 404),
    ],
)
async def test_metrics_are_for_whom_the_option_names(
    readers: str, nobody: int, clerk: int, operator: int
) -> None:
    """They sum over all scopes: who is only one tenant need not see them. Probes are for all."""
    app = Server(authenticate=known, metrics=readers).app
    answers = [
        await call(app, "GET", "/metrics", headers=headers)
        for headers in ({}, {"x-role": "clerk"}, {"x-role": "ops"})
    ]
    assert [answer.status for answer in answers] == [nobody, clerk, operator]
    assert (await call(app, "GET", "/readyz")).status == 200


async def test_metrics_are_for_this_machine_where_nobody_has_to_say_who_they_are() -> None:
    """Nobody has a role there."""
    assert (await call(Server().app, "GET", "/metrics")).status == 200


@pytest.mark.parametrize("readers", ["", "all", "role:", "role: "])
def test_readers_that_nobody_could_be_are_refused(readers: str) -> None:
    """When the app is made, with what to write instead."""
    with pytest.raises(DeclarationError, match="'authenticated', 'anybody', 'nobody'"):
        Sayso(store="memory:", server=ServerOptions(metrics=readers))


async def test_metrics_are_not_for_pages_of_others() -> None:
    """A name that points at this machine is no way in, as everywhere (design 7)."""
    app = Server(metrics="anybody").app
    assert (await call(app, "GET", "/metrics", headers={"host": "evil.example"})).status == 421
    assert (await call(app, "POST", "/metrics", headers=JSON, body=run_body())).status == 405
