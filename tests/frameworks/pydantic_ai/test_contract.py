"""What every adapter keeps, with an agent of Pydantic AI."""

from sayso import Sayso
from sayso.pydantic_ai import mount
from sayso.testing import Conversation
from tests.frameworks.contract import Contract
from tests.frameworks.pydantic_ai.models import agent_of
from tests.frameworks.shop import Shop


def served(shop: Shop) -> Sayso:
    """An app with the shop's agent."""
    app = Sayso(store="memory:")
    mount(app, "shop", agent_of(shop))
    return app


class TestContract(Contract):
    """The contract's tests."""

    def app(self, shop: Shop) -> Sayso:
        return served(shop)


def test_a_gated_trip_takes_no_more_than_six_commits() -> None:
    with Conversation(served(Shop())) as talk:
        talk.say("refund A-17")
        talk.question.approve()
        assert talk._world is not None
        calls = talk._world._window.calls
    assert sum(call.point == "commit" for call in calls) <= 6
