"""Sessions that wait, as others see them in Redis: `checkpoint:{session_id}` (design 6)."""

import logging
from pathlib import Path
from textwrap import dedent
from typing import Any

import orjson
import pytest
import redis

from sayso import Principal, Sayso, ServerOptions
from sayso.ops.agentfile import app_of
from sayso.testing import FakeClock
from tests.contract.sessions import Session
from tests.stores.redis_servers import redis_database, redis_url

AGENTS = """
from sayso import Sayso, Turn, approval

app = Sayso(store="memory:")

@app.tool(approval=approval.always)
async def pay(amount: float) -> str:
    return f"paid {amount:g}"

async def support(turn: Turn) -> None:
    await turn.say("Let me see.")
    paid = await turn.call(pay, amount=7.0)
    await turn.say(f"Done: {paid}.")

async def sales(turn: Turn) -> None:
    got = await turn.interrupt("input_required", "How many?", schema=int, expires_in=None)
    await turn.say(f"{got.value} it is.")
"""
FILE = """
    store: {url}
    agents:
      - name: support
        import: paying_agents:support
        spec:
          type: langgraph
          interrupt:
            enabled: true
            checkpoint: {{backend: redis, ttl_seconds: 3600}}
      - {{name: sales, import: 'paying_agents:sales'}}
"""


@pytest.fixture
def clock() -> FakeClock:
    """The server's time."""
    return FakeClock()


def served(
    tmp_path: Path, clock: FakeClock, *, backend: bool = True, authenticate: Any = None
) -> Sayso:
    """The app of the file, or of one that names no backend and so shows nothing by itself."""
    (tmp_path / "paying_agents.py").write_text(AGENTS)
    path = tmp_path / "agents.yaml"
    text = dedent(FILE.format(url=redis_url(tmp_path)))
    path.write_text(text if backend else text.replace("backend: redis, ", ""))
    server = ServerOptions(console=False, clock=clock)
    return app_of(path).replace(server=server, authenticate=authenticate)


