"""The protocol's conformance suite for consumers, by the names of its streams (version 1.0).

Each name has either a fact, which `test_conformance` holds the client to with events of our own,
or the reason why it binds no consumer of 1.0. `streams.txt` lists the names; table and list are
held against each other in both directions.
"""

from typing import Final

from tests.client.conformance.fact import UNTOLD, Fact
from tests.client.conformance.rejected import REJECTED
from tests.client.conformance.taken import TAKEN

__all__ = ["FACTS", "NOT_BINDING", "UNTOLD", "Fact"]

FACTS: Final = {**REJECTED, **TAKEN}

_SHIM: Final = "a downgrade for peers before 1.0 is allowed, not asked for: this client has none"
NOT_BINDING: Final[dict[str, str]] = {
    "era-0-0-39-flattens-content": _SHIM,
    "era-0-0-45-thinking-translated": (
        "a translation of retired events is allowed, not asked for: they are unknown events here, "
        "left out with a warning as `unknown-event-dropped` asks"
    ),
    "era-0-0-47-upgrades-binary-content": (
        "it pins a peer, which this client cannot; that the retired part is sent as media is held "
        "by `era-current-peer-keeps-modern-content`"
    ),
    "era-0-0-57-subagent-dropped-with-warning": _SHIM,
    "era-pinned-peer-omits-protocol-version": _SHIM,
    "unknown-enum-value-role-fatal": (
        "its own text calls it a gap that no other client is held to; ours refuses the role too, "
        "see `test_streams`"
    ),
}
