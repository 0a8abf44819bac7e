"""The audit trail from a terminal: that of a thread shown, that of a scope sealed and checked."""

import os
from collections.abc import Iterator, Sized
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from sayso.base import jsonvalue
from sayso.base.clock import SystemClock, format_time
from sayso.base.records import Principal
from sayso.base.seals import (
    MIN_KEY_BYTES,
    Head,
    Seal,
    find_forged,
    from_line,
    latest,
    new_seal,
    to_line,
)
from sayso.cli.admin.target import OpenedStore, within
from sayso.cli.admin.threads import App, Json, Scope, Store, Thread
from sayso.cli.output import plain, print_json, table
from sayso.engine.audit import AUDITOR, Chain, SealCheck
from sayso.http.rest.audit import difference_view, row_view
from sayso.ops.binding import CannotStart

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


_MAX_NAMED = 20

File = Annotated[
    Path, typer.Argument(help="Where the seals are: a line for each.", show_default=False)
]
KeyFile = Annotated[
    Path,
    typer.Option(
        envvar="SAYSO_SEAL_KEY_FILE",
        help=f"A file with a secret of {MIN_KEY_BYTES} bytes or more, which no store has.",
        show_default=False,
    ),
]
Check = Annotated[
    bool, typer.Option("--check", help="Add none, but hold the trail against all of them.")
]


def seal(
    file: File,
    key_file: KeyFile,
    check: Check = False,
    store: Store = None,
    app: App = None,
    scope: Scope = "default",
    json: Json = False,
) -> None:
    """Seal what is new in a scope's audit trail, against whoever can write the store.

    Run it each minute, by a timer. Exit code 1: a seal, or what was sealed, is not what it was;
    with --check also a question that is kept otherwise than its row says.
    """
    key = _key(key_file)
    if check and not file.exists():
        raise CannotStart(f"there are no seals at {file}; sayso seal {file} begins them")
    with _opened(file) as opened:
        lines = _lines(opened)
        seals = _seals(lines)
        for seal in seals:
            if seal.scope != scope:
                raise CannotStart(
                    f"{file} seals scope {seal.scope!r}; name another file for {scope!r}"
                )
        wrong = find_forged(key, seals)
        if wrong is None and len(seals) < len(lines):
            wrong = len(seals) + 1
        if wrong is not None:
            _say_forged(file, wrong, json=json)
        elif check:
            _check(seals, file, store=store, app=app, scope=scope, json=json)
        else:
            opened.truncate(sum(len(line) + 1 for line in lines))
            _add(opened, key, seals, store=store, app=app, scope=scope, json=json)


def _add(
    opened: BinaryIO,
    key: bytes,
    seals: list[Seal],
    *,
    store: str | None,
    app: str | None,
    scope: str,
    json: bool,
) -> None:
    async def look(session: OpenedStore) -> tuple[list[Head], str | None, int]:
        # Rows of a step that was still being written may have come in before the newest place.
        begin = seals[-2].after if len(seals) > 1 else None
        heads, after = await session.app._engine.audit.heads(scope, begin)
        return heads, after, SystemClock().now()

    heads, after, now = within(look, app=app, store=store, scope=scope)
    newest = latest(seals)
    new = [
        head
        for head in heads
        if head.thread_id not in newest or newest[head.thread_id].number < head.number
    ]
    if new:
        before = seals[-1] if seals else None
        seals.append(new_seal(key, before, now=now, scope=scope, after=after, heads=new))
        opened.write(to_line(seals[-1]) + b"\n")
        opened.flush()
        os.fsync(opened.fileno())
    if json:
        print_json({"seals": len(seals), "threads": len(new)})
    elif new:
        typer.echo(f"Seal {len(seals)} holds what is new. Threads: {len(new)}.")
    else:
        typer.echo("Nothing is new.")


def _check(
    seals: list[Seal], file: Path, *, store: str | None, app: str | None, scope: str, json: bool
) -> None:
    async def look(session: OpenedStore) -> SealCheck:
        sealed = (head for seal in seals for head in seal.heads)
        return await session.app._engine.audit.check(scope, sealed)

    seal_check = within(look, app=app, store=store, scope=scope)
    lost, differs = seal_check.lost, seal_check.differs
    count = len(latest(seals))
    if json:
        broken = [{"threadId": head.thread_id, "number": head.number} for head in lost]
        other = [
            {"threadId": thread, **difference_view(difference)} for thread, difference in differs
        ]
        result = {"seals": len(seals), "threads": count, "intact": not lost}
        print_json({**result, "broken": broken, "differs": other})
    elif not lost and not differs:
        until = f", the last of {format_time(seals[-1].at)}" if seals else ""
        typer.echo(f"The trail is what was sealed. Seals: {len(seals)}, threads: {count}{until}.")
    else:
        for head in lost[:_MAX_NAMED]:
            typer.echo(f"BROKEN: thread {plain(head.thread_id)} at row {head.number}")
        if lost:
            typer.echo(f"The trail is not what {plain(file)} has sealed{_more(lost)}.")
        for thread, difference in differs[:_MAX_NAMED]:
            typer.echo(
                f"DIFFERS: thread {plain(thread)}: {plain(difference.member)} of "
                f"{plain(difference.interrupt_id)}"
            )
        if differs:
            typer.echo(
                f"Questions are kept otherwise than the trail says{_more(differs)}: "
                "sayso audit THREAD shows both."
            )
    if lost or differs:
        raise typer.Exit(BROKEN)


def _more(items: Sized) -> str:
    """The number of those that are not named one by one."""
    return f" ({len(items) - _MAX_NAMED} more)" if len(items) > _MAX_NAMED else ""


def _say_forged(file: Path, wrong: int, *, json: bool) -> None:
    if json:
        print_json({"intact": False, "brokenSeal": wrong})
    else:
        typer.echo(
            f"BROKEN: line {wrong} of {plain(file)} was not made with this key behind the lines "
            "before it. Nothing was added."
        )
    raise typer.Exit(BROKEN)


def _key(file: Path) -> bytes:
    try:
        key = file.read_bytes().strip()
    except OSError as error:
        raise CannotStart(f"the key cannot be read: {error}") from None
    if len(key) < MIN_KEY_BYTES:
        raise CannotStart(
            f"the key in {file} has {len(key)} bytes and needs {MIN_KEY_BYTES}; "
            f"make one with: openssl rand -hex {MIN_KEY_BYTES} > {file}"
        )
    return key


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    """The file of seals, for one process at a time where files can be locked."""
    try:
        opened = file.open("a+b")
    except OSError as error:
        raise CannotStart(f"the seals cannot be opened: {error}") from None
    with opened:
        try:
            locks = import_module("fcntl")
        except ImportError:
            pass  # not on Windows
        else:
            locks.flock(opened, locks.LOCK_EX)
        yield opened


def _lines(opened: BinaryIO) -> list[bytes]:
    """The lines that were finished: a last one without its end was not."""
    opened.seek(0)
    return opened.read().split(b"\n")[:-1]


def _seals(lines: list[bytes]) -> list[Seal]:
    """Return the seals up to the first invalid line."""
    seals: list[Seal] = []
    for line in lines:
        try:
            seals.append(from_line(line))
        except ValueError:
            break
    return seals
