"""Results of tools as they are recorded: what the framework gets back, and what clients read.

Each is a JSON object with its `kind`: contents, or an ending that the framework knows.
"""

from collections.abc import Sequence
from typing import Any

from agent_framework import Content, FunctionTool, MiddlewareFailure, MiddlewareTermination

from sayso import Told
from sayso.frameworks.agent_framework.contents import dumped, loaded, told


def returned(result: Any) -> Told[Any]:
    """The record of a result, as middleware gets it: contents, or a text."""
    contents = _contents(result)
    return Told({"kind": "contents", "contents": dumped(contents)}, told(contents))


def terminated(error: MiddlewareTermination, result: Any) -> Told[Any]:
    """The record of a call after which the agent stops: its own result, else the one so far."""
    contents = _contents(result if error.result is None else error.result)
    return Told({"kind": "terminated", "contents": dumped(contents)}, told(contents))


def aborted(error: MiddlewareFailure) -> Told[Any]:
    """The record of a call whose tool wants the run to fail."""
    return Told({"kind": "aborted", "message": str(error)}, f"Failed: {error}")


def from_person(value: Any) -> Told[Any]:
    """The record of a result that a person gives in place of the tool's own."""
    return returned(FunctionTool.parse_result(value))


def restored(record: Any) -> list[Content]:
    """The contents of a record.

    Raises:
        MiddlewareFailure: the tool wants the run to fail.
    """
    if record["kind"] == "aborted":
        raise MiddlewareFailure(record["message"])
    return loaded(record["contents"])


def ends_the_run(record: Any) -> bool:
    """True if the agent stops after this call."""
    return bool(record["kind"] == "terminated")


def _contents(result: Any) -> Sequence[Content]:
    """A result as the framework would tell its model."""
    if isinstance(result, list) and all(isinstance(each, Content) for each in result):
        return result
    return [Content.from_text("" if result is None else str(result))]
