"""The kind of end that a run has come to, read from its stored outcome. Pure."""

import re

from sayso.base import jsonvalue

_TYPE = re.compile(rb'\{"type":"([a-z]+)"')


def outcome_type(outcome: bytes | None) -> str | None:
    """The type of a run's outcome; None while there is none."""
    if outcome is None:
        return None
    if (begins := _TYPE.match(outcome)) is not None:
        return begins[1].decode()  # an outcome with a hundred questions is not read for its type
    value = jsonvalue.decode(outcome)
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else None