@pytest.fixture
def app(tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Sayso:
    """What `sayso serve agents.yaml` serves."""
    monkeypatch.syspath_prepend(tmp_path)
    return served(tmp_path, clock)


@pytest.fixture
def database(tmp_path: Path) -> "redis.Redis":
    """What somebody with redis-cli sees."""
    return redis.Redis.from_url(redis_database(tmp_path))


async def test_what_waits_can_be_read_for_as_long_as_it_waits(
    app: Sayso, database: "redis.Redis", caplog: pytest.LogCaptureFixture
) -> None:
    """Agent, history, tool stack and reason, with the file's time to live; gone when resumed."""
    async with app.lifespan():
        session = Session(app, session_id="s-1", agent="support")
        assert database.get("checkpoint:s-1") is None
        with caplog.at_level(logging.INFO, "sayso"):
            asked = (await session.say("please pay"))[-1]
            found = orjson.loads(database.get("checkpoint:s-1") or b"")
            assert 3_500_000 < database.pttl("checkpoint:s-1") <= 3_600_000
            assert (await session.answer("yes"))[-1]["type"] == "done"
        assert database.get("checkpoint:s-1") is None
    database.close()
    assert (found["session_id"], found["agent"], found["reason"]) == (
        "s-1",
        "support",
        "tool_call",
    )
    assert (found["interrupt_id"], found["prompt"]) == (asked["interrupt_id"], asked["prompt"])
    texts = [(message["role"], message.get("content")) for message in found["history"]]
    assert texts[:2] == [("user", "please pay"), ("assistant", "Let me see.")]
    (call,) = found["tool_stack"]
    assert (call["name"], call["args"]) == ("pay", {"amount": 7.0})
    assert call["id"] == asked["tool_call_id"]
    assert [item["interrupt_id"] for item in found["open"]] == [asked["interrupt_id"]]
    assert "checkpoint of session 's-1' saved for 3600 s: tool_call" in caplog.text
    assert "checkpoint of session 's-1' taken" in caplog.text


async def test_past_its_time_it_is_not_found(
    app: Sayso, clock: FakeClock, database: "redis.Redis", caplog: pytest.LogCaptureFixture
) -> None:
    """404 `checkpoint not found`, in the log as well; what never expires has no time to live."""
    async with app.lifespan():
        session = Session(app, session_id="s-2", agent="support")
        asked = (await session.say("please pay"))[-1]
        clock.jump(3_599)
        await clock.advance(1)
        with caplog.at_level(logging.INFO, "sayso"):
            late = await session.send("yes", interrupt_id=asked["interrupt_id"])
        assert (late.status, late.json["detail"]) == (404, "checkpoint not found")
        decisions = [record.message for record in caplog.records if "decisions" in record.name]
        # What came of its time is told beside the answer.
        assert decisions.count("refused") == 1
        assert set(decisions) <= {"expired", "resumed", "refused"}
        other = Session(app, session_id="s-3", agent="sales")
        await other.say("how many?")
        assert database.pttl("checkpoint:s-3") == -1
        assert (await other.answer(3))[-1]["type"] == "done"
        assert database.exists("checkpoint:s-3") == 0
        unknown = Session(app, session_id="never")
        told = await unknown.send("yes")
        assert (told.status, told.json["detail"]) == (404, "checkpoint not found")
    database.close()


async def test_a_deleted_session_leaves_no_checkpoint(app: Sayso, database: "redis.Redis") -> None:
    """Nor one that was stopped."""
    async with app.lifespan():
        session = Session(app, session_id="s-4", agent="support")
        await session.say("please pay")
        assert database.exists("checkpoint:s-4") == 1
        assert (await session.open("DELETE", "/threads/s-4").end()).status in (200, 204)
        assert database.exists("checkpoint:s-4") == 0
        session.id = "s-5"
        await session.say("please pay")
        await session.open("POST", "/threads/s-5/stop").end()
        assert database.exists("checkpoint:s-5") == 0
    database.close()


@pytest.mark.parametrize("how", ["answer", "stop", "delete"])
async def test_whoever_ends_the_wait_takes_the_checkpoint_away(
    app: Sayso, tmp_path: Path, clock: FakeClock, database: "redis.Redis", how: str
) -> None:
    """Also a process that shows none itself; what begins to wait there is not shown."""
    other = served(tmp_path, clock, backend=False)
    async with app.lifespan(), other.lifespan():
        await Session(app, session_id="s-6", agent="sales").say("how many?")
        assert database.pttl("checkpoint:s-6") == -1
        elsewhere = Session(other, session_id="s-6", agent="sales")
        match how:
            case "answer":
                (waits,) = database.keys("sayso:*:thread:s-6")
                assert database.hexists(waits, "checkpoint")
                assert (await elsewhere.answer(3))[-1]["type"] == "done"
                assert not database.hexists(waits, "checkpoint")
            case "stop":
                assert (await elsewhere.open("POST", "/threads/s-6/stop").end()).status == 200
            case "delete":
                assert (await elsewhere.open("DELETE", "/threads/s-6").end()).status in (200, 204)
        assert database.keys("checkpoint:*") == []
        elsewhere.id = "s-7"
        assert (await elsewhere.say("how many?"))[-1]["type"] == "interrupt"
        assert database.keys("checkpoint:*") == []
    database.close()


async def test_a_tenant_s_checkpoints_stay_among_its_own_keys(
    tmp_path: Path,
    clock: FakeClock,
    database: "redis.Redis",
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One session id in two tenants is two sessions: the plain name is that of the default one."""
    monkeypatch.syspath_prepend(tmp_path)

    async def tenant(scope: Any) -> Principal:
        return Principal(subject="ann", scope="acme")

    app = served(tmp_path, clock, authenticate=tenant)
    async with app.lifespan():
        await Session(app, session_id="s-1", agent="support").say("please pay")
        assert database.exists("checkpoint:s-1") == 0
        found = orjson.loads(database.get("sayso:{acme}:checkpoint:s-1") or b"")
        assert found["session_id"] == "s-1"
    database.close()
