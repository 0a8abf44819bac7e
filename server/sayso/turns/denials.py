"""Denials in threads that are copies of one another: what was denied in one of them counts in all.

A copy knows the first thread that it comes from by its journal and by its questions, and that one
knows by a question that it was copied. So whoever is asked in any of them is told of a no in the
others, whichever of the two came first. A thread that has no copies, and is none, reads its own.

What is copied after a denial is told when it is copied (`turns.journal.earlier_decisions`). Copies
that were made before are told by `Denials`. The denial is durable already then, so what goes wrong
with telling of it takes nothing back: it is logged.
"""

import logging
from collections.abc import AsyncIterator, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from sayso.base import jsonvalue
from sayso.base.audit import AuditRow, content_of
from sayso.base.clock import format_time
from sayso.base.errors import StoreError
from sayso.base.records import (
    Entry,
    Interrupt,
    InterruptFilter,
    ListedInterrupt,
    PageRequest,
    Thread,
    ThreadFilter,
    ThreadView,
)
from sayso.gate.case import open_interrupts
from sayso.gate.interrupts import with_denials
from sayso.gate.quorum import asks_others, new_denials
from sayso.stores.base import Store, every, update_of
from sayso.stores.pieces import every_question, every_row
from sayso.turns.journal import journal
from sayso.turns.journal.earlier_decisions import Said, about_question, denials
from sayso.turns.services import Services, fresh

_log = logging.getLogger("sayso.turns.denials")

PAGE_SIZE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """Denials by approvers: `here` in turns of the thread, `elsewhere` in its copies.

    `first` is the first of the threads that it was copied from, None for one that is no copy.
    """

    first: str | None = None
    here: tuple[Said, ...] = ()
    elsewhere: tuple[Said, ...] = ()


def first_of(items: Iterable[Interrupt], entries: Iterable[Entry]) -> str | None:
    """The first of the threads that this one was copied from; None if it was not.

    `items` are its questions, of all turns: the journal of the turn that was copied ends with it.
    """
    first = journal.copied_from(entries)
    return first or next(filter(None, (item.terms.origin for item in items)), None)


async def questions(store: Store, scope: str, thread_id: str) -> AsyncIterator[Interrupt]:
    """All questions of a thread, of all its turns, oldest first."""
    async for listed in every_question(store, scope, InterruptFilter(thread_id=thread_id)):
        yield listed.interrupt


async def origin_of(store: Store, scope: str, thread_id: str) -> str | None:
    """The first of the threads that one was copied from, as its questions of all turns say."""
    async for item in questions(store, scope, thread_id):
        if item.terms.origin is not None:
            return item.terms.origin
    return None


async def read_denials(
    store: Store, scope: str, owner: str, thread_id: str, entries: Sequence[Entry]
) -> Heard:
    """Read what was denied in a thread and in its copies; `entries` are those of its turn."""
    first, copied, said = journal.copied_from(entries), False, list[Said]()
    async for item in questions(store, scope, thread_id):
        first = first or item.terms.origin
        copied = copied or bool(item.progress.copied)
        said += denials([item], thread_id)
    here = tuple(said)
    if first is None and not copied:
        return Heard(here=here)
    elsewhere: list[Said] = []
    seen = {thread_id}
    async for listed in _asked_in_copies(store, scope, owner, first or thread_id):
        if listed.thread_id != thread_id:
            seen.add(listed.thread_id)
            elsewhere += denials([listed.interrupt], listed.thread_id)
    # Of threads that were deleted the trail still tells.
    for gone in dict.fromkeys((*journal.copied_by_way_of(entries), *((first,) if first else ()))):
        if gone not in seen:
            elsewhere += await _denied_by_trail(store, scope, owner, gone)
    return Heard(first=first, here=here, elsewhere=tuple(elsewhere))


async def _asked_in_copies(
    store: Store, scope: str, owner: str, first: str
) -> AsyncIterator[ListedInterrupt]:
    """Questions to approvers in a thread and in all that was copied from it."""
    async for listed in every_question(
        store, scope, InterruptFilter(owner=owner, reason="tool_call")
    ):
        item = listed.interrupt
        if asks_others(item) and _origin(item, listed.thread_id) == first:
            yield listed


async def _denied_by_trail(store: Store, scope: str, owner: str, thread_id: str) -> list[Said]:
    """Denials in a thread that is gone, if it was this owner's."""
    questions: dict[str, Said] = {}
    denied: dict[str, Said] = {}
    async for row in every_row(store, scope, thread_id=thread_id, owner=owner):
        _follow(row, questions, denied)
    people = await store.people(scope, [said["by"] for said in denied.values()])
    names = {person.id: person.name for person in people.values()}
    return [{**said, "by": names.get(said["by"], said["by"])} for said in denied.values()]


