"""A shop on a real server: its effects are in a file, and one of its tools dies after its own.

`SAYSO_TEST_DATA` names the folder.
"""

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from tests.frameworks.shop import Reply, Said, Shop

DEADLY = "A-99"
"""The order whose refund kills the server."""
LAST_WORDS = "die"
"""What a user says for the model to kill the server, once."""


def folder() -> Path:
    """Where the effects are."""
    return Path(os.environ["SAYSO_TEST_DATA"])


def die() -> NoReturn:
    """End this process at once."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a killed process went on")


def write(line: str) -> None:
    """Note an effect where it is found after a death."""
    with (folder() / "effects").open("a") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())


class Ledger(Shop):
    """A shop whose effects outlive the process."""

    def order_status(self, order_id: str) -> str:
        """Look an order up."""
        write(f"status {order_id}")
        return f"{order_id} is paid"

    def issue_refund(self, order_id: str, amount: float) -> str:
        """Refund an order."""
        write(f"refund {order_id} {amount:g}")
        if order_id == DEADLY:
            die()
        return f"refunded {amount:.2f} for {order_id}"

    def reply(self, conversation: Sequence[Said]) -> Reply:
        """Answer as a shop does; asked to die, the model does so the first time."""
        if conversation[-1].text == LAST_WORDS:
            before = folder() / "died"
            if not before.exists():
                before.touch()
                die()
        return super().reply(conversation)
