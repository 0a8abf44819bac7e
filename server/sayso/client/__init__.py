"""An async client of AG-UI 1.0: runs, answers to interrupts, threads that are opened again.

Needs httpx: the extra `client`, or `pip install httpx`. It is loaded with `Client`: what else is
here does without.
"""

from typing import TYPE_CHECKING, Any

from sayso.client.answers import CANCEL, is_expired
from sayso.client.errors import (
    Busy,
    ClientError,
    Expired,
    InvalidPayload,
    PartialAnswers,
    ProtocolViolation,
    RefusedByServer,
    SignInEnded,
    TooMany,
    Truncated,
    Unreachable,
)

if TYPE_CHECKING:
    from sayso.client.client import Client

__all__ = [
    "CANCEL",
    "Busy",
    "Client",
    "ClientError",
    "Expired",
    "InvalidPayload",
    "PartialAnswers",
    "ProtocolViolation",
    "RefusedByServer",
    "SignInEnded",
    "TooMany",
    "Truncated",
    "Unreachable",
    "is_expired",
]

if not TYPE_CHECKING:  # a checker would take any name for one of these

    def __getattr__(name: str) -> Any:
        """Load the client, which needs httpx, when it is asked for."""
        if name != "Client":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from sayso.client.client import Client  # noqa: PLC0415 - of an extra

        return Client
