"""Two real processes on one store: each sees, follows, stops and goes on with the other's work."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests import plain
from tests.contract.requirements import requirement
from tests.patience import PATIENCE
from tests.process.replicas import Serving
from tests.server import Event, events_of, interrupts, resolved, until
from tests.stores.backends import SHARED

AGENTS = '''
"""Agents whose effects are lines of a file; `CODE` says which release this is."""

import asyncio
import os
from pathlib import Path

from sayso import Sayso, ServerOptions, Turn

CODE = os.environ["CODE"]
LEASE = float(os.environ.get("LEASE", "10"))
app = Sayso(store="memory:", server=ServerOptions(console=False, keep_alive=0.5, lease=LEASE))

def note(what: str) -> None:
    with Path("effects").open("a") as effects:
        effects.write(f"{what}\\n")

async def wait_for(name: str) -> str:
    while not Path(name).exists():
        await asyncio.sleep(0.02)
    return name

@app.agent("waiter")
async def waiter(turn: Turn) -> str:
    """Waits for a file of its thread's name."""
    name = turn.input.text
    await turn.say("Waiting.")
    await turn.step.options(name="begin")(note, f"begun {name}")
    await turn.step.options(name="wait", idempotent=True)(wait_for, name)
    await turn.step.options(name="end")(note, f"ended {name}")
    return "seen"

async def first(turn: Turn) -> str:
    """The first release."""
    answer = await turn.interrupt("confirmation", "Go on?")
    await turn.step.options(name="work")(note, f"first {turn.input.text}")
    return "first" if answer.resolved else "no"

async def second(turn: Turn) -> str:
    """Does its work before it asks: no turn of the first fits it."""
    await turn.step.options(name="work")(note, f"second {turn.input.text}")
    await turn.interrupt("confirmation", "Go on?")
    return "second"

if CODE in ("first", "both"):
    app.agent("asker", version="1")(first)
if CODE in ("second", "both"):
    app.agent("asker", version="2")(second)
if CODE == "edited":
    app.agent("asker", version="1")(second)
