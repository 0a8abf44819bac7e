"""Lists of a store in pieces of some megabytes, however large each item is."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Final, TypeVar

from sayso.base.audit import AuditRow
from sayso.base.records import InterruptFilter, ListedInterrupt, Page, PageRequest
from sayso.stores.base import Store, every

T = TypeVar("T")

PAGE_BYTES: Final = 4 * 1024 * 1024
"""Bytes after which a page `within` them ends."""
_FIRST: Final = 10
"""Items that are read of such a page before anything is known of their size."""
_MORE: Final = 20
"""Items that are read of it at once later: they may be larger than all before."""
_PIECE: Final = 500
"""Items of a piece of a whole list, if they are small."""


async def within(
    read: Callable[[PageRequest], Awaitable[Page[T]]], piece: PageRequest, size: Callable[[T], int]
) -> Page[T]:
    """A page of at most `piece.limit` items that ends once they have some megabytes.

    `size` gives the bytes of an item. So whoever fills a list with what is large keeps nobody else
    from reading it, and no server's memory.
    """
    items: list[T] = []
    taken, after, more = 0, piece.after, min(piece.limit, _FIRST)
    while True:
        page = await read(PageRequest(after, more))
        items += page.items
        taken += sum(map(size, page.items))
        after = page.next
        left = piece.limit - len(items)
        if after is None or not page.items or left == 0 or taken >= PAGE_BYTES:
            return Page(items=tuple(items), next=after)
        more = min(left, _MORE, max(1, (PAGE_BYTES - taken) * len(items) // max(1, taken)))


def size_of_question(listed: ListedInterrupt) -> int:
    """About how many bytes a question has in a list."""
    item = listed.interrupt
    texts = (item.metadata, item.response_schema, item.payload, item.message)
    return sum(len(text) for text in texts if text is not None)


def size_of_row(row: AuditRow) -> int:
    """About how many bytes a row of the audit trail has in a list."""
    return len(row.content or b"")


async def every_question(
    store: Store, scope: str, which: InterruptFilter
) -> AsyncIterator[ListedInterrupt]:
    """All questions of a list, some megabytes at a time."""
    read = partial(store.interrupts, scope, which)
    async for listed in every(
        lambda after: within(read, PageRequest(after, _PIECE), size_of_question)
    ):
        yield listed


async def every_row(
    store: Store, scope: str, *, thread_id: str | None = None, owner: str | None = None
) -> AsyncIterator[AuditRow]:
    """All rows of a trail, some megabytes at a time."""
    read = partial(store.audit, scope, thread_id=thread_id, owner=owner)
    async for row in every(lambda after: within(read, PageRequest(after, _PIECE), size_of_row)):
        yield row
