"""An agent on a real server, with effects in a file: one of its tools dies after its effect.

`sayso serve tests.frameworks.pydantic_ai.mortal:app`; `SAYSO_TEST_DATA` names the folder.
"""

import os
import signal
from pathlib import Path

from sayso import Sayso, ServerOptions
from sayso.pydantic_ai import mount
from tests.frameworks.pydantic_ai.models import agent_of
from tests.frameworks.shop import Shop

FOLDER = Path(os.environ["SAYSO_TEST_DATA"])
DEADLY = "A-99"


class Ledger(Shop):
    """A shop whose effects, and requests to whose model, outlive the process."""

    def order_status(self, order_id: str) -> str:
        """Look an order up."""
        self.write(f"status {order_id}")
        return f"{order_id} is paid"

    def issue_refund(self, order_id: str, amount: float) -> str:
        """Refund an order."""
        self.write(f"refund {order_id} {amount:g}")
        if order_id == DEADLY:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"refunded {amount:.2f} for {order_id}"

    def write(self, line: str) -> None:
        """Note an effect where it is found after a death."""
        with (FOLDER / "effects").open("a") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())


app = Sayso(store="memory:", server=ServerOptions(lease=3.0, console=False))
mount(app, "shop", agent_of(Ledger()))
