"""The sandbox: a folder of really old files, which the demo agent may really clean up."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

OLD = 847
"""The number of old files."""
SCOPED = 312
"""The number of temporary files among them."""
_LONG_AGO = 1_500_000_000
"""Their last change, in seconds since the epoch: July 2017."""
_NAMES = tuple(
    f"scratch-{number:04d}.tmp" if number < SCOPED else f"report-{number:04d}.log"
    for number in range(OLD)
)


@dataclass(frozen=True, slots=True)
class OldFiles:
    """The files to clean up: how many, how many of them temporary, and since when."""

    count: int
    temporary: int
    since: str


class Sandbox:
    """Files below one folder, apart for each thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fill(self, thread_id: str) -> OldFiles:
        """Make the old files that are not there; returns what there is."""
        old = self._of(thread_id) / "old"
        old.mkdir(parents=True, exist_ok=True)
        for name in _NAMES:
            path = old / name
            path.touch()
            os.utime(path, (_LONG_AGO, _LONG_AGO))
        since = datetime.fromtimestamp(_LONG_AGO, UTC).strftime("%B %Y")
        return OldFiles(len(_NAMES), SCOPED, since)

    def delete(self, thread_id: str, *, scoped: bool) -> int:
        """Delete the old files, or the temporary ones among them; returns how many are meant."""
        names = _NAMES[:SCOPED] if scoped else _NAMES
        for name in names:
            (self._of(thread_id) / "old" / name).unlink(missing_ok=True)
        return len(names)

    def stage(self, thread_id: str) -> int:
        """Move the old files aside, where a person can look at them; returns how many are meant."""
        staged = self._of(thread_id) / "staged"
        staged.mkdir(parents=True, exist_ok=True)
        for name in _NAMES:
            path = self._of(thread_id) / "old" / name
            if path.exists():
                path.replace(staged / name)
        return len(_NAMES)

    def left(self, thread_id: str) -> int:
        """How many old files are where they were."""
        return sum(1 for _ in (self._of(thread_id) / "old").glob("*"))

    def count(self, thread_id: str, folder: str | None) -> int:
        """How many files there are in a folder, or in all; a name that leads elsewhere has none."""
        files = self._of(thread_id).glob("*/*")
        return sum(1 for path in files if folder in (None, path.parent.name))

    def _of(self, thread_id: str) -> Path:
        # A thread's id is the client's: it names a folder by its digest only.
        return self._folder / blake2b(thread_id.encode(), digest_size=8).hexdigest()
