"""The audit trail: read by owners, and by auditors for a whole scope."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sayso.base import jsonvalue
from sayso.base.audit import GENESIS, AuditRow, first_broken, is_told, rows_of_interrupt
from sayso.base.records import Interrupt, InterruptFilter, Page, PageRequest, Principal
from sayso.base.seals import Head
from sayso.stores.base import every
from sayso.turns.services import Services

Json = dict[str, Any]

AUDITOR = "auditor"
"""The role of callers who read the rows of other owners' threads."""
_PAGE_SIZE = 500


@dataclass(frozen=True, slots=True)
class Chain:
    """A thread's rows, checked: how many there are, the last digest, where they break."""

    rows: int
    head: str
    broken_at: int | None
    differs: tuple["Difference", ...] = ()
    """A member of a question of the thread that differs from its row."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A member of a settled question, as the trail has it and as the question itself does."""

    interrupt_id: str
    member: str
    trail: Any
    record: Any


@dataclass(frozen=True, slots=True)
class SealCheck:
    """A scope's trail, compared with its seals."""

    lost: tuple[Head, ...]
    """Heads that the trail no longer has as they were, or on a broken chain."""
    differs: tuple[tuple[str, Difference], ...]
    """The members of questions of sealed threads that differ from their rows, with the thread."""


class Audit:
    """The audit trail of a store."""

    def __init__(self, services: Services) -> None:
        self._store = services.store

    async def page(
        self,
        principal: Principal,
        *,
        thread_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[AuditRow]:
        """Rows in the order of writing.

        Raises:
            ValueError: an invalid cursor.
        """
        return await self._store.audit(
            principal.scope,
            PageRequest(after, limit),
            thread_id=thread_id,
            owner=None if AUDITOR in principal.roles else principal.subject,
        )

    async def verify(self, principal: Principal, thread_id: str) -> Chain:
        """Recompute the seals of a thread's rows, from the first to the last.

        Those of whoever had the thread's id before belong to the chain. To a caller who has no row
        in it there is none.
        """
        own = AUDITOR in principal.roles
        count, head = 0, GENESIS
        wrong: int | None = None
        said: dict[str, tuple[str, Json]] = {}
        async for rows in self._rows(principal.scope, thread_id):
            said |= _settled(rows)
            own = own or any(row.owner == principal.subject for row in rows)
            if wrong is None:
                wrong = _broken_behind(principal.scope, count, head, rows)
            if wrong is None:
                count, head = rows[-1].number, rows[-1].digest
            elif own:
                break
        if not own:
            return Chain(0, GENESIS, None)
        return Chain(count, head, wrong, await self._differences(principal.scope, thread_id, said))

    async def _differences(
        self, scope: str, thread_id: str, said: Mapping[str, tuple[str, Json]]
    ) -> tuple[Difference, ...]:
        """List the members of answered or cancelled questions that differ from their rows."""
        if not said:
            return ()
        questions = every(
            lambda after: self._store.interrupts(
                scope, InterruptFilter(thread_id=thread_id), PageRequest(after, _PAGE_SIZE)
            )
        )
        differences: list[Difference] = []
        async for interrupt in (listed.interrupt async for listed in questions):
            if interrupt.id in said:
                differences += _compared(interrupt, *said[interrupt.id])
        return tuple(differences)

    async def heads(self, scope: str, after: str | None) -> tuple[list[Head], str | None]:
        """How far each thread has come that has rows behind a place, and where the last page began.

        Both places are cursors of the scope's list, None is its beginning.
        """
        heads: dict[str, Head] = {}
        while True:
            page = await self._store.audit(scope, PageRequest(after, _PAGE_SIZE))
            for row in page.items:
                head = heads.get(row.thread_id)
                if head is None or head.number < row.number:
                    heads[row.thread_id] = Head(row.thread_id, row.number, row.digest)
            if page.next is None:
                return list(heads.values()), after
            after = page.next

    async def check(self, scope: str, heads: Iterable[Head]) -> SealCheck:
        """Hold the trail against sealed heads, and the questions of their threads against it."""
        by_thread: dict[str, list[Head]] = {}
        for head in heads:
            by_thread.setdefault(head.thread_id, []).append(head)
        lost: list[Head] = []
        differs: list[tuple[str, Difference]] = []
        for thread_id, sealed in by_thread.items():
            digests: dict[int, str] = {}
            count, last = 0, GENESIS
            said: dict[str, tuple[str, Json]] = {}
            async for rows in self._rows(scope, thread_id):
                said |= _settled(rows)
                wrong = _broken_behind(scope, count, last, rows)
                digests |= {row.number: row.digest for row in rows}
                if wrong is not None:
                    digests = {
                        number: digest for number, digest in digests.items() if number < wrong
                    }
                    break
                count, last = rows[-1].number, rows[-1].digest
            lost += (head for head in sealed if digests.get(head.number) != head.digest)
            differences = await self._differences(scope, thread_id, said)
            differs += ((thread_id, difference) for difference in differences)
        return SealCheck(tuple(lost), tuple(differs))

    async def _rows(self, scope: str, thread_id: str) -> AsyncIterator[Sequence[AuditRow]]:
        """The rows of a thread, in pieces that have some."""
        after = None
        while True:
            page = await self._store.audit(
                scope, PageRequest(after, _PAGE_SIZE), thread_id=thread_id
            )
            if page.items:
                yield page.items
            after = page.next
            if after is None:
                return


def _settled(rows: Sequence[AuditRow]) -> dict[str, tuple[str, Json]]:
    """The questions that a person settled, by id, as rows tell of them: status and content."""
    settled: dict[str, tuple[str, Json]] = {}
    for row in rows:
        if row.kind in ("resolved", "cancelled") and row.content is not None and is_told(row):
            content = jsonvalue.decode(row.content)
            # A call that was cancelled has a row of its own, which names no question; and what
            # somebody has written over a row can be anything.
            if isinstance(content, dict) and isinstance(content.get("interruptId"), str):
                settled[content["interruptId"]] = (row.kind, content)
    return settled


def _compared(interrupt: Interrupt, status: str, content: Json) -> list[Difference]:
    _, written = rows_of_interrupt("settled", interrupt)
    record = jsonvalue.decode(written)
    pairs = {name: (content.get(name), record.get(name)) for name in ("by", "channel", "payload")}
    pairs["status"] = (status, interrupt.status)
    return [
        Difference(interrupt.id, member, trail, record)
        for member, (trail, record) in pairs.items()
        if not jsonvalue.equal(trail, record)
    ]


def _broken_behind(scope: str, count: int, head: str, rows: Sequence[AuditRow]) -> int | None:
    """The first broken row behind this many, the last of which has this digest."""
    return first_broken(scope, rows, head) if rows[0].number == count + 1 else count + 1
