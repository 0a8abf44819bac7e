"""The one module that knows the protocol's SDK: its run input, and its events as plain JSON."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from functools import cache
from typing import Any, Final

from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    RunAgentInput,
    TextMessageContentEvent,
    ToolCallArgsEvent,
)
from pydantic import ValidationError

from sayso.frameworks.agui.source import Json, NothingBegan, Source

Produce = Callable[[RunAgentInput], AsyncIterator[BaseEvent]]
"""A function of a run input that yields events, such as the `run` of an SDK's agent."""
_NULLABLE: Final = ("event", "snapshot", "value")
"""Members whose value may be null, which says something."""
_DELTAS: Final[dict[type[BaseEvent], tuple[str, str, str]]] = {
    TextMessageContentEvent: ("TEXT_MESSAGE_CONTENT", "message_id", "messageId"),
    ReasoningMessageContentEvent: ("REASONING_MESSAGE_CONTENT", "message_id", "messageId"),
    ToolCallArgsEvent: ("TOOL_CALL_ARGS", "tool_call_id", "toolCallId"),
}
"""The events that a run has by thousands: their types, and what each names, there and here."""
_OF_DELTAS: Final = frozenset({"type", "message_id", "tool_call_id", "delta"})


class Producer(Source):
    """A function of this process."""

    def __init__(self, produce: Produce) -> None:
        self._produce = produce

    async def run(self, request: Json, headers: Any = None) -> AsyncIterator[Json]:
        """The events of one run; whatever the function raises."""
        try:
            run_input = RunAgentInput.model_validate(request)
        except ValidationError as error:
            where = "/".join(map(str, error.errors(include_input=False)[0]["loc"]))
            raise NothingBegan(
                f"the protocol's SDK does not take the request, at {where}"
            ) from None
        events = self._produce(run_input)
        async with aclosing(events) as iterated:  # type: ignore[type-var]  # an iterator may have no `aclose`
            async for event in iterated:
                yield _plain(event)


def _plain(event: BaseEvent) -> Json:
    delta = _DELTAS.get(type(event))
    if delta is not None and _OF_DELTAS.issuperset(event.model_fields_set):
        # By its model it would cost as much as all else that is done with it.
        kind, member, name = delta
        return {"type": kind, name: getattr(event, member), "delta": event.delta}  # type: ignore[attr-defined]  # each of these has one
    plain: Json = event.model_dump(mode="json", by_alias=True, exclude_none=True)
    for name in _nullable(type(event)):
        plain.setdefault(name, None)
    return plain


@cache
def _nullable(kind: type[BaseEvent]) -> tuple[str, ...]:
    return tuple(name for name in _NULLABLE if name in kind.model_fields)
