"""`sayso chat`: a thread on a terminal, or in a pipe, against the demo."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.ports import free_port
from tests.process.conftest import Sayso, Told
from tests.process.replicas import Serving
from tests.process.screen import Screen
from tests.server import DemoServer, until
from tests.sources import ROOT

Chat = Callable[..., Told]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    with DemoServer(tmp_path_factory.mktemp("chat"), watched=False) as server:
        yield server


@pytest.fixture
def chat(server: DemoServer, sayso: Sayso, monkeypatch: pytest.MonkeyPatch) -> Chat:
    """The command with these lines as its pipe."""

    def run(*lines: str, thread: str, options: tuple[str, ...] = ()) -> Told:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return sayso("chat", server.url, "--agent", "ops", "--thread", thread, *options)

    return run


def test_an_approval_is_shown_and_given(server: DemoServer, chat: Chat) -> None:
    """CL-01, CL-18: tool, arguments and message; `y`, and it is done once."""
    told = chat("refund", "maybe", "y", thread="yes")
    assert told.code == 0
    assert 'Approve issue_refund(order_id="A-17", amount=240.0)?' in told.out
    assert 'Arguments: {"order_id":"A-17","amount":240.0}' in told.out
    assert told.out.count("Approve this action? (y/n/e)") == 2
    assert "Type one of y, n, e, c." in told.out
    assert "Refunded 240.00 for order A-17." in told.out
    assert "\x1b" not in told.out
    assert len(server.kinds("yes")) == 1


def test_a_call_is_asked_about_with_why_and_with_what_hides_in_it(
    tmp_path: Path, sayso: Sayso, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Title, our reason, the agent's, the impact; what a choice runs; a rule by its name once.

    A sentence in letters that no terminal draws is spelled out wherever the call stands.
    """
    store = f"sqlite:///{tmp_path / 'janitor.db'}"
    path = f"{ROOT / 'server'}:{ROOT}"
    with Serving(
        tmp_path, "e2e.janitor:app", store=store, agent="janitor", PYTHONPATH=path
    ) as running:

        def run(*lines: str) -> str:
            monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
            return sayso("chat", running.url, "--agent", "janitor", "--thread", lines[0]).out

        deleting, paying, choosing = run("delete", "n", ""), run("pay", "y"), run("decide", "1", "")
        hiding = run("invoice", "n", "")
    for words in (
        "Delete 847 values of the archive\n",
        "It cannot be undone. It touches 847 files.\n",
        "The agent says: The disk of the archive is 97 % full",
        "Impact: files: 847; size: 2.1 GB; reversible: no\n",
    ):
        assert deleting.count(words) == 1
    assert "Asked by rule" not in deleting
    assert paying.count("large sums") == 1
    assert "all runs delete_files:" in choosing
    assert "executed: Deleted 847 files of the archive." in choosing
    assert not any(0xE0000 <= ord(letter) < 0xE0080 for letter in hiding)
    told = [line for line in hiding.splitlines() if "Invoice 12" in line]
    assert all("000e0061" in line or "udc61" in line for line in told), told
    assert len(told) == 3
    assert "Asked by rule" not in hiding


def test_arguments_are_edited_until_they_fit(server: DemoServer, chat: Chat) -> None:
    """TB-05, TB-11, CL-05: no JSON, a member missing, then what runs."""
    right = '{"order_id": "A-17", "amount": 5}'
    told = chat("refund", "e", "{", '{"order_id": "A-17"}', right, thread="edit")
    assert "This is not JSON." in told.out
    assert "/amount: is required" in told.out
    (effect,) = server.effects("edit")
    assert effect["args"]["amount"] == 5


def test_a_denial_has_a_reason_and_another_process_may_give_it(
    server: DemoServer, chat: Chat
) -> None:
    """CL-10: left at the question, opened again, denied; nothing ran."""
    left = chat("refund", thread="later")
    assert left.code == 1
    assert "It waits for your answer. Continue with: sayso chat" in left.err
    assert "--thread later" in left.err
    told = chat("n", "too late", thread="later")
    assert told.code == 0
    assert "> refund" in told.out
    assert "Not done: it was denied (too late)." in told.out
    assert server.kinds("later") == []


def test_a_cancelled_question_is_not_a_denial(server: DemoServer, chat: Chat) -> None:
    """TB-10: `c` approves nothing."""
    assert "the question was withdrawn" in chat("refund", "c", thread="cancel").out
    assert server.kinds("cancel") == []


