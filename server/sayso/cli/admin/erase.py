"""A person's own data from a terminal: `sayso erase`, `sayso export`.

All that is kept of a person goes out piece by piece: no more than a thread of it is held at a time.
"""

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import Annotated, Any, Final

import typer

from sayso.base import jsonvalue
from sayso.base.audit import renamed
from sayso.base.clock import format_time
from sayso.base.records import InterruptFilter, ListedInterrupt, PageRequest, Run, ThreadFilter
from sayso.base.sessions import Session, sessions_of
from sayso.cli.admin.target import OpenedStore, operator, within
from sayso.cli.admin.threads import NOTHING_DONE, App, Json, Scope, Store
from sayso.cli.output import plain, print_json
from sayso.engine.audit import LookedUp, ToldRow
from sayso.engine.engine import Engine
from sayso.engine.erasure import Finding, What
from sayso.engine.renaming import renamed_interrupt
from sayso.http.rest.approvals import approval_view
from sayso.http.rest.audit import row_view
from sayso.http.views import history_view, interrupt_view, state_view
from sayso.stores.base import every

_PAGE_SIZE: Final = 100


class PersonalData:
    """All data of one person in a scope; it is noted that `by` takes it out."""

    def __init__(self, engine: Engine, scope: str, subject: str, by: str) -> None:
        self._engine, self._store = engine, engine.store
        self._scope, self._subject, self._by = scope, subject, by
        self._is_noted = False

    def parts(self) -> Iterator[tuple[str, AsyncGenerator[dict[str, Any]]]]:
        """Each kind of it by its name: its items, oldest or last active first."""
        for name, items in (
            ("threads", self._threads()),
            ("questions", self._questions()),
            ("approvals", self._approvals()),
            ("sessions", self._sessions()),
            ("trail", self._trail()),
        ):
            yield name, self._noting(items)

    async def _noting(
        self, items: AsyncGenerator[dict[str, Any]]
    ) -> AsyncGenerator[dict[str, Any]]:
        """Note who takes it out before the first leaves; of whom nothing is kept nothing is."""
        async for item in items:
            if not self._is_noted:
                self._is_noted = True
                await self._engine.exports.note_person(self._scope, self._by, self._subject)
            yield item

    async def _threads(self) -> AsyncGenerator[dict[str, Any]]:
        own = ThreadFilter(owner=self._subject)
        async for listed in every(
            lambda after: self._store.threads(self._scope, own, PageRequest(after, _PAGE_SIZE))
        ):
            view = await self._store.load(self._scope, listed.id)
            if view is None or view.thread.owner != self._subject:
                continue
            turn = view.turn
            journal = () if turn is None else await self._store.journal(self._scope, turn.key)
            yield state_view(view, journal) | history_view(
                view,
                [message.body for message in view.messages],
                [run async for run in self._runs(listed.id)],
                [listed.interrupt async for listed in self._asked(listed.id)],
            )

    def _runs(self, thread_id: str) -> AsyncIterator[Run]:
        return every(
            lambda after: self._store.runs(self._scope, thread_id, PageRequest(after, _PAGE_SIZE))
        )

    def _asked(self, thread_id: str | None = None) -> AsyncIterator[ListedInterrupt]:
        which = InterruptFilter(thread_id=thread_id)
        return every(
            lambda after: self._store.interrupts(self._scope, which, PageRequest(after, _PAGE_SIZE))
        )

    async def _questions(self) -> AsyncGenerator[dict[str, Any]]:
        """Questions of others that name the person."""
        async for listed in self._asked():
            item = listed.interrupt
            if listed.owner != self._subject and (
                self._subject in item.terms.names or renamed_interrupt(item, self._without) != item
            ):
                yield interrupt_view(item, threadId=listed.thread_id, agent=listed.agent)

    def _without(self, name: str) -> str:
        return "" if name == self._subject else name

    async def _approvals(self) -> AsyncGenerator[dict[str, Any]]:
        async for approval in every(
            lambda after: self._store.approvals(
                self._scope, None, PageRequest(after, _PAGE_SIZE), party=self._subject
            )
        ):
            yield approval_view(approval, None)

    async def _sessions(self) -> AsyncGenerator[dict[str, Any]]:
        for session in await self._store.sessions(sessions_of(self._scope, self._subject)):
            yield _session_view(session)

    async def _trail(self) -> AsyncGenerator[dict[str, Any]]:
        """Rows of the person's threads, and those that tell of the person."""
        seen, after = LookedUp(), None
        while True:
            page = await self._store.audit(self._scope, PageRequest(after, _PAGE_SIZE))
            for row in await self._engine.audit.told(self._scope, page.items, seen):
                if self._is_about(row):
                    yield row_view(row)
            after = page.next
            if after is None:
                return

    def _is_about(self, row: ToldRow) -> bool:
        if row.owner == self._subject:
            return True
        names: set[str] = set()

        def hear(name: str) -> str:
            names.add(name)
            return name

        renamed(row.content or {}, hear)
        return self._subject in names


