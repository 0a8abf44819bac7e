"""`sayso rekey`: all of a store under another key."""

import asyncio
import time
from collections import Counter
from typing import Annotated

import typer

from sayso.cli.admin.target import app_at, store_at
from sayso.cli.admin.threads import App, Store
from sayso.cli.keys import KeyFile, codec_at
from sayso.cli.output import plain
from sayso.stores.base import Store as OpenStore
from sayso.stores.rekeying import CLEAR, Rekeyed

LEFT = 1
_TELL_S = 2.0
"""Seconds between two words about how far it has come."""
_SHOWN = 20
"""Texts that did not open which are named at most."""


def rekey(
    store: Store = None,
    app: App = None,
    key_file: KeyFile = None,
    encrypt: Annotated[
        bool, typer.Option("--encrypt", help="Encrypt also what was stored before there was a key.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; count what lies under which key.")
    ] = False,
) -> None:
    """Write all that is stored under the first key, beside the servers that use the store.

    Ended at any time, it goes on when it is run again. Exit code 1: something is left under
    another key.
    """
    if app is None:
        opened = store_at(store, key_file)
    else:
        opened = app_at(app, store=store, codec=codec_at(key_file)).store
    done, left = asyncio.run(_run(opened, encrypt=encrypt, check=check))
    for problem in done.broken[:_SHOWN]:
        typer.echo(plain(f"NOT OPENED: {problem}", 400), err=True)
    if len(done.broken) > _SHOWN:
        typer.echo(f"NOT OPENED: {len(done.broken) - _SHOWN:,} more", err=True)
    if not check:
        typer.echo(f"{done.encrypted:,} texts were encrypted.")
    for name, count in sorted(left.items()):
        typer.echo(f"{count:,} texts are {_under(name)}.")
    if set(left) - {_first(opened)}:
        raise typer.Exit(LEFT)


async def _run(store: OpenStore, *, encrypt: bool, check: bool) -> tuple[Rekeyed, Counter[str]]:
    """Go through the whole store, then count what is under which key."""
    await store.open()
    try:
        done, tell_at = Rekeyed(), time.monotonic() + _TELL_S
        while not check:
            done.add(await store.rekey(done.next, accept_plain=encrypt))
            if time.monotonic() >= tell_at:
                looked_at = sum(done.under.values())
                typer.echo(f"{done.encrypted:,} of {looked_at:,} texts encrypted", err=True)
                tell_at = time.monotonic() + _TELL_S
            if done.next is None:
                break
        left = Rekeyed()
        while True:
            left.add(await store.rekey(left.next, look=True))
            if left.next is None:
                break
        return done, left.under
    finally:
        await store.close()


def _under(name: str) -> str:
    return "not encrypted" if name == CLEAR else f"under key {name!r}"


def _first(store: OpenStore) -> str:
    codec = store.codec
    return CLEAR if codec is None else codec.ids[0]
