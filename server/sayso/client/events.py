"""The events and messages of AG-UI 1.0, as a consumer reads them (FC-07, FC-11, FC-12). Pure.

The forgiving policy over `protocol/events`: what is unknown is left out with a note, what is known
and wrong is a `ProtocolViolation`.
"""

from typing import Any, Final

from sayso.base.jsonvalue import pointer
from sayso.client.errors import ProtocolViolation
from sayso.protocol.events import EVENTS, Event
from sayso.protocol.forward_compat import DROPPED, Path, ReadReport
from sayso.protocol.messages import message as check_message

Notes = list[str]
_ABSENT: Final = frozenset({"rawEvent", "parentMessageId", "result", "outcome"})
"""Members that may be null, which says nothing (FC-12)."""


class _Forgiving(ReadReport):
    """Notes what is left out, and raises for what is wrong."""

    older = False

    def error(self, path: Path, message: str) -> Any:
        """Reject it."""
        raise ProtocolViolation(f"{pointer(path) or 'it'} {message}")

    def warn(self, path: Path, message: str) -> Any:
        """Note it."""
        self.warnings.append(f"{pointer(path) or 'it'} {message}")
        return DROPPED

    def is_absent(self, path: Path, required: bool) -> bool:
        """True for the few members that may be null."""
        if path[-1] not in _ABSENT:
            return False
        self.warnings.append(f"{pointer(path)} is null and was read as absent")
        return True

    def id_error(self, value: str) -> str | None:
        """Take every string: it is others' to choose."""
        return None


class _Outgoing(_Forgiving):
    """Reads what is to be sent: also what an application has kept from older versions."""

    older = True
    strict = True


def read_event(value: Any, notes: Notes) -> Event | None:
    """An event with what the protocol describes, or None for one that it does not.

    Raises `ProtocolViolation` for a known member with a wrong value.
    """
    kind = value.get("type") if type(value) is dict else None
    if type(kind) is not str:
        raise ProtocolViolation("an event must be an object with a 'type' that is a string")
    row = EVENTS.get(kind)
    if row is None:
        notes.append(f"an event of the unknown type {kind!r} was left out")
        return None
    try:
        event = row.taken.read(value, (), _Forgiving(warnings=notes))
    except ProtocolViolation as error:
        raise ProtocolViolation(f"{kind}: {error}") from None
    return None if event is DROPPED else event


def read_message(value: Any, notes: Notes) -> dict[str, Any]:
    """A message that is fit to be sent (FC-11); `ProtocolViolation` for any other.

    What the protocol does not describe is left out of it and noted; the retired `binary` part goes
    as the media part that says the same.
    """
    report = _Outgoing()
    message: dict[str, Any] = check_message(value, (), report)
    if message is DROPPED:
        raise ProtocolViolation(f"the message cannot be sent: {report.warnings[-1]}")
    notes += report.warnings
    return message
