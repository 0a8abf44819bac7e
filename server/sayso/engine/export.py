"""The audit trail on its way out: all rows of a scope, each once, at once or as they come.

A reader goes on from the place where it has ended. It reads up to the place before which no row
comes in any more (`Store.audit_end`), so the clocks of those who write are of no account.

Who takes rows out is noted before the first leaves: once for a reader, however long it follows. One
that finds nothing but such notes adds none. So readers that come again and again have an end.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from functools import partial

from sayso.base.records import PageRequest
from sayso.engine.audit import Audit, Json, LookedUp, ToldRow
from sayso.stores.base import lies_behind
from sayso.stores.pieces import rows_within
from sayso.turns.replay.wakeup import Wakeup
from sayso.turns.services import Services

EXPORTED = "exported"
"""The kind of the row that says who has taken rows out."""
BY_COMMAND = "sayso:command"
"""Who takes them out by the command, whose user only the machine knows."""
_PAGE_SIZE = 500
_LOOK_S = 2.0
"""Seconds between looks at what others have written."""
_SILENCE_S = 15.0
"""Seconds without a row after which a follower is told its place again."""


class RowsGone(ValueError):
    """A place behind the newest row: rows in front of it are gone, or it is another trail's."""


@dataclass(frozen=True, slots=True)
class Exported:
    """Rows of an export, and the place behind them; None: there are none yet, nor before them."""

    rows: Sequence[ToldRow]
    place: str | None


class ExportReader:
    """Whoever takes rows out: from a place on, which goes along."""

    def __init__(
        self,
        services: Services,
        audit: Audit,
        scope: str,
        *,
        by: str,
        channel: str,
        since: str | None,
    ) -> None:
        """`by` is who reads, `channel` the way."""
        self.place = since
        self._store, self._clock, self._audit = services.store, services.clock, audit
        self._scope, self._by, self._channel = scope, by, channel
        self._seen = LookedUp()
        self._noted = False

    async def new(self, *, follows: bool = False) -> AsyncGenerator[Exported]:
        """All rows behind the place, some at a time; it moves behind what was given.

        Raises:
            ValueError: a place that no export gave; `RowsGone` if it may have been one.
        """
        end = await self._store.audit_end(self._scope)
        if lies_behind(self.place, end):
            raise RowsGone(
                "The audit trail ends before the place from which this export goes on: it has lost "
                "rows, as by an older backup, or it is another one. Compare it with what was "
                "exported, then export it from its beginning."
            )
        more = True
        while more:
            read = partial(self._store.audit, self._scope, until=end)
            page = await rows_within(read, PageRequest(self.place, _PAGE_SIZE))
            if not self._noted and any(row.kind != EXPORTED for row in page.items):
                await self._note(end, follows=follows)
            rows = await self._audit.told(self._scope, page.items, self._seen)
            more = page.next is not None
            if rows or more:
                self.place = page.next or end
                yield Exported(rows, self.place)

    async def _note(self, end: str, *, follows: bool) -> None:
        content: Json = {
            "by": self._by,
            "channel": self._channel,
            "since": self.place,
            "until": end,
        }
        if follows:
            content["follows"] = True
        await self._store.note(self._scope, [(EXPORTED, content)], self._clock.now())
        self._noted = True


class Exports:
    """Exports of the audit trail of a store."""

    def __init__(self, services: Services, audit: Audit) -> None:
        self._services, self._audit = services, audit
        self._followers: dict[Wakeup, str] = {}
        self._closed = False

    def reader(
        self, scope: str, *, by: str, channel: str, since: str | None = None
    ) -> ExportReader:
        """Somebody who takes rows out, from a place on or from the first."""
        return ExportReader(self._services, self._audit, scope, by=by, channel=channel, since=since)

    async def note_person(self, scope: str, by: str, subject: str) -> None:
        """Note who takes out what is kept of a person."""
        content: Json = {"by": by, "for": subject, "channel": "command"}
        await self._services.store.note(scope, [(EXPORTED, content)], self._services.clock.now())

    async def follow(
        self, scope: str, reader: ExportReader, seconds: float
    ) -> AsyncGenerator[Exported]:
        """The rows behind a reader's place, and for some seconds those that come.

        Without a row the place is given, at once and now and then, so that whoever follows sees
        that it does.
        """
        clock, wakeup = self._services.clock, Wakeup()
        until = clock.monotonic() + seconds
        told_at: float | None = None
        self._followers[wakeup] = scope
        if len(self._followers) == 1:
            self._services.watchers.add(self._changed)
        try:
            while True:
                async for exported in reader.new(follows=seconds > 0):
                    yield exported
                    told_at = clock.monotonic()
                left = until - clock.monotonic()
                if told_at is None or clock.monotonic() - told_at >= _SILENCE_S:
                    yield Exported((), reader.place)
                    told_at = clock.monotonic()
                if left <= 0 or self._closed:
                    return
                await wakeup.within(min(left, _LOOK_S), clock.sleep)
        finally:
            del self._followers[wakeup]
            if not self._followers:
                self._services.watchers.discard(self._changed)

    def close(self) -> None:
        """End all who follow."""
        self._closed = True
        self._changed(None)

    def open(self) -> None:
        """Let others follow again."""
        self._closed = False

    @property
    def is_closed(self) -> bool:
        """True if who follows is ended because the server stops."""
        return self._closed

    def _changed(self, scope: str | None) -> None:
        for wakeup, followed in self._followers.items():
            if scope in (None, followed):
                wakeup.notify()
