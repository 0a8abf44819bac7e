"""Tokens of services from a terminal: `sayso service add`, `sayso service list`, `… revoke`."""

import re
from typing import Annotated, Final

import typer

from sayso.base.clock import format_time
from sayso.base.service_tokens import ServiceToken
from sayso.cli.admin.target import OpenedStore, operator, within
from sayso.cli.admin.threads import NOTHING_DONE, App, Json, Scope, Store
from sayso.cli.output import plain, print_json, table

service: typer.Typer = typer.Typer(
    name="service", help="Tokens of services: programs that call the server.", no_args_is_help=True
)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LISTED: Final = re.compile(r"[^\s,]{1,128}")
_TIME: Final = re.compile(r"([1-9][0-9]{0,5})([mhd])")
_SECONDS: Final = {"m": 60, "h": 3_600, "d": 86_400}


def _name(value: str) -> str:
    if _NAME.fullmatch(value) is None:
        raise typer.BadParameter("must be letters, digits, dots, dashes or underscores")
    return value


def _listed(value: str | None) -> str | None:
    for name in value.split(",") if value is not None else ():
        if _LISTED.fullmatch(name) is None:
            raise typer.BadParameter("must be names with commas between, and no blanks")
    return value


def _time(value: str | None) -> str | None:
    if value is not None and _TIME.fullmatch(value) is None:
        raise typer.BadParameter("must be a number with m, h or d, as in 90d")
    return value


def _split(value: str | None) -> list[str] | None:
    return None if value is None else value.split(",")


def _seconds(value: str | None) -> float | None:
    if value is None:
        return None
    return int(value[:-1]) * _SECONDS[value[-1]]


@service.command()
def add(
    name: Annotated[
        str, typer.Argument(callback=_name, help="What the service is called.", show_default=False)
    ],
    roles: Annotated[
        str | None,
        typer.Option(callback=_listed, help="Its roles, with commas between.", show_default="none"),
    ] = None,
    tools: Annotated[
        str | None,
        typer.Option(
            callback=_listed,
            help="The tools it may call: names, or patterns as deploy_*.",
            show_default="all",
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(callback=_time, help="How long it lasts, as 90d.", show_default="for good"),
    ] = None,
    store: Store = None,
    app: App = None,
    scope: Scope = "default",
) -> None:
    """Make a token for a service and print it, once: only its digest is kept."""

    async def work(session: OpenedStore) -> tuple[str, ServiceToken]:
        return await session.app._engine.service_tokens.add(
            scope,
            name,
            roles=_split(roles) or (),
            tools=_split(tools),
            seconds=_seconds(expires),
            by=operator(),
        )

    text, token = within(work, app=app, store=store, scope=scope)
    typer.echo(text)
    typer.echo(f"Token {token.id} of service {plain(name)}. It is not shown again.", err=True)


@service.command("list")
def list_all(
    store: Store = None, app: App = None, scope: Scope = "default", json: Json = False
) -> None:
    """List the tokens of a scope, the oldest first."""

    async def work(session: OpenedStore) -> tuple[tuple[ServiceToken, ...], int]:
        engine = session.app._engine
        return await engine.service_tokens.all(scope), engine.inbox.now()

    tokens, now = within(work, app=app, store=store, scope=scope)
    if json:
        print_json({"items": [_view(token, now) for token in tokens]})
        return
    if not tokens:
        typer.echo(f"No tokens in scope {scope!r}; `sayso service add` makes one.")
        return
    rows = [
        (
            token.id,
            token.name,
            _status(token, now),
            ",".join(token.roles),
            "all" if token.tools is None else ",".join(token.tools),
            "" if token.expires_at is None else format_time(token.expires_at)[:19] + "Z",
        )
        for token in tokens
    ]
    table(("TOKEN", "SERVICE", "STATUS", "ROLES", "TOOLS", "EXPIRES"), rows)


@service.command()
def revoke(
    name: Annotated[
        str,
        typer.Argument(help="A token by its id, or all of a service.", show_default=False),
    ],
    store: Store = None,
    app: App = None,
    scope: Scope = "default",
) -> None:
    """Revoke a token: within seconds it opens nothing, within a minute its streams end."""

    async def work(session: OpenedStore) -> tuple[ServiceToken, ...]:
        return await session.app._engine.service_tokens.revoke(scope, name, by=operator())

    tokens = within(work, app=app, store=store, scope=scope)
    for token in tokens:
        typer.echo(f"Revoked {token.id} of service {plain(token.name)}.")
    if not tokens:
        typer.echo(f"No token that counts is called {plain(name)} in scope {scope!r}.", err=True)
        raise typer.Exit(NOTHING_DONE)


def _status(token: ServiceToken, now: int) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "counts" if token.counts(now) else "expired"


def _view(token: ServiceToken, now: int) -> dict[str, object]:
    return {
        "id": token.id,
        "service": token.name,
        "status": _status(token, now),
        "roles": list(token.roles),
        "tools": None if token.tools is None else list(token.tools),
        "addedBy": token.added_by,
        "addedAt": format_time(token.added_at),
        "expiresAt": None if token.expires_at is None else format_time(token.expires_at),
        "revokedBy": token.revoked_by,
        "revokedAt": None if token.revoked_at is None else format_time(token.revoked_at),
    }
