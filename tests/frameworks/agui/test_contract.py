"""What every adapter keeps, with an agent that is a function of AG-UI events."""

from sayso import Sayso, Tool
from sayso.agui import mount_events
from sayso.testing import Conversation
from tests.frameworks.agui.producers import shop_agent
from tests.frameworks.contract import Contract
from tests.frameworks.shop import Shop


def tools(shop: Shop) -> list[Tool[..., str]]:
    """The shop's tools, in threads, as it has them."""
    return [
        Tool(function, approval=shop.policies[name], editable=True)
        if name in shop.policies
        else Tool(function)
        for name, function in zip(shop.offers, shop.tools, strict=True)
    ]


class TestContract(Contract):
    """The contract's tests."""

    def mount(self, app: Sayso, shop: Shop) -> None:
        mount_events(app, "shop", shop_agent(shop), tools=tools(shop), again=True)


def test_a_gated_trip_takes_no_more_than_six_commits() -> None:
    app = Sayso(store="memory:")
    TestContract().mount(app, Shop())
    with Conversation(app) as talk:
        talk.say("refund A-17")
        talk.question.approve()
        assert talk._world is not None
        calls = talk._world._window.calls
    assert sum(call.point == "commit" for call in calls) <= 6
