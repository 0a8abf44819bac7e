"""A conversation on a terminal with an agent that breaks off, refuses, or is answered elsewhere."""

import io
import sys
from collections.abc import Callable
from typing import Any
from uuid import UUID

import httpx
import pytest

from sayso.cli.chat.conversation import TerminalChat
from tests.client.agent import FINISHED, STARTED, Agent, Event, asking, run_of

ONE: Event = {"id": "i-1", "reason": "confirmation", "message": "Sure?"}
TWO: Event = {"id": "i-2", "reason": "confirmation", "message": "Really?"}
DONE: Event = {"id": "a-1", "role": "assistant", "content": "It is done."}
Talk = Callable[..., int]


def shows(*messages: Event) -> Event:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def said(message_id: str, *pieces: str) -> list[Event]:
    """The events of a message; without an end if there are no pieces."""
    begin = {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"}
    kind = {"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id}
    end = {"type": "TEXT_MESSAGE_END", "messageId": message_id}
    return [begin, *({**kind, "delta": piece} for piece in pieces), end]


@pytest.fixture
def agent() -> Agent:
    return Agent()


@pytest.fixture
def talk(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> Talk:
    """Talk with these lines, to the end of the pipe; gives the exit code."""

    def hold(*lines: str, reopen: bool = False) -> int:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        found = TerminalChat(agent.client, again="sayso chat …", events=False, waits=(0, 0, 0))
        return found.hold(reopen=reopen)

    return hold


def paths(agent: Agent) -> list[str]:
    """What was asked for: runs, and looks at the thread."""
    return [request.url.path.rpartition("/")[2] for request in agent.sent]


def test_a_run_that_breaks_off_is_followed_to_its_end(
    agent: Agent,
    talk: Talk,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """LC-16, CL-15: looked at again until the server is back; what came before is not repeated."""
    monkeypatch.setattr("sayso.cli.chat.conversation.uuid4", lambda: UUID(int=1))
    asked = {"id": f"m-{UUID(int=1).hex}", "role": "user", "content": "go"}
    agent.says(STARTED, *said("a-0", "I begin."), said("a-1", "It")[0])
    agent.answers.append(httpx.ConnectError("refused"))
    agent.body(b"", "text/plain", 502)
    first = {"id": "a-0", "role": "assistant", "content": "I begin."}
    agent.says(STARTED, shows(asked, first), *said("a-1", "It is", " done."), FINISHED)
    assert talk("go") == 0
    told = capsys.readouterr()
    assert paths(agent) == ["ops", "connect", "connect", "connect"]
    assert (told.out.count("I begin."), told.out.count("go")) == (1, 0)
    assert "It is done." in told.out
    assert "The connection was lost" in told.err


def test_a_server_that_stays_away_is_given_up(agent: Agent, talk: Talk) -> None:
    """After as many looks as there are; the thread can be opened again later."""
    agent.says(STARTED)
    agent.answers += [httpx.ConnectError("refused")] * 3
    assert talk("go") == 1
    assert len(agent.sent) == 4


def test_a_message_that_did_not_arrive_is_said_to_be_lost(
    agent: Agent, talk: Talk, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is sent twice by itself: it may have begun something."""
    agent.says(*run_of(*said("a-0", "Hello.")))
    agent.answers.append(httpx.ReadError("reset"))
    agent.says(STARTED, shows({"id": "a-0", "role": "assistant", "content": "Hello."}), FINISHED)
    assert talk("hi", "go") == 1
    told = capsys.readouterr().out
    assert "Not sent. Write it again." in told
    assert told.count("Hello.") == 1


def test_answers_that_did_not_arrive_are_sent_again_if_the_person_says_so(
    agent: Agent, talk: Talk, capsys: pytest.CaptureFixture[str]
) -> None:
    """CL-07: the same entries, after a look whether the questions are open."""
    agent.says(*asking(ONE))
    agent.says(STARTED)
    agent.says(*asking(ONE))
    agent.says(*run_of(*said("a-1", "It is done.")))
    assert talk("go", "y", "y") == 0
    first, last = (body["resume"] for body in agent.requests() if "resume" in body)
    assert first == last == [{"interruptId": "i-1", "status": "resolved", "payload": True}]
    assert "Send the answers again? (y/n)" in capsys.readouterr().out


def test_a_question_that_somebody_else_answered_is_not_asked_again(
    agent: Agent, talk: Talk, capsys: pytest.CaptureFixture[str]
) -> None:
    """Q4: the refusal says who was faster, the thread what became of it."""
    agent.says(*asking(ONE))
    agent.says(
        STARTED,
        {"type": "RUN_ERROR", "message": "ann has answered", "code": "already_resolved"},
    )
    agent.says(STARTED, shows(DONE), FINISHED)
    assert talk("go", "n") == 1
    told = capsys.readouterr().out
    assert "The agent failed: ann has answered (already_resolved)" in told
    assert told.count("Sure?") == 1
    assert "It is done." in told


def test_a_message_past_a_question_of_another_client_brings_the_question(
    agent: Agent, talk: Talk
) -> None:
    """E1: refused, looked at, asked, answered."""
    refusal = {"type": "RUN_ERROR", "message": "it waits", "code": "interrupts_pending"}
    agent.says(STARTED, refusal)
    agent.says(*asking(ONE))
    agent.says(*run_of(*said("a-1", "It is done.")))
    assert talk("go", "y") == 0
    assert agent.requests()[-1]["resume"][0]["interruptId"] == "i-1"


def test_without_a_way_to_look_the_same_questions_are_offered_again(
    agent: Agent, talk: Talk
) -> None:
    """CP-02: a server of another make may have no such path."""
    agent.says(*asking(ONE))
    agent.says(STARTED)
    agent.body(b"", "text/plain", 404)
    agent.says(*run_of())
    assert talk("go", "y", "y") == 0
    assert paths(agent) == ["ops", "ops", "connect", "ops"]


def test_messages_that_come_at_once_are_written_one_after_another(
    agent: Agent, talk: Talk, capsys: pytest.CaptureFixture[str]
) -> None:
    """TX: the first that began goes on; the others wait, whole ones before those that go on."""
    a, b, c = (said(name, f"{name}1 ", f"{name}2") for name in "abc")
    agent.says(
        *run_of(a[0], a[1], b[0], b[1], c[0], b[2], a[2], b[3], c[1], a[3], c[2], c[3]),
    )
    talk("go")
    assert "a1 a2\nb1 b2\nc1 c2\n" in capsys.readouterr().out


def test_a_thread_that_is_opened_shows_its_calls_and_results(
    agent: Agent, talk: Talk, capsys: pytest.CaptureFixture[str]
) -> None:
    """A4: as it was on the screen that began it; what is no text is named."""
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    picture = {"type": "image", "source": {"type": "url", "value": "https://x.test/a.png"}}
    agent.says(
        STARTED,
        shows(
            {"id": "u", "role": "user", "content": [{"type": "text", "text": "go"}, picture]},
            {"id": "a", "role": "assistant", "toolCalls": [call]},
            {"id": "t", "role": "tool", "toolCallId": "c", "content": "found"},
            DONE,
        ),
        FINISHED,
    )
    assert talk(reopen=True) == 0
    assert capsys.readouterr().out.startswith("> go (image)\n- look {}\n  found\nIt is done.\n")


@pytest.mark.parametrize(
    ("result", "told"),
    [("one two", "one two\nIt"), ("Error: broke", "one two\n  Error: broke\nIt")],
)
def test_what_a_tool_says_is_written_while_it_runs(
    agent: Agent, talk: Talk, capsys: pytest.CaptureFixture[str], result: str, told: str
) -> None:
    """Once: a result that is the same text is not told again, any other one is."""
    kind = {"messageId": "o", "activityType": "sayso:tool-output"}
    content = {"toolCallId": "c", "tool": "tail", "chunks": ["one"]}
    more = [{"op": "add", "path": "/chunks/-", "value": " two"}]
    agent.says(
        *run_of(
            {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "tail"},
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"},
            {"type": "TOOL_CALL_END", "toolCallId": "c"},
            {"type": "ACTIVITY_SNAPSHOT", **kind, "content": content},
            {"type": "ACTIVITY_DELTA", **kind, "patch": more},
            {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": result},
            *said("a", "It is done."),
        )
    )
    talk("go")
    assert f"- tail {{}}\n{told} is done.\n" in capsys.readouterr().out


@pytest.mark.parametrize("status", [401, 403, 404, 422])
def test_a_refusal_is_told_and_is_no_reason_to_look(
    agent: Agent, talk: Talk, capsys: pytest.CaptureFixture[str], status: int
) -> None:
    """ER-01: nothing was changed by it."""
    agent.body(b'{"code":"no","detail":"No."}', "application/problem+json", status)
    assert talk("go") == 1
    told = capsys.readouterr().err
    assert f"{status} no: No." in told
    assert ("--token" in told) is (status == 401)
    assert len(agent.sent) == 1


def test_the_time_of_a_question_may_run_out_while_it_is_answered(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """EX-02: no answer is sent; the thread is looked at instead, which has gone on."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("go\ny\nn\n"))
    agent.says(*asking({**ONE, "expiresAt": "2026-01-01T00:00:10Z"}))
    agent.says(STARTED, shows(DONE), FINISHED)
    found: Any = TerminalChat(agent.client, again="", events=False, waits=(0,))
    times = iter([0, 0, 10_000])
    start = 1_767_225_600_000

    monkeypatch.setattr(agent.client, "now", lambda: start + next(times, 10_000))
    assert found.hold(reopen=False) == 0
    told = capsys.readouterr().out
    assert "10 seconds left" in told
    assert "This question has expired" in told
    assert "It is done." in told
    assert paths(agent) == ["ops", "connect"]
