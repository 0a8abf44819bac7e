"""A server of tools that is a process of its own, by both protocols."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

from mcp import StdioServerParameters
from mcp.client.client import Client

from sayso import Sayso, Turn, mcp
from sayso.testing import Conversation
from tests.sources import ROOT


def server(folder: Path) -> StdioServerParameters:
    """The command."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "tests.frameworks.mcp.stdio", str(folder / "effects")],
        env={"PYTHONPATH": f"{ROOT}/server:{ROOT}"},
    )


def done(folder: Path) -> list[str]:
    """The effects so far."""
    path = folder / "effects"
    return path.read_text().splitlines() if path.exists() else []


def app_of(server: Any) -> Sayso:
    """An app whose agent calls the tool that a person names first, for the order named next."""
    app = Sayso(store="memory:", on_start=[mcp.include(server)])

    @app.agent("shop")
    async def shop(turn: Turn) -> None:
        tool, order = turn.input.text.split()
        amount = {"amount": 240.0} if tool == "refund" else {}
        await turn.say(str(await turn.call(tool, {"order_id": order, **amount})))

    return app


def test_a_question_between_two_rounds_is_answered_to_another_process(tmp_path: Path) -> None:
    with Conversation(app_of(server(tmp_path))) as talk:
        assert talk.say("status A-17").text == "A-17 is paid"
        talk.say("refund A-17")
        talk.question.approve()
        assert talk.question.message == "Why refund A-17?"
        talk.restart()
        assert talk.answer({"reason": "broken"}).outcome == "success"
        assert done(tmp_path) == ["status A-17", "refund A-17 240 broken"]


def test_a_question_in_a_running_call_is_answered_to_another_process(tmp_path: Path) -> None:
    with Conversation(app_of(partial(Client, server(tmp_path), mode="legacy"))) as talk:
        assert talk.say("status A-17").text == "A-17 is paid"
        talk.say("label A-17")
        talk.question.approve()
        assert talk.question.message == "Which label?"
        talk.restart()
        assert talk.answer({"reason": "fragile"}).text == "accept fragile"
        assert set(done(tmp_path)) == {"status A-17", "label A-17"}


def test_a_process_that_dies_in_a_call_leaves_its_outcome_to_a_person(tmp_path: Path) -> None:
    with Conversation(app_of(partial(Client, server(tmp_path), mode="legacy"))) as talk:
        talk.say("destroy A-99")
        assert talk.question.approve().outcome == "interrupt"
        assert talk.question.reason == "sayso:indeterminate"
        talk.restart()
        assert talk.question.answer({"action": "skip", "result": "gone"}).text == "gone"
        assert done(tmp_path) == ["destroy A-99: decline"]
