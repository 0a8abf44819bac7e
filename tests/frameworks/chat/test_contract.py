"""What every adapter keeps, with a model behind `turn.chat`."""

from sayso import Sayso
from tests.frameworks.chat.served import mount_chat
from tests.frameworks.contract import Contract
from tests.frameworks.shop import Shop


class TestContract(Contract):
    """The contract's tests."""

    def mount(self, app: Sayso, shop: Shop) -> None:
        mount_chat(app, shop)
