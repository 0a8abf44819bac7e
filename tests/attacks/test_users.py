"""What one user can do to the others, on real processes: runs, streams, tools, sizes, replicas."""

import subprocess
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import orjson

from tests.attacks.served import Attacked, attacked
from tests.server import run_input, until
from tests.sources import ROOT

YES = {"status": "resolved", "payload": {"approved": True}}


def test_one_user_at_all_limits_leaves_others_their_share_and_can_still_answer(
    tmp_path: Path,
) -> None:
    """Slow tools in more threads than there are, sixty runs, fifty streams."""
    with attacked(tmp_path, "--behind-proxy") as server, ExitStack() as stack:
        asked = server.ask("ann", "question")

        def opened(method: str, path: str, body: object = None) -> int:
            answer = server.opened("ann", method, path, body)
            return stack.enter_context(answer).status_code

        with server.probed():
            runs = [
                opened("POST", "/agents/naps", run_input(f"nap-{n}", text="go")) for n in range(60)
            ]
            streams = [opened("GET", "/interrupts/stream") for n in range(50)]
            assert (runs.count(200), runs.count(429)) == (20, 40)
            assert (streams.count(200), streams.count(429)) == (20, 30)
            server.hello("lea")  # a synchronous tool, while half of the threads sleep
            given = server.post("ann", f"/interrupts/{asked}/answer", YES)
            assert given.status_code == 200
            assert server.post("ann", "/threads/nap-0/stop", {}).status_code == 200


def test_what_is_too_large_leaves_nothing_behind(tmp_path: Path) -> None:
    """A state and the metadata of an answer, of megabytes each, and sixty thousand answers."""
    with attacked(tmp_path) as server, server.probed():
        asked = server.ask("ann", "t")
        before = _stored(tmp_path)
        long = "z" * 3_900_000
        many = [{"interruptId": f"i{n}", "status": "cancelled"} for n in range(60_000)]
        for path, body in (
            ("/agents/hello", run_input("new", text="hi", state={"s": long})),
            (f"/interrupts/{asked}/answer", {"status": "cancelled", "metadata": {"m": long}}),
            ("/interrupts/answers", {"answers": many}),
        ):
            answer = server.post("ann", path, body)
            assert answer.status_code == 422
            assert len(answer.content) < 20_000
        assert _stored(tmp_path) - before < 200_000
        server.hello("lea")


def test_two_replicas_keep_one_quota_of_what_is_stored(tmp_path: Path) -> None:
    """They refuse alike, once each has looked again; an answer is taken all the same."""
    store = ("--store", f"sqlite:///{tmp_path / 'both.db'}")
    folders = tmp_path / "one", tmp_path / "two"
    for folder in folders:
        folder.mkdir()
    with (
        attacked(folders[0], *store, THREADS="3") as here,
        attacked(folders[1], *store, THREADS="3") as there,
    ):
        asked = [server.ask("ann", f"t-{n}") for n, server in enumerate((here, here, there))]
        for server in (here, there):
            until("the server has looked again", partial(_is_full, server))
            late = server.post("ann", "/agents/hello", run_input("late", text="hi"))
            assert (late.status_code, late.json()["limit"]) == (429, "threads")
            assert late.headers["retry-after"] == "10"
        assert there.post("ann", f"/interrupts/{asked[0]}/answer", YES).status_code == 200
        here.hello("lea")


def test_one_user_at_his_limits_costs_another_s_runs_twice_as_much_at_most() -> None:
    """By the server's CPU, which other work of the machine does not change; see `bench`."""
    command = [sys.executable, "bench/neighbours.py", "--rounds", "1", "--runs", "40"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)  # noqa: S603 - ours
    measured = orjson.loads(told.stdout)
    assert measured["ann"]["runs refused"] == 56
    assert measured["ann"]["streams refused"] == 280
    assert measured["ratios"]["cpu"] < 2.0


def _stored(folder: Path) -> int:
    """The bytes of a database and of what is written ahead of it."""
    return sum(file.stat().st_size for file in folder.glob("attacked.db*"))


def _is_full(server: Attacked) -> bool:
    """Whether ann may make no further thread there."""
    return server.post("ann", "/threads/t-0/fork", {"interruptId": "none"}).status_code == 429
