"""Code that does not fit the journal, told in words that say where to look.

A call's arguments are in the history, so everybody may read them; those of a step are the server's
own and are told to the author alone, as is the line.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any

from pydantic import ValidationError

from sayso.base import jsonvalue
from sayso.base.errors import ReplayMismatch
from sayso.base.records import Entry, Message

_MAX_TEXT_CHARS = 300
"""Characters of arguments and reasons; a longer one says that it was cut."""
_OURS = str(Path(__file__).parents[2])
_VALUES = (
    "if no code has changed, what it is called with differs in each execution: time, random "
    "numbers and ids belong into turn.now(), turn.random(), turn.uuid() or a step"
)


def differs(
    place: str,
    entry: Entry,
    wanted: str,
    arguments: Any,
    history: Iterable[Message],
    because: str = "",
) -> ReplayMismatch:
    """What is wrong with a call for `wanted` with these arguments, where another is recorded."""
    head, _, _ = wanted.rpartition(" ")
    same = arguments is not None and entry.fingerprint.rpartition(" ")[0] == head
    public = same and entry.kind in ("call", "frontend")
    recorded, asked = entry.fingerprint, wanted
    if public:
        before = _proposed(jsonvalue.decode(entry.data).get("id"), history)
        if before is not None:
            recorded, asked = f"{head}{_cut(before)}", f"{head}{_cut(_text(arguments))}"
    mismatch = ReplayMismatch(place, recorded, asked, because, _VALUES if same else "")
    if arguments is not None and not public:
        mismatch.passed = _cut(_text(arguments))
    return mismatch


def author_line() -> str | None:
    """Where the running code of the author's calls us: `agents.py:12`."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return None if frame is None else f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def short(error: BaseException) -> str:
    """An error in a line, without the values that it is about."""
    text = str(error).partition("\n")[0]
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        text = f"{'.'.join(map(str, first['loc'])) or 'the value'}: {first['msg']}"
    return f"{type(error).__name__}: {_cut(text)}"


def _proposed(call_id: Any, history: Iterable[Message]) -> str | None:
    """The arguments of a call as it stands in the history."""
    for message in history:
        if message.role == "assistant" and str(call_id).encode() in message.body:
            for call in jsonvalue.decode(message.body).get("toolCalls", ()):
                if call["id"] == call_id:
                    return f"({call['function']['arguments']})"
    return None


def _text(arguments: Any) -> str:
    return f"({jsonvalue.encode(arguments).decode()})"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT_CHARS else f"{text[:_MAX_TEXT_CHARS]}…"
