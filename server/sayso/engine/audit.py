"""The audit trail: read by owners, and by auditors for a whole scope."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from sayso.base import jsonvalue
from sayso.base.audit import (
    GENESIS,
    NO_THREAD,
    AuditRow,
    Rename,
    content_of,
    erased_through,
    first_unchained,
    renamed,
    rows_of_interrupt,
)
from sayso.base.codes import Code
from sayso.base.errors import Problem
from sayso.base.progress import Signature
from sayso.base.records import Interrupt, InterruptFilter, Page, PageRequest, Principal
from sayso.base.scrubbing import is_scrubbed_form
from sayso.base.seals import Head
from sayso.base.signatures import PublicKey, Verdict, words_of
from sayso.stores.pieces import every_question, every_row, rows_within
from sayso.turns.keys import Keys
from sayso.turns.services import Services
from sayso.turns.signing import verdict

Json = dict[str, Any]
Names = dict[str, str | None]
"""Who people are, by the ids that rows have."""


@dataclass(slots=True)
class LookedUp:
    """Names and erasures that a walk through rows has looked up so far."""

    names: Names = field(default_factory=dict)
    erased: dict[str, int] = field(default_factory=dict)
    """By thread, the number up to which contents were taken away."""


AUDITOR = "auditor"
"""The role of callers who read the rows of other owners' threads."""
_PAGE_SIZE = 500


@dataclass(frozen=True, slots=True)
class ToldRow:
    """A row with the names of people in place of their ids; an id that has no name stays.

    `content` is None for a row that is not what was written, or whose people are others than those;
    and for one that is `erased`: a later row of its thread says that its content was taken away.
    """

    row: AuditRow
    owner: str
    content: Json | None
    signatures: tuple["Signed", ...] = ()
    """The worth of the signatures under the words that the row tells of, in order."""
    people: Mapping[str, str] = field(default_factory=dict)
    """Of a row with signatures, the ids of the people in it, by names: these are signed."""
    erased: bool = False


