"""Bodies that are no streams, read to a limit: whatever is on the other end may never end one."""

from collections.abc import AsyncIterable, Iterable

MAX_BODY_BYTES = 1024 * 1024
"""Bytes that are read of an answer that is no stream; what comes behind them is nobody's."""


def read(chunks: Iterable[bytes]) -> bytes:
    """The body, or its beginning."""
    data = bytearray()
    for chunk in chunks:
        data += chunk
        if len(data) >= MAX_BODY_BYTES:
            break
    return bytes(data[:MAX_BODY_BYTES])


async def read_async(chunks: AsyncIterable[bytes]) -> bytes:
    """As `read`."""
    data = bytearray()
    async for chunk in chunks:
        data += chunk
        if len(data) >= MAX_BODY_BYTES:
            break
    return bytes(data[:MAX_BODY_BYTES])
