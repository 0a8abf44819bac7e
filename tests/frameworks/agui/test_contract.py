"""What every adapter keeps, with an agent that is a function of AG-UI events."""

from sayso import Sayso, Tool
from sayso.agui import mount_events
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
