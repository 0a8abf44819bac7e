"""Erasure of a person: what is the person's own goes, in what is others' the name does.

Each step can be done again, and the id that the audit trail has for the name goes last. So an
erasure that was cut short goes on from its beginning, and ends like one that was not. A thread that
cannot be changed yet, on hold or in use, keeps the name there: its trail tells of it by that id.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, Literal

from sayso.base.amendment import Amendment
from sayso.base.audit import AuditRow
from sayso.base.codes import Code
from sayso.base.errors import Conflict, Problem
from sayso.base.records import (
    Approval,
    InterruptFilter,
    ListedThread,
    Message,
    PageRequest,
    ThreadFilter,
    ThreadView,
)
from sayso.base.retention import Retention
from sayso.base.sessions import sessions_of
from sayso.engine.renaming import renamed_entry, renamed_interrupt, renamed_messages, written
from sayso.engine.retention import Removal, is_kept
from sayso.engine.stop import StopRequest, StopService
from sayso.stores.base import every
from sayso.stores.pieces import every_row
from sayso.turns.services import Services

What = Literal[
    "thread",
    "trail",
    "approval",
    "session",
    "renamed",
    "person",
    "held",
    "held_approval",
    "running",
    "open",
    "used",
    "shared_trail",
    "text",
    "service_token",
]
"""What an erasure has come by.

Gone: a `thread`, the contents of a `trail`, an `approval`, a `session`, the name in another's
thread (`renamed`), and the `person`. Left: a thread on hold (`held`), what was approved in one
(`held_approval`), a thread of the person that runs and was asked to stop (`running`), one of
somebody else that is not over (`open`), and one that was used in that moment (`used`). Staying:
contents beside those of others (`shared_trail`), a thread of others whose words have the name
(`text`), and a service's token that the person has made or revoked (`service_token`).
"""

LEFT: Final[frozenset[What]] = frozenset(("held", "held_approval", "running", "open", "used"))
"""What keeps an erasure from being whole: it has to be run again."""
_PAGE_SIZE: Final = 100
_CHANNEL: Final = "command"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that an erasure has come by, and its id."""

    what: What
    id: str


class Keepers:
    """Says who may erase a person."""

    def __init__(self, services: Services, retention: Retention) -> None:
        self._people, self._clock = services.people, services.clock
        self._retention = retention

    async def check(self, scope: str, subject: str, by: str) -> None:
        """Raise Problem `not_allowed` for whoever is the person, or known to be no keeper.

        Without a directory nobody here knows who has a role: whoever runs the command answers for
        it.
        """
        keeper = self._retention.keeper
        role = keeper.removeprefix("role:")
        if by == subject:
            raise Problem(Code.NOT_ALLOWED, "Nobody erases themselves: another keeper has to.")
        if not by or by.startswith("sayso:"):
            raise Problem(Code.NOT_ALLOWED, f"--by names a keeper, a person, not {by!r}.")
        if role == keeper:
            if by != keeper:
                raise Problem(Code.NOT_ALLOWED, f"{by!r} is no keeper here: {keeper!r} is.")
        elif self._people.are_known:
            person = await self._people.known(scope, by, self._clock.now())
            if person is None or not person.active or role not in person.roles:
                raise Problem(
                    Code.NOT_ALLOWED, f"{by!r} is no keeper: the directory has no role {role!r}."
                )