def test_a_form_is_asked_field_by_field(server: DemoServer, chat: Chat) -> None:
    """CL-05: options by number, numbers by their type and limits, each asked again till it fits."""
    told = chat("quarterly", "9", "3", "1999", "2026", "much", "", "12.5", thread="form")
    assert "3. Q3" in told.out
    for word in ("from 1 to 4", "at least 2000", "Type a number.", "Required. Type a value."):
        assert word in told.out
    assert "Filed Q3 2026 with a revenue of 12.50." in told.out


def test_a_decision_is_chosen_by_its_number(server: DemoServer, chat: Chat) -> None:
    """Design 3: each option with its consequence; what is optional may stay empty."""
    told = chat("clean up", "2", "", thread="decision")
    assert "2. Delete only the temporary ones: 312 files are gone for good" in told.out
    assert "Deleted 312 files." in told.out


def test_several_questions_are_answered_in_a_row(server: DemoServer, chat: Chat) -> None:
    """CL-01, RE-16: one is approved, one denied, one cancelled, in one resume."""
    told = chat("email", "y", "n", "no", "c", thread="several")
    assert told.code == 0
    assert "Question 3 of 3" in told.out
    assert len(server.kinds("several")) == 1


def test_events_are_lines_of_json_and_all_else_is_aside(server: DemoServer, chat: Chat) -> None:
    """`--json`: stdout is for a program."""
    told = chat("refund", "y", thread="json", options=("--json",))
    events = [json.loads(line) for line in told.out.splitlines()]
    assert events[-1]["type"] == "RUN_FINISHED"
    # Opened again, said, answered.
    assert [event["type"] for event in events].count("RUN_STARTED") == 3
    assert "Approve this action? (y/n/e)" in told.err


def test_an_interrupted_chat_says_how_to_go_on(server: DemoServer, tmp_path: Path) -> None:
    """CL-13: Ctrl-C at a question answers nothing."""
    log = tmp_path / "out"
    with log.open("wb") as out:
        process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "sayso", "chat", f"{server.url}/agents/ops", "--thread", "int"],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "server"), "PYTHONUNBUFFERED": "1"},
        )
        assert process.stdin is not None
        with process.stdin as pipe:
            pipe.write(b"refund\n")
            pipe.flush()
            until("it asks", lambda: "(y/n/e)" in log.read_text())
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 130
    assert "It waits for your answer. Continue with: sayso chat" in log.read_text()
    assert server.kinds("int") == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nowhere",), "is not an address"),
        (("http://127.0.0.1:1",), "gave no answer"),
    ],
)
def test_an_address_that_is_none_is_said(
    sayso: Sayso, arguments: tuple[str, ...], told: str
) -> None:
    """Exit code 2, and what to write."""
    said = sayso("chat", *arguments)
    assert said.code == 2
    assert told in said.err


def test_a_server_that_is_not_there_is_said(sayso: Sayso, monkeypatch: pytest.MonkeyPatch) -> None:
    """CL-15: in one line, before anything is written."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("hello\n"))
    said = sayso("chat", f"http://127.0.0.1:{free_port()}/agents/ops")
    assert said.code == 2
    assert "gave no answer" in said.err
    assert "Traceback" not in said.err


def test_without_httpx_the_extra_is_named(sayso: Sayso, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client is an extra: who lacks it is told what to install."""
    for name in [name for name in sys.modules if name.startswith("sayso.client")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "httpx", None)
    said = sayso("chat", "http://127.0.0.1:1/agents/ops")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "pip install httpx" in said.err


@pytest.fixture
def on_screen(server: DemoServer) -> Iterator[Callable[..., Screen]]:
    """The command on a terminal of its own."""
    with ExitStack() as opened:
        yield lambda *options, **env: opened.enter_context(
            Screen(["chat", server.url, *options], **env)
        )


@pytest.mark.parametrize("no_color", ["", "1"])
def test_colours_are_for_terminals_that_want_them(
    on_screen: Callable[..., Screen], no_color: str
) -> None:
    """NO_COLOR, on a terminal that has colours; the only agent needs no name."""
    screen = on_screen(NO_COLOR=no_color)
    screen.until(">").line("refund").until("(y/n/e)").line("c").until("withdrawn").until("\n>")
    screen.keys("\x04")
    assert screen.ended() == 0
    assert ("\x1b[3" in screen.seen) is not bool(no_color)
    assert "\nContinue with: sayso chat" in screen.seen


