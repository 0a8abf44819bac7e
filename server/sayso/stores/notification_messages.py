"""Hints on their way between processes: what is told, in as few and short messages as it takes."""

from collections.abc import Iterable
from typing import Final

import orjson

CHANNEL: Final = "sayso"
COALESCE_S: Final = 0.02
"""Seconds between two tellings at least."""
RETRY_PAUSES_S: Final = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds before connecting anew, by how often it failed in a row."""
MAX_QUEUED: Final = 10_000
"""Threads that are kept to be told of while nothing can be told; of more, that anything changed."""

_MAX_MESSAGE_BYTES: Final = 7_900
"""Bytes of a message; PostgreSQL takes less than 8,000."""

Changed = tuple[str, str]
"""Scope and thread id."""
ANYTHING: Final[Changed] = ("", "")


def to_messages(teller: str, changed: Iterable[Changed]) -> list[str]:
    """Messages that fit; of a thread whose name does not: that anything may have changed."""
    head = orjson.dumps([teller])[:-1]
    messages: list[str] = []
    body = head
    for one in changed:
        told = b"," + orjson.dumps(one)
        if one == ANYTHING or len(head) + len(told) >= _MAX_MESSAGE_BYTES:
            messages.append("null")
            continue
        if len(body) + len(told) >= _MAX_MESSAGE_BYTES:
            messages.append((body + b"]").decode())
            body = head
        body += told
    if body != head:
        messages.append((body + b"]").decode())
    return messages


def from_message(message: bytes) -> tuple[str | None, list[Changed] | None]:
    """Who tells, and of what; None twice for what cannot be read and so may mean anything."""
    try:
        teller, *told = orjson.loads(message)
        return str(teller), [(str(scope), str(thread_id)) for scope, thread_id in told]
    except (ValueError, TypeError):
        return None, None