def _follow(row: AuditRow, questions: dict[str, Said], denied: dict[str, Said]) -> None:
    """Note what a row says of a question about a call; the first no is the one that counts."""
    content = content_of(row)
    if content is None or row.kind not in ("asked", "held", "resolved"):
        return
    which = content.get("interruptId")
    if row.kind == "asked":
        ours = (content.get("metadata") or {}).get("sayso") or {}
        gated = content.get("reason") == "tool_call" and "tool" in ours and "approvers" in ours
        if gated and isinstance(which, str):
            digest = jsonvalue.digest(ours.get("arguments", {}))
            questions[which] = {"tool": ours["tool"], "arguments": digest}
        return
    answer = (content.get("answer") if row.kind == "held" else content) or {}
    payload = answer.get("payload")
    by = answer.get("by")
    if which not in questions or which in denied or by is None or not isinstance(payload, dict):
        return
    if payload.get("approved", True) is True:
        return
    said = {"said": "denied", "by": by, "at": format_time(row.at), "threadId": row.thread_id}
    if payload.get("reason"):
        said["reason"] = payload["reason"]
    denied[which] = {**questions[which], **said}


class Denials:
    """Tells open questions what was denied about the same call in other copies of their thread."""

    def __init__(self, services: Services) -> None:
        self._store, self._clock = services.store, services.clock
        self._changed = services.changed

    async def tell(self, thread: Thread, items: Iterable[Interrupt]) -> None:
        """Tell the copies of a thread of what was denied among these questions."""
        items = [item for item in items if asks_others(item)]
        said = denials(items, thread.id) if items else ()
        if not said:
            return
        first = {_origin(item, thread.id) for item in items}
        try:
            async for listed in self._open(thread.scope, thread.owner):
                item = listed.interrupt
                if listed.thread_id != thread.id and _origin(item, listed.thread_id) in first:
                    await self._told(thread.scope, listed.thread_id, item, said)
        except StoreError:
            _log.exception("copies of thread %r could not be told of a denial", thread.id)

    async def hear(self, view: ThreadView, ids: Container[str] | None = None) -> bool:
        """Tell these open questions, or all, what was denied in copies: load again if it was new.

        The server that took the denial may have died before it told of it. Raises `StoreError`.
        """
        items = [item for key, item in open_interrupts(view).items() if ids is None or key in ids]
        return await self.heard(view.thread.scope, view.thread.owner, view.thread.id, items)

    async def heard(
        self, scope: str, owner: str, thread_id: str, items: Iterable[Interrupt]
    ) -> bool:
        """The same for open questions of a thread that was not loaded."""
        mine = [item for item in items if asks_others(item)]
        if not mine:
            return False
        first = {_origin(item, thread_id) for item in mine}
        said: list[Said] = []
        async for denial in self._said(scope, owner, first):
            if denial["threadId"] != thread_id and denial not in said:
                said.append(denial)
        heard = False
        for item in mine:
            heard = await self._told(scope, thread_id, item, said) or heard
        return heard

    async def _said(self, scope: str, owner: str, first: set[str]) -> AsyncIterator[Said]:
        """Denials in copies of one thread: kept, being settled, or made in the first.

        What was settled in others is told before their turns continue, by whoever continues them.
        """
        async for listed in self._open(scope, owner):
            if _origin(listed.interrupt, listed.thread_id) in first:
                for denial in denials([listed.interrupt], listed.thread_id):
                    yield denial
        async for other in self._others(scope, owner, first):
            view = await self._store.load(scope, other)
            if view is None or view.turn is None or view.thread.owner != owner:
                continue
            for item in view.interrupts:
                if item.turn_key == view.turn.key and _origin(item, other) in first:
                    for denial in denials([item], other):
                        yield denial

    async def _others(self, scope: str, owner: str, first: set[str]) -> AsyncIterator[str]:
        for thread_id in first:
            yield thread_id
        async for summary in every(
            lambda after: self._store.threads(
                scope, ThreadFilter(owner=owner, status="running"), PageRequest(after, PAGE_SIZE)
            )
        ):
            if summary.id not in first:
                yield summary.id

    async def _open(self, scope: str, owner: str) -> AsyncIterator[ListedInterrupt]:
        """Open questions of somebody's threads that others answer."""
        is_open = InterruptFilter(owner=owner, status="open")
        async for listed in every_question(self._store, scope, is_open):
            if asks_others(listed.interrupt):
                yield listed

    async def _told(
        self, scope: str, thread_id: str, question: Interrupt, said: Sequence[Said]
    ) -> bool:
        """Note denials with an open question; True if there was something new."""
        if not about_question(said, question):
            return False

        async def act(view: ThreadView | None) -> bool:
            item = None if view is None else open_interrupts(view).get(question.id)
            if view is None or item is None:
                return False  # decided meanwhile, or about to be
            new = new_denials(item, about_question(said, item))
            if not new:
                return False
            interrupt = with_denials(item, new)
            await self._store.update_idle(
                update_of(view.thread, self._clock.now(), interrupts=(interrupt,))
            )
            self._changed(scope)
            return True

        async def exhausted(_: ThreadView | None) -> bool:
            _log.error("%r could not be told of a denial: its thread changes too fast", question.id)
            return False

        read = partial(self._store.load, scope, thread_id, interrupt_ids=[question.id])
        return await fresh(read, act, exhausted=exhausted)


def _origin(item: Interrupt, thread_id: str) -> str:
    """The first of the threads that a question's was copied from; its own if it was not."""
    return item.terms.origin or thread_id
