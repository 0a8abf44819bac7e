"""The audit trail from a terminal: `sayso audit THREAD`."""

import typer

from sayso import jsonvalue
from sayso.commands.output import plain, print_json, table
from sayso.commands.session import Session, within
from sayso.commands.threads import App, Json, Scope, Store, Thread
from sayso.engine.audit import AUDITOR, Chain
from sayso.http.audit import row_view
from sayso.records import Principal

__all__ = ["audit"]

BROKEN = 1


def audit(
    thread: Thread,
    store: Store = None,
    app: App = None,
    scope: Scope = "default",
    json: Json = False,
) -> None:
    """Show who asked, decided and did what in a thread, and whether the rows are what was written.

    Exit code 1: a row was changed, added or taken away.
    """
    auditor = Principal(subject=AUDITOR, scope=scope, roles=(AUDITOR,))

    async def look(session: Session) -> tuple[Chain, list[dict[str, object]]]:
        trail = session.app.engine.audit
        rows: list[dict[str, object]] = []
        after = None
        while True:
            page = await trail.page(auditor, thread_id=thread, after=after, limit=500)
            rows += [row_view(row) for row in page.items]
            after = page.next
            if after is None:
                return await trail.verify(auditor, thread), rows

    chain, rows = within(look, app=app, store=store, scope=scope)
    intact = chain.broken_at is None
    if json:
        print_json({"items": rows, "head": chain.head, "intact": intact})
    elif not rows:
        typer.echo(f"Nothing is known of a thread {plain(thread)}.")
    else:
        shown = [
            (
                row["number"],
                str(row["at"])[:19] + "Z",
                row["kind"],
                plain(jsonvalue.encode(row.get("content")).decode(), 160),
            )
            for row in rows
        ]
        table(("ROW", "AT", "WHAT", "CONTENT"), shown)
        said = "intact" if intact else f"BROKEN at row {chain.broken_at}"
        typer.echo(f"{len(rows)} rows, {said}; head {chain.head}")
    if not intact:
        raise typer.Exit(BROKEN)
