"""What open questions take, beyond their schema: the author's own types, by interrupt id.

A schema does not say all that a type does (a validator, a date that has to come later). Whoever
puts a question, or meets an open one on a replay, leaves its type here, so that an answer is read
with it before anything changes.
"""

from collections import OrderedDict
from typing import Final

from sayso.schemas.responses import ResponseType

MAX_RESPONSES: Final = 10_000
"""Questions whose types are kept; those of others are found again by a look."""


class Responses:
    """The types of the questions that this process has met; the oldest go first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, ResponseType] = OrderedDict()

    def keep(self, interrupt_id: str, response: ResponseType) -> None:
        """Leave the type of a question."""
        self._kept[interrupt_id] = response
        self._kept.move_to_end(interrupt_id)
        if len(self._kept) > MAX_RESPONSES:
            self._kept.popitem(last=False)

    def of(self, interrupt_id: str) -> ResponseType | None:
        """The type of a question, if it is known here."""
        return self._kept.get(interrupt_id)
