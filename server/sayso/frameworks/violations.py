"""The faults that pydantic sees, as those of arguments."""

from collections.abc import Sequence

from pydantic import ValidationError

from sayso import SchemaViolation


def violations(error: ValidationError) -> list[SchemaViolation]:
    """List what does not fit, each at its member."""
    return [
        SchemaViolation(_pointer(item["loc"]), item["msg"])
        for item in error.errors(include_url=False, include_input=False)
    ]


def _pointer(location: Sequence[int | str]) -> str:
    """A place as a JSON Pointer."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in location)
