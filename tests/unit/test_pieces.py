"""Pages of lists whose items are large: they end after some megabytes, whatever comes first."""

from sayso.base.records import Page, PageRequest
from sayso.stores.pieces import PAGE_BYTES, within

LARGE = 500_000


async def test_what_is_large_behind_what_is_small_fills_no_memory() -> None:
    """Nobody knows how large the next items are, so few are read at once."""
    sizes = [100] * 10 + [LARGE] * 490
    read: list[int] = []

    async def page(piece: PageRequest) -> Page[int]:
        begin = int(piece.after or 0)
        items = tuple(sizes[begin : begin + piece.limit])
        read.append(sum(items))
        end = begin + len(items)
        return Page(items=items, next=str(end) if end < len(sizes) else None)

    after, seen, most = None, 0, PAGE_BYTES + 20 * LARGE
    while True:
        read.clear()
        piece = await within(page, PageRequest(after, 500), int, 20)
        assert sum(read) == sum(piece.items) < most
        assert max(read) <= 20 * LARGE
        seen += len(piece.items)
        after = piece.next
        if after is None:
            break
    assert seen == len(sizes)


async def test_a_page_of_small_items_is_as_long_as_was_asked() -> None:
    async def page(piece: PageRequest) -> Page[int]:
        begin = int(piece.after or 0)
        return Page(items=(100,) * piece.limit, next=str(begin + piece.limit))

    piece = await within(page, PageRequest(None, 500), int, 20)
    assert (len(piece.items), piece.next) == (500, "500")
