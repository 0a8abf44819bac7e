"""`sayso agents`: what an app declares, or whose threads a store holds."""

from collections import Counter
from typing import Annotated

import typer

from sayso.commands.output import print_json, table
from sayso.commands.session import Session, within
from sayso.commands.target import app_at
from sayso.commands.threads import Json, Scope, Store
from sayso.http.agents import description

__all__ = ["agents"]


def agents(
    target: Annotated[
        str | None,
        typer.Argument(
            help="module:app, or a file of agents; without it, the agents of a store's threads.",
            show_default=False,
        ),
    ] = None,
    store: Store = None,
    scope: Scope = "default",
    json: Json = False,
) -> None:
    """List agents: those of an app with their tools, or those whose threads a store holds."""
    if target is None:
        _of_store(store, scope, json)
        return
    records = list(app_at(target).catalogue.values())
    if json:
        print_json({"items": [description(record) for record in records]})
        return
    rows = [
        (
            record.name,
            record.version,
            ", ".join(tool.name for tool in record.tools if tool.approval != "never"),
            ", ".join(tool.name for tool in record.tools if tool.approval == "never"),
            record.description.partition("\n")[0],
        )
        for record in records
    ]
    table(("AGENT", "VERSION", "ASKS BEFORE", "RUNS", "DESCRIPTION"), rows)


def _of_store(store: str | None, scope: str, json: bool) -> None:
    async def look(session: Session) -> tuple[Counter[str], Counter[str], Counter[str]]:
        found, waiting, running = Counter[str](), Counter[str](), Counter[str]()
        after = None
        while True:
            page = await session.store.threads(scope, after=after, limit=1_000)
            found.update(one.agent for one in page.items)
            waiting.update(one.agent for one in page.items if one.turn_status == "suspended")
            running.update(one.agent for one in page.items if one.running)
            after = page.next
            if after is None:
                return found, waiting, running

    found, waiting, running = within(look, app=None, store=store, scope=scope)
    if json:
        items = [
            {"name": name, "threads": count, "waiting": waiting[name], "running": running[name]}
            for name, count in found.items()
        ]
        print_json({"items": items})
        return
    rows = [(name, count, waiting[name], running[name]) for name, count in found.most_common()]
    table(("AGENT", "THREADS", "WAITING", "RUNNING"), rows)
