"""The dialect from before interrupts were in the protocol: asked by event, answered by command.

Pure. A question is `CUSTOM on_interrupt` right before RUN_FINISHED (LG-01); an answer comes in
`forwardedProps.command`, read by this table (LG-04 to LG-06, TR-27):

| `command`                                      | is                                             |
|------------------------------------------------|------------------------------------------------|
| absent, null, or no object                     | no answer                                      |
| neither `resume` nor `interruptEvent`          | no answer                                      |
| `resume` null, no `interruptEvent`             | no answer: null is absent                      |
| `resume` false, 0, "", {} or []                | that answer: presence counts, truth does not   |
| `interruptEvent` alone, or with `resume` null  | the answer null, given without a payload       |
| `interruptEvent`: object with an id, or its JSON text | to that interrupt, whatever else is open |
| any other `interruptEvent`                     | to the open one that was asked with that value |
| `resume` a string, its schema takes strings    | that string, also when it reads like JSON (G3) |
| `resume` a string, its schema takes none       | its JSON value; the string itself if it is none|
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sayso.base import jsonvalue
from sayso.base.options import LegacyValue
from sayso.protocol.frames import frame

CHANNEL: Final = "legacy"
"""By which channel such an answer came."""
_MAX_ID_CHARS: Final = 512
_MAX_DEPTH: Final = 64


@dataclass(frozen=True, slots=True)
class Command:
    """An answer in this dialect; both members are None when absent or null, never both of them."""

    resume: Any
    event: Any

    @property
    def names(self) -> list[str]:
        """The interrupts that it may name, to be looked up."""
        if self.event is not None:
            named = interrupt_id_of(self.event)
            return [] if named is None else [named]
        value = _object(self.resume)
        return [] if value is None else [key for key in value if _is_id(key)]

    @property
    def by_id(self) -> Mapping[str, Any] | None:
        """The answer as a map, if it is one: several at once come keyed by their ids (LG-14)."""
        return None if self.event is not None else _object(self.resume)


def read_command(forwarded_props: Any) -> Command | None:
    """The answer in a request's `forwardedProps`, by the table above."""
    command = forwarded_props.get("command") if isinstance(forwarded_props, dict) else None
    if not isinstance(command, dict):
        return None
    read = Command(command.get("resume"), command.get("interruptEvent"))
    return None if read.resume is None and read.event is None else read


def interrupt_id_of(event: Any) -> str | None:
    """The id of the interrupt that an `interruptEvent` names; None for a raw value."""
    value = _object(event)
    identifier = None if value is None else value.get("id")
    return identifier if _is_id(identifier) else None


def parse_answer(resume: Any, *, takes_text: bool) -> Any:
    """The payload that a `resume` is; `takes_text`: its question could be answered by a string."""
    if not isinstance(resume, str) or takes_text:
        return resume
    try:
        value = jsonvalue.decode(resume.encode())
    except ValueError:
        return resume
    return resume if jsonvalue.exceeds_depth(value, _MAX_DEPTH) else value


def legacy_event(interrupt: bytes, value: LegacyValue) -> bytes:
    """The frame that asks. ValueError if it is too long."""
    text = interrupt.decode()
    if value == "message":
        text = jsonvalue.decode(interrupt).get("message") or text
    return frame({"type": "CUSTOM", "name": "on_interrupt", "value": text})


def _object(value: Any) -> dict[str, Any] | None:
    if isinstance(value, str):
        value = parse_answer(value, takes_text=False)
    return value if isinstance(value, dict) else None


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MAX_ID_CHARS and "\0" not in value
