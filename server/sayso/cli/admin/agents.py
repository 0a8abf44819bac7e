"""`sayso agents`: what an app declares, or whose threads a store holds."""

from collections import Counter
from typing import Annotated

import typer

from sayso.app import Sayso
from sayso.base.breakpoints import Breakpoints
from sayso.base.records import PageRequest
from sayso.cli.admin.target import OpenedStore, app_at, within
from sayso.cli.admin.threads import Json, Scope, Store
from sayso.cli.output import print_json, table
from sayso.http.rest.agents import description


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
    app = app_at(target)
    if json:
        items = [description(agent, app._tools) for agent in app.agents]
        print_json({"items": items})
        return
    rows = [
        (
            agent.name,
            agent.version,
            _tools(app, agent.name, asks=True),
            _tools(app, agent.name, asks=False),
            _stops(agent.options.breakpoints),
            agent.description.partition("\n")[0],
        )
        for agent in app.agents
    ]
    table(("AGENT", "VERSION", "ASKS BEFORE", "RUNS", "STOPS", "DESCRIPTION"), rows)


def _tools(app: Sayso, agent: str, *, asks: bool) -> str:
    """The tools of an agent that ask before they run, or that do not."""
    tools = app.tools_of(agent)
    return ", ".join(t.name for t in tools if (app.policy_of(t).kind != "never") is asks)


def _stops(breakpoints: Breakpoints | None) -> str:
    """The breakpoints of its runs: `before deploy, after *`."""
    sides = {} if breakpoints is None else breakpoints.to_json()
    return ", ".join(f"{side} {name}" for side, names in sides.items() for name in names)


def _of_store(store: str | None, scope: str, json: bool) -> None:
    async def look(session: OpenedStore) -> tuple[Counter[str], Counter[str], Counter[str]]:
        threads, waiting, running = Counter[str](), Counter[str](), Counter[str]()
        after = None
        while True:
            page = await session.store.threads(scope, page=PageRequest(after, 1_000))
            threads.update(item.agent for item in page.items)
            waiting.update(item.agent for item in page.items if item.turn_status == "suspended")
            running.update(item.agent for item in page.items if item.running)
            after = page.next
            if after is None:
                return threads, waiting, running

    threads, waiting, running = within(look, app=None, store=store, scope=scope)
    if json:
        items = [
            {"name": name, "threads": count, "waiting": waiting[name], "running": running[name]}
            for name, count in threads.items()
        ]
        print_json({"items": items})
        return
    rows = [(name, count, waiting[name], running[name]) for name, count in threads.most_common()]
    table(("AGENT", "THREADS", "WAITING", "RUNNING"), rows)
