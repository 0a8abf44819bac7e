"""The audit trail from a terminal: that of a thread shown, that of a scope sealed and checked.

A row in words says who did it, as whom, and how they were known.
"""

import asyncio
import os
from collections.abc import Iterator, Mapping, Sized
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, BinaryIO
from urllib.parse import urlsplit

import typer

from sayso.base import jsonvalue
from sayso.base.clock import SystemClock, format_time, parse_time
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
from sayso.cli.admin import signatures
from sayso.cli.admin.export import Follower
from sayso.cli.admin.target import OpenedStore, within
from sayso.cli.admin.threads import App, Json, Scope, Store
from sayso.cli.output import plain, print_json, table
from sayso.engine.audit import AUDITOR, Chain, SealCheck
from sayso.http.rest.audit import difference_view, row_view
from sayso.ops.binding import CannotStart

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def who(row: Mapping[str, Any]) -> str:
    """The people of a row as it is shown: each with roles, sign-in and the way it came."""
    content = row.get("content")
    if not isinstance(content, dict):
        return ""
    moment = parse_time(str(row["at"]))
    voices = (voice for voice in _voices(content) if isinstance(voice.get("by"), str))
    return "; ".join(_said(voice, moment) for voice in voices)


def _voices(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Whoever speaks in a row: who did it, who has answered, who agrees."""
    yield content
    agreed = content.get("agreed")
    for voice in (content.get("answer"), *(agreed if isinstance(agreed, list) else ())):
        if isinstance(voice, dict):
            yield voice


def _said(voice: dict[str, Any], moment: int) -> str:
    words = [str(voice["by"])]
    roles, proof, channel = voice.get("roles"), voice.get("proof"), voice.get("channel")
    if isinstance(roles, list) and roles:
        words.append(f"as {', '.join(map(str, roles))}")
    if isinstance(proof, dict):
        words += _signed_in(proof, moment)
    if isinstance(channel, str):
        words.append(f"by {channel}")
    return ", ".join(words)


def _signed_in(proof: dict[str, Any], moment: int) -> Iterator[str]:
    if proof.get("kind") == "service":
        yield "a service"
    issuer, since = proof.get("issuer"), proof.get("authTime")
    by = f" by {_host(issuer)}" if isinstance(issuer, str) else ""
    if isinstance(since, int):
        yield f"signed in {_length((moment - since) // 1000)} before{by}"
    elif by:
        yield f"signed in{by}"


def _host(issuer: str) -> str:
    try:
        return urlsplit(issuer).netloc or issuer
    except ValueError:
        return issuer


def _length(seconds: int) -> str:
    """A time that passed, in its greatest unit."""
    size, unit = next((pair for pair in _UNITS if seconds >= pair[0]), (1, "second"))
    count = max(0, seconds) // size
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


BROKEN = 1
_LOOK_SECONDS = 5

Thread = Annotated[str | None, typer.Argument(help="The thread's id.", show_default=False)]
Follow = Annotated[
    Path | None,
    typer.Option(
        help="A file to which the rows of all threads are appended, until this is ended.",
        show_default=False,
    ),
]
Verify = Annotated[
    Path | None,
    typer.Option(
        help="Public keys (GET /audit/keys, or PEM): check the signatures under all decisions.",
        show_default=False,
    ),
]
Export = Annotated[
    Path | None,
    typer.Option(
        "--file", help="With --verify: a file of an export, instead of a store.", show_default=False
    ),
]
Tenant = Annotated[bool, typer.Option("--tenant", help="The rows that belong to no thread.")]
Once = Annotated[bool, typer.Option("--once", help="With --follow: end after one look.")]


def audit(
    thread: Thread = None,
    follow: Follow = None,
    tenant: Tenant = False,
    once: Once = False,
    verify: Verify = None,
    file: Export = None,
    store: Store = None,
    app: App = None,
    scope: Scope = "default",
    json: Json = False,
) -> None:
    """Show who asked, decided and did what in a thread, and whether the rows are what was written.

    Exit code 1: a row was changed, added or taken away, or a question is kept otherwise than its
    row says. With --tenant: what belongs to no thread. With --follow: all rows, each once, as lines
    of a file. With --verify: whether people's decisions are signed, in a thread or all; exit code 1
    if one is not, or by an unknown key.
    """
    if verify is not None:
        if follow is not None or tenant:
            raise typer.BadParameter("use --verify alone, or with a thread")
        if not signatures.verify(
            verify, file, thread=thread, store=store, app=app, scope=scope, json=json
        ):
            raise typer.Exit(BROKEN)
        return
    if file is not None:
        raise typer.BadParameter("--file needs --verify")
    if [thread is not None, follow is not None, tenant].count(True) != 1:
        raise typer.BadParameter(
            "name a thread, a file with --follow, or keys with --verify, or give --tenant"
        )
    if follow is not None:
        _follow(follow, once=once, store=store, app=app, scope=scope)
        return
    _show(thread, store=store, app=app, scope=scope, json=json)


def _show(
    thread: str | None, *, store: str | None, app: str | None, scope: str, json: bool
) -> None:
    auditor = Principal(subject=AUDITOR, scope=scope, roles=(AUDITOR,))

    async def look(session: OpenedStore) -> tuple[Chain, list[dict[str, object]]]:
        trail = session.app._engine.audit
        rows: list[dict[str, object]] = []
        after = None
        while True:
            if thread is None:
                page = await trail.page_of_tenant(auditor, after=after, limit=500)
            else:
                page = await trail.page(auditor, thread_id=thread, after=after, limit=500)
            rows += [row_view(row) for row in page.items]
            after = page.next
            if after is None and thread is None:
                return await trail.verify_tenant(auditor), rows
            if after is None and thread is not None:
                return await trail.verify(auditor, thread), rows

    chain, rows = within(look, app=app, store=store, scope=scope)
    intact = chain.broken_at is None
    if json:
        differs = [difference_view(difference) for difference in chain.differs]
        print_json({"items": rows, "head": chain.head, "intact": intact, "differs": differs})
    elif not rows:
        words = "noted yet" if thread is None else f"known of a thread {plain(thread)}"
        typer.echo(f"Nothing is {words}.")
    else:
        shown = [
            (
                row["number"],
                str(row["at"])[:19] + "Z",
                row["kind"],
                plain(who(row), 100),
                _words(row),
            )
            for row in rows
        ]
        table(("ROW", "AT", "WHAT", "WHO", "CONTENT"), shown)
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


def _follow(file: Path, *, once: bool, store: str | None, app: str | None, scope: str) -> None:
    async def work(session: OpenedStore) -> int:
        follower = Follower(session.app._engine.exports, scope, opened, follows=not once)
        while True:
            count = await follower.look()
            if once:
                return count
            await asyncio.sleep(_LOOK_SECONDS)

    with _opened(file) as opened:
        count = within(work, app=app, store=store, scope=scope)
    typer.echo(f"New rows: {count}.")


def _words(row: dict[str, object]) -> str:
    """The content of a row: that of a stop in words, or what became of it."""
    for gone in ("broken", "erased"):
        if gone in row:
            return gone.upper()
    content = row.get("content")
    if row["kind"] == "stopped" and isinstance(content, dict) and "why" in content:
        by = f" By {content['by']}." if "by" in content else ""
        return plain(f"{content['why']}{by}", 160)
    return plain(jsonvalue.encode(content).decode(), 160)


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
    """A file to which lines are added, for one process at a time where files can be locked."""
    try:
        opened = file.open("a+b")
    except OSError as error:
        raise CannotStart(f"{file} cannot be opened: {error}") from None
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
