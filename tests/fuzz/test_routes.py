"""Wrong requests to every other route: each gets a problem, and changes nothing.

`SAYSO_FUZZ_SEED=7 SAYSO_FUZZ_EACH=1000` sends others, and more of them, than the suite does.
"""

import logging
import os
import random
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from sayso import CopilotKit
from tests.contract.requirements import requirement
from tests.contract.server import Server, eventually, served
from tests.contract.wire import Run
from tests.fuzz.bodies import WRONG, as_json, broken_json, changed, garbage, valid
from tests.fuzz.test_endpoint import BATCH, contents, still_answerable, waiting

SEED = int(os.environ.get("SAYSO_FUZZ_SEED", "2029"))
EACH = int(os.environ.get("SAYSO_FUZZ_EACH", "40"))
"""Bodies of each kind that a route gets."""

Request = tuple[str, str, bytes]
ANSWER = {"status": "resolved", "payload": {"approved": None}, "metadata": {"note": "x"}}
BODIES: dict[str, dict[str, Any]] = {
    "POST /interrupts/INTERRUPT/answer": ANSWER,
    "POST /interrupts/answers": {"answers": [{"interruptId": "INTERRUPT", **ANSWER}]},
    "POST /interrupts/INTERRUPT/extend": {"seconds": -60},
    "POST /interrupts/INTERRUPT/assign": {"to": 7},
    "POST /threads/waiting/fork": {"interruptId": "int_nope"},
    "POST /threads/waiting/restart": {"more": 1},
    "POST /threads/nobody/stop": {"by": "me"},
    "PATCH /threads/waiting/state": {"values": [{"seen": 1}]},
    "PATCH /threads/nobody/state": {"values": {"seen": 1}},
    "POST /copilotkit/agent/fuzzed/run": valid("waiting", "int_nope"),
    "POST /copilotkit/agent/fuzzed/connect": valid("t"),
    "POST /copilotkit/agent/fuzzed/stop/nobody": {},
    "POST /copilotkit": {
        "method": "agent/run",
        "params": {"agentId": "fuzzed"},
        "body": valid("waiting", "int_nope"),
    },
    "POST /agents/fuzzed?interrupts=both": valid("waiting", "int_nope"),
}
LISTS = {
    "/threads": ("agent", "status", "cursor", "limit"),
    "/interrupts": ("status", "agent", "threadId", "cursor", "limit", "assignedTo"),
    "/approvals": ("tool", "cursor", "limit"),
    "/audit": ("thread", "cursor", "limit", "kind"),
    "/threads/waiting": ("cursor", "limit"),
    "/threads/waiting/history": ("cursor", "limit"),
    "/threads/waiting/state": ("cursor",),
    "/agents": ("x",),
    "/agents/fuzzed/capabilities": ("x",),
    "/copilotkit/info": ("x",),
}
NOTHING = (
    "DELETE /threads/nobody",
    "DELETE /interrupts/INTERRUPT/answer",
    "DELETE /interrupts/int_nope/answer",
    "DELETE /approvals/apr_nope",
    "GET /interrupts/%00",
    "GET /threads/..%2F..%2Fetc",
    "GET /audit/nobody",
    "PUT /threads/waiting",
    "TRACE /agents",
)


def requests(rng: random.Random) -> Iterator[Request]:
    """Method, path and body: changed in every member, broken, random, and with odd questions."""
    for route, base in BODIES.items():
        method, _, path = route.partition(" ")
        broken = broken_json(as_json(base or {"more": [1, None, "x"]}), rng)
        bodies = [*changed(base), *broken, *garbage(rng)]
        for body in rng.sample(bodies, min(len(bodies), EACH)):
            yield method, path, body
    for path, names in LISTS.items():
        for name in names:
            for value in rng.choices(WRONG, k=max(1, EACH // 8)):
                written = quote(str(value).encode("utf-8", "surrogatepass"))
                yield "GET", f"{path}?{name}={written[:2_000]}&{name}=1", b""
    for route in NOTHING:
        method, _, path = route.partition(" ")
        yield method, path, b""


def judged(run: Run, asked: Request) -> None:
    """What holds for every answer, whatever was asked."""
    assert run.status < 500, f"{run.status} for {asked!r:.500}: {run.body[:300]!r}"
    if run.status >= 400:
        # CopilotKit's protocol has a form of its own for errors.
        name = "error" if asked[1].startswith("/copilotkit") else "code"
        assert run.json.get(name), f"{run.status} {run.body[:300]!r} for {asked!r:.500}"
    elif run.is_stream:
        last = run.last
        assert last["type"] in ("RUN_FINISHED", "RUN_ERROR"), asked
        assert last.get("code") not in ("agent_error", "internal_error"), asked


def refused(run: Run) -> bool:
    """Whether nothing may have come of it."""
    return run.status >= 400 or (run.is_stream and run.last["type"] == "RUN_ERROR")


async def at_rest(server: Server) -> bool:
    """Whether nothing goes on that a request began: the last answer of a set begins a run."""
    return server.app._engine._live.running() == 0


async def sent(server: Server, asked: list[Request], interrupt: str, counts: Counter[str]) -> None:
    """One after another, with a look at the store after each."""
    before = contents(server)
    for method, path, body in asked:
        at = path.replace("INTERRUPT", interrupt)
        path_, _, query = at.partition("?")
        given = body.replace(b"INTERRUPT", interrupt.encode())
        run = await server.request(method, f"{path_}?{query}" if query else path_, given).end()
        judged(run, (method, path, body))
        await eventually(partial(at_rest, server))
        after = contents(server)
        if refused(run) or method == "GET":
            assert after == before, (
                f"{run.status} {run.body[-300:]!r} changed the store: {(method, path, body)!r:.600}"
            )
        counts["refused" if refused(run) else "taken"] += 1
        before = after


@requirement("ER-01", "EN-16")
async def test_wrong_requests_to_every_route_are_answered_and_change_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """ER-01: threads, interrupts, approvals, audit, agents, CopilotKit in both transports."""
    caplog.set_level(logging.ERROR)
    counts: Counter[str] = Counter()
    rng = random.Random(SEED)  # noqa: S311 - nothing is kept secret with it
    every = list(requests(rng))
    rng.shuffle(every)
    for at in range(0, len(every), BATCH):
        async with served("memory", tmp_path) as server:
            server.app.mount(CopilotKit())
            interrupt = await waiting(server)
            await sent(server, every[at : at + BATCH], interrupt, counts)
            await still_answerable(server)
    assert caplog.records == []
    assert counts["refused"] > counts["taken"] > 20, counts
