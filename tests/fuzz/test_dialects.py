"""Wrong requests of the other dialects: each gets its dialect's error, and changes nothing."""

import logging
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.contract.requirements import requirement
from tests.contract.server import Server, served
from tests.contract.sessions import PATH, Session, frames_of
from tests.contract.wire import Run
from tests.fuzz.bodies import as_json, broken_json, changed, garbage, nonsense_answers, valid
from tests.fuzz.test_endpoint import BATCH, contents, put, still_answerable, waiting

CHAT = {"message": "hi", "session_id": "THREAD", "agent": "fuzzed", "stream": True}
RESUME = {"session_id": "waiting", "answer": {"approved": None}, "interrupt_id": "INTERRUPT"}


def judged(run: Run, body: bytes) -> None:
    """What holds for every answer of the session dialect."""
    assert run.status < 500, f"{run.status} for {body[:300]!r}: {run.body[:300]!r}"
    if run.status >= 400:
        assert run.headers["content-type"] == "application/json"
        assert {"detail", "code", "message"} <= run.json.keys(), body[:300]
        return
    last = frames_of(run)[-1]
    assert last.get("code") not in ("agent_error", "internal_error"), body[:300]


def requests() -> list[tuple[str, bytes]]:
    """Paths and bodies, the same in every run."""
    rng = random.Random(2027)  # noqa: S311 - nothing is kept secret with it
    found = [(PATH, body) for body in changed(CHAT)]
    found += [(f"{PATH}/resume", body) for body in changed(RESUME)]
    for path, whole in ((PATH, CHAT), (f"{PATH}/resume", RESUME)):
        broken = list(broken_json(as_json(whole), rng)) + list(garbage(rng))
        found += [(path, body) for body in rng.sample(broken, min(len(broken), 300))]
    return found


async def sent(server: Server, bodies: Iterable[tuple[str, bytes]], counts: Counter[str]) -> None:
    """One after another, with a look at the store after each."""
    before = contents(server)
    for path, body in bodies:
        run = await Session(server.app).call("POST", path, body)
        judged(run, body)
        after = contents(server)
        if run.status >= 400:
            assert after == before, f"a refused request changed the store: {body[:300]!r}"
        counts["refused" if run.status >= 400 else "taken"] += 1
        before = after


def put_in(body: bytes, thread: bytes, interrupt: str) -> bytes:
    return body.replace(b"THREAD", thread).replace(b"INTERRUPT", interrupt.encode())


async def test_wrong_requests_of_the_session_dialect_change_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Design 5: wrong values everywhere, truncated, random, deep and huge ones."""
    caplog.set_level(logging.ERROR)
    counts: Counter[str] = Counter()
    every = requests()
    for at in range(0, len(every), BATCH):
        async with served("memory", tmp_path) as server:
            interrupt = await waiting(server)
            batch = (
                (path, put_in(body, b"t%d" % n, interrupt))
                for n, (path, body) in enumerate(every[at : at + BATCH])
            )
            await sent(server, batch, counts)
            await still_answerable(server)
    assert caplog.records == []
    assert counts["refused"] > 500, counts
    assert counts["taken"] > 20, counts


def commands() -> Iterator[bytes]:
    """Answers by command: wrong in every member, and nonsense that would answer if it fitted."""
    rng = random.Random(2028)  # noqa: S311 - nothing is kept secret with it
    base = {**valid("waiting"), "messages": [], "forwardedProps": "PROPS"}
    whole = {"resume": {"approved": None}, "interruptEvent": {"id": "INTERRUPT", "message": "?"}}
    for props in changed({"command": whole}):
        yield as_json(base).replace(b'"PROPS"', props)
    for entries in nonsense_answers("INTERRUPT", rng, 300):
        yield as_json({**base, "forwardedProps": {"command": {"resume": entries}}})


@requirement("LG-05", "LG-14")
async def test_wrong_answers_by_command_change_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """LG-14: refused like any other, and the question stays open."""
    caplog.set_level(logging.ERROR)
    counts: Counter[str] = Counter()
    every = list(commands())
    for at in range(0, len(every), BATCH):
        async with served("memory", tmp_path) as server:
            interrupt = await waiting(server)
            bodies = (put_in(body, b"waiting", interrupt) for body in every[at : at + BATCH])
            await put(server, bodies, counts)
            await still_answerable(server)
    assert caplog.records == []
    assert counts["refused"] > 200, counts
