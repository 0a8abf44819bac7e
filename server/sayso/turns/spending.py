"""What the models of a turn cost, told with the ending of the run that spent it (US-05)."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sayso.protocol.usage import Usage
from sayso.records import Entry
from sayso.turns.execution import Execution

__all__ = ["report_usage", "spent"]

_PLACE: Final = "usage:"
"""Before the key of the run, whose sums are kept there for whoever takes the turn over."""


async def report_usage(
    execution: Execution, provider: str | None, model: str | None, counts: Mapping[str, Any]
) -> None:
    """Count one call of a model. On replay it has been counted; inside a step, the step is it."""
    if not execution.inside_effect():
        place = await execution.enter("usage", "", beside_text=True)
        if place.entry is not None:
            return
        execution.record(place, "usage", "", "done")
    execution.usage.add(provider, model, counts)
    execution.journal.write(
        Entry(
            place=f"{_PLACE}{execution.usage.run_key}",
            kind="spent",
            name="",
            fingerprint="spent",
            status="done",
            data=execution.usage.to_json(),
        )
    )


def spent(run_key: str, entries: Iterable[Entry]) -> Usage:
    """What a run has spent so far, as its turn's journal says."""
    for entry in entries:
        if entry.place == f"{_PLACE}{run_key}":
            return Usage(run_key, entry.data)
    return Usage(run_key)
