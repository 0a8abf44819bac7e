"""What the protocol's own SDK and the third-party validator say of a stream.

The only test module that imports the SDK. Its models take unknown members, snake_case and numbers
of the wrong type in silence (TR-20), so they are made strict and closed here.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ag_ui.core import AgentCapabilities, Event, RunAgentInput
from ag_ui_validate import create_validator
from pydantic import BaseModel, TypeAdapter, ValidationError

__all__ = ["capability_faults", "input_of", "model_faults", "validator_faults"]

_EVENT: TypeAdapter[Any] = TypeAdapter(Event)

AGAINST_THE_SPEC = {
    "AGUI001": "a stream may open with RUN_ERROR",
    "AGUI005": "RUN_ERROR may follow RUN_FINISHED",
}
"""Rules of the validator that are stricter than the protocol.

So is AGUI504, where it speaks of content parts; to whom those may go is checked elsewhere (TC-07).
"""


def _unknown(model: Any, raw: Any, path: str) -> Iterator[str]:
    """Members that the schema does not have, and nulls where absent is meant (LC-22, TR-12)."""
    if isinstance(model, list):
        for position, (item, part) in enumerate(zip(model, raw, strict=True)):
            yield from _unknown(item, part, f"{path}/{position}")
    if not isinstance(model, BaseModel):
        return
    fields = {
        field.alias or name: (name, field) for name, field in type(model).model_fields.items()
    }
    for key, part in raw.items():
        if key not in fields:
            yield f"{path}/{key} is no member of {type(model).__name__}"
        elif part is None and not fields[key][1].is_required():
            yield f"{path}/{key} is null where absent is meant"
        else:
            yield from _unknown(getattr(model, fields[key][0]), part, f"{path}/{key}")


def _faults(adapter: TypeAdapter[Any], value: Any) -> list[str]:
    try:
        model = adapter.validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        return [f"{problem['loc']}: {problem['msg']}" for problem in error.errors()]
    return list(_unknown(model, value, ""))


def model_faults(events: Sequence[dict[str, Any]]) -> list[str]:
    """What the SDK's models refuse, or do not know, in any of the events."""
    return [
        f"event {position} ({event.get('type')}): {fault}"
        for position, event in enumerate(events)
        for fault in _faults(_EVENT, event)
    ]


def capability_faults(declaration: dict[str, Any]) -> list[str]:
    """What the SDK's model refuses, or does not know, in an agent's declaration."""
    return _faults(TypeAdapter(AgentCapabilities), declaration)


def validator_faults(
    events: Sequence[dict[str, Any]], *, warnings: bool = True, allow: Sequence[str] = ()
) -> list[str]:
    """Errors, and warnings unless told otherwise, of `ag-ui-validate` over a whole stream."""
    validator = create_validator()
    for event in events:
        validator.feed(event)
    validator.finalize()
    report = validator.report()
    severities = {"error", "warning"} if warnings else {"error"}
    ignored = {*AGAINST_THE_SPEC, *allow}
    return [*report.internal_errors] + [
        f"event {found.event_index}: {found.rule} {found.message}"
        for found in report.diagnostics
        if found.severity in severities
        and found.rule not in ignored
        and not (found.rule == "AGUI504" and isinstance(events[found.event_index]["content"], list))
    ]


def input_of(body: bytes) -> dict[str, Any] | None:
    """A request body as the SDK reads it and would write it, or None if it refuses it."""
    try:
        model = RunAgentInput.model_validate_json(body)
    except ValidationError:
        return None
    written: dict[str, Any] = model.model_dump(mode="json", by_alias=True)
    return written
