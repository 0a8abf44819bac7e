"""Tools of an MCP server over HTTP: gated, asked about, run once, whatever dies in between."""

from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

from sayso import DeclarationError, approval
from sayso.testing import Conversation
from tests.frameworks.mcp.shop import (
    PNG,
    REFUND,
    app_of,
    legacy,
    listening,
    losing,
    picture,
    server_of,
)


def test_hints_say_what_asks_and_what_a_tool_does(url: str) -> None:
    app = app_of(url)
    with Conversation(app) as talk:
        assert talk.say("status").outcome == "success"
        assert talk.texts == ["A-17 is paid"]
        for name in ("refund", "label", "destroy"):
            with Conversation(app, thread=name) as other:
                assert other.say(name).outcome == "interrupt", name
                effect = other.question.metadata["sayso"]["effect"]
                assert effect == {"label": "write"}.get(name, "irreversible"), name


@pytest.mark.parametrize(
    ("approve", "asks"),
    [
        (approval.never, set()),
        (approval.always, {"status", "destroy"}),
        ({"destroy": approval.never, "st*": approval.always}, {"status"}),
        ({"destroy": approval.never}, set()),
    ],
)
def test_policies_go_before_hints(url: str, approve: Any, asks: set[str]) -> None:
    app = app_of(url, approve=approve)
    for name in ("status", "destroy"):
        with Conversation(app, thread=name) as talk:
            expected = "interrupt" if name in asks else "success"
            assert talk.say(name).outcome == expected, name


def test_tools_may_be_left_out_and_named_otherwise(url: str) -> None:
    with Conversation(app_of(url, only=["status"], prefix="shop_"), errors="return") as talk:
        assert talk.say("shop_status").outcome == "success"
        assert talk.say("shop_draw").outcome == "agent_error"


@pytest.mark.parametrize(
    ("options", "says_so"),
    [
        ({"only": ["statsu"]}, "did you mean 'status'"),
        ({"approve": {"refnd": approval.always}}, "did you mean 'refund'"),
        ({"approve": {"refund": True}}, "takes policies"),
    ],
)
def test_a_name_that_the_server_lacks_stops_the_start(url: str, options: Any, says_so: str) -> None:
    with pytest.raises(DeclarationError, match=says_so), Conversation(app_of(url, **options)):
        pass


def test_a_server_that_is_not_there_stops_the_start() -> None:
    with listening(server_of([])) as port:
        url = f"http://127.0.0.1:{port}/mcp"
    wrong = f"127.0.0.1:{port} cannot be listed"
    with pytest.raises(DeclarationError, match=wrong), Conversation(app_of(url)):
        pass


# What a server asks


def test_an_approval_then_a_question_of_the_server_days_and_restarts_later(
    url: str, effects: list[str]
) -> None:
    with Conversation(app_of(url)) as talk:
        talk.say("refund")
        assert talk.question.args == REFUND
        talk.restart()
        assert talk.question.edit(amount=20.0).outcome == "interrupt"
        question = talk.question
        assert (question.reason, question.message) == ("mcp:elicitation", "Why refund A-17?")
        assert set(question.schema["properties"]) == {"reason", "notify"}
        assert question.metadata["mcp"]["arguments"] == {**REFUND, "amount": 20.0}
        talk.restart()
        talk.advance(3 * 24 * 3600)
        assert effects == []
        run = talk.answer({"reason": "broken"})
        assert run.result == {"order": "A-17", "amount": 20.0}
        assert effects == ["refund A-17 20 broken"]


@pytest.mark.parametrize("how", ["cancelled", "expired"])
def test_a_question_that_nobody_answers_is_told_to_the_server(
    url: str, effects: list[str], how: str
) -> None:
    with Conversation(app_of(url, expires_in=60)) as talk:
        talk.say("refund")
        talk.question.approve()
        if how == "cancelled":
            talk.question.cancel()
        else:
            talk.advance(61)
        assert talk.status == "finished"
        (result,) = talk.results
        assert result.startswith("Failed: ")
        assert effects == []


def test_a_question_in_a_running_call_of_the_older_protocol(url: str, effects: list[str]) -> None:
    """One that may be made again is given up, and made once the question is answered."""
    with Conversation(app_of(legacy(url))) as talk:
        talk.say("label")
        talk.question.approve()
        assert talk.question.message == "Which label?"
        talk.restart()
        talk.answer({"reason": "fragile"})
        assert talk.texts == ["accept fragile"]
        assert effects.count("label A-17") >= 1


