"""Telemetry of what is only replayed: newer versions of the framework leave it out when told."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from pydantic_ai import durable_exec


def replay_scope() -> AbstractContextManager[None]:
    """Mark a run whose recorded work must not be exported a second time."""
    scope: Callable[[], AbstractContextManager[None]] = getattr(
        durable_exec, "replay_scope", nullcontext
    )
    return scope()


def unit_done(*, executed: bool) -> None:
    """Tell that a recorded piece of work ended: it ran, or its record was read."""
    record: Callable[..., Any] | None = getattr(durable_exec, "record_durable_unit", None)
    if record is not None:
        record(executed=executed)
