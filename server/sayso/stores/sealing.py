"""The texts that are encrypted of what a store keeps, each for a place of its own.

A place is scope, thread, table, column and row: a text that is moved to another does not open.
Without a codec all of it stays as it is, at no cost. Times, ids, names and whatever lists filter by
are never encrypted.
"""

import logging
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from sayso.base.errors import StoreUnavailable
from sayso.base.fastrecords import copy_with
from sayso.base.records import Approval, Entry, Message, Run, TurnRecord
from sayso.base.secretvalues import SecretValue
from sayso.stores.aesgcm import MARK, AesGcm, Foreign, Unreadable
from sayso.stores.step import AuditLine


class Damaged(StoreUnavailable):
    """A text that no further key opens: somebody, or a disk, has changed, moved or put it there."""


T = TypeVar("T", bytes, str, bytes | None, str | None)
Row = Sequence[Any]
Source = TypeVar("Source")
Record = TypeVar("Record")

INTERRUPT_TEXTS = (
    "message",
    "response_schema",
    "metadata",
    "terms",
    "progress",
    "payload",
    "answer_metadata",
    "held",
)
"""The members of an interrupt that are texts, as SQL stores order them."""

AUDIT_TEXTS = ("content", "salt")

_log = logging.getLogger("sayso.store")

_TEXT_MARK = "\1sayso:"
"""What sealed text begins with, where no bytes can be kept."""


class Passage:
    """The texts of one thread on their way into a store, or out of it: as they are."""

    def one(self, column: str, row: str, text: T) -> T:
        """A text of a column (`table.column`) and row."""
        return text

    def several(self, table: str, row: str, columns: Sequence[str], texts: Row) -> Row:
        """The texts of several columns of a row."""
        return texts

    def messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Messages with their bodies."""
        return messages

    def entries(self, turn_key: str, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Entries of a turn with what they hold, and the fingerprints of what was asked for."""
        return entries

    def turn(self, turn: TurnRecord) -> TurnRecord:
        """A turn with its request."""
        return turn

    def run(self, run: Run) -> Run:
        """A run with its outcome."""
        return run

    def approval(self, approval: Approval) -> Approval:
        """An approval with its pattern and terms."""
        return approval

    def secret(self, value: SecretValue) -> SecretValue:
        """A value that is kept apart."""
        return value

    def line(self, line: AuditLine) -> AuditLine:
        """A row of the trail on its way in, with its content and the salt of that."""
        return line

    def told(self, number: int, *texts: bytes | None) -> Sequence[bytes | None]:
        """Content and salt of a row of the trail on their way out; None for what does not open."""
        return texts


class _Coded(Passage):
    """The same through a codec, one way or the other."""

    def __init__(self, codec: AesGcm, scope: str, thread_id: str) -> None:
        self._codec = codec
        self._scope, self._thread_id = scope, thread_id
        self._whose = f"{len(scope)}:{scope}{len(thread_id)}:{thread_id}"

    def _place(self, column: str, row: str) -> bytes:
        return f"{self._whose}{column}\0{row}".encode()

    def several(self, table: str, row: str, columns: Sequence[str], texts: Row) -> Row:
        return [
            None if text is None else self.one(f"{table}.{column}", row, text)
            for column, text in zip(columns, texts, strict=True)
        ]

    def messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        return [copy_with(m, body=self.one("message.body", m.id, m.body)) for m in messages]

    def entries(self, turn_key: str, entries: Sequence[Entry]) -> Sequence[Entry]:
        return [self._entry(f"{turn_key}\0{entry.place}", entry) for entry in entries]

    def _entry(self, row: str, entry: Entry) -> Entry:
        return copy_with(
            entry,
            fingerprint=self.one("entry.fingerprint", row, entry.fingerprint),
            data=self.one("entry.data", row, entry.data),
        )

    def turn(self, turn: TurnRecord) -> TurnRecord:
        return copy_with(turn, request=self.one("turn.request", turn.key, turn.request))

    def run(self, run: Run) -> Run:
        if run.outcome is None:
            return run
        return copy_with(run, outcome=self.one("run.outcome", run.key, run.outcome))

    def approval(self, approval: Approval) -> Approval:
        # Whose calls of which tool it covers is a part of its place.
        row = "\0".join((approval.id, approval.owner, approval.tool))
        return replace(
            approval,
            pattern=self.one("approval.pattern", row, approval.pattern),
            terms=self.one("approval.terms", row, approval.terms),
        )

    def secret(self, value: SecretValue) -> SecretValue:
        return copy_with(value, body=self.one("secret.body", value.id, value.body))