def test_a_call_of_the_older_protocol_that_must_not_be_repeated_is_declined(
    url: str, effects: list[str]
) -> None:
    with Conversation(app_of(legacy(url))) as talk:
        talk.say("destroy")
        talk.question.approve()
        assert talk.texts == ["decline"]
        assert effects == ["destroy A-17: decline"]


@pytest.mark.parametrize(("says", "told"), [("done", "accept"), ("deny", "decline")])
def test_a_url_is_told_and_never_followed(url: str, says: str, told: str) -> None:
    with Conversation(app_of(legacy(url))) as talk:
        talk.say("sign")
        talk.question.approve()
        question = talk.question
        assert question.reason == "sayso:elsewhere"
        told_of = question.metadata["sayso"]
        assert (told_of["host"], told_of["url"]) == ("sign.example", "https://sign.example/1")
        assert question.metadata["mcp"]["tool"] == "sign"
        talk.restart()
        talk.answer({"action": says})
        assert talk.texts == [told]


def test_nobody_is_sent_to_an_address_of_a_server_that_hides_where_it_leads(url: str) -> None:
    with Conversation(app_of(legacy(url))) as talk:
        talk.say("lure")
        talk.question.approve()
        (result,) = talk.results
        assert result.startswith("Failed: ")
        assert "an address that is not taken here" in result
        assert "evil.example" not in result


@pytest.mark.parametrize("protocol", ["new", "legacy"])
def test_no_form_of_a_server_takes_a_secret(url: str, effects: list[str], protocol: str) -> None:
    """The protocol forbids it; what a server asks elsewhere is not typed here."""
    name = "unlock" if protocol == "new" else "login"
    with Conversation(app_of(legacy(url) if protocol == "legacy" else url)) as talk:
        talk.say(name)
        talk.question.approve()
        assert talk.questions == []
        assert effects in ([], ["login: decline"])


# What comes of a call


def test_pictures_reach_clients(url: str) -> None:
    with Conversation(app_of(url)) as talk:
        talk.say("draw")
        (result,) = [m for m in talk.messages if m["role"] == "tool"]
        text, image = result["content"]
        assert (text["text"], image["type"], picture(image)) == ("A-17:", "image", PNG)


def test_a_failure_is_told_in_the_words_of_the_server(url: str) -> None:
    with Conversation(app_of(url)) as talk:
        talk.say("lose")
        (result,) = talk.results
        assert result.startswith("Failed: ")
        assert "A-17 is lost" in result


def test_a_server_that_is_gone_did_not_begin_the_call(effects: list[str]) -> None:
    with listening(server_of(effects)) as port:
        app = app_of(f"http://127.0.0.1:{port}/mcp")
        talk = Conversation(app).__enter__()
        talk.say("refund")
    run = talk.question.approve()
    assert "the call did not begin" in run.text
    talk.__exit__(None, None, None)
    assert effects == []


@pytest.mark.parametrize(
    "error",
    [
        MCPError(CONNECTION_CLOSED, "closed"),
        MCPError(REQUEST_TIMEOUT, "late"),
        OSError("http://u:hunter2@h"),
    ],
    ids=["closed", "late", "reset"],
)
def test_a_person_is_asked_where_the_answer_of_a_call_is_lost(
    url: str, effects: list[str], error: Exception
) -> None:
    """Nobody knows what came of it: not the model, which would call it once more."""
    with Conversation(app_of(losing(url, error))) as talk:
        talk.say("destroy")
        run = talk.question.approve()
        assert run.outcome == "interrupt"
        assert talk.question.reason == "sayso:indeterminate"
        assert "the connection broke before the server answered" in talk.question.message
        assert "hunter2" not in talk.question.message, "what an error says is the log's alone"
        talk.restart()
        run = talk.question.answer({"action": "skip", "result": "it is gone"})
        assert run.text == "it is gone"
        assert effects == ["destroy A-17: decline"]
        talk.say("status")
        assert "the connection broke" in talk.results[-1], "a mere look is told to the model"


def test_a_server_that_has_lost_its_state_or_its_tool_fails_the_call(
    effects: list[str],
) -> None:
    for changed in ({"keys": [b"x" * 32]}, {"poor": True}):
        with listening(server_of(effects)) as port:
            talk = Conversation(app_of(f"http://127.0.0.1:{port}/mcp")).__enter__()
            talk.say("refund")
            talk.question.approve()
        with listening(server_of(effects, **changed), port):
            run = talk.answer({"reason": "broken"})
            assert run.text.startswith("Failed: "), changed
            talk.__exit__(None, None, None)
    assert effects == []
