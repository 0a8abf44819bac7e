"""Custom events: those of an author, and ours (PT-01 to PT-03).

The journal has that one was sent, so that a replay does not send it again. Its value is kept
nowhere: no history has it, and who reads the thread later does not get it.
"""

import re
from typing import Any, Final

from sayso.agents.codec import to_json
from sayso.base import jsonvalue
from sayso.base.records import Entry
from sayso.base.texts import to_utf8_safe
from sayso.turns.replay.execution import Execution, Place
from sayso.turns.replay.recorded import Recorded, recorded

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*[.:/]\S+", re.ASCII)
_RESERVED: Final = ("ag-ui", "agui", "sayso")


def custom_event(name: str, value: Any) -> dict[str, Any]:
    """A CUSTOM event; its value is JSON, null included."""
    return {"type": "CUSTOM", "name": name, "value": value}


async def send_custom(execution: Execution, name: str, value: Any) -> None:
    """Send a CUSTOM event, once in the life of the turn.

    Inside a step or a tool it goes out whenever that runs. ValueError for a name without a vendor.
    """
    name = to_utf8_safe(name)
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"the custom event {name!r} needs its vendor in front, such as 'shop:stock': names "
            "without one belong to the protocol (PT-03)"
        )
    vendor = re.split("[.:/]", name)[0].lower()
    if vendor in _RESERVED:
        raise ValueError(f"custom events of {vendor!r} are not an author's to send: use your own")
    plain = jsonvalue.decode(to_json(value, f"the value of custom event {name!r}"))
    event = custom_event(name, plain)
    if execution.inside_effect():
        if execution.closed:
            raise execution.pause()
        execution.stream.emit(event)
        return
    await recorded(execution, _Custom(name, event))


class _Custom(Recorded[None]):
    """An event that is sent once."""

    kind = "custom"
    beside_text = True

    def __init__(self, name: str, event: dict[str, Any]) -> None:
        self.name = name
        self._event = event

    async def run(self, place: Place) -> Entry:
        """Send it."""
        place.emit(self._event)
        return place.record("done")

    def read(self, place: Place, entry: Entry | None) -> None:
        """Nothing comes of it."""