class Erasure:
    """Erases one person of a scope; `by` is the keeper. `looks`: nothing is changed."""

    def __init__(
        self,
        services: Services,
        stopping: StopService,
        scope: str,
        subject: str,
        by: str,
        *,
        looks: bool = False,
    ) -> None:
        self._services, self._store = services, services.store
        self._clock = services.clock
        self._stopping = stopping
        self._removal = Removal(services, stopping, by)
        self._scope, self._subject, self._by, self._looks = scope, subject, by, looks
        self._person = ""
        self._name = re.compile(rf"(?<!\w){re.escape(subject)}(?!\w)")

    async def run(self) -> AsyncGenerator[Finding]:
        """Do it; gives what goes, what is left for another time, and what stays."""
        is_whole, has_names = True, False
        for part in (self._sessions, self._threads, self._trails, self._approvals, self._others):
            async with aclosing(part()) as findings:
                async for finding in findings:
                    is_whole = is_whole and finding.what not in LEFT
                    has_names = has_names or finding.what == "renamed"
                    yield finding
        if not is_whole:
            return
        if not self._looks:
            async with aclosing(self._names(has_some=has_names)) as findings:
                async for finding in findings:
                    is_whole = is_whole and finding.what not in LEFT
                    yield finding
            if not is_whole:
                return
            async for listed in self._listed(ThreadFilter(owner=self._subject)):
                yield Finding("used", listed.id)  # it began, or was copied, meanwhile
                is_whole = False
            if not is_whole:
                return
            now = self._clock.now()
            await self._store.erase_person(self._scope, self._subject, now, self._by)
            await self._store.purge_files()
        yield Finding("person", self._subject)

    async def _names(self, *, has_some: bool) -> AsyncGenerator[Finding]:
        """Take the name out of threads of others, where one was found; gives what is new."""
        if not has_some:  # one may have come into a thread behind the look at it
            late = [
                finding
                async for finding in self._others()
                if finding.what == "renamed" or finding.what in LEFT
            ]
            for finding in late:
                yield finding
            if not late or any(finding.what in LEFT for finding in late):
                return  # without a name nobody needs an id, who may be forgotten already
        self._person = await self._store.person(self._scope, self._subject)
        async with aclosing(self._others(renames=True)) as findings:
            async for finding in findings:
                if finding.what in LEFT:
                    yield finding

    async def _sessions(self) -> AsyncGenerator[Finding]:
        name = sessions_of(self._scope, self._subject)
        read = self._store.sessions if self._looks else self._store.end_sessions
        for session in await read(name):
            yield Finding("session", session.digest[:8])

    async def _threads(self) -> AsyncGenerator[Finding]:
        own = ThreadFilter(owner=self._subject)
        async for listed in self._listed(own):
            try:
                finding = await self._thread(listed)
            except Conflict:
                finding = Finding("used", listed.id)
            if finding is not None:
                yield finding

    async def _thread(self, listed: ListedThread) -> Finding | None:
        view = await self._store.load(self._scope, listed.id)
        if view is None or view.thread.owner != self._subject:
            return None
        if view.thread.hold is not None:
            return Finding("held", listed.id)
        if view.thread.holder is not None:
            return await self._running(view)
        if not self._looks:
            if view.turn is not None and view.turn.status in ("suspended", "running"):
                await self._stopping.end(view, view.turn, StopRequest(self._by, channel=_CHANNEL))
                view = await self._store.load(self._scope, listed.id) or view
            await self._delete(view)
        return Finding("thread", listed.id)

    async def _running(self, view: ThreadView) -> Finding:
        """Ask the holder to stop; one whose lease ran out is dead, which only the store can say."""
        thread = view.thread
        if not self._looks:
            try:
                await self._delete(view)
                return Finding("thread", thread.id)
            except Conflict:
                await self._store.request_stop(
                    self._scope, thread.id, thread.fence, by=self._by, channel=_CHANNEL
                )
        return Finding("running", thread.id)

    async def _delete(self, view: ThreadView) -> None:
        thread, now = view.thread, self._clock.now()
        await self._store.delete(self._scope, thread.id, thread.revision, now, by=self._by)
        self._services.changed(self._scope)

    async def _trails(self) -> AsyncGenerator[Finding]:
        """The contents of threads that are gone; those of one that is left stay with it."""
        seen: set[str] = set()
        async for row in every_row(self._store, self._scope, owner=self._subject):
            if row.thread_id not in seen and _has_content(row):
                seen.add(row.thread_id)
                finding = await self._trail(row)
                if finding is not None:
                    yield finding

    async def _trail(self, row: AuditRow) -> Finding | None:
        view = await self._store.load(self._scope, row.thread_id)
        if view is not None and view.thread.owner == self._subject:
            return Finding("trail", row.thread_id) if self._is_free(view) else None
        through, others = 0, 0
        async for other in every_row(self._store, self._scope, thread_id=row.thread_id):
            if _has_content(other) and other.owner == row.owner:
                through = other.number
            elif _has_content(other):
                others = others or other.number
        if through == 0:
            return None
        if 0 < others < through or (view is not None and view.thread.hold is not None):
            return Finding("shared_trail", row.thread_id)
        if not self._looks:
            now = self._clock.now()
            try:
                await self._store.erase_trail(self._scope, row.thread_id, through, now, self._by)
            except Conflict:
                return Finding("used", row.thread_id)  # somebody else's now, and put on hold
        return Finding("trail", row.thread_id)

    def _is_free(self, view: ThreadView) -> bool:
        """True for a thread of the person that only a look has left."""
        return self._looks and view.thread.hold is None and view.thread.holder is None

    async def _approvals(self) -> AsyncGenerator[Finding]:
        async for approval in every(
            lambda after: self._store.approvals(
                self._scope, None, PageRequest(after, _PAGE_SIZE), party=self._subject
            )
        ):
            yield Finding(await self._approval(approval), approval.id)

    async def _approval(self, approval: Approval) -> What:
        if await is_kept(self._store, self._scope, approval):
            return "held_approval"
        if not self._looks:
            await self._removal.approval(self._scope, approval)
        return "approval"

    async def _others(self, *, renames: bool = False) -> AsyncGenerator[Finding]:
        """Threads of others; the name goes from none before it can go from all."""
        async for listed in self._listed(ThreadFilter()):
            if listed.owner != self._subject:
                for what in await self._other(listed.id, renames=renames):
                    yield Finding(what, listed.id)
        for token in await self._store.service_tokens(self._scope):
            if self._subject in (token.added_by, token.revoked_by):
                yield Finding("service_token", token.id)

    async def _other(self, thread_id: str, *, renames: bool) -> list[What]:
        view = await self._store.load(self._scope, thread_id)
        if view is None:
            return []
        thread, turn, findings = view.thread, view.turn, list[What]()
        before = [
            listed.interrupt
            async for listed in every(
                lambda after: self._store.interrupts(
                    self._scope,
                    InterruptFilter(thread_id=thread_id),
                    PageRequest(after, _PAGE_SIZE),
                )
            )
        ]
        journal = () if turn is None else await self._store.journal(self._scope, turn.key)
        after = [renamed_interrupt(item, self._rename) for item in before]
        entries = [renamed_entry(entry, self._rename) for entry in journal]
        amendment = Amendment(
            scope=self._scope,
            thread_id=thread_id,
            revision=thread.revision,
            now=self._clock.now(),
            interrupts=tuple(n for o, n in zip(before, after, strict=True) if n != o),
            messages=renamed_messages(view, before, after),
            entries=tuple(n for o, n in zip(journal, entries, strict=True) if n != o),
        )
        holds = thread.hold is not None and thread.hold.by == self._subject
        if holds or amendment.interrupts or amendment.entries:
            is_over = turn is None or turn.status not in ("suspended", "running")
            if thread.hold is not None:
                findings.append("held")
            elif thread.holder is not None or not is_over:
                findings.append("open")
            else:
                findings.append("renamed")
                if renames:
                    try:
                        await self._store.amend(amendment)
                    except Conflict:
                        return ["used"]
        if not renames and self._name.search(written(_without(view, amendment), after, entries)):
            findings.append("text")
        return findings

    def _rename(self, name: str) -> str:
        """The id for the name; a mark that nobody is called by while nothing is written."""
        return (self._person or "\0") if name == self._subject else name

    async def _listed(self, which: ThreadFilter) -> AsyncIterator[ListedThread]:
        async for listed in every(
            lambda after: self._store.threads(self._scope, which, PageRequest(after, _PAGE_SIZE))
        ):
            yield listed


def _has_content(row: AuditRow) -> bool:
    """True for a row with more than who has deleted or erased something."""
    return row.content is not None and row.kind not in ("erased", "deleted")


def _without(view: ThreadView, amendment: Amendment) -> ThreadView:
    """A thread as it is once it is amended."""
    amended: dict[str, Message] = {message.id: message for message in amendment.messages}
    messages = tuple(amended.get(message.id, message) for message in view.messages)
    return ThreadView(
        thread=view.thread,
        turn=view.turn,
        run=view.run,
        named_run=view.named_run,
        interrupts=view.interrupts,
        messages=messages,
    )
