"""What `sayso chat` offers of a question: what its person may do, and nothing else."""

import io
import sys
from typing import Any

import pytest

from sayso.cli.chat.questions import LookAgain, ask_person
from sayso.cli.chat.terminal import Terminal
from sayso.client.answers import CANCEL, Answer
from sayso.schemas.responses import done_elsewhere, indeterminate_schema

WAITING = {
    "roles": ["lead", "finance"],
    "need": {"lead": 1, "finance": 1},
    "missing": {"lead": 0, "finance": 1},
    "agreed": [{"by": "lea", "roles": ["lead"]}],
}


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Has somebody type these lines."""

    def lines_of(*lines: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return lines_of


@pytest.fixture
def asked(typing: Any) -> Any:
    """Puts a question to somebody who types these lines."""

    def ask(sayso: dict[str, Any], *lines: str) -> Answer:
        typing(*lines)
        interrupt = {
            "id": "int_1",
            "reason": "tool_call",
            "message": "Pay?",
            "metadata": {"sayso": sayso},
        }
        return ask_person(interrupt, None, Terminal(), lambda: 0)

    return ask


def test_a_question_for_others_is_only_withdrawn(
    asked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says for whom it waits and who has agreed; `y` is none of the answers."""
    sayso = {"may": ["cancel"], "waitsFor": WAITING}
    assert asked(sayso, "y", "w") is CANCEL
    told = capsys.readouterr().out
    assert "Waits for the role finance; approved by lea." in told
    assert "Approve this action?" not in told
    assert "Type one of l, w." in told


def test_who_asked_is_told_that_another_decides(
    asked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    waiting = {"roles": ["lead"], "missing": 1, "you": "requester"}
    assert asked({"may": ["cancel"], "waitsFor": waiting}, "w") is CANCEL
    assert "Waits for the role lead, not you, since you asked." in capsys.readouterr().out


def test_a_sign_in_that_is_too_old_is_told(asked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is asked that would be refused."""
    assert asked({"may": ["signIn", "cancel"]}, "w") is CANCEL
    told = capsys.readouterr().out
    assert "Sign in again to answer this." in told
    assert "Approve this action?" not in told


def test_too_few_approvers_are_told(asked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    unfilled = "The directory knows too few people who may answer this."
    assert asked({"may": ["cancel"], "unfilled": unfilled}, "w") is CANCEL
    assert unfilled in capsys.readouterr().out


def test_what_may_not_be_withdrawn_either_is_only_looked_at(asked: Any) -> None:
    """The person sees how the thread stands instead."""
    with pytest.raises(LookAgain):
        asked({"may": [], "waitsFor": {"roles": ["lead"], "missing": 1}}, "w", "l")


def test_a_server_that_says_nothing_takes_an_answer(asked: Any) -> None:
    """So it is with any other server."""
    assert asked({}, "y") is True


def unclear(result: dict[str, Any], *, optional: bool = False, **more: Any) -> dict[str, Any]:
    """A question about a charge that may have happened."""
    told = {"kind": "indeterminate", "name": "charge", "key": "key_1", **more}
    return {
        "id": "int_1",
        "reason": "sayso:indeterminate",
        "message": "Step 'charge' was running when the server stopped. Look at the bank.",
        "metadata": {"sayso": told},
        "responseSchema": indeterminate_schema(result, optional=optional),
    }


def test_an_unclear_effect_is_told_by_what_was_called_and_when(
    typing: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was really called with, not what was announced; no result is asked for to stop."""
    item = unclear(
        {"type": "string"},
        arguments={"order": "A-17", "amount": 240.5},
        startedAt="2026-05-01T10:00:00Z",
    )
    announced = {"function": {"name": "charge", "arguments": '{"order": "B-4"}'}}
    typing("3")
    assert ask_person(item, announced, Terminal(), lambda: 0) == {"action": "stop"}
    told = capsys.readouterr().out
    for line in (
        "Look at the bank.",
        "Called: charge",
        'order: "A-17"',
        "amount: 240.5",
        "Started: 2026-05-01T10:00:00Z",
        "Call key: key_1",
        "It happened: Continue with the result given here.",
    ):
        assert line in told
    assert "B-4" not in told
    assert "Result to continue with" not in told


@pytest.mark.parametrize(
    ("result", "lines", "answer"),
    [
        ({"type": "string"}, ("2", "", "paid"), {"action": "skip", "result": "paid"}),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            ("2", "", "n"),
            {"action": "skip", "result": None},
        ),
        ({}, ("2", "y", "12"), {"action": "skip", "result": 12}),
        ({}, ("1",), {"action": "run_again"}),
    ],
    ids=["text", "text or none", "anything", "again"],
)
def test_a_skipped_effect_has_a_result_or_is_said_to_have_none(
    typing: Any, result: dict[str, Any], lines: tuple[str, ...], answer: Answer
) -> None:
    """An empty line is neither."""
    typing(*lines)
    assert ask_person(unclear(result), None, Terminal(), lambda: 0) == answer


def test_an_effect_without_results_is_skipped_without_one(typing: Any) -> None:
    """A step that returns None: there is nothing to say."""
    typing("2")
    item = unclear({"type": "null"}, optional=True)
    assert ask_person(item, None, Terminal(), lambda: 0) == {"action": "skip"}


def elsewhere(url: str) -> dict[str, Any]:
    about = {"kind": "elsewhere", "url": url, "host": "bank.example", "text": "Sign in."}
    return {
        "id": "int_1",
        "reason": "sayso:elsewhere",
        "message": f"Sign in.\n\nThis is done at bank.example, and not here: {url}",
        "metadata": {"sayso": about},
        "responseSchema": done_elsewhere().schema,
    }


def test_what_is_done_elsewhere_is_answered_by_a_number(
    typing: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The host is the address's own, whatever a server says beside it."""
    typing("hunter2", "1")
    item = elsewhere("https://evil.example/bank.example")
    assert ask_person(item, None, Terminal(), lambda: 0) == {"action": "done"}
    told = capsys.readouterr().out
    assert "This is done at evil.example, and not here. Type no password here." in told
    assert "Open: https://evil.example/bank.example" in told


def test_an_address_that_hides_where_it_leads_is_no_link(
    typing: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    typing("2")
    item = elsewhere("https://bank.example@evil.example/")
    assert ask_person(item, None, Terminal(), lambda: 0) == {"action": "deny"}
    assert "Open:" not in capsys.readouterr().out
