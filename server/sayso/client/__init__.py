"""An async client of AG-UI 1.0: runs, answers to interrupts, threads that are opened again.

Needs httpx: the extra `client`, or `pip install httpx`.
"""

from sayso.client.answers import CANCEL, is_expired
from sayso.client.client import Client
from sayso.client.errors import (
    Busy,
    ClientError,
    Expired,
    InvalidPayload,
    PartialAnswers,
    ProtocolViolation,
    RefusedByServer,
    Truncated,
    Unreachable,
)

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
    "Truncated",
    "Unreachable",
    "is_expired",
]
