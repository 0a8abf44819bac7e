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
_QUESTIONS: Final = 20
"""Questions that are read of it at once later: they may be larger than all before."""
_ROWS: Final = 100
"""Rows of the trail likewise; they are shorter, and a trail may have a million."""
_PIECE: Final = 500
"""Items of a piece of a whole list, if they are small."""


Read = Callable[[PageRequest], Awaitable[Page[T]]]


async def questions_within(
    read: Read[ListedInterrupt], piece: PageRequest
) -> Page[ListedInterrupt]:
    """A page of at most `piece.limit` questions that ends once they have some megabytes.

    So whoever fills a list with what is large keeps nobody else from reading it, and no server's
    memory.
    """
    return await within(read, piece, size_of_question, _QUESTIONS)


async def rows_within(read: Read[AuditRow], piece: PageRequest) -> Page[AuditRow]:
    """A page of at most `piece.limit` rows of the trail that ends once they have some megabytes."""
    return await within(read, piece, _size_of_row, _ROWS)


async def within(read: Read[T], piece: PageRequest, size: Callable[[T], int], most: int) -> Page[T]:
    """A page that ends after some megabytes; `size` gives an item's bytes, `most` how many to read.

    `most` bounds what is read at once: what comes may be larger than all before.
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
        more = min(left, most, max(1, (PAGE_BYTES - taken) * len(items) // max(1, taken)))


def size_of_question(listed: ListedInterrupt) -> int:
    """About how many bytes a question has in a list."""
    item = listed.interrupt
    texts = (item.metadata, item.response_schema, item.payload, item.message)
    return sum(len(text) for text in texts if text is not None)


def _size_of_row(row: AuditRow) -> int:
    """About how many bytes a row of the audit trail has in a list."""
    return len(row.content or b"")


async def every_question(
    store: Store, scope: str, which: InterruptFilter
) -> AsyncIterator[ListedInterrupt]:
    """All questions of a list, some megabytes at a time."""
    read = partial(store.interrupts, scope, which)
    async for listed in every(lambda after: questions_within(read, PageRequest(after, _PIECE))):
        yield listed


async def every_row(
    store: Store, scope: str, *, thread_id: str | None = None, owner: str | None = None
) -> AsyncIterator[AuditRow]:
    """All rows of a trail, some megabytes at a time."""
    read = partial(store.audit, scope, thread_id=thread_id, owner=owner)
    async for row in every(lambda after: rows_within(read, PageRequest(after, _PIECE))):
        yield row
