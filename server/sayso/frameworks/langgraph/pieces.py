"""Events that are larger than a note of a turn may be, in pieces. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

import orjson

Event: TypeAlias = dict[str, Any]

PIECE: Final = 200_000
"""Characters of a piece: less than a note may have, whichever they are."""


def pieces(event: Event) -> list[Event]:
    """An event as several notes."""
    text = orjson.dumps(event).decode()
    starts = range(0, len(text), PIECE)
    return [
        {
            "k": "piece",
            "first": start == 0,
            "last": start == starts[-1],
            "text": text[start:][:PIECE],
        }
        for start in starts
    ]


def whole(notes: Iterable[Event]) -> Iterator[Event]:
    """The events of notes; one whose last pieces are not there has not happened."""
    texts: list[str] = []
    for note in notes:
        if note["k"] != "piece":
            yield note
            continue
        if note["first"]:
            texts = []
        texts.append(note["text"])
        if note["last"]:
            yield orjson.loads("".join(texts))
