"""Threads from a terminal: `sayso threads`, `show`, `stop`, `restart`, `purge`."""

import asyncio
import sys
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Annotated, Any, cast, get_args

import typer

from sayso.base import jsonvalue
from sayso.base.clock import format_time
from sayso.base.codes import Code
from sayso.base.errors import Problem
from sayso.base.records import ListedThread, PageRequest, ThreadFilter, TurnStatus
from sayso.base.retention import Moments
from sayso.cli.admin.target import CHANNEL, OpenedStore, operator, within
from sayso.cli.output import colour, plain, print_json, table
from sayso.engine.retention import Removal
from sayso.engine.stop import StopRequest
from sayso.http.views import interrupt_view, listed_thread_view, state_view

NOTHING_DONE = 1
_STATUSES = get_args(TurnStatus)

Store = Annotated[
    str | None,
    typer.Option(
        envvar="SAYSO_STORE", help="Where threads are kept.", show_default="sqlite:///sayso.db"
    ),
]
App = Annotated[
    str | None,
    typer.Option(help="An app whose store it is: module:app, or agents.yaml.", show_default="none"),
]
Scope = Annotated[str, typer.Option(help="The tenant partition.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Thread = Annotated[str, typer.Argument(help="The thread's id.", show_default=False)]


def _status(value: str | None) -> str | None:
    if value is not None and value not in _STATUSES:
        raise typer.BadParameter(f"must be one of {', '.join(_STATUSES)}")
    return value


def threads(
    store: Store = None,
    app: App = None,
    scope: Scope = "default",
    owner: Annotated[
        str | None, typer.Option(help="Only threads of this owner.", show_default="all")
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(callback=_status, help=f"One of {', '.join(_STATUSES)}.", show_default="all"),
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="Only threads of this agent.", show_default="all")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 50,
    cursor: Annotated[
        str | None, typer.Option(help="Where the list before ended.", show_default="none")
    ] = None,
    json: Json = False,
) -> None:
    """List the threads of a store, the last active first."""

    async def look(session: OpenedStore) -> tuple[list[ListedThread], str | None]:
        threads: list[ListedThread] = []
        after = cursor
        while len(threads) < limit:  # a page may be short although more follow
            page = await session.store.threads(
                scope,
                ThreadFilter(owner=owner, status=cast("TurnStatus | None", status), agent=agent),
                PageRequest(after, limit - len(threads)),
            )
            threads += page.items
            after = page.next
            if after is None:
                break
        return threads, after

    try:
        thread_summaries, following = within(look, app=app, store=store, scope=scope)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--cursor") from None
    if json:
        items = [
            {**listed_thread_view(listed_thread), "owner": listed_thread.owner}
            for listed_thread in thread_summaries
        ]
        print_json({"items": items} | ({"nextCursor": following} if following else {}))
        return
    if not thread_summaries:
        typer.echo(f"No threads in scope {scope!r}; --scope names that of another tenant.")
        return
    rows = [
        (
            listed_thread.id,
            listed_thread.agent,
            "running" if listed_thread.running else listed_thread.turn_status,
            listed_thread.open_interrupts or "",
            listed_thread.owner,
            format_time(listed_thread.active_at)[:19] + "Z",
        )
        for listed_thread in thread_summaries
    ]
    table(("THREAD", "AGENT", "STATUS", "OPEN", "OWNER", "ACTIVE"), rows)
    if following:
        typer.echo(f"More: --cursor {following}")


def show(
    thread: Thread,
    store: Store = None,
    app: App = None,
    scope: Scope = "default",
    json: Json = False,
) -> None:
    """Show one thread: how it stands, what it waits for, its state, and its journal."""

    async def look(session: OpenedStore) -> dict[str, Any]:
        view = await session.view(thread)
        entries = () if view.turn is None else await session.store.journal(scope, view.turn.key)
        shown = state_view(view, entries)
        key = None if view.turn is None else view.turn.key
        shown["owner"] = view.thread.owner
        shown["interrupts"] = [
            interrupt_view(item)
            for item in view.interrupts
            if item.status == "open" and item.turn_key == key
        ]
        return shown

    shown = within(look, app=app, store=store, scope=scope)
    if json:
        print_json(shown)
    else:
        _print_thread(shown)


def _print_thread(shown: dict[str, Any]) -> None:
    details = shown["metadata"]
    status = "running" if details.get("running") else details.get("status", "empty")
    lines = [
        ("thread", f"{plain(shown['threadId'])}, of {plain(shown['owner'])}"),
        (
            "agent",
            f"{plain(details.get('agent', ''))}, version {plain(details.get('version', ''))}",
        ),
        ("status", colour(status)),
        ("active", details["updatedAt"]),
    ]
    if "hold" in details:
        hold = details["hold"]
        lines.append(("on hold", plain(f"by {hold['by']} since {hold['at']}: {hold['reason']}")))
    if "forkedFrom" in details:
        lines.append(("copy of", plain(details["forkedFrom"]["threadId"])))
    if shown["next"]:
        lines.append(("next", plain(", ".join(name or "a question" for name in shown["next"]))))
    lines.append(("state", plain(jsonvalue.encode(shown["values"]).decode(), 2_000)))
    if "problem" in details:
        lines.append(
            ("problem", plain(f"{details['problem']['code']}: {details['problem']['message']}"))
        )
    for name, text in lines:
        typer.echo(f"{name:<9}{text}")
    if (
        details.get("problem", {}).get("code") == Code.REPLAY_MISMATCH.value
        and not details["running"]
    ):
        typer.echo(f"{'':<9}Repair it: sayso stop THREAD, or sayso restart THREAD --app MODULE:APP")
    if shown["interrupts"]:
        typer.echo("")
        table(
            ("QUESTION", "REASON", "EXPIRES", "MESSAGE"),
            [
                (item["id"], item["reason"], item.get("expiresAt", ""), item.get("message", ""))
                for item in shown["interrupts"]
            ],
        )
    if shown["journal"]:
        typer.echo("")
        table(
            ("PLACE", "KIND", "NAME", "STATUS", "DATA"),
            [
                (
                    entry["place"],
                    entry["kind"],
                    entry["name"],
                    entry["status"],
                    plain(jsonvalue.encode(entry["data"]).decode(), 120) if "data" in entry else "",
                )
                for entry in shown["journal"]
            ],
        )


def stop(thread: Thread, store: Store = None, app: App = None, scope: Scope = "default") -> None:
    """Stop what a thread is doing: its questions are cancelled, its code is not entered again."""

    async def end(session: OpenedStore) -> bool:
        owner = await session.owner(thread)
        stopper = StopRequest(operator(), channel=CHANNEL)
        return await session.app._engine.stop_thread(owner, thread, stopper=stopper)

    if within(end, app=app, store=store, scope=scope):
        typer.echo(f"Stopped {plain(thread)}.")
    else:
        typer.echo(f"{plain(thread)} does nothing that could be stopped.")
        raise typer.Exit(NOTHING_DONE)


def restart(
    thread: Thread,
    app: Annotated[
        str, typer.Option(help="The app with the agent's code: module:app, or agents.yaml.")
    ],
    store: Store = None,
    scope: Scope = "default",
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask before effects are repeated.")
    ] = False,
) -> None:
    """Begin a turn again, from its own request, with today's code; runs here until it waits."""

    async def again(session: OpenedStore) -> str:
        owner = await session.owner(thread)
        engine = session.app._engine
        repeats = await engine.repairs.repeats(owner, thread)
        if repeats and not yes:
            _confirm(repeats)
        begun = await engine.repairs.restart(owner, thread, by=operator(), channel=CHANNEL)
        while (view := await session.view(thread)).thread.holder is not None:  # noqa: ASYNC110 - the store tells nobody
            await asyncio.sleep(0.1)
        if view.run is None or view.run.run_id != begun.run_id or view.run.outcome is None:
            return "went on elsewhere"
        return _ended(jsonvalue.decode(view.run.outcome))

    typer.echo(f"Restarted {plain(thread)}: {within(again, app=app, store=store, scope=scope)}.")


def _confirm(repeats: tuple[str, ...]) -> None:
    listed = plain(", ".join(repeats))
    if not sys.stdin.isatty():
        raise Problem(
            Code.NOT_WAITING, f"this turn has run {listed}, and may run it again: add --yes if so"
        )
    typer.confirm(f"This turn has run {listed}, and may run it again. Restart?", abort=True)


def _ended(outcome: dict[str, Any]) -> str:
    match outcome["type"]:
        case "interrupt":
            number = len(outcome.get("interrupts", ()))
            return f"it waits for {number} answer{'s' if number != 1 else ''}"
        case "error":
            return plain(f"it failed with {outcome.get('code')}: {outcome.get('message')}")
        case "cancelled":
            return "it was stopped"
    return "it has finished"


def purge(
    before: Annotated[
        datetime,
        typer.Option(
            formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"],
            help="What was not used since then, in UTC.",
            show_default=False,
        ),
    ],
    store: Store = None,
    app: App = None,
    scope: Scope = "default",
    json: Json = False,
) -> None:
    """Delete what is older than a date: finished threads, remembered approvals.

    Of the audit trail contents go, rows stay and say who did it. What waits, runs or is on hold
    stays.
    """
    moment = round(before.replace(tzinfo=UTC).timestamp() * 1000)

    async def work(session: OpenedStore) -> tuple[int, int]:
        removal: Removal = session.app._engine.removal(operator())
        moments = Moments(threads=moment, approvals=moment)
        async with aclosing(removal.of(scope, moments)) as removed:
            count = sum([count async for count in removed])
        async with aclosing(removal.of_trail(scope, moment)) as erased:
            trails = sum([count async for count in erased])
        await session.store.purge_files()
        return count, trails

    count, trails = within(work, app=app, store=store, scope=scope)
    if json:
        print_json({"removed": count, "erased": trails})
    else:
        typer.echo(f"Threads and approvals removed: {count}. Trails emptied: {trails}.")
