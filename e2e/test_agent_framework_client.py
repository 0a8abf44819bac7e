"""Microsoft's Agent Framework as a client: it mints ids for most of what it holds.

`AGUIChatClient` keeps the ids of our texts and makes new ones for user messages, calls and results
in every request; it merges a text and the call behind it.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from uuid import uuid4

import pytest

from tests import plain
from tests.patience import PATIENCE
from tests.server import DemoServer
from tests.sources import ROOT

SCRIPT = ROOT / "tests" / "clients" / "minting.py"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DemoServer]:
    with DemoServer(tmp_path, watched=False) as started:
        yield started


def conversation(server: DemoServer, scenario: str) -> tuple[list[str], list[str], list[str]]:
    """What it got to read, what was done, and who spoke in the thread in turn."""
    python = os.environ.get("SAYSO_AGENT_FRAMEWORK_CLIENT")
    assert python, "run it by npm test -- agent-framework-client, which sets the client up"
    thread = f"af-{uuid4().hex[:8]}"
    ran = subprocess.run(
        [python, str(SCRIPT), server.url, scenario, thread],
        capture_output=True,
        text=True,
        timeout=PATIENCE * 4,
    )
    assert ran.returncode == 0, ran.stderr
    body = {"threadId": thread, "runId": "look", "messages": []}
    looked = plain.post(f"{server.url}/agents/ops/connect", json=body).text
    events = [json.loads(line[6:]) for line in looked.splitlines() if line.startswith("data: ")]
    (shown,) = (event["messages"] for event in events if event["type"] == "MESSAGES_SNAPSHOT")
    roles = [
        message["role"]
        for message in shown
        if message["role"] in ("user", "assistant") and message.get("content")
    ]
    turns = [role for role, _ in groupby(roles)]
    return json.loads(ran.stdout), server.kinds(thread), turns


def test_an_answer_with_the_last_message_alone_runs_the_call_once(server: DemoServer) -> None:
    """Its own text again, under another id, is no further turn."""
    _, done, roles = conversation(server, "alone")
    assert done == ["refund"]
    assert roles.count("user") == 1


def test_an_answer_with_the_history_runs_the_call_once(server: DemoServer) -> None:
    """And the next message is answered once, behind all that was said."""
    texts, done, roles = conversation(server, "history")
    assert done == ["refund"]
    assert texts[2]
    assert roles[0] == "user"
    assert roles[-2:] == ["user", "assistant"]
    assert roles.count("user") == 2


def test_a_session_of_three_messages_keeps_its_order(server: DemoServer) -> None:
    """The same text three times, each answered once."""
    texts, _, roles = conversation(server, "session")
    assert all(texts)
    assert roles == ["user", "assistant"] * 3


def test_a_tool_of_the_clients_own_is_called_once(server: DemoServer) -> None:
    """Its result comes under a new id in every request after it."""
    texts, done, roles = conversation(server, "local")
    assert done == ["meeting"]
    assert all(texts)
    assert roles.count("user") == 2
