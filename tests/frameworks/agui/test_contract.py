"""What every adapter keeps, with an agent that is a function of AG-UI events."""

from sayso import Sayso, Tool, approval
from sayso.agui import mount_events
from sayso.testing import Conversation
from tests.frameworks.agui.producers import shop_agent
from tests.frameworks.contract import Contract
from tests.frameworks.shop import Shop


def tools(shop: Shop) -> list[Tool[..., object]]:
    """The shop's two tools, one of which asks."""

    async def order_status(order_id: str) -> str:
        """Look an order up."""
        return shop.order_status(order_id)

    async def issue_refund(order_id: str, amount: float) -> str:
        """Refund an order."""
        return shop.issue_refund(order_id, amount)

    return [
        Tool(order_status),
        Tool(issue_refund, approval=approval.always, editable=True),
    ]


def served(shop: Shop) -> Sayso:
    """An app with the shop's agent."""
    app = Sayso(store="memory:")
    mount_events(app, "shop", shop_agent(shop), tools=tools(shop), again=True)
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
