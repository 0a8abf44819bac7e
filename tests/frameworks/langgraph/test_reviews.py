"""Calls that LangChain's middleware wants to be reviewed ask by cards, and keep the contract."""

from typing import Any

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware, wrap_tool_call
from langgraph.graph import START, MessagesState, StateGraph

from sayso import Sayso, approval
from sayso.langgraph import mount
from sayso.testing import Refused
from tests.frameworks.contract import Contract
from tests.frameworks.langgraph.conftest import Serve
from tests.frameworks.langgraph.test_contract import agent_of
from tests.frameworks.shop import Shop


def reviewed(shop: Shop, config: Any = True, *more: Any) -> Any:
    """The shop's agent, whose refunds LangChain's middleware asks about."""
    gate = HumanInTheLoopMiddleware(interrupt_on=dict.fromkeys(shop.policies, config))
    return agent_of(shop, middleware=[gate, *more])


def deciding(*decisions: str, **more: Any) -> Any:
    """The middleware's word on a tool: what may be decided about its calls."""
    return {"allowed_decisions": list(decisions), **more}


class TestContract(Contract):
    """The contract, with LangChain's reviews in place of policies."""

    commits_of_a_gated_trip = 4

    def mount(self, app: Sayso, shop: Shop) -> None:
        mount(app, "shop", reviewed(shop))


def test_a_card_may_be_edited_where_the_middleware_allows_it(serve: Serve) -> None:
    shop = Shop()
    config = deciding("approve", "reject", description="Above the daily limit.")
    with serve(reviewed(shop, config)) as talk:
        run = talk.say("refund A-17")
        (item,) = run.events[-1]["outcome"]["interrupts"]
        assert "editedArgs" not in item["responseSchema"]["properties"]
        assert "Above the daily limit." in item["message"]
        with pytest.raises(Refused, match="invalid_payload"):
            talk.answer({"approved": True, "editedArgs": {"order_id": "A-17", "amount": 1.0}})
        talk.question.approve()
        assert shop.effects == ["refund A-17 240"]
    with serve(reviewed(shop)) as talk:
        (item,) = talk.say("refund A-18").events[-1]["outcome"]["interrupts"]
        assert "editedArgs" in item["responseSchema"]["properties"]
        assert "Why:" not in item["message"]


def test_an_edit_is_held_against_rules_also_after_a_restart(serve: Serve) -> None:
    shop = Shop()
    limit = approval.deny(lambda amount: amount > 500, name="limit")
    with serve(reviewed(shop), approve={"issue_refund": limit}) as talk:
        talk.say("refund A-17")
        for restart in (False, True):
            if restart:
                talk.restart()
            with pytest.raises(Refused, match="invalid_payload"):
                talk.question.edit(amount=501.0)
        talk.question.edit(amount=500.0)
        assert shop.effects == ["refund A-17 500"]


def test_a_policy_for_the_same_tool_counts_besides_by_one_card(serve: Serve) -> None:
    shop = Shop()
    with serve(reviewed(shop), approve=shop.policies) as talk:
        talk.say("refund A-17")
        assert talk.question.approve().outcome == "success"
        assert shop.effects == ["refund A-17 240"]
    denied = {"issue_refund": approval.deny(lambda amount: True, name="no refunds")}
    with serve(reviewed(shop), approve=denied) as talk:
        assert talk.say("refund A-18").outcome == "success"
        assert shop.effects == ["refund A-17 240"]


def test_what_nobody_may_approve_stays_a_question_with_its_decisions(serve: Serve) -> None:
    shop = Shop()
    with serve(reviewed(shop, deciding("reject"))) as talk:
        talk.say("refund A-17 after status")
        assert talk.question.reason == "langgraph:tool_review"
        assert shop.effects == []
        talk.restart()
        run = talk.answer({"type": "reject", "message": "by hand, please"})
        assert "by hand, please" in run.text
        assert shop.effects == ["status A-17"]


def test_what_is_said_with_a_no_is_the_result_where_the_middleware_lets_people_respond(
    serve: Serve,
) -> None:
    shop = Shop()
    with serve(reviewed(shop, deciding("approve", "respond"))) as talk:
        talk.say("refund A-17")
        run = talk.question.deny("refunded by hand")
        assert run.text == "Done: refunded by hand"
        assert shop.effects == []


def test_a_call_that_comes_under_another_id_asks_all_the_same(serve: Serve) -> None:
    shop = Shop()

    @wrap_tool_call
    async def renumber(request: Any, handler: Any) -> Any:
        call = {**request.tool_call, "id": f"other {request.tool_call['id']}"}
        return await handler(request.override(tool_call=call))

    with serve(reviewed(shop, True, renumber), errors="return") as talk:
        assert talk.say("refund A-17").outcome == "interrupt"
        assert talk.question.reason == "tool_call"
        talk.restart()
        talk.question.deny("no")
        assert shop.effects == []


def test_reviews_of_an_agent_inside_a_graph_are_cards(serve: Serve) -> None:
    shop = Shop()
    builder = StateGraph(MessagesState)
    builder.add_node("clerk", reviewed(shop))
    builder.add_edge(START, "clerk")
    with serve(builder.compile(), subagents={"clerk"}) as talk:
        talk.say("refund A-17 and A-18")
        first, second = talk.questions
        assert {first.reason, second.reason} == {"tool_call"}
        first.approve()
        talk.restart()
        talk.question.deny("not this one")
        assert shop.effects == ["refund A-17 240"]
        assert "not this one" in talk.texts[-1]