def test_what_was_typed_before_a_question_is_no_answer_to_it(
    server: DemoServer, on_screen: Callable[..., Screen]
) -> None:
    """TB-10: a line too many, or a paste, approves nothing; through a pipe it was meant to."""
    screen = on_screen("--thread", "ahead")
    screen.until(">").keys("refund\ry\r").until("(y/n/e)").line("maybe").until("Type one of")
    assert server.kinds("ahead") == []
    screen.until("(y/n/e)").line("n").until("Reason").keys("\x03")
    assert screen.ended() == 130
    assert "It waits for your answer." in screen.seen
    assert server.kinds("ahead") == []


@pytest.mark.parametrize("terminal", ["xterm", "dumb"])
def test_an_interrupt_just_before_the_wait_for_a_line_is_not_lost(
    terminal: str, tmp_path: Path
) -> None:
    """Ctrl-C loses nothing, and is not lost: a question that was drawn a moment ago is left."""
    told = tmp_path / "told"
    os.mkfifo(told)
    with Screen([str(told)], program="tests.process.asking", TERM=terminal) as screen:
        screen.until("Name?")
        told.write_bytes(b"!")
        assert screen.ended() == 130


def test_a_secret_is_not_seen_while_it_is_typed() -> None:
    """Design 7: neither on the screen nor in its prompt, and no arrow key brings it back."""
    with Screen([], program="tests.process.hiding") as screen:
        screen.until("pin:").line("s3cret").until("6 characters")
        assert screen.ended() == 0
        assert "s3cret" not in screen.seen
        assert "0000" not in screen.seen


def test_who_leaves_before_the_first_word_is_told_how_to_come_back() -> None:
    """CL-13: the message may have arrived, and its run goes on."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(PATIENCE)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/agents/ops"
        with Screen(["chat", url]) as screen:
            connection, _ = silent.accept()
            with connection:  # it looks whether somebody is there
                assert connection.recv(1024)
                connection.sendall(b"HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n")
            screen.until(">").line("refund")
            connection, _ = silent.accept()
            with connection:
                assert connection.recv(64)
                screen.keys("\x03")
                assert screen.ended() == 130
            assert f"Continue with: sayso chat {url} --thread t-" in screen.seen


def test_arguments_are_edited_where_they_stand(
    server: DemoServer, on_screen: Callable[..., Screen]
) -> None:
    """TB-05: nobody has to type again what shall stay, in a narrow window either."""
    screen = on_screen("--agent", "ops", "--thread", "here", columns=60)
    screen.until(">").line("refund").until("(y/n/e)").line("e").until("(JSON)")
    if find_spec("readline") is None:  # a Python whose lines cannot be edited
        screen.line('{"order_id":"A-17","amount":99}')
    else:
        screen.until("240.0}").keys("\x7f" * 6).line("99}")
    screen.until("Refunded 99.00").until("\n>").keys("\x04")
    assert screen.ended() == 0
    (effect,) = server.effects("here")
    assert effect["args"] == {"order_id": "A-17", "amount": 99}


def test_a_stranger_is_told_which_agents_there_are(server: DemoServer, sayso: Sayso) -> None:
    """Before anything is written: an agent that is not there, and a way without one."""
    said = sayso("chat", f"{server.url}/agents/sales")
    assert (said.code, said.err.startswith(f"sayso: {server.url}/agents/sales is no agent")) == (
        2,
        True,
    )
    said = sayso("chat", server.url, "--agent", "sales")
    assert (said.code, said.err) == (2, f"sayso: {server.url} has no agent 'sales'; it has ops\n")


def test_a_reader_that_has_seen_enough_ends_it_quietly(server: DemoServer, tmp_path: Path) -> None:
    """`sayso chat … --json | head -1`: no stack, and the thread is as it is."""
    err = tmp_path / "err"
    with err.open("wb") as told:
        process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "sayso", "chat", server.url, "--thread", "head", "--json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=told,
            env={**os.environ, "PYTHONPATH": str(ROOT / "server")},
        )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin as pipe, process.stdout as lines:
        pipe.write(b"slow\n")
        pipe.flush()
        assert b"RUN_STARTED" in lines.readline()
    assert process.wait(PATIENCE) != 0
    assert "Traceback" not in err.read_text()
