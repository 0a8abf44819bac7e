"""A clerk that dies at each of its commits, before and after it: no effect comes twice."""

import logging
from collections import Counter
from typing import Any, Literal

import pytest

from sayso.testing import FakeCall, FakeReply, FakeRequest
from tests.models.shop import Shop, every_client, shop, talk

CALLS = [
    FakeCall("order_status", {"order_id": "A-17"}),
    FakeCall("issue_refund", {"order_id": "A-17", "amount": 240.0}),
    FakeCall("issue_refund", {"order_id": "A-18", "amount": 20.0}),
]
EXPECTED = ["refund A-17 240", "refund A-18 20", "status A-17"]


def clerk(request: FakeRequest) -> FakeReply:
    """A model that makes three calls at once and says what came of them."""
    if request.results:
        return FakeReply("Done: " + " | ".join(request.results))
    return FakeReply("Let me see.", CALLS)


def answered(made: Shop, question: Any) -> Any:
    """The answer of somebody who looks before they say that it was done."""
    if question.reason != "sayso:indeterminate":
        return {"approved": True}
    ours = question.metadata["sayso"]
    name, order = ours["name"], ours["arguments"]["order_id"]
    was = any(e.split()[:2] == [name.split("_")[-1], order] for e in made.effects)
    return {"action": "skip", "result": "it was done"} if was else {"action": "run_again"}


def live_through(made: Shop, n: int, when: Literal["before", "after"]) -> bool:
    """Die at the n-th commit, and go on until the turn is over; False if there is no such one."""
    with talk(made, replays=False) as agent:
        window = agent._opened()._window
        fault = window.fail("commit", n=n, when=when, hook=window.disconnect)
        agent.say("refund both")
        for _ in range(12):
            if agent._opened().dead:
                agent.restart()
                agent.advance(30)
                if agent.status is None:
                    agent.say("refund both")
            elif agent.questions:
                for question in agent.questions:
                    question.answer(answered(made, question))
            else:
                break
        assert agent.status == "finished", (n, when)
        said = [(m["id"], m.get("content")) for m in agent.messages if m["role"] == "assistant"]
        assert [text for _, text in said if text] == [
            "Let me see.",
            "Done: " + " | ".join(agent.results),
        ]
        for result in agent.results:
            assert any(word in result for word in ("paid", "refunded", "it was done")), result
    return bool(fault.fired)


@every_client
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_death_at_any_commit_repeats_no_effect_and_no_text(
    client: str, when: Literal["before", "after"]
) -> None:
    logging.disable(logging.CRITICAL)
    try:
        with shop(client, clerk) as made:
            n = 1
            while live_through(made, n, when):
                assert Counter(made.effects) == Counter(EXPECTED), (n, when)
                made.effects.clear()
                n += 1
            assert n > 4
    finally:
        logging.disable(logging.NOTSET)
