"""Proposed tool calls: streamed whole, and joined to the text that leads up to them."""

from collections.abc import Sequence

from sayso.base.records import Message
from sayso.turns.calls.results import call_events, call_message, with_calls
from sayso.turns.replay.execution import Place

Proposed = tuple[str, str, str]
"""A call's id, the name of its tool, its arguments as JSON text."""


def propose(place: Place, calls: Sequence[Proposed]) -> None:
    """Stream new calls, complete, as one assistant message (TC-01, TC-03, TC-04).

    `place` is that of the first. Calls right behind a text of the same code belong to its message,
    as model APIs have it: clients that fold a run into messages look at the last one only.
    """
    execution = place.execution
    execution.announce_phases(place.branch)
    text = _leading_up(place)
    if text is None:
        message_id = execution.message_id(place.key)
        execution.add_message(call_message(message_id, calls))
    else:
        message_id = text.id
        longer = with_calls(text, calls)
        execution.make_room(len(longer.body) - len(text.body))
        execution.transcript.revise(longer)
    for call_id, name, arguments in calls:
        for event in call_events(message_id, call_id, name, arguments):
            execution.stream.emit(event)


def _leading_up(place: Place) -> Message | None:
    """The text that was streamed right before a place, if it is the last that clients have.

    What another branch says in between, or is saying, is the last message then (TC-03).
    """
    execution = place.execution
    said, messages = place.branch.said, execution.transcript.messages
    if said is None or said[0] != place.key or execution.writing or not messages:
        return None
    last = messages[-1]
    return last if last.id == said[1] and last.role == "assistant" else None
