"""The audit trail of a scope as lines of JSON in a file, for a collector of logs.

A row is a line, and so is the place behind the rows of a look. Who is killed in between has the
rows behind the last place in the file: they are counted, and not written again.
"""

import os
from pathlib import Path
from typing import BinaryIO

from sayso.base import jsonvalue
from sayso.engine.export import BY_COMMAND, Exports, RowsGone
from sayso.http.rest.audit import row_view
from sayso.ops.binding import CannotStart


class Follower:
    """A file that rows are appended to: those that it does not have yet."""

    def __init__(self, exports: Exports, scope: str, file: BinaryIO, *, follows: bool) -> None:
        """`follows`: it will look again.

        Raises:
            CannotStart: the file is something else, or goes further than the trail.
        """
        place, self._ahead = _reached(file)
        self._reader = exports.reader(scope, by=BY_COMMAND, channel="command", since=place)
        self._file, self._follows = file, follows

    async def look(self) -> int:
        """Append what is new; returns how many rows that were.

        Raises:
            CannotStart: the file is something else.
        """
        count, file = 0, self._file
        try:
            async for exported in self._reader.new(follows=self._follows):
                new = exported.rows[self._ahead :]
                self._ahead = max(0, self._ahead - len(exported.rows))
                lines = [jsonvalue.encode(row_view(row)) for row in new]
                lines.append(jsonvalue.encode({"cursor": exported.place}))
                file.write(b"".join(line + b"\n" for line in lines))
                file.flush()
                os.fsync(file.fileno())
                count += len(new)
        except RowsGone as error:
            raise CannotStart(f"{Path(file.name)}: {error}") from error
        except ValueError as error:
            raise _unfit(file) from error
        return count


def _reached(file: BinaryIO) -> tuple[str | None, int]:
    """The last place in a file, and how many rows are behind it; a line without its end goes."""
    file.seek(0)
    place, rows, end = None, 0, 0
    for line in file:
        if not line.endswith(b"\n"):
            break
        end += len(line)
        try:
            members = jsonvalue.decode(line)
            if "cursor" in members:
                place, rows = str(members["cursor"]), 0
            else:
                rows += 1
        except (ValueError, TypeError) as error:
            raise _unfit(file) from error
    file.truncate(end)
    file.seek(end)
    return place, rows


def _unfit(file: BinaryIO) -> CannotStart:
    return CannotStart(f"{Path(file.name)} is not an export of the audit trail; name another file")
