"""Reading streams in tests: bounded waits, whole bodies, their events."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from sayso.protocol.client_profile import ClientProfile
from sayso.streams.reader import Reader
from sayso.streams.stream import RunStream
from tests.patience import PATIENCE
from tests.stream_checker import events_of

__all__ = [
    "MIB",
    "NEW",
    "OLD",
    "attached",
    "body_of",
    "events",
    "soon",
    "stream_of",
    "types",
    "until",
]

T = TypeVar("T")

OLD, NEW = ClientProfile(speaks_v1=False), ClientProfile(speaks_v1=True)
MIB = 1024 * 1024


def stream_of(unread: int = MIB, patience: float = 5.0) -> RunStream:
    """A run of thread `t` that nobody reads yet."""
    return RunStream("t", "run_1", unread=unread, patience=patience)


def attached(stream: RunStream, run_id: str = "r", peer: ClientProfile = NEW) -> Reader:
    """A new reader without snapshots."""
    return stream.attach(run_id, peer, messages=None, state=None)


async def soon(work: Awaitable[T]) -> T:
    """What it gives, within the patience of all tests."""
    async with asyncio.timeout(PATIENCE):
        return await work


async def body_of(reader: Reader) -> bytes:
    """Everything that is left for a reader, to the end."""
    chunks = []
    while (chunk := await soon(reader.next_chunk())) is not None:
        chunks.append(chunk)
    return b"".join(chunks)


async def events(reader: Reader) -> list[dict[str, Any]]:
    """The events of everything that is left for a reader."""
    return events_of(await body_of(reader))


def types(found: list[dict[str, Any]]) -> list[str]:
    """Their types, in order."""
    return [event["type"] for event in found]


async def until(holds: Callable[[], bool]) -> None:
    """Let the loop turn until something holds that has no event of its own."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - the thing watched tells nobody when it changes
            await asyncio.sleep(0)