class _In(_Coded):
    """Into the store: sealed."""

    def one(self, column: str, row: str, text: Any) -> Any:
        if text is None:
            return None
        place = self._place(column, row)
        if isinstance(text, str):
            return _TEXT_MARK + b64encode(self._codec.seal(text.encode(), place)).decode()
        return self._codec.seal(text, place)

    def line(self, line: AuditLine) -> AuditLine:
        texts = self.several("audit", str(line.number), AUDIT_TEXTS, (line.content, line.salt))
        return line._replace(content=texts[0], salt=texts[1])


class _Out(_Coded):
    """Out of the store: opened."""

    def one(self, column: str, row: str, text: Any) -> Any:
        if text is None:
            return None
        try:
            if not isinstance(text, str):
                return self._codec.open(text, self._place(column, row))
            return self._codec.open(bytes_of(text), self._place(column, row)).decode()
        except Unreadable as why:
            error = _unavailable(column, row, self._scope, self._thread_id, str(why))
            raise (Damaged(str(error)) if isinstance(why, Foreign) else error) from None

    def told(self, number: int, *texts: bytes | None) -> Sequence[bytes | None]:
        return _told(self, number, texts)


class _Plain(Passage):
    """Out of a store without a codec, which looks at what every way to a text begins with."""

    def __init__(self, scope: str, thread_id: str) -> None:
        self._scope, self._thread_id = scope, thread_id

    def one(self, column: str, row: str, text: T) -> T:
        if is_sealed(text):
            why = "is encrypted, and this process has no key; give it with codec= or --key-file"
            raise _unavailable(column, row, self._scope, self._thread_id, why)
        return text

    def several(self, table: str, row: str, columns: Sequence[str], texts: Row) -> Row:
        for column, text in zip(columns, texts, strict=True):
            self.one(f"{table}.{column}", row, text)
        return texts

    def turn(self, turn: TurnRecord) -> TurnRecord:
        self.one("turn.request", turn.key, turn.request)
        return turn

    def told(self, number: int, *texts: bytes | None) -> Sequence[bytes | None]:
        return _told(self, number, texts)

    def approval(self, approval: Approval) -> Approval:
        self.one("approval.pattern", approval.id, approval.pattern)
        return approval

    def secret(self, value: SecretValue) -> SecretValue:
        self.one("secret.body", value.id, value.body)
        return value


_AS_IT_IS = Passage()


class Seals:
    """How a store keeps texts: under a codec, or as they are."""

    def __init__(self, codec: AesGcm | None = None) -> None:
        self.codec = codec

    def into(self, scope: str, thread_id: str) -> Passage:
        """The way of a thread's texts into the store."""
        return _AS_IT_IS if self.codec is None else _In(self.codec, scope, thread_id)

    def out_of(self, scope: str, thread_id: str) -> Passage:
        """The way of a thread's texts out of the store; texts that do not open are an error.

        What it gives raises `StoreUnavailable`, which says where, and why.
        """
        if self.codec is None:
            return _Plain(scope, thread_id)
        return _Out(self.codec, scope, thread_id)


NO_SEALS = Seals()


def those_that_open(
    make: Callable[[Source], Record], sources: Iterable[Source], *, some: bool = True
) -> list[Record]:
    """Make records of a list, without those that somebody has damaged: the log names these.

    One that wants a key which is not here is an error: it is there for processes that have it.

    Raises:
        StoreUnavailable: a key is missing, or, if there have to be `some`, none is as it was.
    """
    records: list[Record] = []
    damaged: Damaged | None = None
    for source in sources:
        try:
            records.append(make(source))
        except Damaged as error:
            damaged = error
            _log.error("a list goes without what cannot be read: %s", error)
    if some and damaged is not None and not records:
        raise damaged
    return records


def bytes_of(text: str) -> bytes:
    """The bytes that a text stands for, sealed or not."""
    if not text.startswith(_TEXT_MARK):
        return text.encode()
    try:
        return b64decode(text[len(_TEXT_MARK) :], validate=True)
    except ValueError:
        return MARK  # what is cut off has no key


def is_sealed(text: bytes | str | None) -> bool:
    """True if a codec has sealed this."""
    if text is None:
        return False
    return text.startswith(_TEXT_MARK) if isinstance(text, str) else text.startswith(MARK)


def _told(way: Passage, number: int, texts: Sequence[bytes | None]) -> Sequence[bytes | None]:
    try:
        return way.several("audit", str(number), AUDIT_TEXTS[: len(texts)], texts)
    except StoreUnavailable as error:
        # The chain of the others is still to be seen, and that this one is broken.
        _log.warning("a row of the audit trail is shown as broken: %s", error)
        return [None] * len(texts)


def _unavailable(column: str, row: str, scope: str, thread_id: str, why: str) -> StoreUnavailable:
    place = f"{column} of {row!r}" if row else column
    return StoreUnavailable(f"{place} in thread {thread_id!r} of scope {scope!r} {why}")
