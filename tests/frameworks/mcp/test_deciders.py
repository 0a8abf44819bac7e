"""Who answers what a server asks in a call: those who decided about it, as its record says."""

import json
from typing import Any

import pytest

from sayso import AesGcm, Principal, approval
from sayso.frameworks.mcp import including
from sayso.testing import Conversation, Refused
from tests.frameworks.mcp.shop import PIN, app_of, legacy, losing

LEAD = approval.always(by="lead")
ANSWER = {"reason": "broken"}


def lead(talk: Conversation) -> Any:
    """Lea, who leads."""
    return talk.as_(Principal(subject="lea", roles=["lead"]))


def approvers(talk: Conversation) -> list[str]:
    """The roles that the question is for; none for its owner."""
    told: Any = talk.question.metadata.get("sayso", {}).get("approvers", {"by": []})
    return list(told["by"])


@pytest.mark.parametrize(
    "policy",
    [
        {"refund": LEAD},
        LEAD,
        approval.Policy(deny=["delete_*"], ask=[approval.calls("refund", by="lead")]),
        approval.Policy(ask=[approval.calls("pay", by="cfo"), approval.calls("refund", by="lead")]),
        approval.by_effect(by="lead"),
    ],
    ids=["named", "always", "others denied", "others asked", "by effect"],
)
def test_what_a_server_asks_is_for_those_who_have_approved_the_call(
    url: str, effects: list[str], policy: Any
) -> None:
    """It acts on their word, and whoever wants the call made does not say what it does."""
    with Conversation(app_of(url, approve=policy)) as talk:
        talk.say("refund")
        lea = lead(talk)
        lea.question.approve()
        assert approvers(talk) == ["lead"]
        with pytest.raises(Refused, match="not_an_approver"):
            talk.answer({"reason": "mine"})
        talk.restart()
        assert effects == []
        lea.question.answer(ANSWER)
        assert effects == ["refund A-17 240 broken"]


def test_what_it_asks_is_for_those_whom_the_rule_of_a_call_asked(
    url: str, effects: list[str]
) -> None:
    app = app_of(url, approve=approval.never, rule=LEAD)
    with Conversation(app) as talk:
        talk.say("refund")
        lead(talk).question.approve()
        assert approvers(talk) == ["lead"]
        lead(talk).question.answer(ANSWER)
        assert effects == ["refund A-17 240 broken"]


def test_what_it_asks_is_for_those_whom_the_default_of_the_app_asked(url: str) -> None:
    app = app_of(url, of_app={"default_approval": LEAD})
    with Conversation(app) as talk:
        talk.say("inspect")
        lead(talk).question.approve()
        assert approvers(talk) == ["lead"]
        lead(talk).question.answer(ANSWER)
        assert talk.texts == ["A-17 is paid, broken"]


def test_what_it_asks_is_for_the_owner_where_no_others_were_asked(url: str) -> None:
    """A rule for others that did not speak about the call has no say in it."""
    policy = approval.all_of(
        approval.always, approval.when(lambda amount: amount > 1000, by="cfo", name="large")
    )
    with Conversation(app_of(url, approve={"refund": policy})) as talk:
        talk.say("refund")
        talk.question.approve()
        assert approvers(talk) == []
        assert talk.answer(ANSWER).result == {"order": "A-17", "amount": 240.0}


@pytest.mark.parametrize("how", ["cancelled", "message"])
@pytest.mark.parametrize("tool", ["label", "sign"])
def test_what_others_answer_is_not_answered_by_taking_it_back(
    url: str, tool: str, how: str
) -> None:
    """The server would go on with it as with their no."""
    with Conversation(app_of(legacy(url), approve=LEAD)) as talk:
        talk.say(tool)
        lead(talk).question.approve()
        if how == "cancelled":
            talk.question.cancel()
        else:
            talk.say("draw")
        assert talk.results[0] == "Failed: a question of server was taken back"


@pytest.mark.parametrize(("tool", "told"), [("label", "decline None"), ("sign", "decline")])
def test_an_owner_who_takes_a_question_back_has_declined_it(url: str, tool: str, told: str) -> None:
    with Conversation(app_of(legacy(url))) as talk:
        talk.say(tool)
        talk.question.approve()
        talk.question.cancel()
        assert talk.results == [told]


def test_what_came_of_a_round_is_theirs_to_say_who_approved_the_call(
    url: str, effects: list[str]
) -> None:
    with Conversation(app_of(losing(url, OSError("reset")), approve=LEAD)) as talk:
        talk.say("destroy")
        lead(talk).question.approve()
        assert talk.question.reason == "sayso:indeterminate"
        assert approvers(talk) == ["lead"]
        done = {"action": "skip", "result": "it is gone"}
        with pytest.raises(Refused, match="not_an_approver"):
            talk.question.answer(done)
        lead(talk).question.answer(done)
        assert talk.texts == ["it is gone"]
        assert len(effects) == 1


def test_a_url_that_a_release_before_has_asked_for_is_answered_as_it_was_asked(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its record is read as it was then: in a form, by yes or no."""
    go = including._Round.go

    async def before(self: including._Round) -> Any:
        record = await go(self)
        if record.pop("elsewhere", None):
            record["requests"] = {key: json.loads(key) for key in record["requests"]}
        return record

    with Conversation(app_of(legacy(url))) as talk:
        talk.say("sign")
        monkeypatch.setattr(including._Round, "go", before)
        talk.question.approve()
        monkeypatch.undo()
        assert talk.question.reason == "mcp:elicitation"
        assert talk.question.schema == {"type": "boolean"}
        assert "Have you done this there?" in talk.question.message
        talk.restart()
        assert talk.answer(True).text == "accept"


@pytest.mark.parametrize("breaks", [False, True])
def test_no_question_about_a_call_shows_a_secret_of_it(
    url: str, effects: list[str], breaks: bool
) -> None:
    """The server alone has it."""
    sealed = {"codec": AesGcm({"1": b"k" * 32})}
    way: Any = losing(url, OSError("reset")) if breaks else url
    with Conversation(app_of(way, of_app=sealed)) as talk:
        talk.say("pair")
        talk.question.approve()
        question = talk.question
        about = question.metadata["sayso" if breaks else "mcp"]
        assert about["arguments"] == {"order_id": "A-17", "pin": "(not shown)"}
        assert PIN not in f"{question.message} {question.metadata}"
        if breaks:
            return
        assert talk.answer(ANSWER).text == "paired: broken"
        assert effects == [f"pair A-17 {PIN}"]
