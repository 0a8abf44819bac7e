"""Ten thousand requests that nobody should send: each is answered, and refused ones change nothing.

`npm test` sends a fifth of them, `npm test -- schedules` all.

No status from 500 up, no stream without its end, no error in the log, and the store byte for byte
as it was after every refusal.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from sayso import Turn
from tests.contract.requirements import requirement
from tests.contract.server import Server, approve, served
from tests.contract.wire import Run
from tests.fuzz.bodies import (
    as_json,
    broken_json,
    changed,
    garbage,
    nonsense_answers,
    valid,
)
from tests.share import sample, share

FIFTH = 5
ENOUGH = share(10_000, of=FIFTH)
BATCH = 40
"""Requests to one server: those that are taken leave threads behind, and each dump reads all."""
FAILED = ("agent_error", "internal_error")
"""Codes of runs that were begun, and must not have failed."""


async def agent(turn: Turn) -> None:
    """Reads all that came, and asks."""
    text = f"{turn.input.text} {turn.input.messages} {turn.input.state} {turn.input.tools}"
    await turn.set("", {"seen": len(text)})
    await turn.interrupt("confirmation", "Go on?")
    await turn.say("Done.")


async def still_answerable(server: Server) -> None:
    """What is open after all that can be answered as ever."""
    client = server.client("fuzzed", thread="waiting")
    if (await client.connect()).outcome == "interrupt":
        assert (await client.resume(approve())).outcome == "success"


def refused(run: Run) -> bool:
    if run.status >= 400:
        return True
    return bool(run.last["type"] == "RUN_ERROR")


def judged(run: Run, body: bytes) -> None:
    """What holds for every answer, whatever was asked."""
    assert run.status < 500, f"{run.status} for {body[:300]!r}: {run.body[:300]!r}"
    if run.status >= 400:
        assert run.problem["code"], body[:300]
        return
    assert run.is_stream
    assert run.last["type"] in ("RUN_FINISHED", "RUN_ERROR"), body[:300]
    assert run.outcome not in FAILED, f"{run.last} for {body[:300]!r}"


def contents(server: Server) -> bytes:
    """All that is stored: the pages of the database in memory."""
    memory: Any = server.watched.inner
    pages: bytes = memory._runner._db.serialize()
    return pages


async def put(server: Server, bodies: Iterable[bytes], counts: Counter[str]) -> None:
    """Send them one after another and look at the store after each."""
    before = contents(server)
    for number, body in enumerate(bodies):
        path = "/agents/fuzzed/connect" if number % 10 == 9 else "/agents/fuzzed"
        run = await server.request("POST", path, body).end()
        judged(run, body)
        after = contents(server)
        if refused(run):
            assert after == before, f"a refused request changed the store: {body[:300]!r}"
        counts["refused" if refused(run) else "taken"] += 1
        counts["changes"] += after != before
        before = after


async def waiting(server: Server) -> str:
    """A thread with an open question; its interrupt's id."""
    server.app.agent("fuzzed")(agent)
    client = server.client("fuzzed", thread="waiting")
    run = await client.say()
    identifier: str = run.interrupts[0]["id"]
    return identifier


def corpus() -> list[bytes]:
    """All of it, the same in every run; `THREAD` and `INTERRUPT` are put in when it is sent."""
    rng = random.Random(2026)  # noqa: S311 - nothing is kept secret with it
    fresh, answered = valid("THREAD"), valid("waiting", "INTERRUPT")
    answers = (
        as_json({**valid("waiting"), "messages": [], "resume": resume})
        for resume in nonsense_answers("INTERRUPT", rng, 1500)
    )
    return [
        *changed(fresh),
        *changed(answered),
        *broken_json(as_json(answered), rng),
        *garbage(rng),
        *answers,
    ]


@requirement("ER-01", "ER-02", "ER-06", "LC-02", "EN-16", "RE-17", "RE-02", "FC-03")
async def test_thousands_of_wrong_requests_are_answered_and_change_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """ER-01, ER-06: wrong values everywhere, truncated, random, deep, huge, nonsense as answers."""
    caplog.set_level(logging.ERROR)
    counts: Counter[str] = Counter()
    bodies = sample(corpus(), of=FIFTH)
    for at in range(0, len(bodies), BATCH):
        async with served("memory", tmp_path) as server:
            interrupt = await waiting(server)
            sent = (
                body.replace(b"THREAD", b"t%d" % n).replace(b"INTERRUPT", interrupt.encode())
                for n, body in enumerate(bodies[at : at + BATCH])
            )
            await put(server, sent, counts)
            await still_answerable(server)
    assert caplog.records == []
    assert counts["refused"] + counts["taken"] >= ENOUGH, counts
    assert counts["refused"] > counts["taken"] > counts["changes"] > share(500, of=FIFTH), counts


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
MEMBERS = st.sampled_from([*valid("t", "i"), "thread_id", "resume", "unknown"])
BODIES = st.dictionaries(MEMBERS, ANYTHING, max_size=8).map(
    lambda members: as_json({"threadId": "t", "runId": "r", "messages": [], **members})
)


@requirement("ER-01", "FC-01", "FC-03")
@settings(
    max_examples=share(40, of=FIFTH),
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
)
@given(st.lists(BODIES | ANYTHING.map(as_json) | st.binary(max_size=50), min_size=10, max_size=30))
def test_any_json_and_any_bytes_are_answered(bodies: list[bytes]) -> None:
    """ER-01: the same promises for what no list of mistakes thought of."""

    async def scenario() -> None:
        with TemporaryDirectory() as folder:
            async with served("memory", Path(folder)) as server:
                await waiting(server)
                await put(server, bodies, Counter())
                await still_answerable(server)

    asyncio.run(scenario())
