"""What every adapter keeps, with an agent of Strands."""

from sayso import Sayso
from sayso.strands import mount
from sayso.testing import Conversation
from tests.frameworks.contract import Contract
from tests.frameworks.shop import Shop
from tests.frameworks.strands.models import agent_of


class TestContract(Contract):
    """The contract's tests."""

    def mount(self, app: Sayso, shop: Shop) -> None:
        mount(app, "shop", lambda turn: agent_of(shop), approve=shop.policies)


def test_a_gated_trip_takes_no_more_than_six_commits() -> None:
    app = Sayso(store="memory:")
    TestContract().mount(app, Shop())
    with Conversation(app) as talk:
        talk.say("refund A-17")
        talk.question.approve()
        assert talk._world is not None
        calls = talk._world._window.calls
    assert sum(call.point == "commit" for call in calls) <= 6
