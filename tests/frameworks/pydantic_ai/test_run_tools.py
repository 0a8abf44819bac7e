"""Tools that only a run knows: dynamic toolsets, wherever the thread goes on."""

from typing import Any

import pytest
from pydantic_ai import Agent, FunctionToolset, RunContext
from pydantic_ai.toolsets import DynamicToolset

from sayso import Sayso, approval
from sayso.testing import Conversation, Refused
from tests.frameworks.pydantic_ai.models import once
from tests.frameworks.pydantic_ai.served import app_of


def lending(effects: list[int], **options: Any) -> Agent[None, str]:
    """An agent that has its tool only while it runs."""

    def tools(ctx: RunContext[None]) -> FunctionToolset[None]:
        shelf: FunctionToolset[None] = FunctionToolset(id="shelf")

        @shelf.tool_plain(**options)
        def lend(books: int) -> str:
            """Lend books."""
            effects.append(books)
            return f"lent {books}"

        return shelf

    return Agent(
        once("lend", {"books": 2}), name="desk", toolsets=[DynamicToolset(tools, id="shelves")]
    )


def served(effects: list[int], **options: Any) -> Sayso:
    return app_of(lending(effects), **options)


def test_it_asks_by_the_app_s_default_and_runs_once() -> None:
    effects: list[int] = []
    app = served(effects).replace(default_approval=approval.always)
    with Conversation(app) as talk:
        assert talk.say("lend").outcome == "interrupt"
        assert (talk.question.tool, effects) == ("lend", [])
        talk.restart()
        assert talk.question.approve().text == "Done: lent 2"
    assert effects == [2]


@pytest.mark.parametrize("options", [{"approve": {"lend": approval.always}}, {}])
def test_edits_are_held_against_it_after_a_restart_of_other_code(options: Any) -> None:
    """The worker that gets the answer has never run the agent."""
    effects: list[int] = []

    def app() -> Sayso:
        return app_of(lending(effects, requires_approval=True), **options)

    with Conversation(app()) as talk:
        talk.say("lend")
        talk.restart(app())
        with pytest.raises(Refused, match="invalid_payload"):
            talk.question.edit(books="many")
        assert talk.question.edit(books=3).outcome == "success"
        assert "lent 3" in talk.texts[-1]
    assert effects == [3]


def test_a_policy_that_denies_counts_for_it_too() -> None:
    effects: list[int] = []
    policy = approval.all_of(
        approval.always, approval.deny(lambda books: books > 9, name="shelf limit")
    )
    with Conversation(served(effects, approve={"lend": policy})) as talk:
        talk.say("lend")
        talk.restart(served(effects, approve={"lend": policy}))
        with pytest.raises(Refused, match="invalid_payload"):
            talk.question.edit(books=10)
        talk.question.deny("closed")
        assert "closed" in talk.texts[-1]
    assert effects == []


def test_it_is_no_tool_of_the_app() -> None:
    effects: list[int] = []
    app = served(effects)
    with Conversation(app) as talk:
        assert talk.say("lend").text == "Done: lent 2"
    assert app.tools_of("desk") == ()