'''

Start = Callable[..., Serving]
Pair = tuple[Serving, Serving, Path]


@contextmanager
def starting(kind: str, folder: Path) -> Iterator[Start]:
    """A way to start servers of one release each, on one store and in one folder."""
    (folder / "released.py").write_text(AGENTS)
    store = SHARED[kind](folder)
    started: list[Serving] = []

    def start(code: str, **environment: str) -> Serving:
        environment["CODE"] = code
        server = Serving(folder, "released:app", store=store, agent="waiter", **environment)
        started.append(server)
        server.start()
        return server

    try:
        yield start
    finally:
        for server in started:
            server.kill()


@pytest.fixture(scope="module", params=list(SHARED))
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    """Two servers of the first release, and the folder in which they do things."""
    folder = tmp_path_factory.mktemp("pair")
    with starting(request.param, folder) as start:
        yield start("first"), start("first"), folder


def effects(folder: Path, thread: str) -> list[str]:
    """What was done in a thread, in order."""
    done = folder / "effects"
    lines = done.read_text("utf-8").splitlines() if done.exists() else []
    return [line.removesuffix(f" {thread}") for line in lines if line.endswith(f" {thread}")]


def until_begun(folder: Path, thread: str) -> None:
    until(f"{thread} has begun", lambda: effects(folder, thread) == ["begun"])


def call(server: Serving, method: str, path: str, body: Event | None = None) -> httpx.Response:
    return plain.request(method, f"{server.url}{path}", json=body, timeout=PATIENCE)


def test_a_run_is_followed_on_the_replica_that_does_not_run_it(pair: Pair) -> None:
    """N4, L1: what was said so far, then its end when it comes, with one effect."""
    here, there, folder = pair
    with here.stream("followed", text="followed") as events:
        until_begun(folder, "followed")
        with there.stream("followed", path="/connect") as watched:
            seen = [next(watched)]
            while "Waiting." not in str(seen[-1]):
                seen.append(next(watched))
            assert seen[-1]["type"] in ("MESSAGES_SNAPSHOT", "TEXT_MESSAGE_CONTENT")
            (folder / "followed").touch()
            seen += watched
        ran = list(events)
    for end in (seen[-1], ran[-1]):
        assert (end["type"], end["outcome"]["type"]) == ("RUN_FINISHED", "success")
    assert effects(folder, "followed") == ["begun", "ended"]


@requirement("OU-07")
def test_a_run_is_stopped_on_the_replica_that_does_not_run_it(pair: Pair) -> None:
    """I6: its holder hears of it when it renews its lease, and begins nothing more."""
    here, there, folder = pair
    with here.stream("stopped", text="stopped") as events:
        until_begun(folder, "stopped")
        assert call(there, "POST", "/threads/stopped/stop").json() == {"stopped": True}
        ended = list(events)[-1]
    assert ended["outcome"]["type"] == "cancelled"
    assert call(there, "GET", "/threads/stopped").json()["status"] == "cancelled"
    (folder / "stopped").touch()
    assert effects(folder, "stopped") == ["begun"]


def test_an_inbox_follows_what_happens_on_the_other_replica(pair: Pair) -> None:
    """Q4: a question asked there appears here, and its card vanishes once it is settled there."""
    here, there, _ = pair
    asker = f"{there.url}/interrupts/stream"
    with plain.stream("GET", asker, timeout=PATIENCE) as response:
        told = events_of(response.iter_lines())
        assert next(told)["type"] == "connected"
        here.agent = "asker"
        try:
            (question,) = interrupts(here.run("asked", text="asked"))
        finally:
            here.agent = "waiter"
        opened = next(told)
        assert (opened["type"], opened["interruptId"]) == ("opened", question["id"])
        path = f"/interrupts/{question['id']}/answer"
        answered = call(here, "POST", path, {"status": "cancelled"})
        assert answered.status_code == 200
        settled = next(told)
        assert (settled["type"], settled["interruptId"]) == ("settled", question["id"])
        late = call(there, "POST", path, {"status": "resolved", "payload": True})
        assert (late.status_code, late.json()["code"]) == (409, "already_resolved")


@pytest.mark.parametrize("kind", list(SHARED))
def test_what_a_replica_cannot_end_in_time_is_handed_over(kind: str, tmp_path: Path) -> None:
    """TR-17: SIGTERM: the stream says so, the process ends with 0, the other goes on at once."""
    with starting(kind, tmp_path) as start:
        # Nobody waits until such a lease has run out.
        leaving, staying = (start("first", LEASE=f"{2 * PATIENCE}") for _ in range(2))
        with leaving.stream("long", text="long") as events:
            until_begun(tmp_path, "long")
            leaving.process.terminate()
            assert list(events)[-1]["code"] == "shutting_down"
        assert leaving.process.wait(PATIENCE) == 0
        with staying.stream("long", path="/connect") as watched:
            (tmp_path / "long").touch()
            assert list(watched)[-1]["outcome"] == {"type": "success"}
        assert effects(tmp_path, "long") == ["begun", "ended"]


@pytest.mark.parametrize("kind", list(SHARED))
def test_open_turns_live_through_an_upgrade_replica_by_replica(kind: str, tmp_path: Path) -> None:
    """Design 3, rule 9: with their own code they finish; with other code nothing is done."""
    with starting(kind, tmp_path) as start:
        old = start("first")
        old.agent = "asker"
        threads = ("kept", "missed", "changed")
        asked = {thread: interrupts(old.run(thread, text=thread))[0] for thread in threads}
        answers = {thread: [resolved(one, {"approved": True})] for thread, one in asked.items()}

        both = start("both")
        both.agent = "asker"
        kept = both.run("kept", resume=answers["kept"])
        assert (kept[-1]["outcome"]["type"], kept[-1]["result"]) == ("success", "first")
        assert effects(tmp_path, "kept") == ["first"]
        interrupts(both.run("new", text="new"))
        assert effects(tmp_path, "new") == ["second"]

        for code, refusal, thread in (
            ("second", "agent_version_missing", "missed"),
            ("edited", "replay_mismatch", "changed"),
        ):
            new = start(code)
            new.agent = "asker"
            assert new.run(thread, resume=answers[thread])[-1]["code"] == refusal
            assert interrupts(new.connect(thread)) == [asked[thread]]
            assert effects(tmp_path, thread) == []
            new.stop()
            assert old.run(thread, resume=answers[thread])[-1]["result"] == "first"
            assert effects(tmp_path, thread) == ["first"]
