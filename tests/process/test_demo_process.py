"""`sayso demo` as real processes on a real file: killed, restarted, doubled and stopped."""

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests import plain
from tests.patience import PATIENCE
from tests.process.replicas import Replica
from tests.server import DemoServer, Event, cancelled, interrupts, is_running, resolved, until


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DemoServer]:
    with DemoServer(tmp_path) as running:
        yield running


def replicas(folder: Path, count: int) -> list[Replica]:
    """Servers on one store whose slow work can be held, not started yet."""
    store, data = f"sqlite:///{folder / 'demo.db'}", folder / "data"
    return [Replica(folder, store=store, data=data) for _ in range(count)]


def results(events: list[Event]) -> dict[str, str]:
    return {e["toolCallId"]: e["content"] for e in events if e["type"] == "TOOL_CALL_RESULT"}


def lose_the_stream(server: DemoServer, thread_id: str, text: str) -> None:
    """Say something that the server dies of."""
    with pytest.raises(httpx.TransportError), server.stream(thread_id, text=text) as events:
        for _ in events:
            pass


def test_approvals_outlive_the_servers_that_asked(server: DemoServer) -> None:
    """The spine: one mail approved, one denied with a reason, one withdrawn, kill -9 in between."""
    first, second, third = interrupts(server.run("t-1", text="email"))
    server.kill_worker()
    server.wait_healthy()
    assert interrupts(server.connect("t-1")) == [first, second, third]
    server.restart()
    assert interrupts(server.connect("t-1")) == [first, second, third]
    answers = [
        resolved(first, {"approved": True}),
        resolved(second, {"approved": False, "reason": "not now"}),
        cancelled(third),
    ]
    events = server.run("t-1", resume=answers)
    assert events[-1]["type"] == "RUN_FINISHED"
    by_call = results(events)
    assert by_call[first["toolCallId"]] == "Sent to ada@example.com."
    assert "not now" in by_call[second["toolCallId"]]
    assert "cancelled" in by_call[third["toolCallId"]]
    server.restart()
    again = server.run("t-1", resume=answers)
    assert again[-1]["type"] == "RUN_FINISHED"
    (effect,) = server.effects()
    assert (effect["kind"], effect["threadId"]) == ("email", "t-1")
    assert effect["args"]["to"] == "ada@example.com"
    messages = [e["messages"] for e in again if e["type"] == "MESSAGES_SNAPSHOT"][-1]
    told = {m["toolCallId"]: m["content"] for m in messages if m["role"] == "tool"}
    assert told == by_call


def test_a_killed_worker_is_replaced_under_the_same_command(server: DemoServer) -> None:
    """Design 9: the port never goes away, and a line says what happened."""
    before = server.worker
    server.kill_worker()
    server.wait_healthy()
    assert server.worker != before
    assert "The server was killed by SIGKILL; starting another one." in server.output()
    assert "Traceback" not in server.output()


def test_a_worker_does_not_outlive_its_command(server: DemoServer) -> None:
    """What kills the command kills the server: the port is free for the next one."""
    worker = server.worker
    server.kill()
    assert not is_running(worker)
    server.start()
    assert server.worker != worker


