"""Times without a zone: the formats that publish them, and their checks. Pure.

JSON Schema's `date-time` has a zone, which a naive type refuses. So naive times are published under
names of their own, as HTML has them: clients that know these send no offset.
"""

from datetime import datetime, time
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

_DIGITS: Final = frozenset("0123456789:.")


class Published(GenerateJsonSchema):
    """JSON Schemas of Python types, as clients get them."""

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        """A secret has no default: stars stand for it, which a form would send back."""
        made = super().default_schema(schema)
        if made.get("writeOnly") is True:
            made = {name: member for name, member in made.items() if name != "default"}
        return made

    def datetime_schema(self, schema: Any) -> JsonSchemaValue:
        """A naive datetime is a `date-time-local`: `2026-05-02T10:00:00`."""
        made = super().datetime_schema(schema)
        return _local(made) if schema.get("tz_constraint") == "naive" else made

    def time_schema(self, schema: Any) -> JsonSchemaValue:
        """A time is a `time-local`, unless it needs a zone: `10:00:00`, as a clock on the wall."""
        made = super().time_schema(schema)
        return made if schema.get("tz_constraint") == "aware" else _local(made)


def _local(made: JsonSchemaValue) -> JsonSchemaValue:
    return {**made, "format": f"{made['format']}-local"}


def _is_local_datetime(text: str) -> bool:
    day, separator, hour = text.upper().partition("T")
    return bool(separator) and len(day) == 10 and _is_local_time(hour) and _reads(datetime, text)


def _is_local_time(text: str) -> bool:
    return len(text) >= 5 and text[2] == ":" and set(text) <= _DIGITS and _reads(time, text)


def _reads(kind: Any, text: str) -> bool:
    try:
        kind.fromisoformat(text)
    except ValueError:
        return False
    return True


LOCAL: Final = {"date-time-local": _is_local_datetime, "time-local": _is_local_time}
"""The check of each format."""
