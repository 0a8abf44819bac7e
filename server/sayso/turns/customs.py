"""Events of an author's own: sent once, kept by nobody (PT-01 to PT-03)."""

import re
from typing import Any, Final

from sayso import jsonvalue
from sayso.agents.codec import to_json
from sayso.turns.execution import Execution

__all__ = ["send_custom"]

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*[.:/]\S+", re.ASCII)
_RESERVED: Final = ("ag-ui", "agui", "sayso")


async def send_custom(execution: Execution, name: str, value: Any) -> None:
    """Send a CUSTOM event, once in the life of the turn.

    Inside a step or a tool it goes out whenever that runs. ValueError for a name without a vendor.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"the custom event {name!r} needs its vendor in front, such as 'shop:stock': names "
            "without one belong to the protocol (PT-03)"
        )
    vendor = re.split("[.:/]", name)[0].lower()
    if vendor in _RESERVED:
        raise ValueError(f"custom events of {vendor!r} are not an author's to send: use your own")
    event = {
        "type": "CUSTOM",
        "name": name,
        "value": jsonvalue.decode(to_json(value, f"the value of custom event {name!r}")),
    }
    if execution.inside_effect():
        if execution.closed:
            raise execution.pause()
        execution.stream.emit(event)
        return
    place = await execution.enter("custom", name, beside_text=True)
    if place.entry is None:
        execution.live(place.branch)
        execution.stream.emit(event)
        execution.record(place, "custom", name, "done")
