"""The examples of approvals, decisions and stages, each run as its own page says it runs."""

from collections.abc import Iterator
from typing import Any

import pytest

from sayso.testing import Conversation
from tests.examples.loading import module_of

GO = {"approved": True}


@pytest.fixture
def agent(request: pytest.FixtureRequest) -> Iterator[Conversation]:
    """The example that the test names, with a person in front of it."""
    with Conversation(module_of(request.param).app) as served:
        yield served


def example(name: str) -> pytest.MarkDecorator:
    """For a test of one of the files."""
    return pytest.mark.parametrize("agent", [name], indirect=True)


@example("gated_shell")
def test_a_command_that_only_reads_runs_at_once(agent: Conversation) -> None:
    """V6: an allow list, and nothing to click away."""
    agent.say("echo hello")
    assert (agent.questions, agent.texts) == ([], ["hello"])


@example("gated_shell")
def test_a_command_that_does_more_is_read_changed_and_run(agent: Conversation) -> None:
    """J1, J3: what ran is what the reviewer wrote, and the agent is told so."""
    agent.say("echo hello; echo more")
    assert agent.question.args == {"command": "echo hello; echo more"}
    agent.restart()
    agent.question.edit(command="echo less")
    assert "less" in agent.texts[-1]
    assert "changed" in agent.texts[-1]
    assert agent.effects == ["shell"]


@example("gated_shell")
@pytest.mark.parametrize("command", ["sudo reboot", "echo 'open", "rm -rf /nothing"])
def test_a_command_that_nobody_wants_does_not_run(agent: Conversation, command: str) -> None:
    """Denied by the rule, or by a person, who is asked when the rule cannot tell."""
    agent.say(command)
    for question in agent.questions:
        question.deny("no")
    assert agent.texts[-1].startswith("I leave it.")
    assert agent.effects == []


@example("draft_edit_send")
def test_a_draft_goes_round_is_changed_and_sent_once(agent: Conversation) -> None:
    """Draft, edit, send: the note reaches the writer, the edit the mail."""
    agent.say("Ada")
    agent.answer({"action": "redraft", "note": "say when"})
    assert "say when" in agent.question.message
    agent.restart()
    agent.answer({"action": "send"})
    assert agent.question.tool == "send_mail"
    agent.question.edit(body="It comes on Monday.")
    assert "Sent to Ada: It comes on Monday." in agent.texts[-1]
    assert agent.effects == ["write", "write", "send_mail"]


@example("draft_edit_send")
def test_a_dropped_draft_is_not_sent(agent: Conversation) -> None:
    """Neither is one whose question was withdrawn."""
    agent.say("Ada")
    agent.answer({"action": "drop"})
    assert agent.texts[-1].startswith("Nothing was sent.")
    agent.say("Sam")
    agent.question.cancel()
    assert "Nothing was decided" in agent.texts[-1]
    assert agent.effects == ["write", "write"]


@example("multi_step_deploy")
def test_a_small_change_asks_once(agent: Conversation) -> None:
    """Conditional approval: staging goes by itself, production never does."""
    agent.say("deploy")
    assert agent.effects == ["inspect", "roll out"]
    agent.answer(GO)
    assert agent.texts == ["2.4.1 is on staging.", "2.4.1 is on production."]


@example("multi_step_deploy")
def test_a_large_change_of_the_database_asks_at_every_stage(agent: Conversation) -> None:
    """Multi-stage approval, a breakpoint before what cannot be undone, restarts in between."""
    agent.say("deploy the large database change")
    asked = []
    while agent.questions:
        asked.append(agent.question.message.split("?", maxsplit=1)[0])
        agent.restart()
        stops = agent.question.reason == "sayso:breakpoint"
        agent.answer({"action": "continue"} if stops else GO)
    assert asked == [
        "900 lines have changed. Put 2.4.1 on staging",
        "Put 2.4.1 on production",
        "It changes the database, for good. Really",
        "Breakpoint before step 'migrate'. Continue",
    ]
    assert agent.effects == ["inspect", "roll out", "migrate", "roll out"]


@example("multi_step_deploy")
def test_a_no_in_between_stops_there(agent: Conversation) -> None:
    """What was done before stays done; its reason is said."""
    agent.say("deploy")
    agent.answer({"approved": False, "note": "it is friday"})
    assert agent.texts[-1] == "Stopped: it is friday."
    assert agent.effects == ["inspect", "roll out"]


@example("multi_step_deploy")
def test_a_request_sets_breakpoints_of_its_own(agent: Conversation) -> None:
    """Design 3: as the example's page says, without touching the code."""
    breakpoints = {"sayso": {"breakpoints": {"after": ["roll out"]}}}
    agent.say("deploy", forwardedProps=breakpoints)
    assert agent.question.message == "Breakpoint after step 'roll out'. Continue?"
    assert agent.answer({"action": "stop"}).outcome == "cancelled"
    assert agent.effects == ["inspect", "roll out"]


@example("bulk_delete")
@pytest.mark.parametrize(
    ("answer", "said", "effects"),
    [
        ({"action": "all"}, "7 files deleted.", ["find", "delete"]),
        (
            {"action": "older", "params": {"than_days": 100}},
            "3 files deleted.",
            ["find", "delete"],
        ),
        ({"action": "trash"}, "7 files are in the trash for 30 days.", ["find", "stage"]),
        ({"action": "leave"}, "Nothing was deleted.", ["find"]),
    ],
)
def test_what_was_chosen_is_done_and_nothing_else(
    agent: Conversation, answer: Any, said: str, effects: list[str]
) -> None:
    """Design 3: options with consequences; one of them with params of its own."""
    agent.say("make room")
    assert agent.question.metadata["sayso"]["impact"] == {"files": 7, "reversible": False}
    agent.restart()
    agent.answer(answer)
    assert agent.texts[-1].startswith(said)
    assert agent.effects == effects


@example("clarify_first")
def test_a_clear_request_is_not_held_up(agent: Conversation) -> None:
    """Design 3: only what is unclear or large is asked about."""
    agent.say("close Sam")
    assert agent.texts == ["The account of Sam is closed."]


@example("clarify_first")
def test_an_unclear_request_is_asked_about_before_anything_happens(agent: Conversation) -> None:
    """Design 3: with scope and blast radius; then exactly what was meant."""
    agent.say("close Ada")
    told = agent.question.metadata["sayso"]
    assert (told["scope"], told["blastRadius"]["accounts"]) == ("Ada, Ada B.", 2)
    assert agent.effects == ["matching"]
    agent.answer({"action": "Ada B."})
    assert agent.texts == ["The account of Ada B. is closed."]


@example("clarify_first")
def test_a_clarification_that_says_none_does_nothing(agent: Conversation) -> None:
    """Silence is no answer either."""
    agent.say("close everyone")
    agent.answer({"action": "none"})
    assert agent.texts[-1].startswith("I closed nothing.")
    agent.say("close Zoe")
    agent.question.cancel()
    assert agent.texts[-1] == "I know nobody of that name, so I closed nothing."
    assert "close_account" not in agent.effects