def test_a_crash_between_doing_and_noting_is_a_persons_decision(server: DemoServer) -> None:
    """Design 3, rule 5, and 9: asked by itself, and each action does what it says."""
    threads = ("again", "skipped", "stopped")
    for thread in threads:
        lose_the_stream(server, thread, "crash")
        server.wait_healthy()
    questions = {thread: interrupts(server.connect(thread))[0] for thread in threads}
    for question in questions.values():
        assert question["reason"] == "sayso:indeterminate"
        actions = question["responseSchema"]["properties"]["action"]["oneOf"]
        assert [action["const"] for action in actions] == ["run_again", "skip", "stop"]
    assert server.kinds() == ["charge"] * 3

    events = server.run("again", resume=[resolved(questions["again"], {"action": "run_again"})])
    assert events[-1]["outcome"] == {"type": "success"}
    assert server.kinds("again") == ["charge", "charge"]

    answer = resolved(questions["skipped"], {"action": "skip", "result": "Receipt 17."})
    events = server.run("skipped", resume=[answer])
    assert events[-1]["outcome"] == {"type": "success"}
    assert "".join(e.get("delta", "") for e in events) == "Receipt 17."
    assert server.kinds("skipped") == ["charge"]

    events = server.run("stopped", resume=[resolved(questions["stopped"], {"action": "stop"})])
    assert events[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
    assert not [event for event in events if event["type"] == "TEXT_MESSAGE_START"]
    assert server.kinds("stopped") == ["charge"]
    assert server.run("stopped", text="hello")[-1]["outcome"] == {"type": "success"}


def test_slow_work_that_a_kill_interrupts_is_done_once(tmp_path: Path) -> None:
    """Design 3, rule 5: the tools' `verify=` hook tells that it happened; nobody is asked."""
    (server,) = replicas(tmp_path, 1)
    with server:
        server.hold()
        with pytest.raises(httpx.TransportError), server.stream("t-1", text="slow") as events:
            until("the slow work has begun", lambda: server.kinds() == ["slow"])
            server.kill_worker()
            list(events)
        server.release()
        server.wait_healthy()
        events_after = server.connect("t-1")
        assert events_after[-1]["outcome"] == {"type": "success"}
        shown = [e["messages"] for e in server.connect("t-1") if e["type"] == "MESSAGES_SNAPSHOT"]
        assert shown[-1][-1]["content"] == "The search index is rebuilt."
        assert server.kinds() == ["slow"]


def test_one_server_answers_what_another_asked(server: DemoServer, tmp_path: Path) -> None:
    """Design 6 and 9: replicas on one store share threads, ledger and sandbox."""
    with DemoServer(tmp_path, store=server.store, data=server.data) as other:
        (question,) = interrupts(server.run("t-1", text="refund"))
        assert interrupts(other.connect("t-1")) == [question]
        answer = resolved(question, {"approved": True})
        assert other.run("t-1", resume=[answer])[-1]["outcome"] == {"type": "success"}
        assert server.run("t-1", resume=[answer])[-1]["outcome"] == {"type": "success"}
        assert server.kinds() == other.kinds() == ["refund"]
        differing = server.run("t-1", resume=[resolved(question, {"approved": False})])[-1]
        assert differing["code"] == "already_resolved"


def test_one_server_goes_on_with_what_another_left(tmp_path: Path) -> None:
    """A dead server's turn is taken over, client or no client, by whoever shares the store."""
    servers = replicas(tmp_path, 2)
    with servers[0] as server, servers[1] as other:
        server.hold()
        (question,) = interrupts(server.run("t-1", text="slow refund"))
        resume = [resolved(question, {"approved": True})]
        with pytest.raises(httpx.TransportError), server.stream("t-1", resume=resume) as events:
            until("the slow work has begun", lambda: server.kinds() == ["refund", "slow"])
            server.kill()
            list(events)
        server.release()
        assert other.connect("t-1")[-1]["outcome"] == {"type": "success"}
        assert other.kinds() == ["refund", "slow"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stopped_server_lets_short_work_end(server: DemoServer, number: signal.Signals) -> None:
    """TR-17: the stream ends with a terminal event, the process with 0, and nothing is lost."""
    with server.stream("t-1", text="slow") as events:
        seen = [next(events)]
        server.process.send_signal(number)
        seen += events
    assert seen[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
    assert server.process.wait(PATIENCE) == 0
    assert not Path(server.folder, "demo.db-wal").exists(), "it was killed in the end"
    assert "Traceback" not in server.output()
    assert "Stopping" in server.output()


def test_a_reader_of_another_servers_run_gets_its_last_event_too(tmp_path: Path) -> None:
    """TR-17: `shutting_down` to who only watches; the run itself goes on where it is."""
    servers = replicas(tmp_path, 2)
    with servers[0] as server, servers[1] as other:
        server.hold()
        with server.stream("t-1", text="slow") as events:
            next(events)
            with other.stream("t-1", path="/connect") as watched:
                seen = [next(watched)]
                other.process.terminate()
                seen += watched
            assert seen[-1]["code"] == "shutting_down"
            server.release()
            assert list(events)[-1]["outcome"] == {"type": "success"}


def test_a_terminal_that_interrupts_the_whole_group_stops_it_in_order(server: DemoServer) -> None:
    """Ctrl-C, and a supervisor that signals every process it finds."""
    os.kill(server.worker, signal.SIGTERM)
    assert server.stop(signal.SIGINT) == 0
    assert "Traceback" not in server.output()


def test_a_server_whose_output_nobody_reads_comes_back_and_stops(tmp_path: Path) -> None:
    """A closed terminal, `sayso demo | head`: neither a crash nor the wish to stop gets lost."""
    reader, writer = os.pipe()
    os.close(reader)
    server = DemoServer(tmp_path)
    server.spawn(output=writer)
    os.close(writer)
    try:
        server.wait_healthy()
        before = server.worker
        server.kill_worker()
        server.wait_healthy()
        assert server.worker != before
        assert server.stop(signal.SIGHUP) == 0
    finally:
        server.process.kill()


def test_two_servers_do_not_share_a_port(server: DemoServer, tmp_path: Path) -> None:
    """One line that says what to do, and exit code 2; the first goes on."""
    (folder := tmp_path / "second").mkdir()
    second = DemoServer(folder, port=server.port)
    second.spawn()
    assert second.process.wait(PATIENCE) == 2
    assert second.output().count("\n") == 1
    assert "in use" in second.output()
    assert plain.get(f"{server.url}/healthz", timeout=PATIENCE).status_code == 200


def test_questions_expire_as_the_command_says(tmp_path: Path) -> None:
    """Design 9: `--expires-in` for `deploy`; the turn ends without anybody."""
    with DemoServer(tmp_path, options=["--expires-in", "0.5"]) as server:
        (question,) = interrupts(server.run("t-1", text="deploy"))
        assert question["expiresAt"].endswith("Z")

        def over() -> bool:
            return server.connect("t-1")[-1].get("outcome") == {"type": "success"}

        until("the deployment has expired", over)
        assert server.kinds() == []


def test_silence_is_filled_as_often_as_the_command_says(tmp_path: Path) -> None:
    """Design 5: comments while a step of three seconds says nothing."""
    with DemoServer(tmp_path, options=["--keepalive", "0.3"]) as server:
        url = f"{server.url}/agents/ops"
        body = {
            "threadId": "t-1",
            "runId": "r-1",
            "messages": [{"id": "m-1", "role": "user", "content": "slow"}],
        }
        began = time.monotonic()
        text = plain.post(url, json=body, timeout=PATIENCE).text
        took = time.monotonic() - began
        assert 2 <= sum(line.startswith(":") for line in text.split("\n")) <= took / 0.3


def test_pages_of_named_origins_alone_may_call(tmp_path: Path) -> None:
    """Design 7: `--cors`, as often as there are origins."""
    one, two = "https://app.example.org", "http://localhost:5173"
    with DemoServer(tmp_path, options=["--cors", one, "--cors", two]) as server:
        url = f"{server.url}/agents"
        for origin in (one, two):
            answer = plain.get(url, headers={"origin": origin}, timeout=PATIENCE)
            assert answer.headers["access-control-allow-origin"] == origin
        assert (
            plain.get(url, headers={"origin": "https://evil.example"}, timeout=PATIENCE).status_code
            == 403
        )


def test_a_store_in_memory_leaves_nothing_behind(tmp_path: Path) -> None:
    """`memory:` lies nowhere, so the ledger beside it goes when the server does."""
    with DemoServer(tmp_path, store="memory:") as server:
        server.run("t-1", text="slow")
        assert server.kinds() == ["slow"]
        (data,) = re.findall(r"data +(\S+)", server.output())
        assert Path(data, "ledger.db").is_file()
        server.stop()
        assert not Path(data).exists()
    assert [path.name for path in tmp_path.iterdir()] == [server.log.name]


def test_data_lie_beside_the_store(tmp_path: Path) -> None:
    """Design 9: by default, and for a relative store below the working folder."""
    with DemoServer(tmp_path, store="sqlite:///mine.db") as server:
        server.run("t-1", text="clean up")
        assert (tmp_path / "mine.db").is_file()
        assert (tmp_path / "mine-data" / "ledger.db").is_file()
        assert (tmp_path / "mine-data" / "sandbox").is_dir()


def test_a_database_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    """A store that cannot be opened is one line and exit code 2, and nothing is changed."""
    (tmp_path / "notes.db").write_text("my notes, all of them: " + "x" * 2000)
    server = DemoServer(tmp_path, store="sqlite:///notes.db")
    with pytest.raises(AssertionError, match="is not an SQLite database"):
        server.start()
    assert server.process.wait(PATIENCE) == 2
    assert server.output().count("\n") == 1
    assert (tmp_path / "notes.db").read_text().startswith("my notes")
