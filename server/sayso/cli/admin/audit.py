"""The audit trail from a terminal: `sayso audit THREAD`."""

import typer

from sayso.base import jsonvalue
from sayso.base.records import Principal
from sayso.cli.admin.opened_store import OpenedStore, within
from sayso.cli.admin.threads import App, Json, Scope, Store, Thread
from sayso.cli.output import plain, print_json, table
from sayso.engine.audit import AUDITOR, Chain
from sayso.http.rest.audit import difference_view, row_view

BROKEN = 1


def audit(
    thread: Thread,
    store: Store = None,
    app: App = None,
    scope: Scope = "default",
    json: Json = False,
) -> None:
    """Show who asked, decided and did what in a thread, and whether the rows are what was written.

    Exit code 1: a row was changed, added or taken away, or a question is kept otherwise than its
    row says.
    """
    auditor = Principal(subject=AUDITOR, scope=scope, roles=(AUDITOR,))

    async def look(session: OpenedStore) -> tuple[Chain, list[dict[str, object]]]:
        trail = session.app._engine.audit
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
        differs = [difference_view(difference) for difference in chain.differs]
        print_json({"items": rows, "head": chain.head, "intact": intact, "differs": differs})
    elif not rows:
        typer.echo(f"Nothing is known of a thread {plain(thread)}.")
    else:
        shown = [
            (
                row["number"],
                str(row["at"])[:19] + "Z",
                row["kind"],
                "BROKEN"
                if "broken" in row
                else plain(jsonvalue.encode(row.get("content")).decode(), 160),
            )
            for row in rows
        ]
        table(("ROW", "AT", "WHAT", "CONTENT"), shown)
        said = "intact" if intact else f"BROKEN at row {chain.broken_at}"
        typer.echo(f"{len(rows)} rows, {said}; head {chain.head}")
        for difference in chain.differs:
            trail, record = (
                jsonvalue.encode(v).decode() for v in (difference.trail, difference.record)
            )
            text = f"the trail has {difference.member} {trail}, the question itself {record}"
            typer.echo(plain(f"DIFFERS: {difference.interrupt_id}: {text}", 400))
    if not intact or chain.differs:
        raise typer.Exit(BROKEN)