@dataclass(frozen=True, slots=True)
class Signed:
    """The worth of the signature under somebody's word; `key` is its key's id."""

    by: str
    verdict: Verdict
    key: str | None = None
    signed_at: int | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """A thread's rows, checked: how many there are, the last digest, where they break."""

    rows: int
    head: str
    broken_at: int | None
    differs: tuple["Difference", ...] = ()
    """A member of a question of the thread that differs from its row."""
    signatures: Mapping[Verdict, int] = field(default_factory=dict)
    """How many words have which signature; none where nothing is signed."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A member of a question or its answer, as the trail has it and as the question itself does.

    `question`: the trail tells of one that is no longer there.
    """

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
        self._store, self._clock = services.store, services.clock
        self._signing = services.signing
        self._keys = Keys(()) if services.signing is None else services.signing.keys

    @property
    def keys(self) -> Sequence[PublicKey]:
        """The keys that check what is signed here, oldest first."""
        return self._keys.listed

    async def last_decision(
        self, scope: str, thread_id: str
    ) -> tuple[AuditRow, Signature | None] | None:
        """The newest row that tells of a person's word, with the signature under it.

        None without such a row, and where nothing is signed.
        """
        if self._signing is None:
            return None
        row = await self._store.last_decision(scope, thread_id)
        if row is None:
            return None
        words = [*words_of(row.kind, content_of(row) or {})]
        return row, words[-1].signature if words else None

    async def page(
        self,
        principal: Principal,
        *,
        thread_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[ToldRow]:
        """Rows in the order of writing, of all threads and of none, or of one thread.

        Raises:
            ValueError: an invalid cursor.
        """
        if thread_id == NO_THREAD:
            return Page(items=(), next=None)
        owner = None if AUDITOR in principal.roles else principal.subject
        return await self._page(principal.scope, PageRequest(after, limit), thread_id, owner)

    async def page_of_tenant(
        self, principal: Principal, *, after: str | None = None, limit: int = 100
    ) -> Page[ToldRow]:
        """The rows that belong to no thread, in their order.

        Raises:
            Problem: `not_allowed` to whoever is no auditor.
            ValueError: an invalid cursor.
        """
        check_auditor(principal)
        return await self._page(principal.scope, PageRequest(after, limit), NO_THREAD, None)

    async def _page(
        self, scope: str, piece: PageRequest, thread_id: str | None, owner: str | None
    ) -> Page[ToldRow]:
        read = partial(self._store.audit, scope, thread_id=thread_id, owner=owner)
        page = await rows_within(read, piece)
        rows = await self.told(scope, page.items, LookedUp())
        return Page(items=tuple(rows), next=page.next)

    async def verify(self, principal: Principal, thread_id: str) -> Chain:
        """Recompute the seals of a thread's rows, from the first to the last.

        Those of whoever had the thread's id before belong to the chain. To a caller who has no row
        in it there is none.
        """
        if thread_id == NO_THREAD:
            return Chain(0, GENESIS, None)
        return await self._verify(principal, thread_id)

    async def verify_tenant(self, principal: Principal) -> Chain:
        """The same of the rows that belong to no thread.

        Raises:
            Problem: `not_allowed` to whoever is no auditor.
        """
        check_auditor(principal)
        return await self._verify(principal, NO_THREAD)

    async def _verify(self, principal: Principal, thread_id: str) -> Chain:
        count, head = 0, GENESIS
        wrong: int | None = None
        said: Said = {}
        signatures: Counter[Verdict] = Counter()
        if not await self._may_read(principal, thread_id):
            return Chain(0, GENESIS, None)
        async for rows in self._rows(principal.scope, thread_id):
            _learn(said, rows)
            signatures.update(word.verdict for shown in rows for word in shown.signatures)
            wrong = _broken_behind(principal.scope, count, head, rows)
            if wrong is not None:
                break
            count, head = rows[-1].row.number, rows[-1].row.digest
        differs = await self._differences(principal.scope, thread_id, said, whole=wrong is None)
        return Chain(count, head, wrong, differs, signatures)

    async def _may_read(self, principal: Principal, thread_id: str) -> bool:
        """True for auditors, and for whoever has a row in that trail."""
        if AUDITOR in principal.roles:
            return True
        first = PageRequest(None, 1)
        page = await self._store.audit(
            principal.scope, first, thread_id=thread_id, owner=principal.subject
        )
        return bool(page.items)

    async def _differences(
        self, scope: str, thread_id: str, said: "Said", *, whole: bool
    ) -> tuple[Difference, ...]:
        """List the members of questions that differ from rows; `whole`: all of them were read."""
        if not said:
            return ()
        questions = every_question(self._store, scope, InterruptFilter(thread_id=thread_id))
        differences: list[Difference] = []
        async for interrupt in (listed.interrupt async for listed in questions):
            if (members := said.pop(interrupt.id, None)) is not None:
                differences += _compared(interrupt, members)
        if whole:
            missing = (Difference(name, "question", said[name]["status"], None) for name in said)
            differences += missing
        return tuple(differences)

    async def heads(self, scope: str, after: str | None) -> tuple[list[Head], str | None]:
        """How far each thread has come that has rows behind a place, and where the last page began.

        Both places are cursors of the scope's list, None is its beginning.
        """
        heads: dict[str, Head] = {}
        read = partial(self._store.audit, scope)
        while True:
            page = await rows_within(read, PageRequest(after, _PAGE_SIZE))
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
            said: Said = {}
            wrong: int | None = None
            async for rows in self._rows(scope, thread_id):
                _learn(said, rows)
                wrong = _broken_behind(scope, count, last, rows)
                digests |= {shown.row.number: shown.row.digest for shown in rows}
                if wrong is not None:
                    digests = {
                        number: digest for number, digest in digests.items() if number < wrong
                    }
                    break
                count, last = rows[-1].row.number, rows[-1].row.digest
            lost += (head for head in sealed if digests.get(head.number) != head.digest)
            differences = await self._differences(scope, thread_id, said, whole=wrong is None)
            differs += ((thread_id, difference) for difference in differences)
        return SealCheck(tuple(lost), tuple(differs))

    async def _rows(self, scope: str, thread_id: str) -> AsyncIterator[Sequence[ToldRow]]:
        """The rows of a thread, in pieces that have some."""
        seen, after = LookedUp(), None
        read = partial(self._store.audit, scope, thread_id=thread_id)
        while True:
            page = await rows_within(read, PageRequest(after, _PAGE_SIZE))
            if page.items:
                yield await self.told(scope, page.items, seen)
            after = page.next
            if after is None:
                return

    async def told(self, scope: str, rows: Sequence[AuditRow], seen: LookedUp) -> list[ToldRow]:
        """Rows with names by ids: those who were looked up; it gains the others.

        An id that nobody has stays. One that was made of another name has None there.
        """
        names = seen.names
        contents = [content_of(row) for row in rows]
        unknown: set[str] = set()
        forged: set[str] = set()

        def name(person_id: str) -> str:
            person = names.get(person_id, unknown)
            if isinstance(person, str):
                return person
            (forged if person is None else unknown).add(person_id)
            return person_id

        def tell(row: AuditRow, content: Json | None) -> ToldRow:
            forged.clear()
            owner = name(row.owner)
            if content is None:
                return ToldRow(row, owner, None)
            named = renamed(content, name)
            if forged:
                return ToldRow(row, owner, None)
            signatures = self._signatures(scope, row, content, name)
            if not signatures:
                return ToldRow(row, owner, named)
            ids: dict[str, str] = {}
            renamed(content, lambda who: ids.setdefault(name(who), who))
            return ToldRow(row, owner, named, signatures, ids)

        while True:
            shown = [tell(row, content) for row, content in zip(rows, contents, strict=True)]
            if not unknown:
                return await self._with_erased(scope, shown, seen.erased)
            people = await self._store.people(scope, sorted(unknown))
            names |= {person_id: person_id for person_id in unknown.difference(people)}
            names |= {
                person.id: person.name if person.is_told else None for person in people.values()
            }
            unknown.clear()

    def _signatures(
        self, scope: str, row: AuditRow, content: Json, name: Rename
    ) -> tuple[Signed, ...]:
        """The worth of the signatures in a row; none where nothing is signed."""
        words = [*words_of(row.kind, content)]
        if all(word.signature is None for word in words) and self._signing is None:
            return ()
        return tuple(
            Signed(
                name(word.by),
                verdict(self._keys, scope, row.thread_id, word),
                *((signed.key, signed.signed_at) if (signed := word.signature) is not None else ()),
            )
            for word in words
            if word.decides or word.signature is not None
        )

    async def _with_erased(
        self, scope: str, rows: list[ToldRow], erased: dict[str, int]
    ) -> list[ToldRow]:
        """Mark the rows whose contents were taken away, as later rows of their threads say."""
        empty = [shown.row for shown in rows if _is_empty(shown.row)]
        for thread_id in {
            row.thread_id for row in empty if row.number > erased.get(row.thread_id, 0)
        }:
            erased[thread_id] = await self._erased_through(scope, thread_id)
        return [
            replace(shown, erased=True)
            if _is_empty(shown.row) and shown.row.number <= erased[shown.row.thread_id]
            else shown
            for shown in rows
        ]

    async def _erased_through(self, scope: str, thread_id: str) -> int:
        """The number up to which the contents of a thread's rows were taken away; 0 if none."""
        through = 0
        async for row in every_row(self._store, scope, thread_id=thread_id):
            if row.kind == "erased":
                through = max(through, erased_through(row.kind, row.number, content_of(row)))
        return through


def _is_empty(row: AuditRow) -> bool:
    return row.content is None and row.salt is None


def check_auditor(principal: Principal) -> None:
    """Raise Problem `not_allowed` for whoever is no auditor."""
    if AUDITOR not in principal.roles:
        raise Problem(
            Code.NOT_ALLOWED, f"The role {AUDITOR!r} reads and exports what belongs to all."
        )


Said = dict[str, Json]
"""The members of questions that are there, by id, as the rows tell of them."""
_ASKED = ("reason", "toolCallId", "message", "metadata", "schemaDigest", "expiresAt")
_SETTLED = ("payload", "by", "channel")


def _learn(said: Said, rows: Sequence[ToldRow]) -> None:
    """Take what rows tell of questions."""
    for shown in rows:
        kind, content = shown.row.kind, shown.content
        if kind == "deleted":
            said.clear()
        if content is None or not isinstance(content.get("interruptId"), str):
            continue  # a call that was cancelled, say, has a row that names no question
        name = content["interruptId"]
        if kind == "asked":
            said[name] = {"status": "open"} | {key: content.get(key) for key in _ASKED}
        elif name not in said:
            continue
        elif kind in ("resolved", "cancelled", "expired"):
            said[name] |= {"status": kind} | {key: content.get(key) for key in _SETTLED}
            said[name].pop("agreed", None)  # whose votes counted is in the row of what ran
        elif kind in ("extended", "lapsed"):
            said[name]["expiresAt"] = content.get("expiresAt")
        elif kind in ("agreed", "withdrawn"):
            said[name]["agreed"] = content.get("agreed")


def _compared(interrupt: Interrupt, members: Json) -> list[Difference]:
    record: Json = {"status": interrupt.status}
    for change in ("opened", "settled", "withdrawn"):
        _, content = rows_of_interrupt(change, interrupt)
        names = {"opened": _ASKED, "settled": _SETTLED, "withdrawn": ("agreed",)}[change]
        record |= {name: content.get(name) for name in names}
    record = jsonvalue.decode(jsonvalue.encode(record))
    return [
        Difference(interrupt.id, member, trail, record[member])
        for member, trail in members.items()
        if not is_scrubbed_form(trail, record[member])
    ]


def _broken_behind(scope: str, count: int, head: str, rows: Sequence[ToldRow]) -> int | None:
    """The first broken row behind this many, the last of which has this digest."""
    if rows[0].row.number != count + 1:
        return count + 1
    chain = first_unchained(scope, [shown.row for shown in rows], head)
    numbers = (
        number
        for number, shown in enumerate(rows, count + 1)
        if shown.content is None and not shown.erased
    )
    return min((n for n in (chain, next(numbers, None)) if n is not None), default=None)
