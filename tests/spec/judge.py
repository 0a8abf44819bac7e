"""What the frozen schemas of protocol 1.0 say of events and requests (LC-23)."""

import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema_rs import Draft202012Validator

from tests.patience import PATIENCE

__all__ = ["event_members", "event_types", "schema_faults", "shape_faults"]


@cache
def _schemas() -> Mapping[str, Any]:
    node = shutil.which("node")
    assert node is not None, "node is not on the path: run `npm test`, which sets it up"
    printed = subprocess.run(  # noqa: S603 - a script of this repository
        [node, Path(__file__).with_name("schemas.mjs")],
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    assert printed.returncode == 0, (
        f"`npm test -- house:format` brings node_modules up to date:\n{printed.stderr.decode()}"
    )
    found: Mapping[str, Any] = json.loads(printed.stdout)
    assert found["version"] == "1.0", "these are not the schemas of protocol 1.0"
    return found


@cache
def _validator(group: str, name: str) -> Draft202012Validator:
    return Draft202012Validator(_schemas()[group][name])


def event_types() -> frozenset[str]:
    """Every type of event that the protocol has."""
    return frozenset(_schemas()["events"])


def event_members(name: str) -> tuple[set[str], set[str]]:
    """The members that an event may have, and those that it must have."""
    schema = _schemas()["events"][name]
    return set(schema["properties"]), set(schema["required"])


def schema_faults(events: Iterable[Mapping[str, Any]]) -> list[str]:
    """What the schemas refuse in any of the events, with its place."""
    return [
        f"event {position} ({event.get('type')}): {fault}"
        for position, event in enumerate(events)
        for fault in _faults(event)
    ]


def _faults(event: Mapping[str, Any]) -> Sequence[str]:
    if event.get("type") not in event_types():
        return ["is of no type that the protocol has"]
    return _told(_validator("events", str(event["type"])), event)


def shape_faults(shape: str, value: Any) -> list[str]:
    """What the schema of a named shape (`RunAgentInput`, `Interrupt`, …) refuses in a value."""
    return _told(_validator("shapes", shape), value)


def _told(validator: Draft202012Validator, value: Any) -> list[str]:
    return [
        f"/{'/'.join(map(str, error.instance_path))}: {error.message}"
        for error in validator.iter_errors(value)
    ]