def _session_view(session: Session) -> dict[str, Any]:
    """A session without what it is known by."""
    view = {
        "issuer": session.issuer,
        "roles": list(session.roles),
        "signedInAt": None if session.auth_time is None else format_time(session.auth_time),
        "expiresAt": format_time(session.expires_at),
    }
    return {name: value for name, value in view.items() if value is not None}


Subject = Annotated[
    str, typer.Argument(help="The person, as the threads name their owner.", show_default=False)
]

_GONE: Final[dict[What, str]] = {
    "thread": "threads",
    "trail": "trails",
    "approval": "approvals",
    "session": "sessions",
    "renamed": "names in threads of others",
}
_STAYS: Final[dict[What, str]] = {
    "held": "thread {} is on hold: a keeper has to lift that first",
    "held_approval": "approval {} was given in a thread that is on hold",
    "running": "thread {} runs, and was asked to stop",
    "open": "thread {} of somebody else has the name, and is not over yet",
    "used": "thread {} was used in that moment",
    "shared_trail": "the trail of thread {} stays: it has rows of others before",
    "text": "thread {} of somebody else may have the name in its words",
    "service_token": "service token {} says that this person has made or revoked it",
}
_ELSEWHERE: Final = "Backups, replicas, logs, and what was exported are not reached from here."


def erase(
    subject: Subject,
    by: Annotated[
        str, typer.Option(help="The keeper who does it, not the person.", show_default=False)
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would go and stay; change nothing.")
    ] = False,
    store: Store = None,
    app: App = None,
    scope: Scope = "default",
    json: Json = False,
) -> None:
    """Erase a person: threads, contents of their trail, approvals, sessions, and the name.

    What waits is stopped. It can be ended and begun again at any time. With exit code 1 something
    is left that has to be over first, and the name stays until then: run it again.
    """
    gone: Counter[What] = Counter()
    stays: list[Finding] = []

    async def work(session: OpenedStore) -> None:
        engine = session.app._engine
        await engine.keepers.check(scope, subject, by)
        erasure = engine.erasure(scope, subject, by, looks=dry_run)
        async with aclosing(erasure.run()) as findings:
            async for finding in findings:
                if finding.what not in _STAYS:
                    gone[finding.what] += 1
                    continue
                stays.append(finding)
                if not json:
                    typer.echo(f"Stays: {_STAYS[finding.what].format(plain(finding.id))}.")

    within(work, app=app, store=store, scope=scope)
    is_whole = gone["person"] > 0
    if json:
        counts = {what: gone[what] for what in _GONE}
        left = [{"what": finding.what, "id": finding.id} for finding in stays]
        print_json({"dryRun": dry_run, "whole": is_whole, "gone": counts, "stays": left})
    else:
        _print(gone, dry_run=dry_run, is_whole=is_whole)
    if not is_whole:
        raise typer.Exit(NOTHING_DONE)


def _print(gone: Counter[What], *, dry_run: bool, is_whole: bool) -> None:
    shown = {**_GONE} if is_whole else {w: words for w, words in _GONE.items() if w != "renamed"}
    counts = ", ".join(f"{words}: {gone[what]}" for what, words in shown.items())
    typer.echo(f"{'Would go' if dry_run else 'Gone'}: {counts}.")
    if is_whole:
        would = "would have" if dry_run else "has"
        typer.echo(f"The audit trail {would} an id in place of the name, which leads to nobody.")
    else:
        typer.echo("The name stays until nothing of it is on hold or in use: run this again then.")
    typer.echo(_ELSEWHERE)


def export(
    subject: Subject, store: Store = None, app: App = None, scope: Scope = "default"
) -> None:
    """Print all that is kept of a person, as JSON: look through it, others are named in it."""

    async def work(session: OpenedStore) -> None:
        data = PersonalData(session.app._engine, scope, subject, operator())
        typer.echo("{", nl=False)
        typer.echo(f'"subject":{_text(subject)},"scope":{_text(scope)}', nl=False)
        for name, items in data.parts():
            typer.echo(f',"{name}":[', nl=False)
            comma = ""
            async with aclosing(items) as listed:
                async for item in listed:
                    typer.echo(f"{comma}\n{jsonvalue.encode(item).decode()}", nl=False)
                    comma = ","
            typer.echo("]", nl=False)
        typer.echo("}")

    within(work, app=app, store=store, scope=scope)


def _text(text: str) -> str:
    return jsonvalue.encode(text).decode()
