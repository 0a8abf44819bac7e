"""What every adapter keeps, with an agent of Agent Framework."""

from sayso import Sayso
from sayso.agent_framework import mount
from tests.frameworks.agent_framework.models import agent_of
from tests.frameworks.contract import Contract
from tests.frameworks.shop import Shop


class TestContract(Contract):
    """The contract's tests."""

    def mount(self, app: Sayso, shop: Shop) -> None:
        mount(app, "shop", agent_of(shop))
