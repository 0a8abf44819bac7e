"""Checks what people decided against signatures: in a store, or in an export, with no store at all.

Public keys are enough for it. What cannot be checked is told, and never counts as good.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from sayso.base import jsonvalue
from sayso.base.audit import content_of, erased_through, renamed
from sayso.base.clock import parse_time
from sayso.base.errors import DeclarationError
from sayso.base.records import PageRequest
from sayso.base.signatures import DECISIONS, Word, words_of
from sayso.cli.admin.target import OpenedStore, within
from sayso.cli.output import plain, print_json
from sayso.ops.binding import CannotStart
from sayso.stores.base import every
from sayso.turns.keys import Keys, read_public_keys
from sayso.turns.signing import verdict

_MAX_NAMED = 20
_SAID = {
    "invalid": "the signature does not fit what the row says",
    "unknown": "nobody here has the key",
    "unsigned": "there is no signature",
    "unreadable": "the row cannot be read",
    "removed": "its content is gone, and no row of the thread says that it was erased",
}


@dataclass(frozen=True, slots=True)
class _Row:
    """A row as far as signatures need it; `content` has people's ids, None cannot be read.

    `empty`: there is none.
    """

    thread_id: str
    number: object
    written_at: int
    kind: str
    content: Mapping[str, Any] | None
    empty: bool = False


@dataclass(slots=True)
class _Found:
    """How many words are how; what is not good, and where."""

    counts: Counter[str] = field(default_factory=Counter)
    bad: list[tuple[_Row, str, Word | None]] = field(default_factory=list)

    def note(self, row: _Row, how: str, word: Word | None = None) -> None:
        self.counts[how] += 1
        if how in _SAID:
            self.bad.append((row, how, word))


def verify(
    keys_file: Path,
    file: Path | None,
    *,
    thread: str | None,
    store: str | None,
    app: str | None,
    scope: str,
    json: bool,
) -> bool:
    """Check a file of an export, or a store; True if all that people decided is signed."""
    try:
        keys = Keys(read_public_keys(keys_file))
    except DeclarationError as error:
        raise CannotStart(str(error)) from None
    rows = _exported(file) if file is not None else _stored(thread, store, app, scope)
    result = _checked((row for row in rows if thread in (None, row.thread_id)), keys, scope)
    _tell(result, json=json)
    return not result.bad


def _checked(rows: Iterable[_Row], keys: Keys, scope: str) -> _Found:
    result = _Found()
    empty: list[_Row] = []
    erased: defaultdict[str, int] = defaultdict(int)
    for row in rows:
        if row.content is None:
            if row.empty:
                empty.append(row)  # a later row may say that this was erased
            else:
                result.note(row, "unreadable")
            continue
        through = erased_through(row.kind, row.number, row.content)
        erased[row.thread_id] = max(erased[row.thread_id], through)
        for word in words_of(row.kind, row.content):
            how: str = verdict(keys, scope, row.thread_id, word)
            if how == "unsigned" and row.written_at < keys.since:
                how = "earlier"  # than anything was signed
            if how != "unsigned" or word.decides:
                result.note(row, how, word)
    for row in empty:
        if type(row.number) is not int or row.number > erased[row.thread_id]:
            result.note(row, "removed")
        elif row.kind in DECISIONS:
            result.note(row, "erased")
    return result


def _tell(result: _Found, *, json: bool) -> None:
    if json:
        bad = [
            {"threadId": row.thread_id, "number": row.number, "is": how, "key": _key(word)}
            for row, how, word in result.bad
        ]
        print_json({"words": dict(result.counts), "bad": bad})
        return
    for row, how, word in result.bad[:_MAX_NAMED]:
        key = "" if _key(word) is None else f" (key {_key(word)})"
        text = f"{how.upper()}: thread {row.thread_id!r}, row {row.number}: {_SAID[how]}{key}"
        typer.echo(plain(text, 400))
    if len(result.bad) > _MAX_NAMED:
        typer.echo(f"… and {len(result.bad) - _MAX_NAMED} more.")
    counts = ", ".join(f"{result.counts[how]} {how}" for how in sorted(result.counts))
    typer.echo(f"Words of people: {counts or 'none'}.")


def _key(word: Word | None) -> str | None:
    return None if word is None or word.signature is None else word.signature.key


def _stored(thread: str | None, store: str | None, app: str | None, scope: str) -> list[_Row]:
    async def look(session: OpenedStore) -> list[_Row]:
        trail = session.app.store
        rows = every(lambda after: trail.audit(scope, PageRequest(after, 500), thread_id=thread))
        return [
            _Row(
                row.thread_id,
                row.number,
                row.at,
                row.kind,
                content_of(row),
                empty=row.content is None and row.salt is None,
            )
            async for row in rows
        ]

    return within(look, app=app, store=store, scope=scope)


def _exported(file: Path) -> Iterator[_Row]:
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as error:
        raise CannotStart(f"the export cannot be read: {error}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            members: Any = jsonvalue.decode(line)
            if "cursor" in members and "kind" not in members:
                continue
            yield _row_of(members)
        except (ValueError, LookupError, TypeError, AttributeError):
            yield _Row(f"(line {number})", "?", 0, "?", None)


def _row_of(members: Mapping[str, Any]) -> _Row:
    """A line of an export, with ids again in place of names: these are what is signed."""
    ids: Mapping[str, str] = members.get("people", {})
    content = members.get("content")
    if isinstance(content, dict):
        content = renamed(content, lambda who: str(ids.get(who, who)))
    else:
        content = None
    return _Row(
        str(members["threadId"]),
        members["number"],
        parse_time(members["at"]),
        str(members["kind"]),
        content,
        empty="content" not in members and "broken" not in members,
    )
