"""What every adapter keeps, with an agent of Strands."""

from sayso import Sayso
from sayso.strands import mount
from tests.frameworks.contract import Contract
from tests.frameworks.shop import Shop
from tests.frameworks.strands.models import agent_of


class TestContract(Contract):
    """The contract's tests."""

    def mount(self, app: Sayso, shop: Shop) -> None:
        mount(app, "shop", lambda turn: agent_of(shop), approve=shop.policies)
