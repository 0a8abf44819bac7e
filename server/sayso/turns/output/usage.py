"""Usage: what the models of a turn cost, told at the end of the run that spent it (US-05)."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from sayso.base.records import Entry
from sayso.protocol.usage import Usage
from sayso.turns.journal import places
from sayso.turns.replay.execution import Execution, Place
from sayso.turns.replay.recorded import Recorded, recorded


async def report_usage(
    execution: Execution, provider: str | None, model: str | None, counts: Mapping[str, Any]
) -> None:
    """Count one call of a model. On replay it has been counted; inside a step, the step is it."""
    count = partial(_count, execution, provider, model, counts)
    if execution.inside_effect():
        count()
    else:
        await recorded(execution, _Counted(count))


class _Counted(Recorded[None]):
    """A call of a model that is counted once."""

    kind = "usage"
    name = ""
    beside_text = True

    def __init__(self, count: Callable[[], None]) -> None:
        self._count = count

    async def run(self, place: Place) -> Entry:
        """Count it."""
        entry = place.record("done")
        self._count()
        return entry

    def read(self, place: Place, entry: Entry | None) -> None:
        """Nothing comes of it."""


def _count(
    execution: Execution, provider: str | None, model: str | None, counts: Mapping[str, Any]
) -> None:
    execution.usage.add(provider, model, counts)
    execution.journal.write(
        Entry(
            place=places.usage(execution.usage.run_key),
            kind="spent",
            name="",
            fingerprint="spent",
            status="done",
            data=execution.usage.to_json(),
        )
    )


def spent(run_key: str, entries: Iterable[Entry]) -> Usage:
    """The usage of a run so far, as its turn's journal says."""
    here = places.usage(run_key)
    for entry in entries:
        if entry.place == here:
            return Usage.from_json(run_key, entry.data)
    return Usage(run_key)
